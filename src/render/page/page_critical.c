// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The critical path's section: the document of `tidemark critical-path --json`, and the path's
 * longest edges, in order of time, in columns. */
#include "render/report/ops/critical_path.h"

#include <stdlib.h>

#include "base/mem.h"
#include "render/page/page_parts.h"

enum { MOST_EDGES = 2000, TOP = 200 };

static void enum_texts(tide_json *j)
{
	tide__json_karray(j, "types");
	for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
		tide__json_str(j, tide__cp_edge_text((tide_cp_edge_type)t));
	tide__json_array_end(j);
	tide__json_karray(j, "bounds");
	for (int b = 0; b < TIDE_CP_BOUND_COUNT; b++)
		tide__json_str(j, tide__cp_bound_text((tide_cp_bound)b));
	tide__json_array_end(j);
}

static int longest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the weight from which on edges are shown: that of the MOST_EDGES-th longest, at least
 * 1; -1 if memory runs out. `equals`: how many of exactly that weight fit in addition to all
 * longer ones. */
static int64_t least_shown(const tide_critical_path *c, size_t *equals)
{
	int64_t *w = tide__alloc(c->n_path, sizeof *w), least = 1;
	*equals = MOST_EDGES;
	if (!w)
		return -1;
	for (size_t i = 0; i < c->n_path; i++)
		w[i] = c->path[i].weight;
	if (c->n_path > MOST_EDGES) {
		qsort(w, c->n_path, sizeof *w, longest_first);
		least = w[MOST_EDGES - 1] > 1 ? w[MOST_EDGES - 1] : 1;
		for (size_t i = 0; i < MOST_EDGES && w[i] > least; i++)
			--*equals;
	}
	tide__free(w);
	return least;
}

struct left_out {
	uint64_t edges;
	int64_t time;
};

static struct left_out edges(tide_box *b, const tide_critical_view *v, int64_t least, size_t equals,
			     tide_page_names *names)
{
	struct left_out out = { 0 };
	int t0 = tide__box_column(b, "t0", TIDE_COL_DELTA);
	int dur = tide__box_column(b, "dur", TIDE_COL_UINT);
	int type = tide__box_column(b, "type", TIDE_COL_BYTE);
	int bound = tide__box_column(b, "bound", TIDE_COL_BYTE);
	int name = tide__box_column(b, "name", TIDE_COL_UINT);
	for (size_t i = 0; i < v->c->n_path; i++) {
		const tide_cp_step *s = &v->c->path[i];
		if (s->weight < least || (s->weight == least && !equals)) {
			out.edges += s->weight > 0;
			out.time += s->weight;
			continue;
		}
		equals -= s->weight == least;
		tide__box_put(b, t0, s->t0 * v->ns);
		tide__box_put(b, dur, s->weight * v->ns);
		tide__box_put(b, type, s->type);
		tide__box_put(b, bound, s->bound);
		tide__box_put(b, name, tide__page_name(names, b, v->m->spans.name[s->span.i]));
	}
	return out;
}

static bool path(tide_box *b, const tide_critical_view *v, tide_json *j)
{
	tide_page_names names = { 0 };
	size_t equals;
	int64_t least = least_shown(v->c, &equals);
	bool ok = least > 0 && tide__page_names_init(&names, v->m);
	if (ok) {
		struct left_out out = edges(b, v, least, equals, &names);
		tide__json_kuint(j, "path_left_out", out.edges);
		tide__json_kint(j, "path_left_out_ns", out.time * v->ns);
		tide__page_names_json(&names, v->m, "names", j);
	}
	tide__page_names_free(&names);
	return ok;
}

bool tide__page_critical(tide_box *b, const tide_model *m, const tide_page_options *opt,
			 tide_error *err)
{
	static const tide_critical_path none = { .why = "unknown" };
	tide_json *j = tide__box_json(b);
	tide_critical_path skipped = none;
	if (!opt->critical && !opt->critical_why)
		return true;
	skipped.why = opt->critical_why;
	tide_critical_view v = { "",
				 opt->critical ? opt->critical_model : m,
				 opt->critical ? opt->critical : &skipped,
				 opt->critical ? tide__critical_view_window(opt->critical_model)
					       : "",
				 1,
				 TOP };
	tide__json_object(j);
	tide__critical_view_json(j, &v);
	bool ok = path(b, &v, j);
	enum_texts(j);
	tide__json_object_end(j);
	return ok;
}
