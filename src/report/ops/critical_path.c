// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* critical-path: the chain of work that determined the length of a step, and its bounding
 * resources. */
#include <inttypes.h>
#include <string.h>

#include "render/report/ops/critical_path.h"
#include "render/text/format.h"
#include "report/report.h"

enum { O_ANNOTATION, O_INSTANCE, O_DATA, O_COMPAT, O_TOP, O_PATH };
static const tide_option options[] = {
	[O_ANNOTATION] = { "annotation", 'a', TIDE_OPT_TEXT, "TEXT",
			   "the window is the spans whose name contains TEXT; '' = the whole "
			   "trace (default: ProfilerStep if there are steps, else the whole "
			   "trace)",
			   TIDE_FIELD(tide_critical_path_options, annotation) },
	[O_INSTANCE] = { "instance", 'i', TIDE_OPT_RANGE, "N|A..B",
			 "which occurrence of the annotation, counted from 0", .def = "0",
			 .pair = true, TIDE_FIELD(tide_critical_path_options, first) },
	[O_DATA] = { "data-loading", 0, TIDE_OPT_TEXT, "TEXT",
		     "count spans whose name contains TEXT as data loading",
		     TIDE_FIELD(tide_critical_path_options, data_loading) },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's own numbers (microseconds, its rounding)",
		       TIDE_FIELD(tide_critical_path_options, hta_compat) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "15", .whole = true,
		    TIDE_FIELD(tide_critical_path_options, top) },
	[O_PATH] = { "path", 0, TIDE_OPT_FLAG, NULL, "list every edge of the path",
		     TIDE_FIELD(tide_critical_path_options, path) },
};

struct critical {
	tide_critical_path c;
	tide_critical_view v;
	char annotation[256], data_loading[256];
	int64_t first, last; /* occurrences of the annotation that make the window */
	bool path;	     /* also every edge of the path */
};

/* ---- the window ---- */

/* Returns true if any span's name contains the text. */
static bool any_named(const tide_model *m, const char *part)
{
	for (size_t i = 1; i < m->spans.n; i++)
		if (strstr(tide__text(m, m->spans.name[i], NULL), part))
			return true;
	return false;
}

/* Writes the names of the first few annotations, separated by ", ". Returns buf. */
static const char *annotations(const tide_model *m, char *buf, size_t n)
{
	enum { MOST = 4 };
	tide_str seen[MOST + 1];
	size_t k = 0, used = 0;
	buf[0] = 0;
	for (size_t i = 1; i < m->spans.n && k <= MOST; i++) {
		size_t known = 0;
		if (m->spans.cat[i] != TIDE_CAT_USER)
			continue;
		while (known < k && seen[known].i != m->spans.name[i].i)
			known++;
		if (known < k)
			continue;
		seen[k++] = m->spans.name[i];
		used += (size_t)snprintf(buf + used, n - used, "%s%.60s", k > 1 ? ", " : "",
					 k > MOST ? "..." : tide__text(m, m->spans.name[i], NULL));
	}
	return buf;
}

