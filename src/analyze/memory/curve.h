// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory of one device over a time window: per pixel the highest live and reserved bytes in it,
 * including the values at its start. The levels are those of usage.h. A pixel is [from + k ×
 * width / px, from + (k + 1) × width / px), in integers; the last one includes `to`. */
#ifndef TIDE_ANALYZE_MEMORY_CURVE_H
#define TIDE_ANALYZE_MEMORY_CURVE_H

#include "analyze/live/reserved.h"

typedef struct tide_curve {
	uint32_t px;
	uint64_t *live, *reserved; /* owned; px each */
	uint8_t source;		   /* of the reserved bytes: TIDE_RESERVED_*; a pixel without a
				    * known value has TIDE_RESERVED_NONE */
} tide_curve;

/* Needs 0 <= from < to, px >= 1. O(events + samples + px). Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__find_curve(const tide_model *m, uint32_t device, int64_t from, int64_t to,
			   uint32_t px, tide_curve *out, tide_error *err);
void tide__curve_free(tide_curve *c);

/* Writes the highest of each of `parts` equal groups of the n values, a multiple of `parts`; values
 * of `none` are unknown. 0 if a group has no known value. */
void tide__curve_keep_highest(const uint64_t *v, size_t n, uint64_t none, size_t parts,
			      uint64_t *out);

#endif
