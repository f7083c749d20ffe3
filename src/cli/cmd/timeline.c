// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* timeline: active time of CPU and GPU and their overlap, per lane and stream. */
#include "cli/cli.h"

#include <string.h>

#include "base/error.h"
#include "cli/decimal.h"
#include "cli/job/ranks.h"
#include "render/report/ops/timeline.h"

enum { O_JSON, O_OUTPUT, O_TOP, O_EVENTS, O_MIN_US, O_NO_PYTHON, O_NO_RUNTIME };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "lanes to show, 0 = all; JSON has all",
		    .def = "20" },
	[O_EVENTS] = { "events", 0, TIDE_OPT_FLAG, NULL, "with --json: every span too" },
	[O_MIN_US] = { "min-duration-us", 0, TIDE_OPT_TEXT, "US",
		       "leave out shorter spans (default 0)" },
	[O_NO_PYTHON] = { "no-python", 0, TIDE_OPT_FLAG, NULL, "leave out Python functions" },
	[O_NO_RUNTIME] = { "no-runtime", 0, TIDE_OPT_FLAG, NULL,
			   "leave out runtime and driver calls" },
};

static int one(const tide_args *a, const char *file, const tide_timeline_options *o, tide_json *j,
	       bool list)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_timeline t = { 0 };
	char name[600];
	tide_model *m = tide__cli_load(a, file, TIDE_WANT_SPANS);
	if (!m)
		return 1;
	tide_code code = tide__find_timeline(m, o, &t, &err);
	if (code == TIDE_OK && list && !j)
		tide__write_heading(&a->to, "%s",
				    tide__fmt_name(name, sizeof name, file, strlen(file), 0));
	if (code == TIDE_OK)
		code = j ? tide__timeline_json(m, &t, o, file, a->opt[O_EVENTS].set, j)
			 : tide__timeline_text(m, &t, (size_t)a->opt[O_TOP].num, &a->to);
	if (code == TIDE_ENOMEM)
		tide__nomem(&err);
	tide__timeline_free(&t);
	tide__model_free(m);
	return code == TIDE_OK ? 0 : tide__cli_fail(file, &err);
}

static int read_options(const tide_args *a, tide_timeline_options *o)
{
	*o = (tide_timeline_options){ .no_python = a->opt[O_NO_PYTHON].set,
				      .no_runtime = a->opt[O_NO_RUNTIME].set };
	if (a->opt[O_EVENTS].set && !a->opt[O_JSON].set)
		return tide__cli_fail_usage(a, "--events goes with --json");
	if (a->opt[O_MIN_US].set && !tide__parse_decimal(a->opt[O_MIN_US].text, 3, &o->min_ns))
		return tide__cli_fail_usage(
			a, "--min-duration-us: '%.60s' is not a number of microseconds",
			a->opt[O_MIN_US].text);
	return 0;
}

/* Writes one document for one trace, a list for several. Unreadable ones are reported and left
 * out. */
static int all(const tide_args *a, const tide_rank_files *files, const tide_timeline_options *o)
{
	bool json = a->opt[O_JSON].set, list = files->n > 1;
	size_t done = 0;
	tide_json j;
	tide__json_begin(&j, a->out, !a->opt[O_EVENTS].set);
	if (list && json) {
		tide__json_object(&j);
		tide__json_karray(&j, "traces");
	}
	for (size_t i = 0; i < files->n; i++)
		done += !one(a, files->v[i].path, o, json ? &j : NULL, list);
	if (list && json) {
		tide__json_array_end(&j);
		tide__json_kuint(&j, "failed", files->n - done);
		tide__json_object_end(&j);
	}
	if (!done)
		return 1;
	if (json)
		tide__json_end(&j);
	if (done < files->n)
		tide__cli_note("tidemark timeline: %zu of %zu traces could not be read",
			       files->n - done, files->n);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_file piped = { .path = a->files[0] };
	tide_rank_files files = { .v = &piped, .n = 1 };
	tide_timeline_options o;
	int rc = read_options(a, &o);
	if (rc)
		return rc;
	if (a->n_files == 1 && !strcmp(a->files[0], "-"))
		return all(a, &files, &o);
	files = (tide_rank_files){ 0 };
	if (tide__ranks_expand(a->files, a->n_files, &files, &err) == TIDE_OK)
		rc = all(a, &files, &o);
	else
		rc = tide__cli_fail(NULL, &err);
	tide__ranks_free(&files);
	return rc;
}

const tide_command tide__cmd_timeline = {
	.name = "timeline",
	.usage = "TRACE... [--json [--events]] [-o FILE]",
	.summary = "show when CPU and GPU were active, and their overlap",
	.help = "Active time is the union of all spans of a side, so nested and concurrent ones "
		"count once; overlap is the intersection of the two unions. User ranges, sync rows "
		"and the profiler's own overhead are not work. A strip shows a lane over time: the "
		"height of a cell is the active share of its interval.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "timeline",
};
