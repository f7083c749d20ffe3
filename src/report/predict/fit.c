// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* fit: the cheapest changes that make a program fit, from virtual runs under plans. */
#include "report/predict/fit.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/predict/fit.h"
#include "base/error.h"
#include "base/mem.h"

enum { O_BUDGET, O_SHARDS, O_APPLY };
static const tide_option options[] = {
	[O_BUDGET] = { "budget", 'b', TIDE_OPT_BYTES, "SIZE",
		       "bytes that the allocator may reserve, e.g. 40GiB (default: the device's memory less its context)",
		       .least = 1, TIDE_FIELD(tide_fit_options, budget) },
	[O_SHARDS] = { "shards", 0, TIDE_OPT_INT, "N",
		       "show what shards over N ranks would save (ZeRO, FSDP), 1 = nothing",
		       .def = "8", .least = 1, .most = 100000,
		       TIDE_FIELD(tide_fit_options, shards) },
	[O_APPLY] = { "apply", 0, TIDE_OPT_FLAG, NULL,
		      "print the lines of the first answer, to add to the script",
		      .text_only = true },
};

struct fit {
	tide_fit f;
	bool apply;
	char *plan; /* owned: of the best answer; NULL = none */
};

/* ---- texts of a row ---- */

struct text {
	char *at; /* NULL: only the length is counted */
	size_t n;
	const char *between;
};

static void add_text(void *context, const char *text)
{
	struct text *t = context;
	size_t n = strlen(text), before = t->n ? strlen(t->between) : 0;
	if (t->at) {
		memcpy(t->at + t->n, t->between, before);
		memcpy(t->at + t->n + before, text, n + 1);
	}
	t->n += before + n;
}

/* Joins the notes of a run. Returns NULL if memory runs out; owned: tide__free. */
static char *join_notes(const tide_model *m, const char *key, const char *between)
{
	struct text t = { .between = between };
	tide__fit_each_note(m, key, add_text, &t);
	char *buf = tide__calloc(t.n + 1, 1);
	t = (struct text){ .at = buf, .between = between };
	if (buf)
		tide__fit_each_note(m, key, add_text, &t);
	return buf;
}

static const char *stage_text(unsigned stage)
{
	return stage == 1   ? "states"
	       : stage == 2 ? "states and gradients"
			    : "states, gradients and parameters, without gathered layers";
}

enum { TITLE = 200 };

/* The change of a row. Returns NULL if memory runs out; owned: tide__free. */
static char *title(const tide_fit_row *r)
{
	if (r->basis == TIDE_FIT_RUN)
		return join_notes(r->m, "fit.change", " + ");
	char *text = tide__calloc(TITLE, 1);
	if (text && r->basis == TIDE_FIT_SIMULATED)
		snprintf(text, TITLE, "PYTORCH_CUDA_ALLOC_CONF=%s", r->setting);
	else if (text)
		snprintf(text, TITLE, "ZeRO stage %u over %" PRId64 " ranks: shards of %s",
			 r->stage, r->ranks, stage_text(r->stage));
	return text;
}

static const char *basis_text(tide_fit_basis b)
{
	return b == TIDE_FIT_RUN ? "run" : b == TIDE_FIT_SIMULATED ? "simulated" : "arithmetic";
}

/* ---- tables ---- */

