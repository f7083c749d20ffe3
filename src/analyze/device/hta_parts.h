// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The parts of the device-time analysis, one per file. Each reads the same input and fills its own
 * part of the result. Returns false if memory ran out. Order matters once: queues come after idle,
 * which makes the table of streams. */
#ifndef TIDE_ANALYZE_DEVICE_HTA_PARTS_H
#define TIDE_ANALYZE_DEVICE_HTA_PARTS_H

#include "analyze/common/interval_set.h"
#include "analyze/device/hta.h"
#include "analyze/common/union_length.h"

/* Larger sizes are impossible and count as unknown. Once a sum would reach 2^63, the rest is
 * unknown too. */
#define TIDE_ABSURD_BYTES (INT64_C(1) << 48)

/* A runtime or driver call and the device rows it started; several rows = a graph launch. */
typedef struct tide_launch {
	uint32_t span;
	uint32_t rows;
	uint32_t first; /* index in rows of its first row */
	int64_t gpu;	/* sum of the rows' durations */
} tide_launch;

typedef struct tide_hta_input {
	const tide_model *m;
	const tide_steps *steps;
	const tide_span_window *window;
	const tide_gpu_rows *rows;
	tide_hta_options opt;		/* with defaults filled in */
	const tide_interval_set *types; /* TIDE_GPU_TYPES unions, by type (breakdown.h) */
	const tide_launch *launches;	/* sorted by span (launches.c) */
	size_t n_launches;
} tide_hta_input;

/* Finds the launches of the rows, sorted by span; tide__free. NULL if memory runs out. */
tide_launch *tide__find_launches(const tide_model *m, const tide_gpu_rows *rows, size_t *n);

bool tide__hta_find_breakdown(const tide_hta_input *in, tide_hta *h); /* breakdown.c */
bool tide__hta_find_kernels(const tide_hta_input *in, tide_hta *h);   /* kernels.c */
bool tide__hta_find_idle(const tide_hta_input *in, tide_hta *h); /* idle.c: makes the streams */
bool tide__hta_find_idle_cause(const tide_hta_input *in, tide_hta *h);	/* idle_cause.c */
bool tide__hta_find_launch(const tide_hta_input *in, tide_hta *h);	/* launches.c */
bool tide__hta_find_queue(const tide_hta_input *in, tide_hta *h);	/* queues.c: after idle */
bool tide__hta_find_bandwidth(const tide_hta_input *in, tide_hta *h);	/* bandwidth.c */
bool tide__hta_find_annotations(const tide_hta_input *in, tide_hta *h); /* annotations.c */
bool tide__hta_find_attribution(const tide_hta_input *in, tide_hta *h); /* attribution.c */
bool tide__hta_find_collectives(const tide_hta_input *in, tide_hta *h); /* collectives.c */
bool tide__hta_find_comms(const tide_hta_input *in, tide_hta *h);	/* communication_rows.c */
bool tide__hta_find_calls(const tide_hta_input *in, tide_hta *h);	/* collective_calls.c */
bool tide__hta_find_steps(const tide_hta_input *in, tide_hta *h);	/* step_table.c */

/* Curves for exports: put() gets each new value of a row, in order of row and time; false = stop. Return
 * false if memory ran out or put() stopped. */
typedef bool tide_hta_put(void *user, uint32_t row, int64_t t, double value);
/* Queue length of each stream of in->rows (queues.c). */
bool tide__hta_put_queues(const tide_hta_input *in, tide_hta_put *put, void *user);
/* Bytes per second of each kind of copy: a row of h->copies, which is filled (bandwidth.c). */
bool tide__hta_put_bandwidth(const tide_hta_input *in, tide_hta *h, tide_hta_put *put, void *user);

/* Returns true if a span of this name loads data (idle_cause.c). */
bool tide__names_data_loading(const char *name);

static inline int64_t tide__row_t0(const tide_hta_input *in, size_t row)
{
	return in->m->spans.t0[in->rows->span[row]];
}

static inline int64_t tide__row_t1(const tide_hta_input *in, size_t row)
{
	return tide__span_end(in->m, in->rows->span[row]);
}

static inline int64_t tide__row_dur(const tide_hta_input *in, size_t row)
{
	return tide__row_t1(in, row) - tide__row_t0(in, row);
}

/* Returns the launch of a row: a span id, 0 = not in the trace. */
static inline uint32_t tide__row_launch(const tide_hta_input *in, size_t row)
{
	return in->m->spans.cause[in->rows->span[row]].i;
}

#endif
