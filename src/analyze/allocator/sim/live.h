// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A simulator that serves requests one by one, on a device of its own: what a predicted program
 * reads (torch.cuda.max_memory_allocated()) while it runs. It puts segments where a replay of the
 * same requests puts them (replay.c), so that both give the same figures. One thread at a time.
 * python/hook/tidemark_allocator.py calls it through ctypes. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_LIVE_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_LIVE_H

#include "analyze/allocator/sim/sim.h"

typedef struct tide_sim_live tide_sim_live;

/* `settings`: as in PYTORCH_CUDA_ALLOC_CONF, may be empty. `capacity` in bytes, 0 = unlimited.
 * Returns NULL for unknown settings, or if memory runs out. */
tide_sim_live *tide__sim_live_new(const char *settings, uint64_t capacity);
void tide__sim_live_free(tide_sim_live *l);

/* Serves a request. When the capacity is used up, the device has unlimited memory from then on:
 * the prediction reports where it ran out. Returns the block's id, 0 if memory runs out. */
uint32_t tide__sim_live_take(tide_sim_live *l, uint64_t size);
void tide__sim_live_give(tide_sim_live *l, uint32_t id);
void tide__sim_live_empty_cache(tide_sim_live *l);

/* The current figures; valid until the next call. */
const tide_sim_stats *tide__sim_live_stats(const tide_sim_live *l);
uint64_t tide__sim_live_inactive_split(const tide_sim_live *l);

#endif
