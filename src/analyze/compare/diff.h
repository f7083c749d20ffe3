// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compares two traces: single figures, and rows added, removed or changed by name and by path.
 *
 * Uses the data that both models have: host spans, device work, allocations. Names and paths are
 * matched by their text, so the two may come from different programs, machines and formats.
 * Definitions: docs/analyses/diff.md. */
#ifndef TIDE_ANALYZE_COMPARE_DIFF_H
#define TIDE_ANALYZE_COMPARE_DIFF_H

#include "analyze/ops/flame.h"

typedef enum tide_unit { TIDE_UNIT_COUNT, TIDE_UNIT_NS, TIDE_UNIT_BYTES } tide_unit;

#define TIDE_METRICS(X) /* name, key, unit, description */                              \
	X(TIME, "time", NS, "earliest start to latest end of all work")                 \
	X(STEP_TIME, "step_time", NS, "median step")                                    \
	X(CPU_TIME, "cpu_time", NS, "CPU active: union of host work")                   \
	X(GPU_TIME, "gpu_time", NS, "GPU active: union of device work")                 \
	X(OVERLAP, "overlap", NS, "both active at once")                                \
	X(KERNEL_TIME, "kernel_time", NS, "durations of device work added up")          \
	X(OPS, "ops", COUNT, "host spans that are work")                                \
	X(KERNELS, "kernels", COUNT, "kernels, copies and fills")                       \
	X(PEAK, "peak", BYTES, "highest live bytes")                                    \
	X(PEAK_REQUESTED, "peak_requested", BYTES, "the requested part of those bytes") \
	X(RESERVED, "reserved", BYTES, "highest bytes held in segments")                \
	X(LIVE_END, "live_end", BYTES, "live bytes at the end")                         \
	X(ALLOCATED, "allocated", BYTES, "bytes of all allocations")                    \
	X(ALLOCS, "allocs", COUNT, "allocations")

typedef enum tide_metric {
#define X(name, key, unit, what) TIDE_METRIC_##name,
	TIDE_METRICS(X)
#undef X
		TIDE_N_METRICS
} tide_metric;

typedef struct tide_metric_info {
	const char *key;
	tide_unit unit;
	const char *what;
} tide_metric_info;
extern const tide_metric_info tide__metrics[TIDE_N_METRICS];

#define TIDE_DIFF_KINDS(X)                                                                        \
	X(OP, "ops") /* host spans by name; value = self time, total = time with children */      \
	X(KERNEL, "kernels")		     /* device work by name; value = sum of durations */  \
	X(DEVICE_OP, "device_by_op")	     /* device work by the op that launched it */         \
	X(DEVICE_SHAPE, "device_by_shape")   /* by that op and its shapes and dtypes */           \
	X(DEVICE_MODULE, "device_by_module") /* by the module around it */                        \
	X(DEVICE_CATEGORY, "device_by_category") /* by the kind of work */                        \
	X(CALL, "calls") /* paths that one calls and the other does not; value = with children */ \
	X(STACK, "by_stack") /* bytes alive at the peak by call stack */                          \
	X(OP_PATH, "by_op")  /* the same by op path */                                            \
	X(ROLE, "by_role")   /* the same by role */

typedef enum tide_diff_kind {
#define X(name, key) TIDE_DIFF_##name,
	TIDE_DIFF_KINDS(X)
#undef X
		TIDE_N_DIFF_KINDS
} tide_diff_kind;

#define TIDE_DIFF_STATUS_WORDS "same,changed,added,removed"
typedef enum tide_diff_status {
	TIDE_DIFF_SAME,
	TIDE_DIFF_CHANGED,
	TIDE_DIFF_ADDED,
	TIDE_DIFF_REMOVED
} tide_diff_status;

typedef struct tide_diff_row {
	uint32_t node;	   /* in diff.tree: the name, or the path to it */
	uint64_t count[2]; /* A, B: spans or allocations */
	uint64_t value[2]; /* ns or bytes */
	uint64_t total[2]; /* OP: durations; nested calls of the same name count once */
} tide_diff_row;

typedef struct tide_diff_table {
	tide_diff_row *rows; /* owned; largest |B - A| first, then largest B, then most calls
			      * more or less, then order of appearance */
	size_t n;
	size_t by_status[4]; /* rows of each tide_diff_status */
} tide_diff_table;

typedef struct tide_diff_options {
	bool no_lines;	    /* frames match by function and file, ignoring the line */
	uint32_t device[2]; /* device of the memory figures; 0 = the highest peak of each trace */
} tide_diff_options;

typedef struct tide_diff {
	uint64_t metric[TIDE_N_METRICS][2];
	bool known[TIDE_N_METRICS][2]; /* false: that trace lacks the figure */
	tide_diff_table table[TIDE_N_DIFF_KINDS];
	tide_flame *tree;    /* owned: names and paths; below the root one branch per kind */
	tide_flame *host[2]; /* owned: host spans of each by path, all threads merged */
	tide_device_id device[2];
	bool timed; /* both have a clock; else rows of spans have counts only, value = total = 0 */
} tide_diff;

/* Compares `a` (before) and `b` (after). `opt` may be NULL. Returns TIDE_OK or TIDE_ENOMEM. *out
 * is owned by the caller: tide__diff_free, which also accepts a zeroed one. */
tide_code tide__find_diff(const tide_model *a, const tide_model *b, const tide_diff_options *opt,
			  tide_diff *out, tide_error *err);
void tide__diff_free(tide_diff *d);

/* Returns the id of a name in a tree's texts; 0 if memory runs out. Addresses ("<method of
 * object at 0x7fe708f28800>") and numbers of steps differ from run to run, so they become "0x*"
 * and "ProfilerStep#*". `equate`: calls of HIP become those of CUDA. */
uint32_t tide__diff_text(tide_flame *tree, const char *s, size_t n, bool equate);
/* Returns true if one has calls of CUDA and the other of HIP. */
bool tide__diff_equates(const tide_strings *a, const tide_strings *b);

tide_diff_status tide__diff_status(const tide_diff_row *r);
const char *tide__diff_status_text(tide_diff_status s); /* "added" ... */
const char *tide__diff_kind_key(tide_diff_kind k);	/* "kernels" ... */

/* Returns the change from a to b in percent of a; NaN (unknown) if a is 0. */
double tide__change_pct(uint64_t a, uint64_t b);

#endif
