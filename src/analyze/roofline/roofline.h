// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How close the device's work is to the limits of the hardware: operations and bytes of ops from
 * the shapes of their inputs (op_cost.h), the device time that they took, and the peaks of the device
 * (device_peaks.h).
 *
 * The outermost op with a known cost counts; ops that it calls do not count again. Its time is that
 * of the device rows that it and the ops in it launched; in a trace without device rows, the op's
 * own. A copy that no such op launched is a row of its own, with the bytes that the trace gives.
 * Calls with equal arguments share a row; recomputed calls have their own.
 *
 * Optimizers work on lists of tensors whose shapes traces leave out if there are many. They are taken
 * from the gradients that the last backward pass accumulated, if the chunks of these are exactly the
 * blocks that the optimizer's kernels ran (list_sizes.h). docs/analyses/roofline.md defines the
 * figures. */
#ifndef TIDE_ANALYZE_ROOFLINE_ROOFLINE_H
#define TIDE_ANALYZE_ROOFLINE_ROOFLINE_H

#include "analyze/common/statistics.h"
#include "analyze/common/steps.h"
#include "analyze/roofline/device_peaks.h"
#include "analyze/device/gpu_rows.h"
#include "analyze/roofline/op_cost.h"

typedef struct tide_roof_row {
	tide_str name, dims, types, strides, concrete; /* none = unknown */
	tide_op_cost cost;			       /* of one call */
	bool recompute;
	uint32_t span;		    /* its longest call */
	uint64_t device_rows;	    /* of all calls */
	tide_stat dur;		    /* times of the calls */
	int64_t median_ns;	    /* of the calls: the lower of two */
	double rate_mean, rate_std; /* of 1 / time of a call, 1/ns */
	double tflops, tb_s; /* operations and bytes of all calls / their time; NaN = unknown */
	double intensity;    /* operations / bytes; NaN = unknown */
	double peak_tflops;  /* of the device for these ops; NaN = unknown */
	double roof_pct; /* the time that the device needs at its peaks / the time; NaN = unknown */
	int bound;	 /* TIDE_BOUND_* */
} tide_roof_row;

enum { TIDE_BOUND_UNKNOWN, TIDE_BOUND_COMPUTE, TIDE_BOUND_MEMORY };

typedef struct tide_roof_sum { /* of a category of ops, or of all */
	uint64_t calls, device_rows;
	int64_t ns, recompute_ns;
	int64_t roof_ns;	    /* part of ns whose distance to the roof is known */
	double flops, bytes;	    /* of the calls where they are known */
	int64_t flops_ns, bytes_ns; /* time of those */
	double ideal_ns;	    /* of roof_ns: at the peaks */
} tide_roof_sum;

/* Why device time is not covered. */
#define TIDE_ROOF_GAPS(X)                     \
	X(NO_RULE, "no rule")                 \
	X(NO_SHAPES, "shapes do not suffice") \
	X(COMMUNICATION, "communication")     \
	X(OUTSIDE, "outside any op")          \
	X(NO_LAUNCH, "launch unknown")

typedef enum tide_roof_why {
#define X(name, text) TIDE_ROOF_##name,
	TIDE_ROOF_GAPS(X)
#undef X
		TIDE_N_ROOF_GAPS
} tide_roof_why;
extern const char *const tide__roof_why_text[TIDE_N_ROOF_GAPS];

typedef struct tide_roof_gap {
	tide_str name; /* the op, or the kernel outside ops */
	uint8_t why;
	uint64_t device_rows;
	int64_t ns;
} tide_roof_gap;

typedef struct tide_roof_step {
	int64_t number, ns;	   /* -1: all of the trace */
	int64_t device_ns;	   /* device rows launched in it */
	double flops, again_flops; /* of matrix units; recomputed ones */
	double ideal_ns,
		again_ideal_ns;	 /* the same at the peak of their types; NaN = a peak is unknown */
	double mfu_pct, hfu_pct; /* NaN = unknown */
} tide_roof_step;

typedef struct tide_roofline {
	tide_roof_row *v; /* owned; most time first */
	size_t n, cap;
	tide_roof_gap *gaps; /* owned; most time first */
	size_t n_gaps, cap_gaps;
	tide_roof_step *steps; /* owned; the first is all of the trace */
	size_t n_steps;
	tide_roof_sum of[TIDE_OP_CATEGORY_COUNT], all;
	bool device;	    /* times are of device rows */
	int64_t ns;	    /* of all device rows; without them, of all calls */
	int64_t covered_ns; /* of rows whose operations and bytes are known */
	uint64_t shapeless; /* calls of ops with a rule, outside others, without usable shapes */
	uint64_t timeless;  /* calls without a device row, in a trace that has device rows */
	const char *name;   /* of the device; borrowed from model or options; NULL = unknown */
	uint64_t devices;   /* with device rows */
	tide_device_peak peak;
	bool known; /* peak is of this device */
} tide_roofline;

typedef struct tide_roof_options {
	const tide_window *window; /* NULL = all */
	bool masked;		   /* count scores that a causal mask leaves out */
	const char *device;	   /* take the peaks of this device; NULL = the trace's */
	const char *peaks;	   /* lines of device_peaks.h; NULL = none */
	double tflops, gb_s;	   /* one peak for all ops; 0 = the table's */
} tide_roof_options;

/* Needs a model loaded with TIDE_WANT_SHAPES, TIDE_WANT_LAUNCH and TIDE_WANT_FLOWS. O(spans + attrs).
 * Release with tide__roofline_free in any case. */
tide_code tide__find_roofline(const tide_model *m, const tide_roof_options *opt, tide_roofline *out,
			      tide_error *err);
void tide__roofline_free(tide_roofline *r);

#endif
