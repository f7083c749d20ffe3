// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* flame: where the time or the memory went, as a tree of paths. */
#include "cli/cli.h"

#include <string.h>

#include "cli/decimal.h"
#include "cli/job/ranks.h"
#include "cli/output/page.h"
#include "cli/select.h"
#include "render/report/ops/flame.h"

enum {
	O_KIND,
	O_JSON,
	O_OUTPUT,
	O_TOP,
	O_HOT,
	O_MIN_US,
	O_MIN_BYTES,
	O_SMALL,
	O_DEPTH,
	O_MERGE,
	O_STEPS,
	O_BY,
	O_ALLOCATED,
	O_DEVICE
};
static const tide_option options[] = {
	[O_KIND] = { "kind", 'k', TIDE_OPT_ENUM, "cpu,gpu,memory",
		     "the weight: host time, device time, bytes (default: gpu if the trace has "
		     "device work, else cpu, else memory)" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "40" },
	[O_HOT] = { "hot", 0, TIDE_OPT_FLAG, NULL,
		    "list the paths with the largest self value "
		    "instead of the tree" },
	[O_MIN_US] = { "min-duration-us", 0, TIDE_OPT_TEXT, "US",
		       "fold nodes below this into [small] (default 0)" },
	[O_MIN_BYTES] = { "min-bytes", 0, TIDE_OPT_BYTES, "BYTES",
			  "the same for --kind memory (default 0)" },
	[O_SMALL] = { "group-small", 0, TIDE_OPT_TEXT, "PCT",
		      "fold device work below PCT % of the total into [small kernels] (default "
		      "0)" },
	[O_DEPTH] = { "max-depth", 0, TIDE_OPT_INT, "N",
		      "levels to keep, 1 to 1000; deeper ones count for their ancestor",
		      .def = "200", .least = 1, .most = TIDE_FLAME_DEEP },
	[O_MERGE] = { "merge", 'm', TIDE_OPT_FLAG, NULL, "cpu: one tree for all threads" },
	[O_STEPS] = { "merge-steps", 0, TIDE_OPT_FLAG, NULL, "merge all ProfilerStep#N" },
	[O_BY] = { "by", 0, TIDE_OPT_ENUM, "auto,stack,op",
		   "memory: call stacks or op paths; auto: stacks if there are any",
		   .def = "auto" },
	[O_ALLOCATED] = { "allocated", 0, TIDE_OPT_FLAG, NULL,
			  "memory: all bytes ever allocated instead of those alive at the peak" },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory: of this device (default: the highest peak)" },
};

static int read_options(const tide_args *a, tide_flame_options *o)
{
	const tide_value *v = a->opt;
	int64_t n = 0;
	*o = (tide_flame_options){
		.kind = (tide_flame_kind)v[O_KIND].num,
		.merge = v[O_MERGE].set,
		.merge_steps = v[O_STEPS].set,
		.allocated = v[O_ALLOCATED].set,
		.by = (tide_flame_by)v[O_BY].num,
	};
	o->max_depth = (uint32_t)v[O_DEPTH].num;
	if (v[O_MIN_US].set && !tide__parse_decimal(v[O_MIN_US].text, 3, &n))
		return tide__cli_fail_usage(a,
					    "--min-duration-us: '%.60s' is not a number of "
					    "microseconds",
					    v[O_MIN_US].text);
	o->min_value = (uint64_t)n;
	n = 0;
	if (v[O_SMALL].set && (!tide__parse_decimal(v[O_SMALL].text, 4, &n) || n > 1000000))
		return tide__cli_fail_usage(
			a, "--group-small: '%.60s' is not a percentage from 0 to 100",
			v[O_SMALL].text);
	o->small_ppm = (uint32_t)n;
	return 0;
}

/* Completes the options by what the trace has. */
static int settle(const tide_args *a, const tide_model *m, tide_flame_options *o)
{
	if (!a->opt[O_KIND].set)
		o->kind = tide__flame_mostly(m);
	if (o->kind != TIDE_FLAME_MEMORY && m->axis == TIDE_AXIS_OPS)
		return tide__cli_fail_usage(
			a, "the trace has no clock, hence no times: --kind memory");
	if (o->kind == TIDE_FLAME_MEMORY)
		o->min_value = a->opt[O_MIN_BYTES].set ? (uint64_t)a->opt[O_MIN_BYTES].num : 0;
	if (!a->opt[O_DEVICE].set)
		return 0;
	o->device = tide__device_find(m, a->opt[O_DEVICE].text);
	return o->device ? 0 : tide__cli_fail_no_device(a, m, a->opt[O_DEVICE].text);
}

static int build(const tide_args *a, const char *file, const tide_model *m,
		 const tide_flame_options *base, tide_flame **f)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_flame_options o = *base;
	int rc = settle(a, m, &o);
	if (rc)
		return rc;
	return tide__find_flame(m, &o, f, &err) == TIDE_OK ? 0 : tide__cli_fail(file, &err);
}

