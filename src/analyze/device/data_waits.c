// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A wait is a span DataLoader.wait; in a trace without any, torch's own range around the next batch.
 * A batch is a span DataLoader.fetch, whose children are the functions that made it; the figures of a
 * function are its empty children with a number (python/hook/tidemark_loader.py). The fetch that a
 * wait was for is the worker's last one that ended before the wait did. */
#include "analyze/device/data_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/common/span_args.h"
#include "analyze/common/statistics.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

const char *const tide__data_text[TIDE_DATA_DID] = { "computed", "starved",  "read",
						     "waited",	 "handover", "unknown" };

static const char *const figure_names[] = { "DataLoader.computed", "DataLoader.starved",
					    "DataLoader.read", "DataLoader.waited" };
enum { N_FIGURES = sizeof figure_names / sizeof *figure_names };

typedef struct reader {
	const tide_model *m;
	tide_data_waits *w;
	tide_str wait, fetch, worker, arg, figure[N_FIGURES];
	tide_interval_set busy;
	int64_t *sums;
	tide_map fetches;   /* span -> fetch + 1 */
	tide_map functions; /* span -> function + 1 */
	tide_map waits;	    /* span -> wait + 1 */
} reader;

/* Finds the ids of names; 0 where the trace does not have them. */
static void find_names(reader *r)
{
	const tide_strings *s = r->m->strings;
	r->wait.i = tide__strings_find(s, "DataLoader.wait", 15);
	r->fetch.i = tide__strings_find(s, "DataLoader.fetch", 16);
	r->worker.i = tide__strings_find(s, "DataLoader.worker", 17);
	for (int k = 0; k < N_FIGURES; k++)
		r->figure[k].i = tide__strings_find(s, figure_names[k], strlen(figure_names[k]));
	r->arg = tide__attr_key(r->m, "arg");
}

static int64_t process_of(const tide_model *m, uint32_t span)
{
	uint32_t p = m->lanes.process[m->spans.lane[span].i].i;
	return p ? m->processes.pid[p] : -1;
}

/* Times of day, so that processes can be compared. */
static int64_t wall(const tide_model *m, int64_t t)
{
	return m->wall_known ? tide__add_sat(m->wall0_ns, t) : t;
}

static bool find_busy(reader *r)
{
	const tide_model *m = r->m;
	for (size_t i = 1; i < m->spans.n; i++)
		if (tide__cat_is_gpu(m->spans.cat[i]) &&
		    !tide__interval_set_add(&r->busy, m->spans.t0[i], tide__span_end(m, i)))
			return false;
	r->sums = tide__interval_set_sums(&r->busy);
	return r->sums != NULL;
}

static int64_t idle_in(const reader *r, int64_t a, int64_t b)
{
	if (!r->busy.n)
		return -1;
	return b - a -
	       (tide__interval_set_before_ns(&r->busy, r->sums, b) -
		tide__interval_set_before_ns(&r->busy, r->sums, a));
}

static bool add_wait(reader *r, uint32_t span)
{
	const tide_model *m = r->m;
	tide_data_waits *w = r->w;
	int64_t a = m->spans.t0[span], b = tide__span_end(m, span);
	if (!TIDE_ROOM(w->waits, w->cap_waits, w->n_waits + 1) ||
	    !tide__map_put(&r->waits, span, (uint32_t)w->n_waits + 1))
		return false;
	w->waits[w->n_waits++] = (tide_data_wait){ .t0 = wall(m, a),
						   .t1 = wall(m, b),
						   .at = a,
						   .process = process_of(m, span),
						   .worker = -1,
						   .idle_ns = idle_in(r, a, b),
						   .did = TIDE_DATA_UNKNOWN };
	w->device |= r->busy.n > 0;
	return true;
}

