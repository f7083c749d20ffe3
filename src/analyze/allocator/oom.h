// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Explains an out-of-memory event: what was requested, what was free, why that was not enough,
 * and which group's memory would have made it succeed. docs/analyses/oom.md defines the figures. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/allocator/oom_banks.h"
#include "analyze/allocator/oom_replay.h"
#include "analyze/memory/groups.h"
#include "analyze/live/reserved.h"

typedef enum tide_oom_cause {
	TIDE_OOM_UNKNOWN,    /* the trace lacks the free bytes or the segments */
	TIDE_OOM_FRAGMENTED, /* enough bytes were free in total, but not in one block */
	TIDE_OOM_FULL,	     /* all free bytes together were not enough */
	TIDE_OOM_LIMITED,    /* the device had enough free memory: a limit on the process refused */
} tide_oom_cause;
enum { TIDE_OOM_CAUSES = TIDE_OOM_LIMITED + 1 };

typedef struct tide_oom_room { /* effect of freeing one group */
	size_t row;	       /* in `groups` */
	uint64_t released;     /* bytes of whole segments that would be released to the device */
	uint64_t largest;      /* largest free block after that */
	bool enough; /* either would serve the request; banks: enough bytes, if contiguous */
} tide_oom_room;

typedef struct tide_oom {
	uint32_t mark;
	int64_t t;
	uint64_t asked;	      /* bytes in the event: the request, rounded to its block */
	uint64_t needed;      /* size of the segment requested from the device */
	int64_t device_free;  /* bytes the device had left; -1 = unknown */
	tide_state_totals at; /* allocator state at the event; free blocks only if segments_known */
	uint64_t reserved;    /* reserved by the allocator at the event; TIDE_RESERVED_NONE =
			       * unknown */
	uint8_t source;	      /* of it: TIDE_RESERVED_* */
	uint64_t unallocated; /* reserved - allocated: "reserved by PyTorch but unallocated";
			       * TIDE_RESERVED_NONE = unknown */
	uint64_t capacity;    /* reserved + device_free: the most this allocator could hold; 0 =
			       * unknown (also for LIMITED) */
	uint64_t limit; /* on the process, as the program set it; TIDE_RESERVED_NONE = unknown */
	uint64_t below; /* LIMITED: the limit is less than this, reserved + needed */
	uint64_t
		missing; /* FULL: bytes short even if all free bytes were one block, in all banks */
	tide_oom_cause cause;
	tide_groups groups;  /* live allocations by stack (or `by`); set by tide__find_oom only */
	tide_oom_room *room; /* owned; the largest groups, in their order */
	size_t n_room;
	bool segments_known;	     /* segments and their free bytes are known */
	bool replayed;		     /* they are those of a replay (oom_replay.h) */
	uint64_t compared;	     /* blocks whose addresses the replay gave as recorded */
	tide_oom_difference differs; /* why the replay does not give them, if there was one */
	bool rooms_known;     /* `room` is valid: segments or a bank's free bytes are known */
	tide_oom_banks banks; /* n > 0: the pool has banks, segments do not apply */
} tide_oom;

/* Finds the rows of a device's out-of-memory marks (TIDE_ANY = all), in time order. *rows is
 * owned by the caller. */
tide_code tide__oom_marks_find(const tide_model *m, uint32_t device, uint32_t **rows, size_t *n,
			       tide_error *err);

/* Explains one event and tries freeing the `top` largest groups. Release with tide__oom_free in
 * any case. O(events + allocs + cost of tide__find_groups): for the few events shown in full. */
tide_code tide__find_oom(const tide_model *m, uint32_t mark, tide_group_by by, size_t top,
			 tide_oom *out, tide_error *err);
void tide__oom_free(tide_oom *o);

/* Explains all events of a device (TIDE_ANY = all), in time order, without groups: calls `fn`
 * for each until it returns false. One sweep over the memory events (free_blocks.h): O(events +
 * events log free). Figures equal those of tide__find_oom, except where the recording contradicts
 * itself about addresses: segments_known is false there. `at` has no loose bytes and no counts. */
typedef bool tide_oom_fn(void *user, const tide_oom *o);
tide_code tide__find_ooms(const tide_model *m, uint32_t device, tide_oom_fn *fn, void *user,
			  tide_error *err);

/* Parts of the above: the mark's own figures; the figures of a live recording, which need
 * `at`; the figures derived from `at` and `reserved`. */
void tide__oom_begin(const tide_model *m, uint32_t mark, tide_oom *out);
void tide__oom_add_recorded(const tide_model *m, uint32_t device, tide_oom *out);
void tide__oom_judge(tide_oom *o);

#endif