/* Writes the tree as a page: that of --kind or --allocated alone, else all, the default one first. */
static int write_page(const tide_args *a, const char *file, const tide_flame_options *base)
{
	tide_flame_options o = *base;
	if (!tide__cli_page_built(a))
		return 1;
	tide_model *m = tide__cli_load(a, file, tide__cli_page_wants(file));
	int rc = m ? settle(a, m, &o) : 1;
	if (!rc)
		rc = tide__cli_write_flame_page(a, m, &o, a->opt[O_KIND].set || o.allocated);
	tide__model_free(m);
	return rc;
}

static int print(const tide_args *a, const tide_flame *f, const tide_model *m)
{
	tide_flame_view v = { .file = a->files[0],
			      .top = (size_t)a->opt[O_TOP].num,
			      .hot = a->opt[O_HOT].set,
			      .allocated = a->opt[O_ALLOCATED].set };
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, false);
		tide__flame_report_json(f, m, &v, &j);
		return tide__cli_json_end(a, &j);
	}
	if (tide__flame_report_text(f, m, &v, &a->to))
		return tide__cli_finish(a);
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	return tide__cli_fail(a->files[0], &err);
}

/* Returns what to load for the requested graph. */
static unsigned wanted(const tide_args *a)
{
	bool time = a->opt[O_KIND].set && a->opt[O_KIND].num != TIDE_FLAME_MEMORY;
	return time ? TIDE_WANT_SPANS : 0;
}

static int one_trace(const tide_args *a, const char *file, const tide_flame_options *o)
{
	tide_flame *f = NULL;
	if (tide__cli_named_page(a))
		return write_page(a, file, o);
	tide_model *m = tide__cli_load(a, file, wanted(a));
	if (!m)
		return 1;
	int rc = build(a, file, m, o, &f);
	if (!rc)
		rc = print(a, f, m);
	tide__flame_free(f);
	tide__model_free(m);
	return rc;
}

/* Adds the tree of one more trace; its model is freed afterwards. */
static int join(const tide_args *a, const char *file, const tide_flame_options *o, size_t done,
		tide_flame *all)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_flame *f = NULL;
	tide_model *m = tide__cli_load(a, file, wanted(a));
	int rc = m ? build(a, file, m, o, &f) : 1;
	if (!rc && done && f->kind != all->kind)
		rc = tide__cli_fail_usage(a, "the traces hold different data: choose --kind");
	if (!rc && !tide__flame_join(all, f, file))
		rc = tide__cli_fail(file, &err);
	if (!rc && !a->opt[O_JSON].set)
		tide__cli_print_losses(a, m);
	tide__flame_free(f);
	tide__model_free(m);
	return rc;
}

/* Joins several traces into one tree with a branch for each. Unreadable ones are reported and left
 * out. */
static int many_traces(const tide_args *a, const tide_rank_files *files,
		       const tide_flame_options *o)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_flame *all = tide__flame_new("all traces");
	size_t done = 0;
	int rc = all ? 0 : tide__cli_fail(NULL, &err);
	for (size_t i = 0; i < files->n && rc != 2 && all; i++) {
		rc = join(a, files->v[i].path, o, done, all);
		done += !rc;
	}
	if (done && rc != 2) {
		rc = tide__flame_finish(all) ? print(a, all, NULL) : tide__cli_fail(NULL, &err);
		if (done < files->n)
			tide__cli_note("tidemark flame: %zu of %zu traces could not be read",
				       files->n - done, files->n);
	}
	tide__flame_free(all);
	return rc;
}

static int run(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files files = { 0 };
	tide_flame_options o;
	int rc = read_options(a, &o);
	if (rc)
		return rc;
	if (a->n_files == 1 && !strcmp(a->files[0], "-"))
		return one_trace(a, "-", &o);
	if (tide__ranks_expand(a->files, a->n_files, &files, &err) != TIDE_OK)
		rc = tide__cli_fail(NULL, &err);
	else if (files.n != 1 && tide__cli_named_page(a))
		rc = tide__cli_fail_usage(a, "a page of one view shows one trace: name one file "
					     "(`tidemark report` has all ranks)");
	else
		rc = files.n == 1 ? one_trace(a, files.v[0].path, &o) : many_traces(a, &files, &o);
	tide__ranks_free(&files);
	return rc;
}

const tide_command tide__cmd_flame = {
	.name = "flame",
	.usage = "TRACE... [--kind cpu|gpu|memory] [--json] [-o FILE]",
	.summary = "show where time or memory went, as a tree of paths",
	.help = "cpu is the real nesting of ops, calls and Python functions on each thread; gpu "
		"puts each kernel, copy and fill under the ops and Python functions that "
		"launched it; memory shows the bytes alive at the peak by call stack or op. "
		"Totals are exact: a node's total is its self value plus its children. `-o "
		"x.html` draws it; `tidemark export` writes it for speedscope and pprof.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "", /* with options */
};
