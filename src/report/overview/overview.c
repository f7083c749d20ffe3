// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* overview: the first answers about a recording, and the commands to ask next. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/overview.h"
#include "render/report/hints.h"
#include "render/text/format.h"
#include "render/text/labels.h"
#include "report/report.h"

struct overview {
	tide_overview x;
	const char *file; /* borrowed */
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_group_names names =
		ask->document || ask->style->full_names ? TIDE_NAMES_WHOLE : TIDE_NAMES_FOLDED;
	struct overview *o = result;
	o->file = tide__ask_file(ask, 0);
	return tide__overview_find(ask->models[0], names, &o->x, err);
}

static void free_overview(void *result)
{
	tide__overview_free(&((struct overview *)result)->x);
}

/* Returns the file for a command; NULL if the trace came through a pipe. */
static const char *file_of(const struct overview *o)
{
	bool piped = !o->file || !strcmp(o->file, "-") || !strncmp(o->file, "/proc/self/fd/", 14) ||
		     !strncmp(o->file, "/dev/", 5);
	return piped ? NULL : o->file;
}

static const struct {
	const char *name, *text;
} formats[] = {
	{ "tide", "recording of Tidemark" },
	{ "kineto", "trace of PyTorch's profiler" },
	{ "torchsnap", "CUDA memory snapshot" },
	{ "perfetto", "Perfetto trace" },
	{ "heaptext", "heap profile" },
	{ "heaptrack", "recording of heaptrack" },
	{ "memray", "capture of memray" },
	{ "rocprof", "profile of ROCm" },
	{ "exectrace", "execution trace of PyTorch" },
	{ "nsys", "export of Nsight Systems" },
	{ "rocpd", "profile of ROCm" },
	{ "pprof", "heap profile" },
	{ "xplane", "profile of XLA" },
	{ "flightrec", "dump of the Flight Recorder" },
	{ "tracker", "profile of the memory tracker" },
	{ "torchtrace", "log of torch.compile" },
	{ "ttgraph", "Tenstorrent graph" },
	{ "tt-log", "log of the Tenstorrent runtime" },
	{ "tt-perf", "table of Tenstorrent device ops" },
	{ "tt-results", "results of the Tenstorrent runtime" },
};

static const char *format_text(const tide_model *m)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (m->format && !strcmp(m->format, formats[i].name))
			return formats[i].text;
	return m->format ? m->format : "unknown format";
}

/* ---- text ---- */

static int width_of(const tide_out *to)
{
	return to->style.width > 0 && to->style.width < TIDE_NAMES_WIDTH ? to->style.width
									 : TIDE_NAMES_WIDTH;
}

/* Prints a line's last text, cut to the columns that are left after `used`. */
static void put_rest(const tide_out *to, int used, const char *s, size_t n)
{
	char line[1024];
	int left = width_of(to) - used;
	fputs(tide__fmt_name(line, sizeof line, s, n,
			     to->style.full_names ? 0
			     : left > 20	  ? left
						  : 20),
	      to->out);
	fputc('\n', to->out);
}

static void put_count(const tide_out *to, uint64_t n, const char *what)
{
	char count[32];
	if (n)
		fprintf(to->out, ", %s %s%s", tide__fmt_count(count, sizeof count, (int64_t)n),
			what, n == 1 ? "" : "s");
}

static void put_head(const tide_out *to, const struct overview *o)
{
	const tide_model *m = o->x.m;
	char buf[64];
	const char *path = file_of(o);
	tide__put_text(to, path ? path : "standard input");
	fprintf(to->out, ": %s", format_text(m));
	if (m->t_end && m->axis == TIDE_AXIS_TIME)
		fprintf(to->out, ", %s", tide__fmt_ns(buf, sizeof buf, (double)m->t_end));
	put_count(to, m->spans.n - 1, "span");
	put_count(to, m->allocs.n - 1, "allocation");
	fputc('\n', to->out);
}

