// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What replay.c and check.c share: state from before, one request, the end. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_SERVE_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_SERVE_H

#include "analyze/allocator/sim/replay.h"

/* Put blocks from before the recording where they were, or request them anew. */
tide_code tide__sim_seed_all(tide_sim *s, const tide_requests *q, tide_sim_before before);
/* One request; TIDE_ELIMIT when an allocation finds no memory. */
tide_code tide__sim_serve(tide_sim *s, const tide_requests *q, const tide_request *r,
			  tide_sim_result *out);
/* Private pools that are done by request i; *at goes through q->done. */
tide_code tide__sim_mark_done(tide_sim *s, const tide_requests *q, size_t i, size_t *at);
/* Final figures. */
void tide__sim_finish(const tide_sim *s, tide_sim_result *out);
/* An address above all recorded ones. */
uint64_t tide__sim_above(const tide_requests *q);

/* Where the address range of each old expandable stretch begins at the latest: the lowest address
 * that is mapped later below it, with nothing older in between; of the first one of each half, pool
 * and stream. Of all others where they begin. begin has q->n_before rows. False on exhaustion.
 * O(stretches + segments taken). */
bool tide__sim_ranges(const tide_requests *q, uint64_t *begin);

#endif