#define NULLABLE TIDE_MAY_BE_NULL
static const tide_member answer_members[] = {
	TIDE_COLUMN("change", "Change", TEXT, 0, "what is changed"),
	{ "basis", "Basis", TIDE_KIND_WORD, 4, .words = "run,simulated,arithmetic",
	  .meaning = "run: the program ran under the plan; simulated: the unchanged run with these "
		     "settings of the allocator; arithmetic: sums of its peak" },
	TIDE_COLUMN("peak_allocated_bytes", "Allocated", BYTES, 0, "peak allocated bytes"),
	{ "least_allocated_bytes", NULL, TIDE_KIND_BYTES, .may = NULLABLE,
	  .meaning = "lower end of its range" },
	{ "most_allocated_bytes", NULL, TIDE_KIND_BYTES, .may = NULLABLE,
	  .meaning = "upper end of its range" },
	TIDE_COLUMN("peak_reserved_bytes", "Reserved", BYTES, 0, "peak reserved bytes"),
	{ "least_reserved_bytes", NULL, TIDE_KIND_BYTES, .may = NULLABLE,
	  .meaning = "lower end of its range" },
	{ "most_reserved_bytes", "At most", TIDE_KIND_BYTES, 3, .may = NULLABLE,
	  .meaning = "upper end of its range" },
	{ "fits", "Fits", TIDE_KIND_WORD, .may = NULLABLE, .words = "yes,no",
	  .meaning = "the allocator's simulator serves every request within the budget" },
	{ "step_ns", NULL, TIDE_KIND_NS, .may = NULLABLE, .meaning = "estimated time of a step" },
	TIDE_COLUMN("cost_pct", "Time", DELTA_PCT, NULLABLE,
		    "estimated time of a step against the unchanged program's"),
	{ "differs", NULL, TIDE_KIND_TEXT, .may = NULLABLE,
	  .meaning = "why results differ; null: they are the same" },
	{ "plan", NULL, TIDE_KIND_TEXT, .may = NULLABLE, .meaning = "the plan (TOML)" },
	{ "lines", NULL, TIDE_KIND_TEXT, .may = NULLABLE, .meaning = "lines to add to the script" },
	{ "file", NULL, TIDE_KIND_TEXT, .may = NULLABLE, .meaning = "the recording of the run" },
	{ 0 },
};

static void put_bound(tide_grid *g, const tide_fit_row *r, const char *why_not, uint64_t bytes)
{
	if (r->basis == TIDE_FIT_ARITHMETIC || why_not)
		tide__grid_none(g);
	else
		tide__grid_uint(g, bytes);
}

static void put_own(tide_grid *g, char *text)
{
	if (text && *text)
		tide__grid_text(g, text);
	else
		tide__grid_none(g);
	tide__free(text);
}

static void put_row(tide_grid *g, const tide_fit *f, const tide_fit_row *r)
{
	bool ran = r->basis == TIDE_FIT_RUN;
	put_own(g, title(r));
	tide__grid_text(g, basis_text(r->basis));
	tide__grid_uint(g, r->allocated);
	put_bound(g, r, r->range.no_least, r->range.least_allocated);
	put_bound(g, r, r->range.no_most, r->range.most_allocated);
	tide__grid_uint(g, r->reserved);
	put_bound(g, r, r->range.no_least, r->range.least_reserved);
	put_bound(g, r, r->range.no_most, r->range.most_reserved);
	if (f->budget)
		tide__grid_text(g, r->fits ? "yes" : "no");
	else
		tide__grid_none(g);
	if (r->step_ns >= 0)
		tide__grid_int(g, (int64_t)r->step_ns);
	else
		tide__grid_none(g);
	if (r->cost >= -1)
		tide__grid_real(g, 100 * r->cost);
	else
		tide__grid_none(g);
	if (r->differs)
		tide__grid_text(g, r->differs);
	else
		tide__grid_none(g);
	put_own(g, ran ? join_notes(r->m, "fit.plan", "") : NULL);
	put_own(g, ran ? join_notes(r->m, "fit.lines", "\n") : NULL);
	if (ran)
		tide__grid_text(g, r->m->path);
	else
		tide__grid_none(g);
}

static tide_grid *answer_grid(const tide_fit *f)
{
	tide_grid *g =
		tide__grid_new(answer_members, sizeof answer_members / sizeof *answer_members - 1);
	for (size_t i = 0; g && i < f->n; i++)
		put_row(g, f, &f->rows[i]);
	return g;
}

static const tide_member untried_members[] = {
	TIDE_COLUMN("change", "Not tried", TEXT, 0, "what could not be tried, or failed"),
	TIDE_COLUMN("reason", "Reason", TEXT, 0, "why"),
	{ 0 },
};

static void put_untried(tide_grid *g, const tide_fit_untried *u)
{
	const char *colon = u->is_plan ? NULL : strstr(u->reason, ": ");
	if (u->is_plan)
		put_own(g, join_notes(u->m, "fit.change", " + "));
	else
		tide__grid_textn(g, u->reason,
				 colon ? (size_t)(colon - u->reason) : strlen(u->reason));
	tide__grid_text(g, colon ? colon + 2 : u->reason);
}

static tide_grid *untried_grid(const tide_fit *f)
{
	tide_grid *g = tide__grid_new(untried_members, 2);
	for (size_t i = 0; g && i < f->n_untried; i++)
		put_untried(g, &f->untried[i]);
	return g;
}

/* ---- text ---- */

