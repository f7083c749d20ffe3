// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The segments at an out-of-memory event of a recording that has none.
 *
 * A live recording has every request with the address of its block, and PyTorch's reserved bytes
 * whenever they changed. The simulator serves the same requests. A segment begins at the address of
 * the block that it was taken for, so every later block must get its recorded address, and reserved
 * bytes must be those recorded after every request. If all of them do, the simulator's segments are
 * the allocator's; else they stay unknown, and the first difference is named. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_REPLAY_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_REPLAY_H

#include "analyze/allocator/allocator_state.h"

typedef enum tide_oom_differs { /* how a replay differs from the recording */
				TIDE_OOM_SAME,
				TIDE_OOM_NOT_REPLAYED, /* the requests cannot be replayed */
				TIDE_OOM_NO_REQUEST,   /* the failed one is not among them */
				TIDE_OOM_RESERVED,     /* reserved bytes after a request */
				TIDE_OOM_ALLOCATED,    /* allocated bytes at the end */
				TIDE_OOM_ADDRESS,      /* the address of a block */
				TIDE_OOM_SIZE,	       /* its size */
				TIDE_OOM_FAILS,	       /* a request of `recorded` bytes fails */
				TIDE_OOM_SUCCEEDS, /* a failed one of `recorded` bytes succeeds */
} tide_oom_differs;

typedef struct tide_oom_difference {
	tide_oom_differs what;
	size_t request, n;	 /* the request, from 1, of n */
	uint64_t here, recorded; /* in the replay, in the recording */
} tide_oom_difference;

typedef struct tide_oom_replayed {
	bool known;		   /* `state` is the allocator's */
	tide_state state;	   /* owned: tide__state_free */
	uint64_t blocks;	   /* whose addresses were compared */
	tide_oom_difference first; /* not known: the first difference */
} tide_oom_replayed;

/* Replays the requests of `device` up to the mark, when the allocator had `reserved` and `allocated`
 * bytes (TIDE_RESERVED_NONE: it is not recorded). TIDE_OK also if they differ; TIDE_ENOMEM. O(memory
 * events × log blocks), again for each empty_cache() that left no other trace, at most 64 times. */
tide_code tide__oom_replay(const tide_model *m, uint32_t device, uint32_t mark, uint64_t reserved,
			   uint64_t allocated, tide_oom_replayed *out, tide_error *err);

#endif
