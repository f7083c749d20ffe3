// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* waits: waits for batches of a DataLoader, who made them and what it did. */
#include "analyze/device/data_waits.h"

#include "analyze/common/statistics.h"

#include <string.h>

#include "report/report.h"
#include "report/text.h"

extern const tide_report_type tide__report_waits;

enum { O_TOP };
static const tide_option options[] = {
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table, 0 = all", .def = "10",
		    .whole = true },
};

struct waits {
	tide_data_waits w;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct waits *x = result;
	tide_code rc = TIDE_OK;
	x->top = (size_t)ask->opt[O_TOP].num;
	for (size_t i = 0; i < ask->n && rc == TIDE_OK; i++)
		rc = tide__data_waits_add(&x->w, ask->models[i], err);
	return rc == TIDE_OK ? tide__data_waits_finish(&x->w, err) : rc;
}

static tide_code join(void *all, void *one, const char *file, tide_error *err)
{
	struct waits *x = all, *y = one;
	(void)file;
	if (!y)
		return tide__data_waits_finish(&x->w, err);
	x->top = y->top;
	return tide__data_waits_join(&x->w, &y->w, err);
}

static void free_waits(void *result)
{
	tide__data_waits_free(&((struct waits *)result)->w);
}

/* ---- members ---- */

#define NULLABLE TIDE_MAY_BE_NULL
#define DID                                                                                   \
	{                                                                                     \
		"did", "It", TIDE_KIND_WORD,                                                  \
			.words = "computed,read,waited,handover,unknown",                     \
			.meaning = "what the worker did most in the wait; starved counts as " \
				   "what it did otherwise"                                    \
	}
#define FIGURES()                                                                              \
	TIDE_COLUMN("computed_ns", "Computed", NS, 0, "it ran: dataset, transforms, collate"), \
		TIDE_COLUMN("starved_ns", "Starved", NS, 0,                                    \
			    "it could run, but no processor was free"),                        \
		TIDE_COLUMN("read_ns", "Read", NS, 0, "it read files"),                        \
		TIDE_COLUMN("waited_ns", "Waited", NS, 0,                                      \
			    "it slept: a lock, a socket, another process, sleep()")
#define PARTS                                                    \
	FIGURES(), TIDE_COLUMN("handover_ns", "Handover", NS, 0, \
			       "no batch was being made: start of a worker, queue, copies")

static const tide_member group[] = {
	TIDE_COLUMN("function", "Function", TEXT, NULLABLE,
		    "the function that made the batch, with its place; null: not recorded"),
	DID,
	TIDE_COLUMN("waits", "Waits", COUNT, 0, "waits"),
	TIDE_COLUMN("wait_ns", "Sum", NS, 0, "their time"),
	TIDE_COLUMN("longest_ns", "Longest", NS, 0, "the longest one"),
	TIDE_COLUMN("idle_ns", "GPU idle", NS, NULLABLE, "idle time of the devices in them"),
	TIDE_COLUMN("workers", "Workers", COUNT, 0, "processes that made the batches"),
	PARTS,
	{ 0 },
};
static const tide_member worker[] = {
	TIDE_COLUMN("pid", "Process", PLAIN, 0, "the worker"),
	TIDE_COLUMN("itself", "Itself", BOOL, 0, "the program made its batches itself"),
	TIDE_COLUMN("recorded", NULL, BOOL, 0, "its recording is there"),
	TIDE_COLUMN("batches", "Batches", COUNT, 0, "batches that it made"),
	TIDE_COLUMN("batch_ns", "Making them", NS, 0, "time of these"),
	FIGURES(),
	TIDE_COLUMN("waits", "Waits", COUNT, 0, "waits for it"),
	TIDE_COLUMN("wait_ns", "Waited for", NS, 0, "their time"),
	{ 0 },
};
static const tide_member wait[] = {
	TIDE_COLUMN("at_ns", "At", AT, 0, "begin, in the trace that waited"),
	TIDE_COLUMN("wait_ns", "Wait", NS, 0, "length"),
	TIDE_COLUMN("idle_ns", "GPU idle", NS, NULLABLE, "idle time of the devices in it"),
	TIDE_COLUMN("pid", NULL, PLAIN, NULLABLE, "the process that waited"),
	TIDE_COLUMN("worker", "Worker", PLAIN, NULLABLE, "the process that made the batch"),
	TIDE_COLUMN("function", "Function", TEXT, NULLABLE, "its function"),
	DID,
	PARTS,
	{ 0 },
};
static const tide_member members[] = {
	TIDE_COLUMN("waits", "Waits", COUNT, 0, "waits for a batch"),
	TIDE_COLUMN("wait_ns", "Time", NS, 0, "their time"),
	TIDE_COLUMN("idle_ns", "GPU idle", NS, NULLABLE,
		    "idle time of the devices in them; null: no device rows"),
	TIDE_COLUMN("explained", "Explained", COUNT, 0, "waits whose worker is recorded"),
	TIDE_COLUMN("explained_pct", "Of their time", PCT, NULLABLE, "share of the waits' time"),
	{ "functions", "By function", TIDE_KIND_TABLE, .members = group,
	  .meaning = "waits by function and what the worker did" },
	{ "longest", "Longest waits", TIDE_KIND_TABLE, .members = wait,
	  .meaning = "waits, longest first" },
	{ "workers", "Workers", TIDE_KIND_TABLE, .members = worker,
	  .meaning = "processes that made batches" },
	{ 0 },
};

/* ---- JSON ---- */

