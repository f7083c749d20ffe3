// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The timeline's section: spans in rows that never overlap.
 *
 * Rows are those of analyze/timeline/timeline_rows.h: the page finds the spans of a pixel by binary
 * search and computes no layout. Times are stored as the gap to the previous span and the length,
 * which are small numbers. / */
#include "analyze/timeline/level_of_detail.h"
#include "base/mem.h"
#include "render/page/page_span_details.h"
#include "render/page/page_parts.h"
#include "render/report/ops/timeline.h"

struct spans {
	const tide_model *m;
	tide_box *b;
	const tide_lod *lod;
	const tide_timeline_rows *rows; /* its */
	tide_page_names names;
	uint32_t *place;     /* span -> its number + 1 */
	uint32_t track, row; /* position of `up`; its values are requested in order */
	uint32_t above;	     /* place in the row above, at most */
};

static void track(const tide_model *m, const tide_timeline_rows *r, const tide_row_track *t,
		  tide_json *j)
{
	char label[400];
	tide__json_object(j);
	tide__json_kstr(j, "name", tide__lane_write_label(m, t->lane, label, sizeof label));
	tide__json_kstr(j, "kind", tide__lane_kind_text(m->lanes.kind[t->lane.i]));
	tide__json_kuint(j, "lane", t->lane.i);
	tide__json_kuint(j, "track", t->number);
	tide__json_karray(j, "rows");
	for (uint32_t k = t->row; k < t->row + t->n_rows; k++)
		tide__json_uint(j, r->first[k + 1] - r->first[k]);
	tide__json_array_end(j);
	tide__json_object_end(j);
}

/* Member "tracks", with the spans in each row. */
static void put_tracks(const tide_model *m, const tide_timeline_rows *r, tide_json *j)
{
	tide__json_karray(j, "tracks");
	for (uint32_t k = 0; k < r->n_tracks; k++)
		track(m, r, &r->tracks[k], j);
	tide__json_array_end(j);
}

/* ---- columns ---- */

static int64_t gap(void *ctx, uint32_t i)
{
	const struct spans *x = ctx;
	const uint32_t *in = x->rows->order;
	const int64_t *t0 = x->m->spans.t0;
	int64_t last = i ? t0[in[i - 1]] + (int64_t)tide__lod_length(x->lod, i - 1) : 0;
	return t0[in[i]] - last;
}

static int64_t dur(void *ctx, uint32_t i)
{
	return (int64_t)tide__lod_length(((struct spans *)ctx)->lod, i);
}

static int64_t name(void *ctx, uint32_t i)
{
	struct spans *x = ctx;
	return tide__page_name(&x->names, x->b, x->m->spans.name[x->rows->order[i]]);
}

static int64_t cat(void *ctx, uint32_t i)
{
	const struct spans *x = ctx;
	return x->m->spans.cat[x->rows->order[i]];
}

static int64_t cause(void *ctx, uint32_t i)
{
	const struct spans *x = ctx;
	return x->place[x->m->spans.cause[x->rows->order[i]].i];
}

/* Returns the span around the one at place i as the page finds it: the last one of the row above
 * that starts no later. 0 = none. */
static uint32_t around(struct spans *x, uint32_t i)
{
	const uint32_t *in = x->rows->order, *first = x->rows->first;
	const int64_t *t0 = x->m->spans.t0;
	if (i == first[x->row + 1]) { /* no row is empty */
		x->row++;
		x->above = first[x->row - 1];
		while (x->row == x->rows->tracks[x->track].row + x->rows->tracks[x->track].n_rows)
			x->track++;
	}
	if (x->row == x->rows->tracks[x->track].row)
		return 0;
	while (x->above + 1 < first[x->row] && t0[in[x->above + 1]] <= t0[in[i]])
		x->above++;
	return in[x->above];
}

/* Returns the span around it: 0 = the one that the page finds, 1 = none, else its number + 2. */
static int64_t up(void *ctx, uint32_t i)
{
	struct spans *x = ctx;
	uint32_t p = x->m->spans.parent[x->rows->order[i]].i;
	return p == around(x, i) ? 0 : p ? x->place[p] + 1 : 1;
}

static int64_t flags(void *ctx, uint32_t i)
{
	const struct spans *x = ctx;
	return x->m->spans.flags[x->rows->order[i]];
}

static void put_columns(struct spans *x)
{
	uint32_t n = x->rows->n;
	tide__box_fill(x->b, "gap", TIDE_COL_INT, n, gap, x);
	tide__box_fill(x->b, "dur", TIDE_COL_UINT, n, dur, x);
	tide__box_fill(x->b, "name", TIDE_COL_UINT, n, name, x);
	tide__box_fill(x->b, "cat", TIDE_COL_BYTE, n, cat, x);
	tide__box_fill(x->b, "cause", TIDE_COL_DELTA, n, cause, x);
	tide__box_fill(x->b, "up", TIDE_COL_UINT, n, up, x);
	tide__box_fill(x->b, "flags", TIDE_COL_BYTE, n, flags, x);
}

static bool setup(struct spans *x)
{
	x->place = tide__calloc(x->m->spans.n, sizeof *x->place);
	return tide__page_names_init(&x->names, x->m) && x->place;
}

void tide__page_cats_json(tide_json *j)
{
	tide__json_karray(j, "cats");
	for (unsigned c = 0; c <= TIDE_CAT_OTHER; c++)
		tide__json_str(j, tide__cat_text(c));
	tide__json_array_end(j);
}

static void put_all(struct spans *x)
{
	for (uint32_t i = 0; i < x->rows->n; i++)
		x->place[x->rows->order[i]] = i + 1;
	put_columns(x);
}

bool tide__page_write_spans(tide_box *b, const tide_model *m, const tide_page_options *opt,
			    tide_error *err)
{
	tide_lod own = { 0 };
	struct spans x = { .m = m, .b = b, .lod = opt->lod ? opt->lod : &own };
	tide_json *j = tide__box_json(b);
	x.rows = &x.lod->rows;
	bool ok = setup(&x) && (opt->lod || tide__lod_build(m, &own, err) == TIDE_OK);
	tide__json_object(j);
	if (ok) {
		put_all(&x);
		put_tracks(m, x.rows, j);
		tide__page_write_span_details(b, m, x.rows->order, x.place, x.rows->n, &x.names);
		tide__json_kuint(j, "cut", x.rows->cuts.n_cut);
		tide__page_names_json(&x.names, m, "names", j);
		tide__page_cats_json(j);
	}
	tide__json_object_end(j);
	tide__lod_free(&own);
	tide__page_names_free(&x.names);
	tide__free(x.place);
	return ok;
}
