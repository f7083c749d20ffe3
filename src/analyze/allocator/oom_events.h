// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The out-of-memory report: every failed request of a trace, the first ones explained in full.
 *
 * Definitions: docs/analyses/oom.md. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_EVENTS_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_EVENTS_H

#include "analyze/allocator/oom.h"
#include "analyze/allocator/oom_settings.h"

typedef enum tide_oom_others { /* figures of events that are not explained in full */
			       TIDE_OOM_COUNT, /* their number */
			       TIDE_OOM_SUM,   /* their sums by device and cause */
			       TIDE_OOM_LIST,  /* their sums, and the figures of each */
} tide_oom_others;

typedef struct tide_oom_query {
	uint32_t device; /* TIDE_ANY = all */
	tide_group_by by;
	size_t top;  /* groups to try freeing */
	size_t full; /* events to explain in full, at most TIDE_OOM_MOST_EVENTS */
	tide_oom_others others;
	bool settings; /* replay the requests under the standard allocator settings */
} tide_oom_query;

typedef struct tide_oom_trial_of { /* the replayed settings, seen from one event */
	const tide_oom_trial *on;  /* borrowed from `trials`; NULL = none were tried */
	size_t index;		   /* of the event among those of its device */
	size_t served;		   /* settings other than the recorded ones that serve it */
	size_t others;		   /* settings other than the recorded ones */
} tide_oom_trial_of;

typedef struct tide_oom_sum { /* events of one device with one cause, not explained in full */
	size_t n;
	uint64_t least, most; /* bytes requested */
	int64_t first, last;  /* times */
} tide_oom_sum;

typedef struct tide_oom_events {
	const tide_model *m; /* borrowed */
	size_t n;	     /* events of the device */
	size_t n_full;	     /* of them explained in full: the first ones */
	int64_t others_t;    /* time of the first event that is not explained in full */
	tide_oom *v;	     /* owned: the first n_full, or with TIDE_OOM_LIST all n */
	size_t n_v;
	tide_oom_trial_of tried[TIDE_OOM_MOST_EVENTS]; /* of the first n_full */
	tide_oom_sum
		*sums; /* owned: [device row * TIDE_OOM_CAUSES + cause]; NULL = not requested */
	tide_oom_trials trials;
} tide_oom_events;

/* Finds and explains the events of a device, in time order. O(events + allocs) per event in full,
 * one sweep for all others. `out` must not move until tide__oom_events_free, which must be
 * called even after a failure; `m` is borrowed until then. */
tide_code tide__oom_events_find(const tide_model *m, const tide_oom_query *q, tide_oom_events *out,
				tide_error *err);
void tide__oom_events_free(tide_oom_events *x);

#endif