static bool add_fetch(reader *r, uint32_t span)
{
	const tide_model *m = r->m;
	tide_data_waits *w = r->w;
	if (!TIDE_ROOM(w->fetches, w->cap_fetches, w->n_fetches + 1) ||
	    !tide__map_put(&r->fetches, span, (uint32_t)w->n_fetches + 1))
		return false;
	w->fetches[w->n_fetches++] = (tide_data_fetch){ .process = process_of(m, span),
							.t0 = wall(m, m->spans.t0[span]),
							.t1 = wall(m, tide__span_end(m, span)),
							.first = w->n_functions };
	return true;
}

/* Adds a function of a fetch, when its first figure is seen. */
static tide_data_function *function_of(reader *r, uint32_t span, uint32_t fetch)
{
	const tide_model *m = r->m;
	tide_data_waits *w = r->w;
	uint32_t at = tide__map_get(&r->functions, span);
	if (at)
		return &w->functions[at - 1];
	size_t n;
	const char *name = tide__text(m, m->spans.name[span], &n);
	uint32_t id = tide__strings_add(w->names, name, n);
	if (!TIDE_ROOM(w->functions, w->cap_functions, w->n_functions + 1) || (n && !id) ||
	    !tide__map_put(&r->functions, span, (uint32_t)w->n_functions + 1))
		return NULL;
	tide_data_fetch *f = &w->fetches[fetch - 1];
	if (!f->n)
		f->first = w->n_functions;
	f->n = w->n_functions + 1 - f->first;
	tide_data_function *x = &w->functions[w->n_functions++];
	*x = (tide_data_function){ .name = id,
				   .t0 = wall(m, m->spans.t0[span]),
				   .t1 = wall(m, tide__span_end(m, span)) };
	return x;
}

/* Functions of two fetches may mix in a damaged trace: then a fetch keeps those of its own only. */
static bool add_figure(reader *r, uint32_t span, int k)
{
	const tide_model *m = r->m;
	uint32_t function = m->spans.parent[span].i, outer = m->spans.parent[function].i;
	uint32_t fetch = function && outer ? tide__map_get(&r->fetches, outer) : 0;
	int64_t ns = tide__attr_number(m, span, r->arg);
	if (!fetch || ns < 0)
		return true;
	if (fetch != r->w->n_fetches && !tide__map_get(&r->functions, function))
		return true;
	tide_data_function *f = function_of(r, function, fetch);
	if (f)
		f->figure[k] = ns;
	return f != NULL;
}

static bool add_span(reader *r, uint32_t i)
{
	const tide_model *m = r->m;
	uint32_t name = m->spans.name[i].i;
	if (!name)
		return true;
	if (name == r->wait.i)
		return add_wait(r, i);
	if (name == r->fetch.i)
		return add_fetch(r, i);
	if (name == r->worker.i) {
		uint32_t at = tide__map_get(&r->waits, m->spans.parent[i].i);
		int64_t pid = tide__attr_number(m, i, r->arg);
		if (at) {
			r->w->waits[at - 1].batch = true;
			r->w->waits[at - 1].worker = pid > 0 ? pid : -1;
		}
		return true;
	}
	for (int k = 0; k < N_FIGURES; k++)
		if (name == r->figure[k].i)
			return add_figure(r, i, k);
	return true;
}

/* Torch's range around the next batch. */
static bool is_next(const char *s)
{
	return !strncmp(s, "enumerate(DataLoader)#", 22) && strstr(s, "__next__");
}

static bool add_ranges(reader *r)
{
	const tide_model *m = r->m;
	uint8_t *names = tide__calloc(tide__strings_count(m->strings) + 1, 1);
	bool ok = names != NULL;
	for (size_t i = 1; ok && i < m->spans.n; i++) {
		uint8_t *known = &names[m->spans.name[i].i];
		if (!*known)
			*known = is_next(tide__text(m, m->spans.name[i], NULL)) ? 2 : 1;
		if (*known != 2 || tide__cat_is_gpu(m->spans.cat[i]))
			continue;
		ok = add_wait(r, (uint32_t)i);
		if (ok)
			r->w->waits[r->w->n_waits - 1].batch = true;
	}
	tide__free(names);
	return ok;
}

