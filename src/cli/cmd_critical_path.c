// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* critical-path: the chain of work that decided how long a step took, and what bounds it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/critpath.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/ranks.h"

enum { O_ANNOTATION, O_INSTANCE, O_DATA, O_COMPAT, O_TOP, O_PATH, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_ANNOTATION] = { "annotation", 'a', TIDE_OPT_TEXT, "TEXT",
			   "spans whose name contains TEXT make the window; '' = the whole trace "
			   "(default ProfilerStep where there are steps, else the whole trace)" },
	[O_INSTANCE] = { "instance", 'i', TIDE_OPT_TEXT, "N|A..B",
			 "which occurrence of the annotation, counted from 0", .def = "0" },
	[O_DATA] = { "data-loading", 0, TIDE_OPT_TEXT, "TEXT",
		     "count spans whose name contains TEXT as data loading" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's own numbers (microseconds, its rounding)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "spans to show", .def = "15" },
	[O_PATH] = { "path", 0, TIDE_OPT_FLAG, NULL, "list every edge of the path" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" },
};

struct view {
	const tide_args *a;
	const char *file;
	const tide_model *m;
	const tide_critpath *c;
	const char *annotation;
	int64_t ns; /* ns in one unit of the frame */
};

static double pct(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- grids ---- */

static tide_grid *bounds(const struct view *v)
{
	static const tide_grid_col cols[] = {
		{ "bound", "Bound by", TIDE_CELL_TEXT },
		{ "time_ns", "Time", TIDE_CELL_NS },
		{ "pct", "Share", TIDE_CELL_PCT },
	};
	tide_grid *g = tide__grid_new(cols, 3);
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
	return (x->name.i > y->name.i) - (x->name.i < y->name.i);
}

/* Time on the path by (name, bound). */
static struct top *collect(const struct view *v, size_t *n)
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

static tide_grid *tops(const struct view *v)
{
	static const tide_grid_col cols[] = {
		{ "name", "On the path", TIDE_CELL_TEXT }, { "bound", "Bound by", TIDE_CELL_TEXT },
		{ "edges", "Edges", TIDE_CELL_COUNT, 5 },  { "time_ns", "Time", TIDE_CELL_NS },
		{ "pct", "Share", TIDE_CELL_PCT },
	};
	tide_grid *g = tide__grid_new(cols, 5);
	size_t n, most = (size_t)v->a->opt[O_TOP].num;
	struct top *t = collect(v, &n);
	for (size_t i = 0; t && i < n && i < most; i++) {
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

static tide_grid *edges(const struct view *v)
{
	static const tide_grid_col cols[] = {
		{ "start_ns", "At", TIDE_CELL_NS },	  { "time_ns", "Time", TIDE_CELL_NS },
		{ "type", "Edge", TIDE_CELL_TEXT },	  { "bound", NULL, TIDE_CELL_TEXT },
		{ "name", "Charged to", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 5);
	for (size_t i = 0; i < v->c->n_path; i++) {
		const tide_cp_step *s = &v->c->path[i];
		size_t len;
		const char *name =
			s->span.i ? tide__text(v->m, v->m->spans.name[s->span.i], &len) : NULL;
		tide__grid_int(g, s->t0 * v->ns);
		tide__grid_int(g, s->weight * v->ns);
		tide__grid_text(g, tide__cp_edge_text(s->type));
		tide__grid_text(g, tide__cp_bound_text(s->bound));
		name ? tide__grid_textn(g, name, len) : tide__grid_none(g);
	}
	return g;
}

/* ---- output ---- */

static void print_grid(const struct view *v, tide_grid *g, const char *title)
{
	fprintf(v->a->out, "\n%s\n", title);
	tide__grid_print(g, v->a->out, &v->a->style, 2);
	tide__grid_free(g);
}

static void print_text(const struct view *v)
{
	char window[32], length[32];
	FILE *out = v->a->out;
	fprintf(out, "Critical path of %s%s%s\n", *v->annotation ? "\"" : "",
		*v->annotation ? v->annotation : "the whole trace", *v->annotation ? "\"" : "");
	if (!v->c->found) {
		fprintf(out, "  none: %s\n", v->c->why ? v->c->why : "unknown");
		return;
	}
	tide__fmt_ns(window, sizeof window, (double)((v->c->end - v->c->start) * v->ns));
	tide__fmt_ns(length, sizeof length, (double)(v->c->length * v->ns));
	fprintf(out, "  window %s, path %s, %zu of %zu moments, %zu edges in all\n", window, length,
		v->c->path_nodes, v->c->nodes, v->c->edges);
	print_grid(v, bounds(v), "What bounds it");
	print_grid(v, tops(v), "Where the time is");
	if (v->a->opt[O_PATH].set)
		print_grid(v, edges(v), "Edge by edge");
}

static void json_grid(tide_json *j, const char *key, tide_grid *g)
{
	tide__json_key(j, key);
	tide__grid_json(g, j);
	tide__grid_free(g);
}

static void json_types(tide_json *j, const struct view *v)
{
	tide__json_key(j, "edge_types");
	tide__json_object(j);
	for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
		tide__json_kuint(j, tide__cp_edge_text((tide_cp_edge_type)t), v->c->edge_count[t]);
	tide__json_object_end(j);
	tide__json_key(j, "path_by_type_ns");
	tide__json_object(j);
	for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
		tide__json_kint(j, tide__cp_edge_text((tide_cp_edge_type)t),
				v->c->by_type[t] * v->ns);
	tide__json_object_end(j);
}

static void json_events(tide_json *j, const struct view *v)
{
	tide__json_key(j, "path_events"); /* numbers of the events in the file, from 0 */
	tide__json_array(j);
	for (size_t i = 0; i < v->c->n_events; i++)
		tide__json_int(j, v->c->events[i]);
	tide__json_array_end(j);
}

static void put_json(tide_json *j, const struct view *v)
{
	tide__json_object(j);
	tide__json_kstr(j, "trace", v->file);
	tide__json_kstr(j, "annotation", v->annotation);
	tide__json_kbool(j, "found", v->c->found);
	tide__json_kstr(j, "why", v->c->why);
	tide__json_kint(j, "window_start_ns", v->c->start * v->ns);
	tide__json_kint(j, "window_ns", (v->c->end - v->c->start) * v->ns);
	tide__json_kint(j, "path_ns", v->c->length * v->ns);
	tide__json_kuint(j, "nodes", v->c->nodes);
	tide__json_kuint(j, "edges", v->c->edges);
	tide__json_kuint(j, "path_nodes", v->c->path_nodes);
	json_types(j, v);
	json_grid(j, "bound_by", bounds(v));
	json_grid(j, "top", tops(v));
	json_events(j, v);
	if (v->a->opt[O_PATH].set)
		json_grid(j, "path", edges(v));
	tide__cli_losses_json(j, v->m);
	tide__json_object_end(j);
}

/* ---- the command ---- */

/* "3" or "3..5". */
static bool parse_instance(const char *s, int64_t *first, int64_t *last)
{
	char *end;
	*first = *last = strtoll(s, &end, 10);
	if (end == s || *first < 0)
		return false;
	if (!strncmp(end, "..", 2)) {
		s = end + 2;
		*last = strtoll(s, &end, 10);
		if (end == s)
			return false;
	}
	return !*end && *last >= *first;
}

static bool has_steps(const tide_model *m)
{
	for (size_t s = 1; s < m->spans.n; s++)
		if (!strncmp(tide__text(m, m->spans.name[s], NULL), "ProfilerStep", 12))
			return true;
	return false;
}

static tide_code analyze(const tide_model *m, bool compat, const tide_critpath_options *o,
			 tide_critpath *c, tide_error *err)
{
	tide_compat_frame f;
	tide_code rc = compat ? tide__compat_frame_build(m, false, &f, err)
			      : tide__compat_frame_exact(m, &f, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__critpath(m, &f, o, c, err);
	tide__compat_frame_free(&f);
	return rc;
}

/* One trace: text, or a value into j. Exit status. */
static int one(const tide_args *a, const char *file, tide_critpath_options o, tide_json *j)
{
	tide_model *m = tide__cli_load(a, file, TIDE_WANT_SPANS | TIDE_WANT_RAW);
	if (!m)
		return 1;
	o.annotation = a->opt[O_ANNOTATION].set ? a->opt[O_ANNOTATION].text
		       : has_steps(m)		? "ProfilerStep"
						: "";
	tide_critpath c;
	tide_error err;
	bool compat = a->opt[O_COMPAT].set;
	if (analyze(m, compat, &o, &c, &err) != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(file, &err);
	}
	struct view v = { a, file, m, &c, o.annotation, compat ? 1000 : 1 };
	if (j)
		put_json(j, &v);
	else {
		print_text(&v);
		tide__cli_losses(a, m);
	}
	tide__critpath_free(&c);
	tide__model_free(m);
	return 0;
}

/* Several traces: a rank that cannot be read is told and does not stop the rest. */
static int several(const tide_args *a, const tide_rank_files *f, const tide_critpath_options *o,
		   tide_json *j)
{
	size_t good = 0;
	if (j) {
		tide__json_object(j);
		tide__json_key(j, "ranks");
		tide__json_array(j);
	}
	for (size_t i = 0; i < f->n; i++) {
		if (!j)
			fprintf(a->out, "%s%s\n", i ? "\n" : "", f->v[i].path);
		good += one(a, f->v[i].path, *o, j) == 0;
	}
	if (j) {
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	return good ? 0 : 1;
}

static int run(const tide_args *a)
{
	tide_critpath_options o = { .data_loading = a->opt[O_DATA].text };
	tide_rank_files f;
	tide_error err;
	tide_json json, *j = a->opt[O_JSON].set ? &json : NULL;
	if (!parse_instance(a->opt[O_INSTANCE].text, &o.first, &o.last))
		return tide__cli_usage(a, "--instance wants N or A..B, not '%s'",
				       a->opt[O_INSTANCE].text);
	if (a->n_files == 1 && !strcmp(a->files[0], "-")) {
		if (j)
			tide__json_begin(j, a->out, true);
		int rc = one(a, "-", o, j);
		if (j && !rc)
			tide__json_end(j);
		return rc ? rc : tide__cli_done(a);
	}
	if (tide__ranks_expand(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	if (j)
		tide__json_begin(j, a->out, true);
	int rc = f.n == 1 ? one(a, f.v[0].path, o, j) : several(a, &f, &o, j);
	if (j && !rc)
		tide__json_end(j);
	tide__ranks_free(&f);
	return rc ? rc : tide__cli_done(a);
}

const tide_command tide__cmd_critical_path = {
	.name = "critical-path",
	.usage = "TRACE... [--annotation TEXT] [--instance N]",
	.summary = "find the chain of work that decided how long a step took",
	.help = "Builds the graph of CPU ops, runtime calls and GPU work launched in one step, "
		"with launches,\n"
		"stream order and synchronisation as edges, and finds the longest path through it. "
		"The table says\n"
		"how much of the path is CPU, GPU compute, communication, launch overhead and gaps "
		"between kernels.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
