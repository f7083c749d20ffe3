// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A trace as a table of rows under Holistic Trace Analysis's rules, for `--hta-compat`.
 *
 * HTA keeps one flat table of rows in microseconds and decides by a row's `stream` argument, not by
 * its category, whether it ran on the GPU; it rounds times inwards and drops the last profiler
 * step. To print its numbers we need its table. Frames in µs follow HTA's rules, right or wrong;
 * docs/analyses/hta-compat.md lists the differences. Frames in ns keep exact times and every step:
 * the critical path uses those.
 *
 * The model must have been loaded with TIDE_WANT_RAW: span_raw has correlation, stream and event
 * number of every span. Size: 60 bytes per span. */
#ifndef TIDE_ANALYZE_COMPAT_FRAME_H
#define TIDE_ANALYZE_COMPAT_FRAME_H

#include "model/model.h"

typedef struct tide_compat_frame {
	size_t n;
	tide_span_id *span; /* span of the row */
	int64_t *ts, *dur;  /* in `unit`: µs after HTA's rounding, or ns; dur may be -1 */
	int64_t *stream;    /* -1 = none */
	int64_t *corr;	    /* -1 = none */
	int64_t *event;	    /* its number in the file, HTA's index; + 1 in exact frames, so that
			     * links can also refer to the first event */
	int64_t *link;	    /* HTA's index_correlation: event number of the linked row; 0 = it has a
		        * correlation but no partner, -1 = no correlation */
	int64_t *step;	    /* profiler step, -1 = none */
	int64_t unit;	    /* units of ts and dur in a µs: 1 in µs frames, 1000 in ns frames */
	size_t steps;	    /* number of distinct ProfilerStep#N names */
	bool dropped_last;  /* the last step was dropped */
} tide_compat_frame;

/* Builds the table. keep_last: like HTA's include_last_profiler_step. Returns TIDE_EUSAGE if the
 * model lacks the raw attributes. */
tide_code tide__compat_frame_build(const tide_model *m, bool keep_last, tide_compat_frame *out,
				   tide_error *err);
/* The same rows with exact times and the category rule: ns from the trace's start, a stream only
 * for work or synchronisation on one, no step dropped. Input of the exact critical path. */
tide_code tide__compat_frame_build_exact(const tide_model *m, tide_compat_frame *out,
					 tide_error *err);
void tide__compat_frame_free(tide_compat_frame *f);

/* Returns the value of `stream` for a stream's number: in exact frames, streams of different
 * devices differ. */
int64_t tide__compat_frame_stream(const tide_compat_frame *f, int64_t number,
				  tide_device_id device);

/* Returns the row with event number `event`, or -1. */
int64_t tide__compat_frame_row(const tide_compat_frame *f, int64_t event);

/* HTA's kernel types, which depend only on the name. */
typedef enum tide_compat_type {
	TIDE_COMPAT_COMMUNICATION,
	TIDE_COMPAT_MEMORY,
	TIDE_COMPAT_COMPUTATION,
	TIDE_COMPAT_OTHER,
} tide_compat_type;
tide_compat_type tide__compat_type(const char *name);
extern const char *const tide__compat_type_names[4];

/* Returns true for the 12 calls that HTA counts as putting work on a stream. */
bool tide__compat_queue_launch(const char *name);

#endif
