// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The timeline's section: spans in rows that never overlap.
 *
 * A row is one level of nesting in one track (analyze/tracks.h), so within a row spans are disjoint
 * and in order of time: the page finds what a pixel shows by binary search and needs no layout of
 * its own. Times are the gap to the span before and the length, which are short numbers. */
#include <string.h>

#include "analyze/cover.h"
#include "analyze/tracks.h"
#include "base/mem.h"
#include "render/page_parts.h"
#include "render/timelineview.h"

struct spans {
	const tide_model *m;
	tide_box *b;
	tide_tracks tracks;
	tide_page_names names;
	uint32_t *level; /* per span: levels below its track's top */
	uint32_t *order; /* spans as the page numbers them, from 0 */
	uint32_t *place; /* span -> its number + 1 */
	uint32_t *count; /* spans per level of the track at hand */
	uint32_t n, depth, max_depth;
	int gap, dur, name, cat, cause;
};

static void on_begin(void *user, uint32_t span, int64_t t)
{
	struct spans *x = user;
	x->level[span] = x->depth++;
	if (x->depth > x->max_depth)
		x->max_depth = x->depth;
}

static void on_end(void *user, uint32_t span, int64_t t)
{
	struct spans *x = user;
	x->depth--;
}

/* Spans of a track level by level; each level keeps the order of time. */
static void lay_track(struct spans *x, const tide_track *t, tide_json *j)
{
	const uint32_t *in = x->tracks.order + t->first;
	memset(x->count, 0, ((size_t)x->max_depth + 1) * sizeof *x->count);
	for (uint32_t i = 0; i < t->n; i++)
		x->count[x->level[in[i]] + 1]++;
	tide__json_key(j, "rows");
	tide__json_array(j);
	for (uint32_t k = 0; k < x->max_depth; k++) {
		tide__json_uint(j, x->count[k + 1]);
		x->count[k + 1] += x->count[k];
	}
	tide__json_array_end(j);
	for (uint32_t i = 0; i < t->n; i++)
		x->order[x->n + x->count[x->level[in[i]]]++] = in[i];
	x->n += t->n;
}

static bool track(struct spans *x, uint32_t k, tide_json *j)
{
	const tide_track *t = &x->tracks.tracks[k];
	const tide_track_walk walk = { on_begin, on_end, x };
	char label[400];
	x->depth = x->max_depth = 0;
	if (!tide__track_walk(&x->tracks, x->m, k, &walk))
		return false;
	tide__json_object(j);
	tide__json_kstr(j, "name", tide__lane_label(x->m, t->lane, label, sizeof label));
	tide__json_kstr(j, "kind", tide__lane_kind_text(x->m->lanes.kind[t->lane.i]));
	tide__json_kuint(j, "lane", t->lane.i);
	tide__json_kuint(j, "track", t->number);
	lay_track(x, t, j);
	tide__json_object_end(j);
	return true;
}

/* Lanes in the order of the model, host threads before the rest; each with its tracks. */
static bool all_tracks(struct spans *x, tide_json *j)
{
	bool ok = true;
	tide__json_key(j, "tracks");
	tide__json_array(j);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t k = 1; ok && k < x->tracks.n_tracks; k++) {
			const tide_track *t = &x->tracks.tracks[k];
			bool host = x->m->lanes.kind[t->lane.i] == TIDE_LANE_THREAD;
			if (t->number || !t->n || host == (pass == 1))
				continue;
			for (uint32_t at = k; ok && at; at = x->tracks.tracks[at].next)
				ok = track(x, at, j);
		}
	tide__json_array_end(j);
	return ok;
}

static int64_t end_of(const struct spans *x, uint32_t s)
{
	int64_t t1 = tide__track_end(&x->tracks, x->m, s), most = tide__span_end(x->m, s);
	return t1 < most ? t1 : most;
}

static void put_span(struct spans *x, uint32_t s, int64_t *last)
{
	const tide_spans *v = &x->m->spans;
	int64_t t1 = end_of(x, s);
	tide__box_put(x->b, x->gap, v->t0[s] - *last);
	tide__box_put(x->b, x->dur, t1 - v->t0[s]);
	tide__box_put(x->b, x->name, tide__page_name(&x->names, x->b, v->name[s]));
	tide__box_put(x->b, x->cat, v->cat[s]);
	tide__box_put(x->b, x->cause, x->place[v->cause[s].i]);
	*last = t1;
}

static bool setup(struct spans *x)
{
	size_t n = x->m->spans.n;
	x->level = tide__calloc(n, sizeof *x->level);
	x->order = tide__calloc(n, sizeof *x->order);
	x->place = tide__calloc(n, sizeof *x->place);
	x->count = tide__calloc(n + 1, sizeof *x->count);
	x->gap = tide__box_column(x->b, "gap", TIDE_COL_INT);
	x->dur = tide__box_column(x->b, "dur", TIDE_COL_UINT);
	x->name = tide__box_column(x->b, "name", TIDE_COL_UINT);
	x->cat = tide__box_column(x->b, "cat", TIDE_COL_BYTE);
	x->cause = tide__box_column(x->b, "cause", TIDE_COL_DELTA);
	return tide__page_names_init(&x->names, x->m) && x->level && x->order && x->place &&
	       x->count;
}

static void cats(tide_json *j)
{
	tide__json_key(j, "cats");
	tide__json_array(j);
	for (unsigned c = 0; c <= TIDE_CAT_OTHER; c++)
		tide__json_str(j, tide__cat_text(c));
	tide__json_array_end(j);
}

bool tide__page_spans(tide_box *b, const tide_model *m, const tide_page_options *opt,
		      tide_error *err)
{
	struct spans x = { .m = m, .b = b };
	tide_json *j = tide__box_json(b);
	int64_t last = 0;
	bool ok = setup(&x) && tide__tracks(m, &x.tracks, err) == TIDE_OK;
	tide__json_object(j);
	ok = ok && all_tracks(&x, j);
	for (uint32_t i = 0; ok && i < x.n; i++)
		x.place[x.order[i]] = i + 1;
	for (uint32_t i = 0; ok && i < x.n; i++)
		put_span(&x, x.order[i], &last);
	if (ok) {
		tide__json_kuint(j, "cut", x.tracks.n_cut);
		tide__page_names_json(&x.names, m, "names", j);
		cats(j);
	}
	tide__json_object_end(j);
	tide__tracks_free(&x.tracks);
	tide__page_names_free(&x.names);
	tide__free(x.level);
	tide__free(x.order);
	tide__free(x.place);
	tide__free(x.count);
	return ok;
}
