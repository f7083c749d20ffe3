// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the sources of this folder: which part an allocation belongs to (holders.c), captured
 * graphs (captures.c), and replays without some of them (drops.c). */
#ifndef TIDE_ANALYZE_SERVING_SERVING_IMPL_H
#define TIDE_ANALYZE_SERVING_SERVING_IMPL_H

#include "analyze/memory/roles.h"
#include "analyze/serving/serving.h"

/* ---- holders.c ---- */

typedef struct tide_holders {
	const tide_model *m;
	tide_serving_rule own[TIDE_SERVING_RULES];
	size_t n_own;
	uint16_t *
		rule; /* owned: per stack row: the first rule that a frame of it obeys, UINT16_MAX = none */
	uint8_t *signs; /* owned: per stack row */
	tide_roles roles;
} tide_holders;

/* Reads rules of the caller. */
tide_code tide__holders_parse(const char *const *rules, size_t n, tide_holders *h, tide_error *err);
/* Prepares all stacks of a model. Release with tide__holders_free in any case. */
tide_code tide__holders_begin(tide_holders *h, const tide_model *m, tide_error *err);
void tide__holders_free(tide_holders *h);
/* Returns the part of an allocation and who says so, without bytes. */
tide_serving_why tide__holders_part(const tide_holders *h, uint32_t alloc);
/* Returns true if a text matches a pattern: '*' matches any characters, '/' too, and "**" followed by '/' at the
 * beginning also nothing. O(text * pattern). */
bool tide__serving_match(const char *pattern, const char *text, size_t n);

/* ---- captures.c ---- */

#define TIDE_MADE_ONCE UINT32_MAX /* by the first capture, for all of them */

typedef struct tide_captures {
	tide_serving_size *sizes; /* owned; `returns`, `kept` and `added_in` are not filled */
	size_t n, cap;
	uint32_t
		*of; /* owned: per alloc row, 1 + the size that it was captured for, or MADE_ONCE */
	uint64_t once;	    /* bytes of those made once */
	uint64_t *per_pool; /* owned: captures by pool row */
} tide_captures;

tide_code tide__captures_find(const tide_model *m, uint32_t device, const char *sizes,
			      tide_captures *out, tide_error *err);
void tide__captures_free(tide_captures *c);

/* ---- drops.c ---- */

/* Replays the requests of the device without each size, and without it and all larger ones. */
tide_code tide__serving_replay_drops(const tide_model *m, uint32_t device, const uint32_t *of,
				     tide_serving_size *sizes, size_t n, tide_serving_replay *out,
				     tide_error *err);

#endif
