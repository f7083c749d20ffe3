// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loads a trace, runs the analyses that the page needs, writes it to a->out. */
#include "cli/output/page.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/output/outfile.h"
#include "render/report/ops/critical_path.h"
#include "render/text/losses.h"
#include "render/page/page.h"

enum {
	SHAPES_UP_TO = 64 << 20, /* bytes of input whose ops' shapes go into the page */
	RAW_UP_TO = 400 << 20,	 /* bytes that seldom have more than MOST_CRITICAL spans */
};

static const tide_value *value_of(const tide_args *a, const char *option)
{
	for (size_t i = 0; i < a->cmd->n_options; i++)
		if (!strcmp(a->cmd->options[i].name, option))
			return a->opt[i].set ? &a->opt[i] : NULL;
	return NULL;
}

static bool page_named(const tide_args *a)
{
	const tide_value *out = value_of(a, "output");
	size_t n = out ? strlen(out->text) : 0;
	return n >= 5 && !strcasecmp(out->text + n - 5, ".html") && !value_of(a, "json");
}

/* Returns true if `end` is in a comma-separated list. */
static bool listed(const char *list, const char *end)
{
	size_t n = strlen(end);
	for (const char *at = list; at && *at; at += *at == ',') {
		size_t k = strcspn(at, ",");
		if (k == n && !strncasecmp(at, end, n))
			return true;
		at += k;
	}
	return false;
}

const char *tide__cli_bad_ending(const tide_args *a)
{
	const tide_value *out = value_of(a, "output");
	if (!out || ((a->cmd->own_output || a->cmd->raw) && !a->cmd->only))
		return NULL;
	const char *base = strrchr(out->text, '/'), *end = strrchr(base ? base : out->text, '.');
	if (!end || !end[1] || end == out->text || end == base + 1 ||
	    !strncmp(out->text, "/dev/", 5) || strspn(end + 1, "0123456789") == strlen(end + 1))
		return NULL;
	if (a->cmd->only)
		return listed(a->cmd->only, end) ? NULL : end;
	return listed(".txt,.text,.log,.out,.md,.json,.jsonl,.html", end) ||
			       (a->cmd->report && listed(".csv,.arrow", end)) ||
			       listed(a->cmd->endings, end)
		       ? NULL
		       : end;
}

const char *tide__cli_not_json(const tide_args *a)
{
	const tide_value *out = value_of(a, "output");
	const char *end = out && value_of(a, "json") ? strrchr(out->text, '.') : NULL;
	return end && listed(".html,.png,.svg", end) ? end : NULL;
}

void tide__cli_imply_json(const tide_args *a)
{
	const tide_value *out = value_of(a, "output");
	const char *end =
		out && !(a->cmd->own_output && a->cmd->only) ? strrchr(out->text, '.') : NULL;
	const char *form = !end				? NULL
			   : !strcasecmp(end, ".json")	? "json"
			   : !strcasecmp(end, ".csv")	? "csv"
			   : !strcasecmp(end, ".arrow") ? "csv" /* the same tables */
							: NULL;
	for (size_t i = 0; form && i < a->cmd->n_options; i++)
		if (!strcmp(a->cmd->options[i].name, form) &&
		    a->cmd->options[i].kind == TIDE_OPT_FLAG)
			a->opt[i].set = true;
}

bool tide__cli_is_page(const tide_args *a)
{
	return a->cmd->page && *a->cmd->page && page_named(a);
}

bool tide__cli_named_page(const tide_args *a)
{
	return page_named(a);
}

bool tide__cli_no_page(const tide_args *a)
{
	return !a->cmd->page && !a->cmd->own_output && page_named(a);
}

/* ---- the critical path ---- */

/* Limit of spans for the critical path: its graph needs about 400 bytes per span and twice the time
 * of the rest. */
enum { MOST_CRITICAL = 800000 };

struct critical {
	const tide_model *of; /* what its spans are rows of */
	tide_model *m;	      /* owned: a second load, if the page's model has no raw numbers */
	tide_critical_path path;
	bool there;
	char why[120]; /* reason if there is none */
};

/* Finds the critical path. Other formats lack raw numbers, which is then the reason for a missing
 * path. */
static tide_code find_path(const char *file, struct critical *c, tide_error *err)
{
	const tide_load_options load = { .what = TIDE_WANT_SPANS | TIDE_WANT_RAW };
	tide_critical_search_options o = { 0 };
	if (!c->of->span_raw && tide__is_of_kineto(c->of)) {
		if (tide__cli_is_pipe(file))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "a pipe or a URL is read only once");
		tide_code rc = tide__load(file, &load, &c->m, err);
		if (rc != TIDE_OK)
			return rc;
		c->of = c->m;
	}
	o.annotation = tide__critical_view_window(c->of);
	return tide__critical_view_run(c->of, false, &o, &c->path, err);
}

static void find_critical(const char *file, const tide_model *m, struct critical *c)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	c->of = m;
	if (m->spans.n > MOST_CRITICAL) {
		snprintf(c->why, sizeof c->why,
			 "more than %d spans; `tidemark critical-path` finds it", MOST_CRITICAL);
		return;
	}
	tide_code rc = find_path(file, c, &err);
	c->there = rc == TIDE_OK;
	if (!c->there)
		snprintf(c->why, sizeof c->why, "%.110s",
			 err.text[0] ? err.text : tide_code_text(rc));
}

