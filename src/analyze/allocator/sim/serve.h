// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by replay.c and check.c: initial state, one request, final figures. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_SERVE_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_SERVE_H

#include "analyze/allocator/sim/replay.h"

/* Places blocks from before the recording at their addresses, or requests them again. */
tide_code tide__sim_seed_all(tide_sim *s, const tide_requests *q, tide_sim_before before);
/* Runs one request; returns TIDE_ELIMIT when an allocation fails. */
tide_code tide__sim_serve(tide_sim *s, const tide_requests *q, const tide_request *r,
			  tide_sim_result *out);
/* Marks the private pools that are done by request i; *at advances through q->done. */
tide_code tide__sim_end_pools(tide_sim *s, const tide_requests *q, size_t i, size_t *at);
/* Writes the final figures. */
void tide__sim_finish(const tide_sim *s, tide_sim_result *out);
/* Returns an address above all recorded ones. */
uint64_t tide__sim_above(const tide_requests *q);

/* Finds where the address range of each old expandable part begins. For the first part of each
 * half, pool and stream: the lowest address mapped later below it, with nothing older in
 * between. For all others: their own address. begin has q->n_before rows. Returns false if
 * memory runs out. O(parts + segments taken). */
bool tide__sim_find_ranges(const tide_requests *q, uint64_t *begin);

#endif
