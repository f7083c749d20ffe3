// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Floating-point operations of the ops whose shapes a trace holds (flop_rules.h), and the time they
 * took.
 *
 * The outermost op with a rule counts; ops that it calls do not count again. Time is that of the
 * device rows that it and the ops in it launched; in a trace without device rows, the op's own.
 * docs/analyses/roofline.md defines the figures. */
#ifndef TIDE_ANALYZE_DEVICE_FLOPS_H
#define TIDE_ANALYZE_DEVICE_FLOPS_H

#include "model/model.h"

typedef struct tide_flop_row { /* calls of one op with one set of shapes */
	tide_str name, dims, types, concrete;
	const char *dtype; /* "bfloat16"; NULL = unknown */
	uint64_t calls;
	double flops; /* of all calls */
	double bytes; /* read and written at least, by all calls; 0 = unknown */
	int64_t ns;   /* of all calls */
} tide_flop_row;

typedef struct tide_flops {
	tide_flop_row *v; /* owned; most operations first */
	size_t n;
	bool device;	    /* times are of device rows */
	uint64_t calls;	    /* of ops with a rule, outermost */
	uint64_t shapeless; /* calls without usable shapes */
	uint64_t timeless;  /* calls without a device row, in a trace that has device rows */
	double flops;	    /* of all rows */
	int64_t ns;
} tide_flops;

/* Needs a model loaded with TIDE_WANT_SHAPES. */
tide_code tide__find_flops(const tide_model *m, tide_flops *out, tide_error *err);
void tide__flops_free(tide_flops *f);

/* Peak rates of a device, without sparsity; 0 = unknown. */
typedef struct tide_device_peak {
	const char *match; /* words of its name, all of them */
	double tflops_16, tflops_32, tflops_tf32, tflops_64,
		tflops_8; /* 10^12 operations a second */
	double gb_s;	  /* of its memory, 10^9 bytes */
} tide_device_peak;

/* Returns the figures of a device by its name, NULL if it is not in the table. */
const tide_device_peak *tide__device_peak(const char *name);
/* Returns the peak for a dtype as in a row. For float32 it is TF32's if `tflops` is more than plain
 * float32 can reach. 0 = unknown. */
double tide__device_peak_of(const tide_device_peak *p, const char *dtype, double tflops);

#endif