static void free_critical(struct critical *c)
{
	if (c->there)
		tide__critical_path_free(&c->path);
	tide__model_free(c->m);
}

/* ---- a trace ---- */

struct given {
	const char *file;
	const tide_model *m;
	tide_hta *h; /* owned until it is in the job; NULL = not yet analyzed */
	tide_hta_job *job;
	struct critical crit;
};

/* tide_page_options.prepare */
static tide_code prepare(void *user, tide_page_options *opt, tide_error *err)
{
	struct given *g = user;
	const tide_hta_options alone = { .threads = 1 }; /* the others fill sections */
	tide_hta *h = g->h;
	tide_code rc = h ? TIDE_OK : tide__hta_analyze(g->m, &alone, &h, err);
	g->h = NULL;
	if (rc == TIDE_OK)
		rc = tide__hta_job_make(g->file, h, &g->job, err);
	opt->job = g->job;
	if (rc == TIDE_OK && g->job && tide__page_has(opt->only, "critical")) {
		find_critical(g->file, g->m, &g->crit);
		opt->critical = g->crit.there ? &g->crit.path : NULL;
		opt->critical_model = g->crit.of;
		opt->critical_why = g->crit.there ? NULL : g->crit.why;
	}
	return rc;
}

/* Writes the sections of a trace; `opt` has the view and what it shows. */
static tide_code write_sections(const tide_args *a, const char *file, const tide_model *m,
				tide_hta *h, tide_page_options opt, tide_error *err)
{
	struct given g = { .file = file, .m = m, .h = h };
	char *losses = tide__losses_text(m);
	opt.losses = losses ? losses : "";
	opt.prepare = tide__page_has(opt.only, "hta") ? prepare : NULL;
	opt.user = &g;
	tide_code rc = tide__page_write_trace(m, &opt, a->out, err);
	if (rc == TIDE_OK && losses && tide__cli_incomplete() && !a->cmd->own_output)
		fputs(losses, tide__cli_errors()); /* status 4 has a reason */
	free(losses);
	free_critical(&g.crit);
	tide__hta_job_free(g.job);
	tide__hta_free(g.h);
	return rc;
}

tide_code tide__cli_write_trace(const tide_args *a, const char *file, const tide_model *m,
				tide_hta *h, unsigned number, const char *view, tide_error *err)
{
	return write_sections(a, file, m, h, (tide_page_options){ .only = view, .number = number },
			      err);
}

static int write_whole(const tide_args *a, const tide_model *m, tide_page_options opt)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__page_begin(a->out, &err);
	if (rc == TIDE_OK)
		rc = write_sections(a, a->files[0], m, NULL, opt, &err);
	if (rc == TIDE_OK)
		rc = tide__page_end(a->out, &err);
	if (rc == TIDE_OK)
		return tide__cli_finish(a);
	return tide__cli_fail(ferror(a->out) ? tide__cli_output_name(a) : a->files[0], &err);
}

int tide__cli_write_page_of(const tide_args *a, const tide_model *m, const char *view)
{
	return write_whole(a, m, (tide_page_options){ .only = view });
}

int tide__cli_write_page_with(const tide_args *a, const tide_model *m, const tide_page_options *opt)
{
	return write_whole(a, m, *opt);
}

int tide__cli_write_page_file(const tide_args *a, const tide_model *m, const char *path)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile o = { 0 };
	if (tide__outfile_open(&o, path, &err) != TIDE_OK)
		return tide__cli_fail(path, &err);
	char *files[] = { m->path, NULL };
	tide_args page = { .cmd = a->cmd,
			   .opt = a->opt,
			   .files = files,
			   .n_files = 1,
			   .out = o.f,
			   .named = path };
	int rc = tide__cli_write_page_of(&page, m, NULL);
	if (tide__outfile_close(&o, rc == 0, &err) != TIDE_OK)
		rc = tide__cli_fail(path, &err);
	return rc;
}

unsigned tide__cli_page_wants(const char *file)
{
	struct stat st;
	bool known = !stat(file, &st);
	bool shapes = known && st.st_size <= SHAPES_UP_TO, raw = known && st.st_size <= RAW_UP_TO;
	return TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS | TIDE_WANT_LAUNCH |
	       (shapes ? TIDE_WANT_SHAPES : 0) | (raw ? TIDE_WANT_RAW : 0);
}

bool tide__cli_page_built(const tide_args *a)
{
	if (!tide__page_missing())
		return true;
	tide__cli_note("tidemark %s: this build has no pages: %s", a->cmd->name,
		       tide__page_missing());
	return false;
}

/* Returns true for several files, a folder, or a pattern. */
static bool names_several(const tide_args *a)
{
	struct stat st;
	if (a->n_files > 1)
		return true;
	if (stat(a->files[0], &st))
		return strpbrk(a->files[0], "*?[") != NULL;
	return S_ISDIR(st.st_mode);
}

int tide__cli_write_page(const tide_args *a, const char *view)
{
	if (names_several(a))
		return tide__cli_fail_usage(
			a, "a page of one view shows one trace: name one file (`tidemark report` "
			   "has all ranks)");
	if (!tide__cli_page_built(a))
		return 1;
	tide_model *m = tide__cli_load(a, a->files[0], tide__cli_page_wants(a->files[0]));
	if (!m)
		return 1;
	int rc = tide__cli_write_page_of(a, m, view);
	tide__model_free(m);
	return rc;
}
