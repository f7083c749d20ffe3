// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Level of detail of a timeline: the pieces that show [from, to) on `px` pixels, for any number of
 * spans.
 *
 * A pixel is 1/px of the window; times map to pixels exactly (integers, no rounding). For each row
 * (analyze/timeline/timeline_rows.h):
 *   - a span at least one pixel long, or begun before `from`, is a piece of its own;
 *   - shorter spans that begin in the same pixel are one piece: from the first start to the last
 *     end, with their number, the sum of their lengths, and the longest of them (the first of
 *     equals).
 * Visible are spans that begin before `to` and end after `from` or begin at or after it. A row has
 * at most 2 × px + 1 pieces. Definition: docs/analyses/timeline.md. */
#ifndef TIDE_ANALYZE_TIMELINE_LEVEL_OF_DETAIL_H
#define TIDE_ANALYZE_TIMELINE_LEVEL_OF_DETAIL_H

#include "analyze/timeline/timeline_rows.h"

typedef struct tide_lod {
	const tide_model *m; /* borrowed until tide__lod_free */
	tide_timeline_rows rows;
	uint64_t *busy;	   /* owned; busy[i]: lengths of the spans at places [0, i) */
	uint32_t *longest; /* owned; per block of places: its longest span's place */
} tide_lod;

typedef struct tide_timeline_piece {
	int64_t t0, t1;
	uint64_t busy;	/* sum of lengths */
	uint32_t count; /* spans in it */
	uint32_t place; /* of the longest: rows.order[place] */
} tide_timeline_piece;

typedef struct tide_timeline_pieces {
	tide_timeline_piece *v; /* owned; row by row, in order of time */
	size_t n, cap;
	size_t *first; /* owned; row r is v[first[r] .. first[r + 1]) */
} tide_timeline_pieces;

/* Builds the index: O(spans), 12 bytes per span. Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__lod_build(const tide_model *m, tide_lod *out, tide_error *err);
void tide__lod_free(tide_lod *l); /* accepts a zeroed one */

/* Returns the length of the span at a place, as drawn (tide__timeline_rows_end). */
static inline uint64_t tide__lod_length(const tide_lod *l, uint32_t place)
{
	return l->busy[place + 1] - l->busy[place];
}

/* Finds the pieces of a window; from < to, px >= 1. O(rows + pieces × log spans). Many threads may
 * query one index at once. */
tide_code tide__lod_find_visible(const tide_lod *l, int64_t from, int64_t to, uint32_t px,
				 tide_timeline_pieces *out, tide_error *err);
void tide__timeline_pieces_free(tide_timeline_pieces *p);

#endif
