// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* diff: what changed from one trace to another, and whether it changed too much. */
#include <inttypes.h>
#include <string.h>

#include "analyze/diff.h"
#include "analyze/failif.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/diff_compat.h"
#include "cli/names.h"
#include "cli/ranks.h"
#include "render/diffview.h"

enum { O_FAIL_IF, O_JSON, O_OUTPUT, O_TOP, O_NO_LINES, O_DEVICE, O_RANK, O_COMPAT, O_SIDE };
static const tide_option options[] = {
	[O_FAIL_IF] = { "fail-if", 'f', TIDE_OPT_TEXT, "EXPR",
			"exit with status 3 when EXPR holds, e.g. 'peak>+2%'; may be given again",
			.many = true },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows a table, 0 = all (default 10; JSON has all)", .def = "10" },
	[O_NO_LINES] = { "no-lines", 0, TIDE_OPT_FLAG, NULL,
			 "match call stacks by function and file, whatever the line" },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory of this device (default: the highest peak of each trace)" },
	[O_RANK] = { "rank", 'r', TIDE_OPT_INT, "N",
		     "of a folder or pattern of several traces: the one with rank N in its name" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's trace diff: rows of the first step, by name" },
	[O_SIDE] = { "side", 0, TIDE_OPT_ENUM, "all,cpu,gpu", "with --hta-compat: which rows",
		     .def = "all" },
};

typedef struct checks {
	tide_failif *f;
	tide_fail_result *r;
	size_t n;
	bool crossed, undecided;
} checks;

/* ---- conditions ---- */

static int parse_checks(const tide_args *a, checks *c)
{
	const tide_value *v = &a->opt[O_FAIL_IF];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	c->n = v->set ? v->n_list : 0;
	c->f = tide__calloc(c->n, sizeof *c->f);
	c->r = tide__calloc(c->n, sizeof *c->r);
	if (!c->f || !c->r) {
		err.code = TIDE_ENOMEM;
		return tide__cli_fail(NULL, &err);
	}
	for (size_t i = 0; i < c->n; i++)
		if (tide__failif_parse(v->list[i], &c->f[i], &err) != TIDE_OK)
			return tide__cli_usage(a, "--fail-if '%.200s', character %" PRIu64 ": %s",
					       v->list[i], err.offset + 1, err.text);
	return 0;
}

static void run_checks(checks *c, const tide_diff *d)
{
	for (size_t i = 0; i < c->n; i++) {
		c->r[i] = tide__failif_check(&c->f[i], d);
		c->crossed |= c->r[i].crossed;
		c->undecided |= !c->r[i].decided;
	}
}

/* "A 5.34 GiB, B 5.60 GiB (+4.87 %)", unknown ones as such. */
static void figures(const tide_failif *f, const tide_fail_result *r, char *buf, size_t n)
{
	char a[64] = "unknown", b[64] = "unknown", pct[32] = "";
	double change = tide__change_pct(r->a, r->b);
	if (r->known[0])
		tide__unit_text(a, sizeof a, f->unit, (int64_t)r->a, false);
	if (r->known[1])
		tide__unit_text(b, sizeof b, f->unit, (int64_t)r->b, false);
	if (r->known[0] && r->known[1] && r->a)
		snprintf(pct, sizeof pct, " (%+.4g %%)", change);
	snprintf(buf, n, "A %s, B %s%s", a, b, pct);
}

static void tell(const tide_args *a, const checks *c)
{
	char text[256], safe[256];
	for (size_t i = 0; i < c->n; i++) {
		const char *expr = a->opt[O_FAIL_IF].list[i];
		const char *verdict = !c->r[i].decided	? "cannot be decided"
				      : c->r[i].crossed ? "crossed"
							: NULL;
		if (!verdict)
			continue;
		figures(&c->f[i], &c->r[i], text, sizeof text);
		tide__fmt_name(safe, sizeof safe, expr, strlen(expr), 0);
		fprintf(stderr, "tidemark diff: '%s' %s: %s\n", safe, verdict, text);
	}
}

/* ---- text ---- */

static bool table(const tide_args *a, const tide_diff *d, tide_diff_kind kind, const char *title)
{
	const tide_diff_table *t = &d->table[kind];
	size_t top = (size_t)a->opt[O_TOP].num, differ = t->n - t->by_status[TIDE_DIFF_SAME];
	if (!t->n)
		return true;
	fputc('\n', a->out);
	tide__heading(a, "%s: %zu added, %zu removed, %zu changed, %zu the same", title,
		      t->by_status[TIDE_DIFF_ADDED], t->by_status[TIDE_DIFF_REMOVED],
		      t->by_status[TIDE_DIFF_CHANGED], t->by_status[TIDE_DIFF_SAME]);
	tide_grid *g = tide__diff_rows(d, kind, top, true);
	if (!g)
		return false;
	if (differ)
		tide__grid_print(g, a->out, &a->style, 0);
	if (top && differ > top)
		fprintf(a->out, "%zu more rows are not shown (--top 0 shows all)\n", differ - top);
	tide__grid_free(g);
	return true;
}

static bool print_text(const tide_args *a, const tide_diff *d, const checks *c)
{
	static const char *const titles[] = { "Host spans by self time", "Device work by time",
					      "Bytes at the peak by call stack",
					      "Bytes at the peak by op",
					      "Bytes at the peak by role" };
	char text[256];
	tide_grid *g = tide__diff_metrics(d);
	if (!g)
		return false;
	fputs("A: ", a->out);
	tide__put_text(a, a->files[0]);
	fputs("\nB: ", a->out);
	tide__put_text(a, a->files[1]);
	fputs("\n\n", a->out);
	tide__grid_print(g, a->out, &a->style, 0);
	tide__grid_free(g);
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
		if (!table(a, d, (tide_diff_kind)k, titles[k]))
			return false;
	for (size_t i = 0; i < c->n; i++) {
		figures(&c->f[i], &c->r[i], text, sizeof text);
		fprintf(a->out, "%s%s: ", i ? "" : "\n",
			!c->r[i].decided  ? "UNKNOWN"
			: c->r[i].crossed ? "CROSSED"
					  : "fine");
		tide__put_text(a, a->opt[O_FAIL_IF].list[i]);
		fprintf(a->out, ": %s\n", text);
	}
	return true;
}

/* ---- JSON ---- */

static void checks_json(const tide_args *a, tide_json *j, const checks *c)
{
	tide__json_key(j, "fail_if");
	tide__json_array(j);
	for (size_t i = 0; i < c->n; i++) {
		const tide_fail_result *r = &c->r[i];
		tide__json_object(j);
		tide__json_kstr(j, "expression", a->opt[O_FAIL_IF].list[i]);
		if (r->known[0])
			tide__json_kuint(j, "a", r->a);
		else
			tide__json_knull(j, "a");
		if (r->known[1])
			tide__json_kuint(j, "b", r->b);
		else
			tide__json_knull(j, "b");
		if (r->decided)
			tide__json_kbool(j, "crossed", r->crossed);
		else
			tide__json_knull(j, "crossed");
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void side_json(tide_json *j, const char *key, const char *file, const tide_model *m,
		      tide_device_id device)
{
	char name[64];
	tide__json_key(j, key);
	tide__json_object(j);
	tide__json_kstr(j, "trace", file);
	tide__json_kstr(j, "device",
			device.i ? tide__device_name(m, device.i, name, sizeof name) : NULL);
	tide__cli_losses_json(j, m);
	tide__json_object_end(j);
}

static bool print_json(const tide_args *a, const tide_diff *d, tide_model *const *m,
		       const checks *c)
{
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	side_json(&j, "a", a->files[0], m[0], d->device[0]);
	side_json(&j, "b", a->files[1], m[1], d->device[1]);
	if (!tide__diff_json(d, 0, &j))
		return false;
	checks_json(a, &j, c);
	tide__json_object_end(&j);
	tide__json_end(&j);
	return true;
}

/* ---- the command ---- */

static int find_devices(const tide_args *a, tide_model *const *m, tide_diff_options *o)
{
	for (int i = 0; i < 2 && a->opt[O_DEVICE].set; i++) {
		o->device[i] = tide__device_find(m[i], a->opt[O_DEVICE].text);
		if (!o->device[i])
			return tide__no_device(a, m[i], a->opt[O_DEVICE].text);
	}
	return 0;
}

static int compare(const tide_args *a, tide_model *const *m, checks *c)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_diff_options o = { .no_lines = a->opt[O_NO_LINES].set };
	tide_diff d = { 0 };
	int rc = find_devices(a, m, &o);
	if (rc)
		return rc;
	bool ok = tide__diff(m[0], m[1], &o, &d, &err) == TIDE_OK;
	if (ok) {
		run_checks(c, &d);
		ok = a->opt[O_JSON].set ? print_json(a, &d, m, c) : print_text(a, &d, c);
	}
	for (int i = 0; i < 2 && ok && !a->opt[O_JSON].set; i++)
		tide__cli_losses(a, m[i]);
	tide__diff_free(&d);
	if (!ok)
		return tide__cli_fail(NULL, &err);
	rc = tide__cli_done(a);
	tell(a, c);
	return rc ? rc : c->undecided ? 1 : c->crossed ? 3 : 0;
}

static int run_two(const tide_args *a)
{
	tide_model *m[2] = { NULL, NULL };
	checks c = { 0 };
	if (a->opt[O_TOP].num < 0)
		return tide__cli_usage(a, "--top must not be negative");
	if (a->opt[O_COMPAT].set)
		return tide__cli_diff_compat(a, (int)a->opt[O_SIDE].num, a->opt[O_JSON].set,
					     (size_t)a->opt[O_TOP].num);
	int rc = parse_checks(a, &c);
	for (int i = 0; i < 2 && !rc; i++) {
		m[i] = tide__cli_load(a, a->files[i], 0);
		rc = m[i] ? 0 : 1;
	}
	if (!rc)
		rc = compare(a, m, &c);
	tide__model_free(m[0]);
	tide__model_free(m[1]);
	tide__free(c.f);
	tide__free(c.r);
	return rc;
}

/* The one trace that an argument means; NULL: told on stderr. */
static char *choose(const tide_args *a, size_t i, tide_rank_files *f, int *rc)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const tide_value *rank = &a->opt[O_RANK];
	char *found = NULL;
	if (!strcmp(a->files[i], "-"))
		return a->files[i];
	if (tide__ranks_expand(&a->files[i], 1, f, &err) != TIDE_OK) {
		*rc = tide__cli_fail(NULL, &err);
		return NULL;
	}
	for (size_t k = 0; k < f->n && !found; k++)
		if (f->n == 1 || (rank->set && tide__rank_in_name(f->v[k].path) == rank->num))
			found = f->v[k].path;
	if (!found && rank->set)
		*rc = tide__cli_usage(a, "%.200s has no trace with rank %" PRId64 " in its name",
				      a->files[i], rank->num);
	else if (!found)
		*rc = tide__cli_usage(a, "%.200s has %zu traces: choose one with --rank N",
				      a->files[i], f->n);
	return found;
}

static int run(const tide_args *a)
{
	tide_rank_files f[2] = { { 0 }, { 0 } };
	char *files[2] = { NULL, NULL };
	tide_args two = *a;
	int rc = 0;
	for (size_t i = 0; i < 2 && !rc; i++)
		files[i] = choose(a, i, &f[i], &rc);
	two.files = files;
	if (!rc)
		rc = run_two(&two);
	tide__ranks_free(&f[0]);
	tide__ranks_free(&f[1]);
	return rc;
}

const tide_command tide__cmd_diff = {
	.name = "diff",
	.usage = "A B [--fail-if EXPR]... [--json] [-o FILE]",
	.summary = "compare two traces; fail when a figure grew too much",
	.help = "Compares time, host spans, device work and memory at the peak, whatever both "
		"traces "
		"have; formats may differ. Rows are sorted by the size of the change.\n"
		"EXPR is FIGURE COMPARE LIMIT, e.g. 'peak>+2%', 'gpu_time>+5%', "
		"'kernel_time>100ms', "
		"'count(aten::mm)>+10', 'peak(activation)>+64MiB'. Figures: time, cpu_time, "
		"gpu_time, "
		"overlap, kernel_time, ops, kernels, peak, peak_requested, reserved, live_end, "
		"allocated, allocs, and count, op_time, self_time, kernel_time, peak of (NAME), "
		"where "
		"'*' stands for any text. A limit with a sign is one on the change, without one on "
		"B "
		"itself. Exit status 3 when an EXPR holds, 1 when a trace does not have its "
		"figure.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 2,
	.max_files = 2,
	.run = run,
};
