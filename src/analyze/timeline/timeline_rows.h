// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans in rows without overlaps: the input of every timeline chart.
 *
 * A row is one level of nesting in one track (analyze/timeline/tracks.h), so within a row spans are
 * disjoint and in time order, and the spans in a time window are found by binary search. Viewers
 * identify a span by its place in `order`. Host threads come first, lanes in model order, each with
 * its tracks, each with its levels from the outside in. */
#ifndef TIDE_ANALYZE_TIMELINE_TIMELINE_ROWS_H
#define TIDE_ANALYZE_TIMELINE_TIMELINE_ROWS_H

#include "analyze/timeline/tracks.h"

typedef struct tide_row_track {
	tide_lane_id lane;
	uint32_t number; /* of the lane's tracks, 0 = its first */
	uint32_t row;	 /* its first row */
	uint32_t n_rows;
} tide_row_track;

typedef struct tide_timeline_rows {
	uint32_t *order; /* owned; spans row by row, each row in order of time */
	uint32_t n;	 /* spans */
	uint32_t *first; /* owned; row r is order[first[r] .. first[r + 1]) */
	uint32_t n_rows;
	tide_row_track *tracks; /* owned */
	uint32_t n_tracks;
	tide_tracks cuts; /* the tracks' data about where spans end */
} tide_timeline_rows;

/* Returns TIDE_OK or TIDE_ENOMEM. O(spans × tracks of a lane). tide__timeline_rows_free accepts a
 * zeroed struct. */
tide_code tide__find_timeline_rows(const tide_model *m, tide_timeline_rows *out, tide_error *err);
void tide__timeline_rows_free(tide_timeline_rows *r);

/* Returns the end of the span at a place, as drawn: spans that cross others in every track are
 * cut short. */
static inline int64_t tide__timeline_rows_end(const tide_timeline_rows *r, const tide_model *m,
					      uint32_t place)
{
	uint32_t s = r->order[place];
	int64_t t1 = tide__track_end(&r->cuts, m, s), most = tide__span_end(m, s);
	return t1 < most ? t1 : most;
}

/* Returns the place of a span: searches the rows of its lane. */
uint32_t tide__timeline_rows_place(const tide_timeline_rows *r, const tide_model *m, uint32_t span);
/* Returns the number of the track that contains a place, and the row in it. */
uint32_t tide__timeline_rows_track(const tide_timeline_rows *r, uint32_t place, uint32_t *row);

#endif
