// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/ops/critical_path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "render/text/format.h"

static double pct(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- grids ---- */

const tide_member tide__critical_bounds_columns[] = {
	TIDE_COLUMN("bound", "Bound by", TEXT, 0, "resource that bounds this part of the path"),
	TIDE_COLUMN("time_ns", "Time", NS, 0, "time on the path"),
	TIDE_COLUMN("pct", "Share", PCT, 0, "of the path"),
	{ 0 },
};

tide_grid *tide__critical_view_bounds(const tide_critical_view *v)
{
	tide_grid *g = tide__grid_new(tide__critical_bounds_columns, 3);
	for (int b = TIDE_CP_BOUND_NONE + 1; b < TIDE_CP_BOUND_COUNT; b++) {
		if (!v->c->by_bound[b])
			continue;
		tide__grid_text(g, tide__cp_bound_text((tide_cp_bound)b));
		tide__grid_int(g, v->c->by_bound[b] * v->ns);
		tide__grid_real(g, pct(v->c->by_bound[b], v->c->length));
	}
	return g;
}

struct top {
	tide_str name;
	tide_cp_bound bound;
	int64_t time;
	uint64_t count;
};

static int by_time(const void *a, const void *b)
{
	const struct top *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	if (x->name.i != y->name.i)
		return x->name.i < y->name.i ? -1 : 1;
	return (int)x->bound - (int)y->bound;
}

/* Returns the time on the path by (name, bound). */
static struct top *collect(const tide_critical_view *v, size_t *n)
{
	struct top *t = tide__calloc(v->c->n_path + 1, sizeof *t);
	tide_map at = { 0 };
	*n = 0;
	for (size_t i = 0; t && i < v->c->n_path; i++) {
		const tide_cp_step *s = &v->c->path[i];
		if (!s->weight)
			continue;
		tide_str name = s->span.i ? v->m->spans.name[s->span.i] : (tide_str){ 0 };
		uint64_t key = (uint64_t)name.i << 8 | s->bound;
		uint32_t k = tide__map_get(&at, key);
		if (!k) {
			k = (uint32_t)++ * n;
			t[k - 1] = (struct top){ name, s->bound, 0, 0 };
			if (!tide__map_put(&at, key, k))
				break;
		}
		t[k - 1].time += s->weight;
		t[k - 1].count++;
	}
	tide__map_free(&at);
	if (t)
		qsort(t, *n, sizeof *t, by_time);
	return t;
}

const tide_member tide__critical_top_columns[] = {
	TIDE_COLUMN("name", "On the path", KERNEL, 0, "span"),
	TIDE_COLUMN("bound", "Bound by", TEXT, 0, "resource that bounds it"),
	{ "edges", "Edges", TIDE_KIND_COUNT, 5, .meaning = "edges of the path" },
	TIDE_COLUMN("time_ns", "Time", NS, 0, "time on the path"),
	TIDE_COLUMN("pct", "Share", PCT, 0, "of the path"),
	{ 0 },
};

tide_grid *tide__critical_view_top(const tide_critical_view *v)
{
	tide_grid *g = tide__grid_new(tide__critical_top_columns, 5);
	size_t n, most = v->top;
	struct top *t = collect(v, &n);
	for (size_t i = 0; t && i < n && (!most || i < most); i++) {
		size_t len;
		const char *name = tide__text(v->m, t[i].name, &len);
		tide__grid_textn(g, len ? name : "(launch)", len ? len : 8);
		tide__grid_text(g, tide__cp_bound_text(t[i].bound));
		tide__grid_uint(g, t[i].count);
		tide__grid_int(g, t[i].time * v->ns);
		tide__grid_real(g, pct(t[i].time, v->c->length));
	}
	tide__free(t);
	return g;
}

/* ---- JSON ---- */

static void json_types(tide_json *j, const tide_critical_view *v)
{
	tide__json_kobject(j, "edge_types");
	for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
		tide__json_kuint(j, tide__cp_edge_text((tide_cp_edge_type)t), v->c->edge_count[t]);
	tide__json_object_end(j);
	tide__json_kobject(j, "path_by_type_ns");
	for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
		tide__json_kint(j, tide__cp_edge_text((tide_cp_edge_type)t),
				v->c->by_type[t] * v->ns);
	tide__json_object_end(j);
}

void tide__critical_view_json(tide_json *j, const tide_critical_view *v)
{
	tide__json_kstr(j, "trace", v->file);
	tide__json_kstr(j, "annotation", v->annotation);
	tide__json_kbool(j, "found", v->c->found);
	tide__json_kstr(j, "why", v->c->why);
	tide__json_kint_if(j, "window_start_ns", v->c->window, v->c->start * v->ns);
	tide__json_kint_if(j, "window_ns", v->c->window, (v->c->end - v->c->start) * v->ns);
	tide__json_kint_if(j, "path_ns", v->c->found, v->c->length * v->ns);
	tide__json_kuint(j, "nodes", v->c->nodes);
	tide__json_kuint(j, "edges", v->c->edges);
	tide__json_kuint(j, "path_nodes", v->c->path_nodes);
	json_types(j, v);
	tide__grid_write_member(tide__critical_view_bounds(v), j, "bound_by");
	tide__grid_write_member(tide__critical_view_top(v), j, "top");
}

/* ---- running it ---- */

static bool has_steps(const tide_model *m)
{
	for (size_t s = 1; s < m->spans.n; s++)
		if (m->lanes.kind[m->spans.lane[s].i] != TIDE_LANE_STREAM &&
		    !strncmp(tide__text(m, m->spans.name[s], NULL), "ProfilerStep", 12))
			return true;
	return false;
}

const char *tide__critical_view_window(const tide_model *m)
{
	return has_steps(m) ? "ProfilerStep" : "";
}

tide_code tide__critical_view_run(const tide_model *m, bool compat,
				  const tide_critical_search_options *o, tide_critical_path *c,
				  tide_error *err)
{
	tide_compat_frame f;
	tide_code rc = compat ? tide__compat_frame_build(m, false, &f, err)
			      : tide__compat_frame_build_exact(m, &f, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__find_critical_path(m, &f, o, c, err);
	tide__compat_frame_free(&f);
	return rc;
}
