// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/each_rank.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/memory/leaks.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "cli/documents.h"
#include "cli/job/info_group.h"
#include "cli/job/ranks.h"
#include "cli/select.h"
#include "import/import.h"
#include "model/names.h"

/* ---- the order ---- */

struct place {
	int64_t rank;	     /* INT64_MAX = none */
	int64_t pid, parent; /* for files that share their rank with others; -1 = unknown */
	bool started;	     /* by another process of its rank: a data loader's worker */
	size_t at;
	tide_rank_file file;
};

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->started != y->started)
		return x->started ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Reads the process facts, which are at the beginning of the file. */
static void read_process(struct place *x)
{
	tide_load_options few = { .max_events = 1, .max_bytes = 1 << 20, .what = TIDE_WANT_ARGS };
	tide_model *m = NULL;
	x->pid = x->parent = -1;
	if (tide__load(x->file.path, &few, &m, NULL) != TIDE_OK)
		return;
	if (m->processes.n > 1) {
		x->pid = m->processes.pid[1];
		x->parent = m->processes.parent_pid[1];
	}
	tide__model_free(m);
}

/* Finds data loader workers, which inherit their trainer's rank. */
static void find_started(struct place *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		read_process(&v[i]);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n && !v[i].started; k++)
			v[i].started = v[i].parent > 0 && v[k].pid == v[i].parent && k != i;
}

static void find_all_started(struct place *v, size_t n)
{
	enum { MOST = 1000 }; /* processes of one rank */
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && v[to].rank == v[from].rank; to++)
			;
		if (to - from > 1 && to - from <= MOST && v[from].rank != INT64_MAX)
			find_started(v + from, to - from);
	}
}

void tide__ranks_sort(tide_rank_files *f)
{
	struct place *v = malloc((f->n + 1) * sizeof *v);
	for (size_t i = 0; v && i < f->n; i++) {
		int64_t rank = tide__rank_of(f->v[i].path);
		v[i] = (struct place){ .rank = rank < 0 ? INT64_MAX : rank,
				       .at = i,
				       .file = f->v[i] };
	}
	if (v) {
		qsort(v, f->n, sizeof *v, by_rank);
		find_all_started(v, f->n);
		qsort(v, f->n, sizeof *v, by_rank);
	}
	for (size_t i = 0; v && i < f->n; i++)
		f->v[i] = v[i].file;
	free(v);
}

bool tide__cli_many(const tide_args *a)
{
	struct stat st;
	tide_rank_files f = { 0 };
	tide_error err;
	if (a->n_files != 1)
		return true;
	if (tide__cli_is_pipe(a->files[0]))
		return false;
	if (stat(a->files[0], &st))
		return strpbrk(a->files[0], "*?[") != NULL;
	if (!S_ISDIR(st.st_mode))
		return false;
	bool any = tide__ranks_find_all(a->files, 1, &f, &err) == TIDE_OK && f.n;
	tide__ranks_free(&f);
	return any; /* else it is a trace itself, or invalid: its reader reports it */
}

/* ---- rows ---- */

#define FIRST                                                                                  \
	TIDE_COLUMN("rank", "Rank", PLAIN, TIDE_MAY_BE_NULL, "rank of the trace; null: none"), \
		TIDE_COLUMN("device", "Device", TEXT, TIDE_MAY_BE_NULL,                        \
			    "the requested device, else the one with the highest peak; null: " \
			    "none with allocations")
#define LAST  TIDE_COLUMN("trace", "Trace", TEXT, 0, "its file")
#define MAYBE TIDE_MAY_BE_NULL

static const tide_member peak_cols[] = {
	FIRST,
	TIDE_COLUMN("peak_bytes", "Peak", BYTES, MAYBE, "highest live bytes"),
	TIDE_COLUMN("peak_time_ns", "At", AT, MAYBE, "time of the peak"),
	TIDE_COLUMN("peak_count", "Allocations", COUNT, MAYBE, "live allocations at the peak"),
	TIDE_COLUMN("reserved_bytes_at_peak", "Reserved", BYTES, MAYBE,
		    "bytes that the allocator held then"),
	TIDE_COLUMN("capacity_bytes", "Of", BYTES, MAYBE, "memory of the device"),
	LAST,
	{ 0 },
};

