// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An out-of-memory event explained: what was asked, what there was, why it was not enough, and
 * whose memory would have made room. Numbers are defined in docs/analyses/oom.md. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/reserved.h"

typedef enum tide_oom_cause {
	TIDE_OOM_UNKNOWN,    /* the trace does not say what was free or which segments there were */
	TIDE_OOM_FRAGMENTED, /* enough bytes were free in all, but not in one piece */
	TIDE_OOM_FULL,	     /* not even all free bytes together would have done */
	TIDE_OOM_LIMITED,    /* the device had room enough: a limit on the process refused */
} tide_oom_cause;

typedef struct tide_oom_room { /* what one group's memory would have given */
	size_t row;	       /* in `groups` */
	uint64_t released;     /* bytes of whole segments that would have gone back to the device */
	uint64_t largest;      /* largest free block there would have been */
	bool enough;	       /* either would have served the request */
} tide_oom_room;

typedef struct tide_oom {
	uint32_t mark;
	int64_t t;
	uint64_t asked;	      /* bytes the event names: the request, rounded to its block */
	uint64_t needed;      /* segment the device was asked for */
	int64_t device_free;  /* bytes the device had left; -1 = unknown */
	tide_state_totals at; /* the allocator then; free blocks only where segments_known */
	uint64_t reserved;    /* by the allocator then; TIDE_RESERVED_NONE = not known */
	uint8_t source;	      /* of it: TIDE_RESERVED_* */
	uint64_t unallocated; /* reserved - allocated: "reserved by PyTorch but unallocated";
				 TIDE_RESERVED_NONE = not known */
	uint64_t capacity;    /* reserved + device_free: all this allocator could ever hold; 0 =
				 unknown (LIMITED: too) */
	uint64_t below;	      /* LIMITED: the limit is less than this, reserved + needed */
	uint64_t missing;     /* FULL: bytes short even if all free bytes were one block */
	tide_oom_cause cause;
	tide_groups groups;  /* of what was alive, by stack (or `by`); of tide__find_oom only */
	tide_oom_room *room; /* owned; the largest groups, in their order */
	size_t n_room;
	bool segments_known; /* and which of their bytes were free */
} tide_oom;

/* Rows of the out-of-memory marks of a device (TIDE_ANY = all), in time order. *rows owned. */
tide_code tide__oom_marks(const tide_model *m, uint32_t device, uint32_t **rows, size_t *n,
			  tide_error *err);

/* Explain one. `top` groups are tried as room. Release with tide__oom_free in any case.
 * O(moves + allocs + what tide__find_groups takes): for the few that are shown in full. */
tide_code tide__find_oom(const tide_model *m, uint32_t mark, tide_group_by by, size_t top,
			 tide_oom *out, tide_error *err);
void tide__oom_free(tide_oom *o);

/* All of a device (TIDE_ANY = all), in time order, without groups: `fn` is called for each and
 * stops it by returning false. One sweep over the moves (free_blocks.h): O(events + moves log free),
 * whatever the events. The figures are those of tide__find_oom, but where the recording contradicts
 * itself about what lies where: there segments_known is false. `at` has no loose bytes and no
 * counts. */
typedef bool tide_oom_fn(void *user, const tide_oom *o);
tide_code tide__find_ooms(const tide_model *m, uint32_t device, tide_oom_fn *fn, void *user,
			  tide_error *err);

/* Parts of the above: what the mark itself says; and what follows from `at` and `reserved`. */
void tide__oom_begin(const tide_model *m, uint32_t mark, tide_oom *out);
void tide__oom_judge(tide_oom *o);

#endif