static const char *fact(const tide_model *m, const char *key)
{
	const char *text = tide__fit_note(m, key);
	return text ? text : "";
}

static void put_base(const tide_fit *f, const tide_out *to)
{
	char a[32], b[32], c[32];
	const tide_model *m = f->base.m;
	const char *versions = fact(m, "predicted.versions");
	tide__write_heading(to, "fit on %s, %s; nothing ran on a device",
			    fact(m, "predicted.device"), *versions ? versions : "torch");
	fprintf(to->out, "  %-16s%s allocated, %s reserved\n", "Unchanged",
		tide__fmt_bytes(a, sizeof a, (double)f->base.allocated),
		tide__fmt_bytes(b, sizeof b, (double)f->base.reserved));
	if (!f->budget) {
		fprintf(to->out, "  %-16sunknown: give --budget SIZE or --like NAME\n", "Budget");
		return;
	}
	fprintf(to->out, "  %-16s%s: %s\n", "Budget",
		tide__fmt_bytes(c, sizeof c, (double)f->budget),
		f->base.fits ? "it fits unchanged" : "it does not fit");
}

static void put_lines(const struct fit *x, const tide_out *to)
{
	const tide_fit_row *r = &x->f.rows[x->f.best];
	char *lines = r->basis == TIDE_FIT_RUN ? join_notes(r->m, "fit.lines", "\n") : title(r);
	fputs("\nlines of the first answer, for the script (`tidemark run --plan` applies it from outside):\n",
	      to->out);
	for (char *line = lines, *end; line; line = end ? end + 1 : NULL) {
		if ((end = strchr(line, '\n')))
			*end = 0;
		fputs("    ", to->out);
		tide__put_text(to, line);
		fputc('\n', to->out);
	}
	tide__free(lines);
}

static void put_best(const struct fit *x, const tide_out *to)
{
	const tide_fit *f = &x->f;
	if (f->base.fits || !f->budget)
		return;
	if (f->best == f->n) {
		fputs("\nNo change that was tried makes it fit.\n", to->out);
		return;
	}
	char *text = title(&f->rows[f->best]);
	fputs("\nCheapest that fits: ", to->out);
	tide__put_text(to, text ? text : "");
	fputc('\n', to->out);
	tide__free(text);
	if (f->rows[f->best].differs)
		fprintf(to->out, "  (%s; nothing with the same results fits)\n",
			f->rows[f->best].differs);
	if (x->apply)
		put_lines(x, to);
}

static tide_code write_text(void *result, const tide_out *to)
{
	const struct fit *x = result;
	const tide_fit *f = &x->f;
	put_base(f, to);
	if (f->n) {
		fputc('\n', to->out);
		tide__grid_write(answer_grid(f), to, 2);
		const char *basis = fact(f->base.m, "fit.basis");
		if (*basis)
			fprintf(to->out, "  Time is an estimate: %s\n", basis);
	}
	put_best(x, to);
	if (f->n_untried) {
		fputc('\n', to->out);
		tide__grid_write(untried_grid(f), to, 2);
	}
	tide__put_model_losses(to, f->base.m);
	return TIDE_OK;
}

/* ---- JSON ---- */

static void put_bound_json(tide_json *j, const char *key, const char *why_not, uint64_t bytes)
{
	tide__json_kuint_if(j, key, !why_not, bytes);
}

static void put_unchanged(const tide_fit *f, tide_json *j)
{
	const tide_fit_row *r = &f->base;
	tide__json_kobject(j, "unchanged");
	tide__json_kuint(j, "peak_allocated_bytes", r->allocated);
	put_bound_json(j, "least_allocated_bytes", r->range.no_least, r->range.least_allocated);
	put_bound_json(j, "most_allocated_bytes", r->range.no_most, r->range.most_allocated);
	tide__json_kuint(j, "peak_reserved_bytes", r->reserved);
	put_bound_json(j, "least_reserved_bytes", r->range.no_least, r->range.least_reserved);
	put_bound_json(j, "most_reserved_bytes", r->range.no_most, r->range.most_reserved);
	tide__json_kstr(j, "fits", !f->budget ? NULL : r->fits ? "yes" : "no");
	tide__json_kint_if(j, "step_ns", r->step_ns >= 0, (int64_t)r->step_ns);
	tide__json_object_end(j);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct fit *x = result;
	const tide_fit *f = &x->f;
	const char *basis = fact(f->base.m, "fit.basis");
	char *text = f->best < f->n ? title(&f->rows[f->best]) : NULL;
	tide__json_kstr(j, "device", fact(f->base.m, "predicted.device"));
	tide__json_kstr(j, "versions", fact(f->base.m, "predicted.versions"));
	tide__json_kuint_if(j, "budget_bytes", f->budget != 0, f->budget);
	put_unchanged(f, j);
	tide__json_kstr(j, "cheapest", text);
	tide__free(text);
	tide__grid_write_member(answer_grid(f), j, "answers");
	tide__json_kstr(j, "time_basis", *basis ? basis : NULL);
	tide__grid_write_member(untried_grid(f), j, "untried");
	tide__losses_json(j, f->base.m);
	return TIDE_OK;
}

