// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A window of the timeline as a section: the pieces of analyze/timeline/level_of_detail.h, row
 * by row. The page draws them like spans; docs/formats/page.md has the columns. */
#include "analyze/timeline/level_of_detail.h"
#include "base/mem.h"
#include "render/page/page_parts.h"
#include "render/report/ops/timeline.h"

struct pieces {
	const tide_lod *l;
	tide_box *b;
	tide_page_names names;
	int gap, dur, name, cat, count, busy, place;
};

static void put_piece(struct pieces *x, const tide_timeline_piece *p, int64_t *last)
{
	const tide_spans *v = &x->l->m->spans;
	uint32_t s = x->l->rows.order[p->place];
	tide__box_put(x->b, x->gap, p->t0 - *last);
	tide__box_put(x->b, x->dur, p->t1 - p->t0);
	tide__box_put(x->b, x->name, tide__page_name(&x->names, x->b, v->name[s]));
	tide__box_put(x->b, x->cat, v->cat[s]);
	tide__box_put(x->b, x->count, p->count);
	tide__box_put(x->b, x->busy, (int64_t)p->busy);
	tide__box_put(x->b, x->place, p->place);
	*last = p->t1;
}

static void put_tracks(const tide_lod *l, const tide_timeline_pieces *p, tide_json *j)
{
	char label[400];
	tide__json_karray(j, "tracks");
	for (uint32_t k = 0; k < l->rows.n_tracks; k++) {
		const tide_row_track *t = &l->rows.tracks[k];
		tide__json_object(j);
		tide__json_kstr(j, "name",
				tide__lane_write_label(l->m, t->lane, label, sizeof label));
		tide__json_kstr(j, "kind", tide__lane_kind_text(l->m->lanes.kind[t->lane.i]));
		tide__json_kuint(j, "lane", t->lane.i);
		tide__json_kuint(j, "track", t->number);
		tide__json_kuint(j, "spans",
				 l->rows.first[t->row + t->n_rows] - l->rows.first[t->row]);
		tide__json_karray(j, "rows");
		for (uint32_t r = t->row; r < t->row + t->n_rows; r++)
			tide__json_uint(j, p->first[r + 1] - p->first[r]);
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

bool tide__page_write_window(tide_box *b, const tide_lod *l, int64_t from, int64_t to, uint32_t px,
			     tide_error *err)
{
	struct pieces x = { .l = l, .b = b };
	tide_timeline_pieces p = { 0 };
	tide_json *j = tide__box_json(b);
	int64_t last = from;
	x.gap = tide__box_add_column(b, "gap", TIDE_COL_INT);
	x.dur = tide__box_add_column(b, "dur", TIDE_COL_UINT);
	x.name = tide__box_add_column(b, "name", TIDE_COL_UINT);
	x.cat = tide__box_add_column(b, "cat", TIDE_COL_BYTE);
	x.count = tide__box_add_column(b, "count", TIDE_COL_UINT);
	x.busy = tide__box_add_column(b, "busy", TIDE_COL_UINT);
	x.place = tide__box_add_column(b, "place", TIDE_COL_DELTA);
	bool ok = tide__page_names_init(&x.names, l->m) &&
		  tide__lod_find_visible(l, from, to, px, &p, err) == TIDE_OK;
	for (size_t i = 0; ok && i < p.n; i++)
		put_piece(&x, &p.v[i], &last);
	tide__json_object(j);
	tide__json_kint(j, "from", from);
	tide__json_kint(j, "to", to);
	tide__json_kuint(j, "px", px);
	tide__json_kuint(j, "spans", l->rows.n);
	if (ok) {
		put_tracks(l, &p, j);
		tide__json_kuint(j, "cut", l->rows.cuts.n_cut);
		tide__page_names_json(&x.names, l->m, "names", j);
		tide__page_cats_json(j);
	}
	tide__json_object_end(j);
	tide__timeline_pieces_free(&p);
	tide__page_names_free(&x.names);
	return ok;
}

/* The first picture of a large trace, shown while the rest is unpacked: the whole timeline on more
 * pixels than most screens have. */
enum { COARSE_FROM = 50000, COARSE_PX = 2048 };

bool tide__page_write_coarse(tide_box *b, const tide_model *m, const tide_page_options *opt,
			     tide_error *err)
{
	tide_lod own = { 0 };
	if (m->spans.n < COARSE_FROM)
		return true;
	bool ok = (opt->lod || tide__lod_build(m, &own, err) == TIDE_OK) &&
		  tide__page_write_window(b, opt->lod ? opt->lod : &own, 0,
					  m->t_end > 0 ? m->t_end + 1 : 1, COARSE_PX, err);
	tide__lod_free(&own);
	return ok;
}
