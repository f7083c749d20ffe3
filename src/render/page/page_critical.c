// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The critical path's section: the document of `tidemark critical-path --json`, and the path's
 * longest edges, in order of time, in columns. */
#include "render/report/ops/critical_path.h"

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

static void edges(tide_box *b, const tide_critical_view *v, const tide_cp_longest *l,
		  tide_page_names *names)
{
	int t0 = tide__box_add_column(b, "t0", TIDE_COL_DELTA);
	int dur = tide__box_add_column(b, "dur", TIDE_COL_UINT);
	int type = tide__box_add_column(b, "type", TIDE_COL_BYTE);
	int bound = tide__box_add_column(b, "bound", TIDE_COL_BYTE);
	int name = tide__box_add_column(b, "name", TIDE_COL_UINT);
	for (size_t i = 0; i < l->n; i++) {
		const tide_cp_step *s = &v->c->path[l->step[i]];
		tide__box_put(b, t0, s->t0 * v->ns);
		tide__box_put(b, dur, s->weight * v->ns);
		tide__box_put(b, type, s->type);
		tide__box_put(b, bound, s->bound);
		tide__box_put(b, name, tide__page_name(names, b, v->m->spans.name[s->span.i]));
	}
}

static bool path(tide_box *b, const tide_critical_view *v, tide_json *j)
{
	tide_page_names names = { 0 };
	tide_cp_longest l;
	bool ok = tide__critical_find_longest(v->c, MOST_EDGES, &l) &&
		  tide__page_names_init(&names, v->m);
	if (ok) {
		edges(b, v, &l, &names);
		tide__json_kuint(j, "path_left_out", l.left_out);
		tide__json_kint(j, "path_left_out_ns", l.left_out_time * v->ns);
		tide__page_names_json(&names, v->m, "names", j);
	}
	tide__page_names_free(&names);
	tide__critical_longest_free(&l);
	return ok;
}

bool tide__page_write_critical(tide_box *b, const tide_model *m, const tide_page_options *opt,
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