/* A batch that the waiting process made itself. Waits and fetches of a trace are in order of start. */
static void find_own(reader *r, size_t wait, size_t fetch)
{
	for (; wait < r->w->n_waits; wait++) {
		tide_data_wait *x = &r->w->waits[wait];
		while (fetch < r->w->n_fetches && r->w->fetches[fetch].t0 < x->t0)
			fetch++;
		const tide_data_fetch *f = &r->w->fetches[fetch];
		if (x->worker < 0 && fetch < r->w->n_fetches && f->process == x->process &&
		    f->t1 <= x->t1) {
			x->worker = f->process;
			x->batch = true;
		}
	}
}

/* Drops waits that ended without a batch: the end of the data. */
static void drop_ends(tide_data_waits *w, size_t from)
{
	size_t n = from;
	for (size_t i = from; i < w->n_waits; i++)
		if (w->waits[i].batch)
			w->waits[n++] = w->waits[i];
	w->n_waits = n;
}

tide_code tide__data_waits_add(tide_data_waits *w, const tide_model *m, tide_error *err)
{
	reader r = { .m = m, .w = w };
	size_t waits = w->n_waits, fetches = w->n_fetches;
	if (!w->names)
		w->names = tide__strings_new();
	bool ok = w->names && find_busy(&r);
	find_names(&r);
	for (size_t i = 1; ok && i < m->spans.n && (r.wait.i || r.fetch.i); i++)
		ok = add_span(&r, (uint32_t)i);
	if (ok && w->n_waits == waits)
		ok = add_ranges(&r);
	if (ok && w->n_fetches > fetches)
		find_own(&r, waits, fetches);
	drop_ends(w, waits);
	tide__interval_set_free(&r.busy);
	tide__free(r.sums);
	tide__map_free(&r.fetches);
	tide__map_free(&r.functions);
	tide__map_free(&r.waits);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__data_waits_join(tide_data_waits *w, const tide_data_waits *more, tide_error *err)
{
	size_t base = w->n_functions;
	if (!w->names)
		w->names = tide__strings_new();
	if (!w->names || !TIDE_ROOM(w->waits, w->cap_waits, w->n_waits + more->n_waits) ||
	    !TIDE_ROOM(w->fetches, w->cap_fetches, w->n_fetches + more->n_fetches) ||
	    !TIDE_ROOM(w->functions, w->cap_functions, w->n_functions + more->n_functions))
		return tide__nomem(err);
	for (size_t i = 0; i < more->n_waits; i++) {
		tide_data_wait *x = &w->waits[w->n_waits++];
		*x = more->waits[i];
		x->function = 0;
		x->did = TIDE_DATA_UNKNOWN;
		memset(x->part, 0, sizeof x->part);
	}
	for (size_t i = 0; i < more->n_fetches; i++) {
		tide_data_fetch f = more->fetches[i];
		f.first += base;
		w->fetches[w->n_fetches++] = f;
	}
	for (size_t i = 0; i < more->n_functions; i++) {
		tide_data_function f = more->functions[i];
		size_t n;
		const char *name = tide__strings_get(more->names, f.name, &n);
		f.name = tide__strings_add(w->names, name, n);
		if (n && !f.name)
			return tide__nomem(err);
		w->functions[w->n_functions++] = f;
	}
	w->device |= more->device;
	return TIDE_OK;
}

/* ---- matching ---- */

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

static int fetches_in_order(const void *a, const void *b)
{
	const tide_data_fetch *x = a, *y = b;
	ORDER(x->process, y->process);
	ORDER(x->t1, y->t1);
	ORDER(x->t0, y->t0);
	return 0;
}

static int longest_first(const void *a, const void *b)
{
	const tide_data_wait *x = a, *y = b;
	ORDER(y->t1 - y->t0, x->t1 - x->t0);
	ORDER(x->t0, y->t0);
	return 0;
}

/* Returns the worker's last fetch that ended until t; NULL = none. */
static const tide_data_fetch *fetch_until(const tide_data_waits *w, int64_t process, int64_t t)
{
	size_t lo = 0, hi = w->n_fetches;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const tide_data_fetch *f = &w->fetches[mid];
		if (f->process < process || (f->process == process && f->t1 <= t))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && w->fetches[lo - 1].process == process ? &w->fetches[lo - 1] : NULL;
}

static int64_t share(int64_t figure, int64_t part, int64_t whole)
{
	if (part <= 0 || whole <= 0)
		return 0;
	return (int64_t)((tide_i128)figure * part / whole);
}

/* Chooses the largest part. A worker without a processor would have gone on as before: starved time
 * belongs to computing and reading, as they share its CPU time. */
static void choose(tide_data_wait *x)
{
	int64_t did[TIDE_DATA_PARTS];
	memcpy(did, x->part, sizeof did);
	int64_t cpu = tide__add_sat(did[TIDE_DATA_COMPUTED], did[TIDE_DATA_READ]);
	int64_t reading = share(did[TIDE_DATA_STARVED], did[TIDE_DATA_READ], cpu);
	did[TIDE_DATA_READ] += reading;
	did[TIDE_DATA_COMPUTED] += did[TIDE_DATA_STARVED] - reading;
	did[TIDE_DATA_STARVED] = -1;
	x->did = TIDE_DATA_COMPUTED;
	for (int k = 0; k < TIDE_DATA_PARTS; k++)
		if (did[k] > did[x->did])
			x->did = (uint8_t)k;
}

/* Divides a wait by what the functions of its fetch did in it. */
static void divide(const tide_data_waits *w, tide_data_wait *x, const tide_data_fetch *f)
{
	int64_t left = x->t1 - x->t0, most = -1;
	for (size_t i = f->first; i < f->first + f->n; i++) {
		const tide_data_function *fn = &w->functions[i];
		int64_t a = fn->t0 > x->t0 ? fn->t0 : x->t0, b = fn->t1 < x->t1 ? fn->t1 : x->t1;
		if (b - a > most) {
			most = b - a;
			x->function = fn->name;
		}
		int64_t sum = 0;
		for (int k = 0; k < N_FIGURES; k++)
			sum = tide__add_sat(sum, fn->figure[k]);
		int64_t whole = sum > fn->t1 - fn->t0 ? sum : fn->t1 - fn->t0;
		for (int k = 0; k < N_FIGURES; k++) {
			int64_t ns = share(fn->figure[k], b - a, whole);
			x->part[k] += ns;
			left -= ns;
		}
	}
	x->part[TIDE_DATA_HANDOVER] = left > 0 ? left : 0;
	choose(x);
}

/* ---- sums ---- */

static tide_data_worker *worker_of(tide_data_waits *w, tide_map *of, int64_t process)
{
	uint32_t at = tide__map_get(of, (uint64_t)process);
	if (at)
		return &w->workers[at - 1];
	if (!TIDE_ROOM(w->workers, w->cap_workers, w->n_workers + 1) ||
	    !tide__map_put(of, (uint64_t)process, (uint32_t)w->n_workers + 1))
		return NULL;
	w->workers[w->n_workers] = (tide_data_worker){ .process = process };
	return &w->workers[w->n_workers++];
}

static bool add_workers(tide_data_waits *w, tide_map *of)
{
	for (size_t i = 0; i < w->n_fetches; i++) {
		const tide_data_fetch *f = &w->fetches[i];
		tide_data_worker *x = worker_of(w, of, f->process);
		if (!x)
			return false;
		x->fetches++;
		x->ns = tide__add_sat(x->ns, f->t1 - f->t0);
		for (size_t k = f->first; k < f->first + f->n; k++)
			for (int p = 0; p < N_FIGURES; p++)
				x->figure[p] =
					tide__add_sat(x->figure[p], w->functions[k].figure[p]);
	}
	for (size_t i = 0; i < w->n_waits; i++) {
		const tide_data_wait *x = &w->waits[i];
		tide_data_worker *y = x->worker < 0 ? NULL : worker_of(w, of, x->worker);
		if (x->worker >= 0 && !y)
			return false;
		if (!y)
			continue;
		y->waits++;
		y->itself |= x->worker == x->process;
		y->wait_ns = tide__add_sat(y->wait_ns, x->t1 - x->t0);
	}
	return true;
}

static bool add_groups(tide_data_waits *w)
{
	tide_map of = { 0 }, seen = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < w->n_waits; i++) {
		const tide_data_wait *x = &w->waits[i];
		uint64_t key = (uint64_t)x->function << 4 | x->did;
		uint32_t at = tide__map_get(&of, key);
		if (!at) {
			ok = TIDE_ROOM(w->groups, w->cap_groups, w->n_groups + 1) &&
			     tide__map_put(&of, key, (uint32_t)w->n_groups + 1);
			if (!ok)
				break;
			w->groups[w->n_groups++] =
				(tide_data_group){ .function = x->function, .did = x->did };
			at = (uint32_t)w->n_groups;
		}
		tide_data_group *g = &w->groups[at - 1];
		g->waits++;
		g->ns = tide__add_sat(g->ns, x->t1 - x->t0);
		g->idle_ns = tide__add_sat(g->idle_ns, x->idle_ns > 0 ? x->idle_ns : 0);
		g->longest = x->t1 - x->t0 > g->longest ? x->t1 - x->t0 : g->longest;
		for (int k = 0; k < TIDE_DATA_PARTS; k++)
			g->part[k] = tide__add_sat(g->part[k], x->part[k]);
		uint64_t who = tide__mix((uint64_t)x->worker) ^ at;
		if (x->worker >= 0 && !tide__map_get(&seen, who)) {
			g->workers++;
			ok = tide__map_put(&seen, who, 1);
		}
	}
	tide__map_free(&of);
	tide__map_free(&seen);
	return ok;
}

