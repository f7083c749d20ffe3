// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory that is alive at the peak although its last use is past, or its next use is far.
 *
 * An allocation's last use is the last row of `uses` that names it. At the peak an allocation is
 *
 *     stale      used before the peak, never again, and not one of those that are used repeatedly
 *     waiting    used before the peak, and again after at least half a step
 *     in use     used again soon
 *     unknown    no op was seen to use it, or its uses were not recorded to the end
 *
 * Rules, definitions and limits: docs/analyses/stale.md. */
#ifndef TIDE_ANALYZE_MEMORY_STALE_H
#define TIDE_ANALYZE_MEMORY_STALE_H

#include "analyze/live/usage.h"
#include "analyze/memory/groups.h"

typedef enum tide_idle {
	TIDE_IDLE_UNKNOWN,
	TIDE_IDLE_IN_USE,
	TIDE_IDLE_WAITING,
	TIDE_IDLE_STALE,
	TIDE_IDLE_N
} tide_idle;

typedef struct tide_stale_row {
	uint64_t saving;   /* how much lower the peak of the whole trace would be without it */
	int64_t idle_ns;   /* longest time since the last use of one of them, at the peak */
	int64_t next_ns;   /* waiting: shortest time from the peak to the next use; else -1 */
	tide_span_id last; /* the op of the last use of its largest allocation; 0 = unknown */
	int64_t reserved_saving; /* the same of the reserved bytes; TIDE_STALE_UNREPLAYED */
	tide_str
		holder; /* what refers to its largest allocation with a known holder; 0 = unknown */
} tide_stale_row;

#define TIDE_STALE_UNREPLAYED INT64_MIN

/* An allocation of a group leaves before a memory event, or comes back. */
typedef struct tide_absence {
	uint64_t position; /* in memory_events */
	uint32_t alloc, group;
	bool back;
} tide_absence;

/* The stale or the waiting allocations, in groups. */
typedef struct tide_stale_part {
	tide_live_set set;
	tide_groups groups;
	tide_stale_row *rows; /* owned: one per group, the first n_rows */
	size_t n_rows;
	uint64_t bytes, saving;	 /* of all groups together */
	int64_t reserved_saving; /* the same of the reserved bytes; TIDE_STALE_UNREPLAYED */
	tide_absence *absences;	 /* owned: what the savings are of, by position */
	size_t n_absences;
} tide_stale_part;

typedef struct tide_stale {
	const tide_model *m; /* borrowed */
	tide_usage usage;
	uint32_t device;
	const tide_level *level;  /* in usage */
	bool known;		  /* uses were recorded, and completely */
	const char *why, *detail; /* !known: the reason, and a fact that shows it; borrowed */
	uint64_t bytes[TIDE_IDLE_N], count[TIDE_IDLE_N]; /* at the peak; they add up to it */
	tide_stale_part stale, waiting;
	uint64_t reserved_peak; /* simulated (analyze/allocator/stale_reserved.h); 0 = it was not */
} tide_stale;

enum { TIDE_STALE_ROWS = 64 }; /* groups whose saving is computed */

/* Finds them at the peak of `device` (TIDE_ANY = the one with the highest peak). `by`: op, stack or
 * frame, or -1 for the best. O(events + uses), and `TIDE_STALE_ROWS` steps for events near the
 * peak. `m` is borrowed until tide__stale_free, which must be called even after a failure. */
tide_code tide__stale_find(const tide_model *m, uint32_t device, int by, tide_group_names names,
			   tide_stale *out, tide_error *err);
void tide__stale_free(tide_stale *x);

#endif