/* The requested window is not in the trace. */
static tide_code no_window(const struct critical *x, const char *dashes, tide_error *err)
{
	char list[400];
	if (x->c.matches)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "'%.80s' is in the names of %" PRId64
				  " spans: %sinstance needs 0 to %" PRId64,
				  x->annotation, x->c.matches, dashes, x->c.matches - 1);
	annotations(x->v.m, list, sizeof list);
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			  "no span has '%.80s' in its name%s%s%s", x->annotation,
			  *list ? " (annotations it has: " : "", list, *list ? ")" : "");
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct critical *x = result;
	const tide_model *m = ask->models[0];
	const tide_value *v = ask->opt, *data = &v[O_DATA];
	bool compat = v[O_COMPAT].set;
	snprintf(x->annotation, sizeof x->annotation, "%s",
		 v[O_ANNOTATION].set ? v[O_ANNOTATION].text : tide__critical_view_window(m));
	if (data->set)
		snprintf(x->data_loading, sizeof x->data_loading, "%s", data->text);
	x->first = v[O_INSTANCE].num;
	x->last = v[O_INSTANCE].last;
	x->path = v[O_PATH].set;
	x->v = (tide_critical_view){ .file = tide__ask_file(ask, 0),
				     .m = m,
				     .c = &x->c,
				     .annotation = x->annotation,
				     .ns = compat ? 1000 : 1,
				     .top = (size_t)v[O_TOP].num };
	if (x->first > 0 && !*x->annotation) /* the whole trace is one window */
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "the trace has no steps: %sinstance needs %sannotation",
				  ask->dashes, ask->dashes);
	tide_critical_search_options o = { .annotation = x->annotation,
					   .first = x->first,
					   .last = x->last,
					   .data_loading = data->set ? x->data_loading : NULL };
	tide_code rc = tide__critical_view_run(m, compat, &o, &x->c, err);
	if (rc == TIDE_OK && *x->annotation && x->c.matches <= x->first)
		return no_window(x, ask->dashes, err);
	if (rc == TIDE_OK && data->set && !any_named(m, x->data_loading))
		return tide__fail(err, TIDE_OK, TIDE_NO_OFFSET,
				  "no span has '%.80s' in its name: no span counts as data loading",
				  x->data_loading);
	return rc;
}

/* ---- the path ---- */

static const tide_member edge_columns[] = {
	TIDE_COLUMN("start_ns", "At", NS, 0, "start"),
	TIDE_COLUMN("time_ns", "Time", NS, 0, "its time on the path"),
	TIDE_COLUMN("type", "Edge", TEXT, 0, "type of the edge"),
	TIDE_COLUMN("bound", NULL, TEXT, 0, "resource that bounds it"),
	TIDE_COLUMN("name", "Charged to", TEXT, TIDE_MAY_BE_NULL, "span that it counts for"),
	{ 0 },
};