static const tide_member memory_cols[] = {
	FIRST,
	TIDE_COLUMN("live_bytes", "Live", BYTES, MAYBE, "live bytes at the end"),
	TIDE_COLUMN("peak_bytes", "Peak", BYTES, MAYBE, "highest live bytes"),
	TIDE_COLUMN("peak_time_ns", "At", AT, MAYBE, "time of the peak"),
	TIDE_COLUMN("reserved_peak_bytes", "Reserved peak", BYTES, MAYBE,
		    "highest bytes that the allocator held"),
	TIDE_COLUMN("allocs", "Allocs", COUNT, MAYBE, "allocations"),
	TIDE_COLUMN("frees", "Frees", COUNT, MAYBE, "frees"),
	LAST,
	{ 0 },
};

static const tide_member leak_cols[] = {
	FIRST,
	TIDE_COLUMN("slope_bytes_per_step", "Per step", DELTA, MAYBE,
		    "bytes by which live memory grows in a step"),
	TIDE_COLUMN("steps", "Steps", COUNT, 0, "steps of the trace"),
	TIDE_COLUMN("first_bytes", "After step 1", BYTES, MAYBE, "live bytes after the first step"),
	TIDE_COLUMN("last_bytes", "After the last", BYTES, MAYBE, "live bytes after the last step"),
	TIDE_COLUMN("growing", "Groups that grow", COUNT, MAYBE, "number of groups that grow"),
	LAST,
	{ 0 },
};

struct one {
	const tide_model *m;
	const char *path;
	uint32_t device; /* 0 = it has no allocations */
	tide_grid *g;
	tide_error *err;
};

static int64_t rank_of(const struct one *x)
{
	const tide_processes *p = &x->m->processes;
	int64_t rank = p->n > 1 ? p->rank[1] : -1;
	return rank >= 0 ? rank : tide__rank_of(x->path);
}

static void number(tide_grid *g, int64_t v)
{
	v < 0 ? tide__grid_none(g) : tide__grid_int(g, v);
}

static void first_cells(const struct one *x)
{
	char name[64];
	number(x->g, rank_of(x));
	if (x->device)
		tide__grid_text(x->g, tide__device_name(x->m, x->device, name, sizeof name));
	else
		tide__grid_none(x->g);
}

static void unknown(const struct one *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tide__grid_none(x->g);
}

static tide_code peak_row(const struct one *x)
{
	tide_usage u;
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &u, x->err);
	if (rc != TIDE_OK)
		return rc;
	const tide_level *l = &u.devices[x->device];
	first_cells(x);
	if (x->device) {
		tide__grid_uint(x->g, l->peak);
		tide__grid_int(x->g, l->peak_t);
		tide__grid_uint(x->g, l->peak_count);
		tide__grid_maybe(x->g, l->peak_reserved);
		tide__grid_maybe(x->g, x->m->devices.capacity[x->device]
					       ? x->m->devices.capacity[x->device]
					       : UINT64_MAX);
	} else {
		unknown(x, 5);
	}
	tide__usage_free(&u);
	return TIDE_OK;
}

static tide_code memory_row(const struct one *x)
{
	tide_usage u;
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &u, x->err);
	if (rc != TIDE_OK)
		return rc;
	const tide_level *l = &u.devices[x->device];
	first_cells(x);
	if (x->device) {
		tide__grid_uint(x->g, l->bytes);
		tide__grid_uint(x->g, l->peak);
		tide__grid_int(x->g, l->peak_t);
		tide__grid_maybe(x->g, l->reserved_peak);
		tide__grid_uint(x->g, l->allocs);
		tide__grid_uint(x->g, l->frees);
	} else {
		unknown(x, 6);
	}
	tide__usage_free(&u);
	return TIDE_OK;
}

static tide_code leak_row(const struct one *x)
{
	tide_leaks l = { 0 };
	tide_code rc = TIDE_OK;
	if (x->device)
		rc = tide__find_leaks(x->m, x->device, tide__group_by_best(x->m), 0, &l, x->err);
	if (rc == TIDE_OK) {
		first_cells(x);
		if (l.known)
			tide__grid_int(x->g,
				       (int64_t)(l.total.slope + (l.total.slope < 0 ? -0.5 : 0.5)));
		else
			tide__grid_none(x->g);
		tide__grid_uint(x->g, l.steps.n);
		tide__grid_maybe(x->g, l.known ? l.total.first : UINT64_MAX);
		tide__grid_maybe(x->g, l.known ? l.total.last : UINT64_MAX);
		tide__grid_maybe(x->g, l.known ? l.n : UINT64_MAX);
	}
	tide__leaks_free(&l);
	return rc;
}

static tide_code put_text(void *result, const tide_out *to)
{
	tide__grid_print(result, to->out, &to->style, 0);
	return tide__grid_failed(result) ? TIDE_ENOMEM : TIDE_OK;
}

