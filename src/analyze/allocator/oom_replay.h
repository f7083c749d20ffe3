// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The segments at an out-of-memory event of a recording that has none.
 *
 * A live recording has every request with the address of its block, and PyTorch's reserved bytes
 * whenever they changed. The simulator serves the same requests. A segment begins at the address of
 * the block that it was taken for, so every later block must get its recorded address, and reserved
 * bytes must be those recorded after every request. If all of them do, the simulator's segments are
 * the allocator's; else they stay unknown, and a sentence says where they differ. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_REPLAY_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_REPLAY_H

#include "analyze/allocator/allocator_state.h"

enum { TIDE_OOM_WHY = 160 };

typedef struct tide_oom_replayed {
	bool known;		/* `state` is the allocator's */
	tide_state state;	/* owned: tide__state_free */
	uint64_t blocks;	/* whose addresses were compared */
	char why[TIDE_OOM_WHY]; /* not known: the first difference */
} tide_oom_replayed;

/* Replays the requests of `device` up to the mark, when the allocator had `reserved` and `allocated`
 * bytes (TIDE_RESERVED_NONE: it is not recorded). TIDE_OK also if they differ; TIDE_ENOMEM. O(memory
 * events × log blocks), again for each empty_cache() that left no other trace, at most 64 times. */
tide_code tide__oom_replay(const tide_model *m, uint32_t device, uint32_t mark, uint64_t reserved,
			   uint64_t allocated, tide_oom_replayed *out, tide_error *err);

#endif