/* ---- the report ---- */

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct fit *x = result;
	x->apply = ask->opt[O_APPLY].set;
	tide_code rc = tide__fit_find(ask->models, ask->n,
				      ask->opt[O_BUDGET].set ? (uint64_t)ask->opt[O_BUDGET].num : 0,
				      ask->opt[O_SHARDS].num, &x->f, err);
	if (rc != TIDE_OK || x->f.best == x->f.n)
		return rc;
	const tide_fit_row *best = &x->f.rows[x->f.best];
	if (best->basis == TIDE_FIT_RUN && !(x->plan = join_notes(best->m, "fit.plan", "")))
		return tide__nomem(err);
	return TIDE_OK;
}

static void free_fit(void *result)
{
	struct fit *x = result;
	tide__fit_free(&x->f);
	tide__free(x->plan);
}

const char *tide__fit_plan(const tide_report *r)
{
	const struct fit *x = (const void *)r->result;
	return x->plan;
}

bool tide__fit_fits(const tide_report *r)
{
	const struct fit *x = (const void *)r->result;
	return x->f.base.fits || x->f.best < x->f.n;
}

static const tide_member unchanged_members[] = {
	TIDE_MEMBER("peak_allocated_bytes", BYTES, "peak allocated bytes"),
	TIDE_MEMBER_MAYBE("least_allocated_bytes", BYTES, "lower end of its range"),
	TIDE_MEMBER_MAYBE("most_allocated_bytes", BYTES, "upper end of its range"),
	TIDE_MEMBER("peak_reserved_bytes", BYTES, "peak reserved bytes"),
	TIDE_MEMBER_MAYBE("least_reserved_bytes", BYTES, "lower end of its range"),
	TIDE_MEMBER_MAYBE("most_reserved_bytes", BYTES, "upper end of its range"),
	{ "fits", NULL, TIDE_KIND_WORD, .may = NULLABLE, .words = "yes,no",
	  .meaning = "it fits into the budget" },
	TIDE_MEMBER_MAYBE("step_ns", NS, "estimated time of a step"),
	{ 0 },
};

static const tide_member members[] = {
	TIDE_MEMBER("device", TEXT, "the virtual device"),
	TIDE_MEMBER("versions", TEXT, "versions of the libraries that ran"),
	TIDE_MEMBER_MAYBE("budget_bytes", BYTES, "bytes that the allocator may reserve"),
	TIDE_MEMBER_OF("unchanged", OBJECT, unchanged_members, "the program without changes"),
	TIDE_MEMBER_MAYBE(
		"cheapest", TEXT,
		"the cheapest change that fits, with the same results if one has; null: none"),
	TIDE_MEMBER_OF("answers", TABLE, answer_members,
		       "changes: those that fit first, by their cost; then by reserved bytes"),
	TIDE_MEMBER_MAYBE("time_basis", TEXT, "how times are estimated"),
	TIDE_MEMBER_OF("untried", TABLE, untried_members, "changes that could not be tried"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_fit = {
	.name = "fit",
	.group = TIDE_GROUP_MEMORY,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_MEMORY,
	.summary = "find the cheapest changes that make a program fit, without a GPU",
	.help = "A program (a PyTorch script) runs unchanged on virtual devices, once as it is and once "
		"for each change: checkpoints of chosen modules, offloading, optimizers, types, "
		"micro-batches, and combinations. The changes are applied from outside. Those that "
		"fit come first, by the estimated time of a step. --apply prints the lines to add to "
		"the script; --plan writes a file for `tidemark run --plan`.\n\nWith recordings that "
		"--keep left, the report is made again, for example with another budget.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_fit_options),
	.size = sizeof(struct fit),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_fit,
};