static tide_code put_json(void *result, tide_json *j)
{
	tide__json_key(j, "ranks");
	tide__grid_json(result, j);
	return tide__grid_failed(result) ? TIDE_ENOMEM : TIDE_OK;
}

#define RANKS(cols)                                                           \
	static const tide_member cols##_ranks[] = {                           \
		TIDE_MEMBER_OF("ranks", TABLE, cols, "a row for each trace"), \
		{ 0 },                                                        \
	}
#define DOCUMENT(name_, cols, text_)                                                     \
	{                                                                                \
		.name = name_ "-ranks", .version = 1, .summary = text_ ", one row each", \
		.members = cols##_ranks, .text = put_text, .json = put_json              \
	}
RANKS(peak_cols);
RANKS(memory_cols);
RANKS(leak_cols);
const tide_report_type tide__document_peak_ranks =
	DOCUMENT("peak", peak_cols, "peaks of several traces");
const tide_report_type tide__document_memory_ranks =
	DOCUMENT("memory", memory_cols, "memory of several traces");
const tide_report_type tide__document_leaks_ranks =
	DOCUMENT("leaks", leak_cols, "growth over the steps of several traces");

static const struct kind {
	const char *command;
	const tide_report_type *document;
	const tide_member *cols;
	unsigned want;
	tide_code (*row)(const struct one *x);
} kinds[] = {
	{ "peak", &tide__document_peak_ranks, peak_cols, TIDE_WANT_MEMORY, peak_row },
	{ "memory", &tide__document_memory_ranks, memory_cols, TIDE_WANT_MEMORY, memory_row },
	{ "leaks", &tide__document_leaks_ranks, leak_cols, TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	  leak_row },
};

static const struct kind *kind_of(const tide_args *a)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].command, a->cmd->name))
			return &kinds[i];
	return NULL;
}

/* Finds the requested device, else the one with the highest peak. */
static tide_code find_device(struct one *x, const tide_value *v)
{
	tide_usage u;
	if (v && v->set) {
		x->device = tide__device_find(x->m, v->text);
		return TIDE_OK;
	}
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &u, x->err);
	if (rc == TIDE_OK) {
		x->device = tide__usage_highest(&u);
		if (x->device < u.n_devices && !u.devices[x->device].allocs)
			x->device = 0;
		tide__usage_free(&u);
	}
	return rc;
}

static tide_code measure(const struct kind *k, const char *path, const tide_value *device,
			 tide_grid *g, tide_error *err)
{
	tide_load_options opt = { .what = k->want };
	tide_model *m = NULL;
	struct one x = { .path = path, .g = g, .err = err };
	tide_code rc = tide__load(path, &opt, &m, err);
	x.m = m;
	if (rc == TIDE_OK) {
		tide__cli_remember(m);
		tide__fmt_axis(m->axis);
		rc = find_device(&x, device);
	}
	if (rc == TIDE_OK)
		rc = k->row(&x);
	if (rc == TIDE_OK)
		tide__grid_text(g, path);
	tide__model_free(m);
	return rc;
}

/* Returns an option that has no meaning for one row per trace. */
static const char *for_one(const tide_args *a)
{
	static const char *const fine[] = { "device", "json", "csv", "output" };
	for (size_t i = 0; i < a->cmd->n_options; i++) {
		bool ok = !a->opt[i].given;
		for (size_t k = 0; k < sizeof fine / sizeof *fine; k++)
			ok |= !strcmp(a->cmd->options[i].name, fine[k]);
		if (!ok)
			return a->cmd->options[i].name;
	}
	return NULL;
}

int tide__cli_run_each_rank(const tide_args *a, const tide_value *device)
{
	tide_rank_files f = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const struct kind *k = kind_of(a);
	const char *alone = for_one(a);
	if (alone)
		return tide__cli_fail_usage(a, "--%s works with one trace only", alone);
	if (!strcmp(a->cmd->name, "info"))
		return tide__cli_run_info_group(a);
	if (tide__ranks_expand_all(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	tide__ranks_sort(&f);
	tide_grid *g = tide__grid_new(k->cols, tide__member_count(k->cols));
	int rc = 0;
	for (size_t i = 0; i < f.n; i++) {
		err = (tide_error){ .offset = TIDE_NO_OFFSET };
		if (measure(k, f.v[i].path, device, g, &err) != TIDE_OK)
			rc = tide__cli_fail(f.v[i].path, &err);
	}
	if (tide__grid_rows(g)) {
		int shown = tide__document_put(a, k->document, g);
		rc = rc ? rc : shown;
	}
	tide__grid_free(g);
	tide__ranks_free(&f);
	return rc;
}