static int most_first(const void *a, const void *b)
{
	const tide_data_group *x = a, *y = b;
	ORDER(y->ns, x->ns);
	ORDER(x->function, y->function);
	ORDER(x->did, y->did);
	return 0;
}

static int workers_in_order(const void *a, const void *b)
{
	const tide_data_worker *x = a, *y = b;
	ORDER(x->process, y->process);
	return 0;
}

tide_code tide__data_waits_finish(tide_data_waits *w, tide_error *err)
{
	tide_map of = { 0 };
	if (w->n_fetches)
		qsort(w->fetches, w->n_fetches, sizeof *w->fetches, fetches_in_order);
	for (size_t i = 0; i < w->n_waits; i++) {
		tide_data_wait *x = &w->waits[i];
		const tide_data_fetch *f = x->worker < 0 ? NULL : fetch_until(w, x->worker, x->t1);
		if (f && f->n)
			divide(w, x, f);
	}
	if (w->n_waits)
		qsort(w->waits, w->n_waits, sizeof *w->waits, longest_first);
	bool ok = add_workers(w, &of) && add_groups(w);
	if (w->n_groups)
		qsort(w->groups, w->n_groups, sizeof *w->groups, most_first);
	if (w->n_workers)
		qsort(w->workers, w->n_workers, sizeof *w->workers, workers_in_order);
	tide__map_free(&of);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__data_waits_free(tide_data_waits *w)
{
	tide__strings_free(w->names);
	tide__free(w->waits);
	tide__free(w->functions);
	tide__free(w->fetches);
	tide__free(w->groups);
	tide__free(w->workers);
	*w = (tide_data_waits){ 0 };
}
