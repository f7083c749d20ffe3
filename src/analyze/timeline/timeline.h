// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The timeline: how long the CPU and the GPU were active, and for how long at the same time.
 *
 * Every figure is a length of a union of intervals (docs/analyses/timeline.md):
 *   total    latest end - earliest start of counted spans
 *   cpu      union of all CPU spans; gpu: union of all GPU spans, all streams of all devices
 *   overlap  intersection of those two unions: never more than either
 * and the same per lane. analyze/common/interval_set.h defines CPU and GPU spans; the options
 * exclude some. */
#ifndef TIDE_ANALYZE_TIMELINE_TIMELINE_H
#define TIDE_ANALYZE_TIMELINE_TIMELINE_H

#include "analyze/common/interval_set.h"

typedef struct tide_timeline_options {
	int64_t min_ns;	 /* exclude shorter spans; 0 = none */
	bool no_python;	 /* exclude Python functions */
	bool no_runtime; /* exclude runtime and driver calls */
} tide_timeline_options;

typedef struct tide_timeline_lane {
	tide_lane_id lane;
	tide_side side;
	uint64_t count;	    /* counted spans */
	int64_t active_ns;  /* union of them */
	int64_t sum_ns;	    /* sum of their durations: nested and concurrent ones count again */
	int64_t overlap_ns; /* part of active while the other side was active too */
	int64_t t0, t1;	    /* first start, last end */
	tide_interval_set cover; /* owned */
} tide_timeline_lane;

typedef struct tide_timeline {
	int64_t t0, t1; /* both 0 if nothing counts */
	int64_t total_ns, cpu_ns, gpu_ns, overlap_ns;
	uint64_t cpu_count, gpu_count;
	bool cpu_known;	       /* the trace has work of the host; else its time is unknown, not 0 */
	bool gpu_known;	       /* the same for devices */
	uint64_t python_count; /* of cpu_count: Python functions */
	uint64_t left_out;     /* CPU and GPU spans excluded by the options */
	uint64_t not_work;     /* spans of neither side */
	tide_timeline_lane *lanes; /* owned: those with a count; CPU first, then in model order */
	size_t n_lanes;
	tide_interval_set cpu, gpu; /* owned */
} tide_timeline;

/* Returns true if the span counts under these options. */
bool tide__timeline_counts(const tide_model *m, size_t span, const tide_timeline_options *opt);

/* `opt` may be NULL. Returns TIDE_OK or TIDE_ENOMEM. O(spans). *out is owned by the caller:
 * tide__timeline_free, which also accepts a zeroed one. */
tide_code tide__find_timeline(const tide_model *m, const tide_timeline_options *opt,
			      tide_timeline *out, tide_error *err);
void tide__timeline_free(tide_timeline *t);

/* Returns part of whole in percent; NaN (unknown) if whole is 0. */
double tide__pct(int64_t part, int64_t whole);

#endif
