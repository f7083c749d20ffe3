// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Strict nesting: distributes the spans of each lane over tracks in which any two spans either do
 * not overlap or one contains the other. Viewers need that; real traces do not guarantee it.
 *
 * Of two spans that cross, the shorter leaves the lane's first track. A span goes to its parent's
 * track if it fits there, else to the lane's first track where it fits, else to a new one. After
 * TIDE_TRACKS_MAX tracks of a lane, a span that fits nowhere is cut short at the end of its
 * enclosing span, and counted: bounded time on any input. O(spans × tracks of a lane). */
#ifndef TIDE_ANALYZE_TIMELINE_TRACKS_H
#define TIDE_ANALYZE_TIMELINE_TRACKS_H

#include "analyze/common/interval_set.h"

enum { TIDE_TRACKS_MAX = 256 };

typedef struct tide_track {
	tide_lane_id lane;
	uint32_t number; /* 0 = the lane's first, 1 .. = for spans that do not nest in those
			  * before */
	uint32_t next;	 /* next track of the lane, 0 = none */
	uint32_t first;	 /* its spans are order[first .. first + n) */
	uint32_t n;
} tide_track;

typedef struct tide_tracks {
	tide_track *tracks; /* owned; row 0 is none */
	uint32_t n_tracks;
	size_t cap_tracks;
	uint32_t *track; /* owned; per span its track */
	uint32_t *level; /* owned; per span: number of spans around it in its track */
	uint32_t *order; /* owned; spans by track, then by start */
	tide_map cut;	 /* span -> its row in cut_end + 1 */
	int64_t *cut_end;
	size_t n_cut, cap_cut;
} tide_tracks;

/* Returns TIDE_OK or TIDE_ENOMEM. *out is owned by the caller: tide__tracks_free (accepts a
 * zeroed one). */
tide_code tide__find_tracks(const tide_model *m, tide_tracks *out, tide_error *err);
void tide__tracks_free(tide_tracks *t);

/* Returns the end of a span in its track. */
static inline int64_t tide__track_end(const tide_tracks *t, const tide_model *m, uint32_t span)
{
	uint32_t row = t->n_cut ? tide__map_get(&t->cut, span) : 0;
	return row ? t->cut_end[row - 1] : tide__span_end(m, span);
}

/* Visits begins and ends of one track in time order, properly nested: at equal times, ends of
 * earlier spans come before begins, and a zero-length span begins and ends with nothing between. */
typedef struct tide_track_walk {
	void (*begin)(void *user, uint32_t span, int64_t t);
	void (*end)(void *user, uint32_t span, int64_t t);
	void *user;
} tide_track_walk;
/* Returns false if memory runs out. */
bool tide__track_walk(const tide_tracks *t, const tide_model *m, uint32_t track,
		      const tide_track_walk *w);

#endif