static void put_group(const tide_out *to, const tide_peak *p, size_t i)
{
	char bytes[32], *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	const tide_group *g = &p->groups.rows[i];
	if (f)
		(to->style.full_names ? tide__groups_write_label : tide__groups_write_brief)(
			&p->groups, p->m, i, &(tide_long){ .brief = true }, f);
	bool ok = f && !fclose(f);
	int used = fprintf(to->out, "  %12s  %5.1f %%  ",
			   tide__fmt_bytes(bytes, sizeof bytes, (double)g->bytes),
			   p->bytes ? 100.0 * (double)g->bytes / (double)p->bytes : 0);
	put_rest(to, used, ok ? text : "-", ok ? n : 1);
	free(text);
}

static void put_peak(const tide_out *to, const tide_overview *x)
{
	const tide_peak *p = &x->peak;
	char name[64], bytes[32], error[32], t[32];
	if (!x->has_peak || !p->level->allocs) {
		fputs("\nMemory: not recorded\n", to->out);
		return;
	}
	tide__device_name(x->m, p->device, name, sizeof name);
	fputc('\n', to->out);
	tide__write_heading(to, "Peak: %s%s%s on %s at %s",
			    tide__fmt_bytes(bytes, sizeof bytes, (double)p->level->peak),
			    x->peak_error > 0 ? " ± " : "",
			    x->peak_error > 0 ? tide__fmt_bytes(error, sizeof error, x->peak_error)
					      : "",
			    name, tide__fmt_at(t, sizeof t, (double)p->level->peak_t));
	for (size_t i = 0; i < p->groups.n && i < TIDE_OVERVIEW_ROWS; i++)
		put_group(to, p, i);
}

static void put_longest(const tide_out *to, const tide_overview *x)
{
	char ns[32];
	for (size_t i = 0; i < x->n_longest; i++) {
		const tide_overview_time *t = &x->longest[i];
		int used = fprintf(to->out, "  %12s  %5.1f %%  ",
				   tide__fmt_ns(ns, sizeof ns, (double)t->ns), t->share);
		put_rest(to, used, t->name ? t->name : "(outside any op)",
			 t->name ? t->n : strlen("(outside any op)"));
	}
}

static double part(int64_t ns, int64_t of)
{
	return of > 0 ? 100.0 * (double)ns / (double)of : 0;
}

static void put_time(const tide_out *to, const tide_overview *x)
{
	char ns[32];
	fputc('\n', to->out);
	if (x->job) {
		const tide_hta_head *h = &x->job->sum->h;
		tide__write_heading(
			to,
			"Time: GPU busy %.1f %% of %s: compute %.1f %%, communication %.1f %%, "
			"copies %.1f %%; idle %.1f %%",
			part(h->busy, h->kernel_time),
			tide__fmt_ns(ns, sizeof ns, (double)h->kernel_time),
			part(h->type_ns[TIDE_GPU_COMPUTE], h->kernel_time),
			part(h->type_ns[TIDE_GPU_COMM], h->kernel_time),
			part(h->type_ns[TIDE_GPU_MEMORY], h->kernel_time),
			part(h->idle, h->kernel_time));
	} else if (x->has_ops) {
		tide__write_heading(to,
				    "Time: ops of the host by self time; no GPU work is recorded");
	} else {
		fputs("Time: not recorded\n", to->out);
	}
	put_longest(to, x);
}

static void put_findings(const tide_out *to, const tide_overview *x)
{
	if (!x->n_grave)
		return;
	fputc('\n', to->out);
	tide__write_heading(to, "Findings");
	for (size_t i = 0; i < x->n_grave; i++) {
		const tide_finding *f = &x->findings.v[x->grave[i]];
		int used = fprintf(to->out, "  %-6s  ", tide__severity_text[f->severity]);
		put_rest(to, used, f->heading, strlen(f->heading));
	}
}

