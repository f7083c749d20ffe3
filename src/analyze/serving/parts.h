// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The parts of reserved memory at one moment of one trace. */
#ifndef TIDE_ANALYZE_SERVING_PARTS_H
#define TIDE_ANALYZE_SERVING_PARTS_H

#include "analyze/serving/serving_impl.h"

typedef struct tide_whys {
	tide_serving_why *v; /* owned */
	size_t n, cap;
} tide_whys;

/* Fills reserved, loose, parts and pools of `at`, whose model, device, time and position are set. `why` receives
 * the evidence; NULL = not wanted. */
tide_code tide__serving_parts_find(tide_serving_at *at, const tide_holders *h, tide_whys *why,
				   tide_error *err);
/* The same for live allocations only, all outside segments: of a recording with CUPTI's allocations,
 * which hold the framework's once more. */
tide_code tide__serving_live_find(tide_serving_at *at, const tide_holders *h, tide_whys *why,
				  tide_error *err);
/* Returns the highest bytes of segments less those of the KV cache, since it exists; of a trace without
 * a KV cache: at the moment. O(events). */
uint64_t tide__serving_rest(const tide_serving_at *at, const tide_holders *h);

#endif