static tide_grid *find_edges(const tide_critical_view *v)
{
	tide_grid *g = tide__grid_new(edge_columns, 5);
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

/* ---- text ---- */

static void print_grid(const tide_out *to, tide_grid *g, const char *title)
{
	fprintf(to->out, "\n%s\n", title);
	tide__grid_print(g, to->out, &to->style, 2);
	tide__grid_free(g);
}

static void print_top(const tide_critical_view *v, const tide_out *to)
{
	tide_critical_view every = *v;
	every.top = 0;
	tide_grid *all = tide__critical_view_top(&every);
	size_t n = tide__grid_rows(all);
	tide__grid_free(all);
	print_grid(to, tide__critical_view_top(v), "Where the time is");
	if (v->top && n > v->top)
		fprintf(to->out, "  %zu more row%s not shown (--top 0 shows all)\n", n - v->top,
			n - v->top == 1 ? " is" : "s are");
}

static void print_path(const struct critical *x, const tide_out *to)
{
	const tide_critical_view *v = &x->v;
	char window[32], length[32], rest[32], text[200];
	FILE *out = to->out;
	fprintf(out, "Critical path of %s", *v->annotation ? "\"" : "the whole trace");
	tide__put_text(to, v->annotation);
	fputs(*v->annotation ? "\"" : "", out);
	if (*v->annotation && v->c->matches > 1 && x->first == x->last)
		fprintf(out, ", number %" PRId64 " of 0 to %" PRId64 " (--instance)", x->first,
			v->c->matches - 1);
	fputc('\n', out);
	if (!v->c->found) {
		fprintf(out, "  none: %s\n", v->c->why ? v->c->why : "unknown");
		return;
	}
	tide__fmt_ns(window, sizeof window, (double)((v->c->end - v->c->start) * v->ns));
	tide__fmt_ns(length, sizeof length, (double)(v->c->length * v->ns));
	tide__fmt_ns(rest, sizeof rest, (double)((v->c->end - v->c->start - v->c->length) * v->ns));
	fprintf(out, "  window %s, path %s, %zu of %zu moments, %zu edges in all\n", window, length,
		v->c->path_nodes, v->c->nodes, v->c->edges);
	if (v->c->length > v->c->end - v->c->start)
		fputs("  longer than the window: the device continues with work launched in it\n",
		      out);
	else if (v->c->length < v->c->end - v->c->start) {
		snprintf(text, sizeof text,
			 "the other %s: nothing was recorded on the chain (between outermost ops), "
			 "or it "
			 "waited for work from before the window",
			 rest);
		fputs("  ", out);
		tide__put_words(out, text, 2, 2, to->style.width);
	}
	print_grid(to, tide__critical_view_bounds(v), "What bounds it");
	print_top(v, to);
	if (x->path)
		print_grid(to, find_edges(v), "Edge by edge");
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct critical *x = result;
	print_path(x, to);
	tide__put_model_losses(to, x->v.m);
	return TIDE_OK;
}

/* ---- JSON ---- */

static void json_events(tide_json *j, const tide_critical_view *v)
{
	tide__json_key(j, "path_events"); /* numbers of the events in the file, from 0 */
	tide__json_array(j);
	for (size_t i = 0; i < v->c->n_events; i++)
		tide__json_int(j, v->c->events[i]);
	tide__json_array_end(j);
}

static tide_code write_json(void *result, tide_json *j)
{
	struct critical *x = result;
	tide__critical_view_json(j, &x->v);
	json_events(j, &x->v);
	if (x->path)
		tide__grid_write_member(find_edges(&x->v), j, "path");
	tide__losses_json(j, x->v.m);
	return TIDE_OK;
}

static void free_critical(void *result)
{
	tide__critical_path_free(&((struct critical *)result)->c);
}

static const tide_member count = TIDE_MEMBER("", COUNT, "edges");
static const tide_member time = TIDE_MEMBER("", NS, "time on the path");
static const tide_member number = TIDE_MEMBER("", PLAIN, "number of an event");
static const tide_member members[] = {
	TIDE_MEMBER("trace", TEXT, "name of the trace"),
	TIDE_MEMBER("annotation", TEXT, "part of the names of the window's spans; '': all"),
	TIDE_MEMBER("found", BOOL, "there is a path"),
	TIDE_MEMBER_MAYBE("why", TEXT, "the reason if there is none"),
	TIDE_MEMBER_MAYBE("window_start_ns", AT, "start of the window"),
	TIDE_MEMBER_MAYBE("window_ns", NS, "its length"),
	TIDE_MEMBER_MAYBE("path_ns", NS, "length of the path"),
	TIDE_MEMBER("nodes", COUNT, "moments of the graph"),
	TIDE_MEMBER("edges", COUNT, "its edges"),
	TIDE_MEMBER("path_nodes", COUNT, "moments on the path"),
	TIDE_MEMBER_OF("edge_types", MAP, &count, "edges by their type"),
	TIDE_MEMBER_OF("path_by_type_ns", MAP, &time, "the path by the type of its edges"),
	TIDE_MEMBER_OF("bound_by", TABLE, tide__critical_bounds_columns,
		       "the path by resource that bounds it"),
	TIDE_MEMBER_OF("top", TABLE, tide__critical_top_columns, "the path by span"),
	TIDE_MEMBER_OF("path_events", LIST, &number,
		       "spans on the path: numbers of the events in the file, from 0"),
	{ "path", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = edge_columns,
	  .meaning = "with path: every edge" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_critical_path = {
	.name = "critical-path",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_RAW,
	.summary = "find the chain of work that determined the length of a step",
	.help = "Builds the graph of CPU ops, runtime calls and GPU work launched in one step, "
		"with launches, stream order and synchronisation as edges, and finds the longest "
		"path through it. The table shows how much of the path is CPU, GPU compute, "
		"communication, launch overhead and gaps between kernels.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_critical_path_options),
	.list = "ranks",
	.size = sizeof(struct critical),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_critical,
};