static void put_next(const tide_out *to, const struct overview *o)
{
	const tide_overview *x = &o->x;
	const char *path = file_of(o);
	fputc('\n', to->out);
	tide__write_heading(to, "Next");
	for (size_t i = 0; i < x->n_next; i++)
		tide__put_hint(&x->next[i], path, to->out);
}

static tide_code write_text(void *result, const tide_out *to)
{
	const struct overview *o = result;
	const tide_overview *x = &o->x;
	put_head(to, o);
	put_peak(to, x);
	put_time(to, x);
	put_findings(to, x);
	put_next(to, o);
	return TIDE_OK;
}

/* ---- JSON ---- */

static void json_peak(tide_json *j, const tide_overview *x)
{
	const tide_peak *p = &x->peak;
	char name[64];
	tide__json_key(j, "peak");
	if (!x->has_peak || !p->level->allocs) {
		tide__json_null(j);
		return;
	}
	tide__json_object(j);
	tide__json_kstr(j, "device", tide__device_name(x->m, p->device, name, sizeof name));
	tide__json_kuint(j, "peak_bytes", p->level->peak);
	tide__json_kfixed(j, "peak_error_bytes", x->peak_error, 0);
	tide__json_kint(j, "peak_time_ns", p->level->peak_t);
	tide__json_karray(j, "groups");
	for (size_t i = 0; i < p->groups.n && i < TIDE_OVERVIEW_ROWS; i++) {
		char *text = NULL;
		size_t n;
		FILE *f = open_memstream(&text, &n);
		if (f)
			tide__groups_write_label(&p->groups, p->m, i, &(tide_long){ 0 }, f);
		bool ok = f && !fclose(f);
		tide__json_object(j);
		tide__json_key(j, "key");
		ok ? tide__json_strn(j, text, n) : tide__json_null(j);
		tide__json_kuint(j, "bytes", p->groups.rows[i].bytes);
		tide__json_object_end(j);
		free(text);
	}
	tide__json_array_end(j);
	tide__json_object_end(j);
}

