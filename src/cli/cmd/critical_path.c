// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* critical-path: the chain of work that determined the length of a step, and its bounding
 * resources. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job/ranks.h"
#include "render/report/ops/critical_path.h"

enum { O_ANNOTATION, O_INSTANCE, O_DATA, O_COMPAT, O_TOP, O_PATH, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_ANNOTATION] = { "annotation", 'a', TIDE_OPT_TEXT, "TEXT",
			   "the window is the spans whose name contains TEXT; '' = the whole "
			   "trace (default: ProfilerStep if there are steps, else the whole "
			   "trace)" },
	[O_INSTANCE] = { "instance", 'i', TIDE_OPT_TEXT, "N|A..B",
			 "which occurrence of the annotation, counted from 0", .def = "0" },
	[O_DATA] = { "data-loading", 0, TIDE_OPT_TEXT, "TEXT",
		     "count spans whose name contains TEXT as data loading" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's own numbers (microseconds, its rounding)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "15" },
	[O_PATH] = { "path", 0, TIDE_OPT_FLAG, NULL, "list every edge of the path" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

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

/* Reports that the requested window is not in the trace. Returns 2. */
static int no_window(const tide_args *a, const char *file, const tide_model *m,
		     const tide_critical_search_options *o, int64_t matches)
{
	char list[400];
	if (matches)
		return tide__cli_fail_usage(a,
					    "%s: '%.80s' is in the names of %" PRId64
					    " spans: --instance needs 0 to %" PRId64,
					    file, o->annotation, matches, matches - 1);
	annotations(m, list, sizeof list);
	return tide__cli_fail_usage(a, "%s: no span has '%.80s' in its name%s%s%s", file,
				    o->annotation, *list ? " (annotations it has: " : "", list,
				    *list ? ")" : "");
}

/* Prints text, with the file's name if it is one of several, or adds a value to j. */
static void show(const tide_args *a, const tide_critical_view *v, tide_json *j, bool alone,
		 bool first)
{
	if (j) {
		tide__critical_view_report_json(v, j);
		return;
	}
	if (!alone) {
		fputs(first ? "" : "\n", a->out);
		tide__put_text(&a->to, v->file);
		fputc('\n', a->out);
	}
	tide__critical_view_text(v, &a->to);
}

/* Reports on one trace: text, or a value into j. Returns the exit status; 2 if the trace lacks the
 * requested window. */
static int one(const tide_args *a, const char *file, tide_critical_search_options o, tide_json *j,
	       bool alone, bool first)
{
	tide_model *m = tide__cli_load(a, file, TIDE_WANT_SPANS | TIDE_WANT_RAW);
	if (!m)
		return 1;
	o.annotation = a->opt[O_ANNOTATION].set ? a->opt[O_ANNOTATION].text
						: tide__critical_view_window(m);
	tide_critical_path c;
	tide_error err;
	bool compat = a->opt[O_COMPAT].set;
	int rc = 0;
	if (o.first > 0 && !*o.annotation) { /* the whole trace is one window */
		tide__model_free(m);
		return tide__cli_fail_usage(a,
					    "%s: the trace has no steps: --instance needs "
					    "--annotation",
					    file);
	}
	if (tide__critical_view_run(m, compat, &o, &c, &err) != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(file, &err);
	}
	bool missing = *o.annotation && c.matches <= o.first;
	if (missing)
		rc = no_window(a, file, m, &o, c.matches);
	else if (o.data_loading && !any_named(m, o.data_loading))
		tide__cli_note(
			"note: no span has '%.80s' in its name: no span counts as data loading",
			o.data_loading);
	tide_critical_view v = { file,
				 m,
				 &c,
				 o.annotation,
				 compat ? 1000 : 1,
				 tide__cli_top(&a->opt[O_TOP], j),
				 o.first,
				 o.last,
				 a->opt[O_PATH].set };
	if (!missing || !alone)
		show(a, &v, j, alone, first);
	tide__critical_path_free(&c);
	tide__model_free(m);
	return rc;
}

/* Reports on several traces: a rank that is unreadable, or lacks the requested window, is reported
 * and does not stop the rest. */
static int several(const tide_args *a, const tide_rank_files *f,
		   const tide_critical_search_options *o, tide_json *j)
{
	size_t good = 0, without = 0;
	if (j) {
		tide__json_object(j);
		tide__json_karray(j, "ranks");
	}
	for (size_t i = 0; i < f->n; i++) {
		int rc = one(a, f->v[i].path, *o, j, false, !good && !without);
		good += rc == 0;
		without += rc == 2;
	}
	if (j) {
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	return good ? 0 : without == f->n ? 2 : 1;
}

static int run(const tide_args *a)
{
	tide_critical_search_options o = { .data_loading = a->opt[O_DATA].text };
	tide_rank_files f;
	tide_error err;
	tide_json json, *j = a->opt[O_JSON].set ? &json : NULL;
	if (!parse_instance(a->opt[O_INSTANCE].text, &o.first, &o.last))
		return tide__cli_fail_usage(a, "--instance needs N or A..B, not '%s'",
					    a->opt[O_INSTANCE].text);
	if (a->n_files == 1 && !strcmp(a->files[0], "-")) {
		if (j)
			tide__json_begin(j, a->out, true);
		int rc = one(a, "-", o, j, true, true);
		if (j && !rc)
			tide__json_end(j);
		return rc ? rc : tide__cli_finish(a);
	}
	if (tide__ranks_expand(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	if (j)
		tide__json_begin(j, a->out, true);
	int rc = f.n == 1 ? one(a, f.v[0].path, o, j, true, true) : several(a, &f, &o, j);
	if (j && (!rc || f.n > 1))
		tide__json_end(j);
	tide__ranks_free(&f);
	return rc ? rc : tide__cli_finish(a);
}

const tide_command tide__cmd_critical_path = {
	.name = "critical-path",
	.usage = "TRACE... [--annotation TEXT] [--instance N]",
	.summary = "find the chain of work that determined the length of a step",
	.help = "Builds the graph of CPU ops, runtime calls and GPU work launched in one step, "
		"with launches, stream order and synchronisation as edges, and finds the longest "
		"path through it. The table shows how much of the path is CPU, GPU compute, "
		"communication, launch overhead and gaps between kernels.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
