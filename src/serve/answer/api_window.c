// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A time window at the requested zoom: spans in pieces of at least a pixel, memory per pixel. The
 * size of the answer depends on pixels and rows, never on the length of the recording. */
#include "analyze/memory/curve.h"
#include "analyze/timeline/level_of_detail.h"
#include "base/error.h"
#include "render/page/page_parts.h"
#include "render/report/ops/timeline.h"
#include "serve/answer/api.h"
#include "model/names.h"

/* ---- spans ---- */

static void put_piece(tide_json *j, const tide_lod *x, const tide_timeline_piece *p)
{
	uint32_t s = x->rows.order[p->place];
	tide__json_object(j);
	tide__json_kint(j, "t0_ns", p->t0);
	tide__json_kint(j, "t1_ns", p->t1);
	tide__json_kuint(j, "count", p->count);
	tide__json_kuint(j, "busy_ns", p->busy);
	tide__json_kuint(j, "n", p->place);
	tide__answer_write_name(j, "name", x->m, x->m->spans.name[s]);
	tide__json_kstr(j, "cat", tide__cat_text(x->m->spans.cat[s]));
	tide__json_object_end(j);
}

static void put_track(tide_json *j, const tide_lod *x, const tide_timeline_pieces *p,
		      const tide_row_track *t)
{
	char label[400];
	tide__json_object(j);
	tide__json_kstr(j, "name", tide__lane_write_label(x->m, t->lane, label, sizeof label));
	tide__json_kstr(j, "kind", tide__lane_kind_text(x->m->lanes.kind[t->lane.i]));
	tide__json_kuint(j, "track", t->number);
	tide__json_karray(j, "rows");
	for (uint32_t r = t->row; r < t->row + t->n_rows; r++) {
		tide__json_array(j);
		for (size_t i = p->first[r]; i < p->first[r + 1]; i++)
			put_piece(j, x, &p->v[i]);
		tide__json_array_end(j);
	}
	tide__json_array_end(j);
	tide__json_object_end(j);
}

tide_code tide__answer_spans(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	tide_timeline_pieces p;
	tide_api_window w;
	tide_json j;
	tide_code rc = tide__ask_id(a, a->req->part[2], &l, err);
	if (rc != TIDE_OK || (rc = tide__loaded_get_lod(l, &x, err)) != TIDE_OK)
		return rc;
	if (!tide__answer_get_window(a, l, &w))
		return tide__ask_wrong(a, err);
	rc = tide__lod_find_visible(x, w.from, w.to, (uint32_t)w.px, &p, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, x->rows.n > 0);
	tide__json_kint(&j, "from_ns", w.from);
	tide__json_kint(&j, "to_ns", w.to);
	tide__json_kint(&j, "px", w.px);
	tide__json_kuint(&j, "spans", x->rows.n);
	tide__json_kuint(&j, "pieces", p.n);
	tide__json_kuint(&j, "cut", x->rows.cuts.n_cut);
	tide__json_karray(&j, "tracks");
	for (uint32_t t = 0; t < x->rows.n_tracks; t++)
		put_track(&j, x, &p, &x->rows.tracks[t]);
	tide__json_array_end(&j);
	tide__timeline_pieces_free(&p);
	return tide__api_end(&j, x->rows.n ? NULL : "the trace has no spans", err);
}

/* ---- memory ---- */

static void put_series(tide_json *j, const char *key, const uint64_t *v, uint32_t n)
{
	tide__json_karray(j, key);
	for (uint32_t i = 0; i < n; i++)
		tide__json_maybe(j, v[i]);
	tide__json_array_end(j);
}

tide_code tide__answer_curve(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_curve c;
	tide_api_window w;
	tide_json j;
	uint32_t device;
	char name[64];
	tide_code rc = tide__ask_id(a, a->req->part[2], &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (!tide__answer_get_window(a, l, &w) || !tide__answer_get_device(a, l, &device, err))
		return tide__ask_wrong(a, err);
	rc = tide__find_curve(l->m, device, w.from, w.to, (uint32_t)w.px, &c, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, l->m->allocs.n > 1);
	tide__json_kstr(&j, "device",
			device ? tide__device_name(l->m, device, name, sizeof name) : NULL);
	tide__json_kint(&j, "from_ns", w.from);
	tide__json_kint(&j, "to_ns", w.to);
	tide__json_kint(&j, "px", w.px);
	put_series(&j, "live_bytes", c.live, c.px);
	tide__json_kstr(&j, "reserved_source", tide__reserved_text(c.source));
	if (c.source)
		put_series(&j, "reserved_bytes", c.reserved, c.px);
	else
		tide__json_knull(&j, "reserved_bytes");
	tide__curve_free(&c);
	return tide__api_end(&j, l->m->allocs.n > 1 ? NULL : "the trace has no allocations", err);
}