static void json_time(tide_json *j, const tide_overview *x)
{
	tide__json_key(j, "device_time");
	if (x->job) {
		const tide_hta_head *h = &x->job->sum->h;
		tide__json_object(j);
		tide__json_kint(j, "kernel_time_ns", h->kernel_time);
		tide__json_kint(j, "busy_ns", h->busy);
		tide__json_kint(j, "compute_ns", h->type_ns[TIDE_GPU_COMPUTE]);
		tide__json_kint(j, "communication_ns", h->type_ns[TIDE_GPU_COMM]);
		tide__json_kint(j, "memory_ns", h->type_ns[TIDE_GPU_MEMORY]);
		tide__json_kint(j, "idle_ns", h->idle);
		tide__json_object_end(j);
	} else {
		tide__json_null(j);
	}
	tide__json_kstr(j, "longest_of", x->job ? "device" : x->has_ops ? "host" : NULL);
	tide__json_karray(j, "longest");
	for (size_t i = 0; i < x->n_longest; i++) {
		tide__json_object(j);
		tide__json_key(j, "name");
		x->longest[i].name ? tide__json_strn(j, x->longest[i].name, x->longest[i].n)
				   : tide__json_null(j);
		tide__json_kint(j, "ns", x->longest[i].ns);
		tide__json_kfixed(j, "share_pct", x->longest[i].share, 4);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void json_findings(tide_json *j, const tide_overview *x)
{
	tide__json_karray(j, "findings");
	for (size_t i = 0; i < x->n_grave; i++) {
		const tide_finding *f = &x->findings.v[x->grave[i]];
		tide__json_object(j);
		tide__json_kstr(j, "severity", tide__severity_text[f->severity]);
		tide__json_kstr(j, "heading", f->heading);
		tide__json_kstr(j, "text", f->text);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct overview *o = result;
	const tide_overview *x = &o->x;
	tide__json_kstr(j, "format", x->m->format);
	tide__json_kint(j, "duration_ns", x->m->t_end);
	json_peak(j, x);
	json_time(j, x);
	json_findings(j, x);
	tide__hints_json(x->next, x->n_next, file_of(o), j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static const tide_member groups[] = {
	{ "key", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the group, as in peak" },
	{ "bytes", NULL, TIDE_KIND_BYTES, .meaning = "live bytes of it at the peak" },
	{ 0 },
};

static const tide_member peak[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .meaning = "device with the highest peak" },
	{ "peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "highest live bytes" },
	{ "peak_error_bytes", NULL, TIDE_KIND_REAL,
	  .meaning = "standard error of a sampled heap's peak; 0: exact" },
	{ "peak_time_ns", NULL, TIDE_KIND_AT, .meaning = "when they were first reached" },
	{ "groups", NULL, TIDE_KIND_TABLE, .members = groups,
	  .meaning = "the 3 largest groups of allocations alive then" },
	{ 0 },
};

static const tide_member device_time[] = {
	{ "kernel_time_ns", NULL, TIDE_KIND_NS,
	  .meaning = "from the first device row to the end of the last" },
	{ "busy_ns", NULL, TIDE_KIND_NS, .meaning = "time with any work on the device" },
	{ "compute_ns", NULL, TIDE_KIND_NS, .meaning = "time with compute" },
	{ "communication_ns", NULL, TIDE_KIND_NS, .meaning = "time with communication" },
	{ "memory_ns", NULL, TIDE_KIND_NS, .meaning = "time with copies and fills" },
	{ "idle_ns", NULL, TIDE_KIND_NS, .meaning = "kernel_time_ns - busy_ns" },
	{ 0 },
};

static const tide_member longest[] = {
	{ "name", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "op; null: work outside any op" },
	{ "ns", NULL, TIDE_KIND_NS,
	  .meaning = "device time of its work, or self time of its spans" },
	{ "share_pct", NULL, TIDE_KIND_PCT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "part of the sum over all ops" },
	{ 0 },
};

static const tide_member findings[] = {
	{ "severity", NULL, TIDE_KIND_WORD, .words = "info,medium,high", .meaning = "severity" },
	{ "heading", NULL, TIDE_KIND_TEXT, .meaning = "the problem in a few words" },
	{ "text", NULL, TIDE_KIND_TEXT, .meaning = "the recommendation with its figures" },
	{ 0 },
};

static const tide_member members[] = {
	{ "format", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "format of the trace" },
	{ "duration_ns", NULL, TIDE_KIND_NS, .meaning = "first event to last" },
	{ "peak", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = peak,
	  .meaning = "the memory peak; null: no allocations are recorded" },
	{ "device_time", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = device_time,
	  .meaning = "as in hta; null: no device rows are recorded" },
	{ "longest_of", NULL, TIDE_KIND_WORD, .may = TIDE_MAY_BE_NULL, .words = "device,host",
	  .meaning = "whose time `longest` is" },
	{ "longest", NULL, TIDE_KIND_TABLE, .members = longest,
	  .meaning = "the 3 ops with most time" },
	{ "findings", NULL, TIDE_KIND_TABLE, .members = findings,
	  .meaning = "the 3 gravest findings of advice that cost points" },
	{ "next", NULL, TIDE_KIND_TABLE, .members = tide__hint_members,
	  .meaning = "commands to ask next" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_overview = {
	.name = "overview",
	.group = TIDE_GROUP_FILES,
	.want = 0,
	.summary = "show the first answers about a recording, and the commands to ask next",
	.help = "The same as `tidemark FILE`, in at most 25 lines: what the file is, the memory peak "
		"and what made it, where time went, the three gravest findings, and the commands "
		"that answer more, with the file's name filled in.",
	.members = members,
	.version = 1,
	.size = sizeof(struct overview),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_overview,
};