static void put_name(const struct waits *x, uint32_t name, tide_json *j)
{
	size_t n;
	const char *text = name ? tide__strings_get(x->w.names, name, &n) : NULL;
	if (text)
		tide__json_kstrn(j, "function", text, n);
	else
		tide__json_knull(j, "function");
}

static void put_parts(const int64_t *part, int n, tide_json *j)
{
	static const char *const keys[] = { "computed_ns", "starved_ns", "read_ns", "waited_ns",
					    "handover_ns" };
	for (int k = 0; k < n; k++)
		tide__json_kint(j, keys[k], part[k]);
}

static void put_group(const struct waits *x, const tide_data_group *g, tide_json *j)
{
	tide__json_object(j);
	put_name(x, g->function, j);
	tide__json_kstr(j, "did", tide__data_text[g->did]);
	tide__json_kuint(j, "waits", g->waits);
	tide__json_kint(j, "wait_ns", g->ns);
	tide__json_kint(j, "longest_ns", g->longest);
	tide__json_kint_if(j, "idle_ns", x->w.device, g->idle_ns);
	tide__json_kuint(j, "workers", g->workers);
	put_parts(g->part, TIDE_DATA_PARTS, j);
	tide__json_object_end(j);
}

static void put_wait(const struct waits *x, const tide_data_wait *v, tide_json *j)
{
	tide__json_object(j);
	tide__json_kint(j, "at_ns", v->at);
	tide__json_kint(j, "wait_ns", v->t1 - v->t0);
	tide__json_kint_if(j, "idle_ns", v->idle_ns >= 0, v->idle_ns);
	tide__json_kint_if(j, "pid", v->process >= 0, v->process);
	tide__json_kint_if(j, "worker", v->worker >= 0, v->worker);
	put_name(x, v->function, j);
	tide__json_kstr(j, "did", tide__data_text[v->did]);
	put_parts(v->part, TIDE_DATA_PARTS, j);
	tide__json_object_end(j);
}

static void put_worker(const tide_data_worker *v, tide_json *j)
{
	tide__json_object(j);
	tide__json_kint(j, "pid", v->process);
	tide__json_kbool(j, "itself", v->itself);
	tide__json_kbool(j, "recorded", v->fetches > 0);
	tide__json_kuint(j, "batches", v->fetches);
	tide__json_kint(j, "batch_ns", v->ns);
	put_parts(v->figure, TIDE_DATA_WAITED + 1, j);
	tide__json_kuint(j, "waits", v->waits);
	tide__json_kint(j, "wait_ns", v->wait_ns);
	tide__json_object_end(j);
}

static void put_sums(const struct waits *x, tide_json *j)
{
	int64_t ns = 0, idle = 0, known = 0;
	uint64_t explained = 0;
	for (size_t i = 0; i < x->w.n_groups; i++) {
		const tide_data_group *g = &x->w.groups[i];
		bool is = g->did != TIDE_DATA_UNKNOWN;
		ns = tide__add_sat(ns, g->ns);
		idle = tide__add_sat(idle, g->idle_ns);
		known = tide__add_sat(known, is ? g->ns : 0);
		explained += is ? g->waits : 0;
	}
	tide__json_kuint(j, "waits", x->w.n_waits);
	tide__json_kint(j, "wait_ns", ns);
	tide__json_kint_if(j, "idle_ns", x->w.device, idle);
	tide__json_kuint(j, "explained", explained);
	tide__json_kfixed(j, "explained_pct", tide__share_pct(known, ns), 4);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct waits *x = result;
	put_sums(x, j);
	tide__json_karray(j, "functions");
	for (size_t i = 0; i < x->w.n_groups && (!x->top || i < x->top); i++)
		put_group(x, &x->w.groups[i], j);
	tide__json_array_end(j);
	tide__json_karray(j, "longest");
	for (size_t i = 0; i < x->w.n_waits && (!x->top || i < x->top); i++)
		put_wait(x, &x->w.waits[i], j);
	tide__json_array_end(j);
	tide__json_karray(j, "workers");
	for (size_t i = 0; i < x->w.n_workers && (!x->top || i < x->top); i++)
		put_worker(&x->w.workers[i], j);
	tide__json_array_end(j);
	return TIDE_OK;
}

/* ---- text ---- */

static tide_code write_text(void *result, const tide_out *to)
{
	const struct waits *x = result;
	bool missing = false;
	if (!x->w.n_waits) {
		fputs("no waits for batches: the trace has no torch DataLoader\n", to->out);
		return TIDE_OK;
	}
	tide_code rc = tide__report_print_tables(&tide__report_waits, result, to);
	for (size_t i = 0; i < x->w.n_workers; i++)
		missing |= !x->w.workers[i].fetches;
	if (missing)
		fputs("\nnote: recordings of workers are missing: name the folder, or all files "
		      "of the run (run.*.tide)\n",
		      to->out);
	return rc;
}

const tide_report_type tide__report_waits = {
	.name = "waits",
	.group = TIDE_GROUP_TIME,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_SPANS,
	.summary = "show what a program waited for when it waited for data",
	.help = "Explains the waits for batches of a torch DataLoader: which worker made the batch, "
		"in which function, and whether it computed, read or waited; and how long the GPUs "
		"were idle meanwhile. TRACE is a recording of tidemark run with those of its "
		"workers, which are beside it: the folder, or a pattern.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.page = "",
	.document_page = true,
	.size = sizeof(struct waits),
	.find = find,
	.join = join,
	.json = write_json,
	.text = write_text,
	.free = free_waits,
};
