// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The sections of one trace, several at a time.
 *
 * Sections read a const model and each writes its own text, so any thread may fill them in any
 * order; the page gets them in table order. Two inputs are computed once for the sections that need
 * them: the rows of the timeline, and the data that the caller prepares. A free thread takes the
 * next job of `turns`; inputs come before the sections that need them, so a thread only ever waits
 * for one that is working. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/page/page_parts.h"

enum {
	SMALL = 10000,	  /* spans and memory events that do not justify a second thread */
	MOST_THREADS = 4, /* more would wait for the longest section */
};

/* ---- jobs ---- */

enum { LOD, PREPARED, N_THINGS };
enum { NEEDS_LOD = 1 << LOD, NEEDS_PREPARED = 1 << PREPARED };

/* Sections and the views that need them: a page of one view holds only its sections. */
enum {
	MAIN,
	TABLES,
	OPS,
	HTA,
	CRITICAL,
	ROOFLINE,
	COARSE,
	SPANS,
	MEMORY,
	FLAME,
	ALLOCATOR,
	LEDGER,
	TT,
	N_PARTS
};
static const struct part {
	const char *name;
	tide_page_part *fill;
	const char *views; /* "" = all */
	unsigned needs;
} parts[] = {
	[MAIN] = { "main", tide__page_write_main, "", NEEDS_PREPARED },
	[TABLES] = { "tables", tide__page_write_tables, " overview timeline gantt memory phases " },
	[OPS] = { "ops", tide__page_write_ops, " ops " },
	[HTA] = { "hta", tide__page_write_hta, " kernels hta ", NEEDS_PREPARED },
	[CRITICAL] = { "critical", tide__page_write_critical, " hta ", NEEDS_PREPARED },
	[ROOFLINE] = { "roofline", tide__page_write_roofline, " roofline " },
	[COARSE] = { "coarse", tide__page_write_coarse, " timeline gantt ", NEEDS_LOD },
	[SPANS] = { "spans", tide__page_write_spans, " timeline gantt ", NEEDS_LOD },
	[MEMORY] = { "memory", tide__page_write_memory, " memory phases " },
	[FLAME] = { "flame", tide__page_write_flame, " flame " },
	[ALLOCATOR] = { "allocator", tide__page_write_allocator, " memory " },
	[LEDGER] = { "ledger", tide__page_write_ledger, " ledger " },
	[TT] = { "tt", tide__page_write_tt, " tenstorrent " },
};

/* Order of jobs: inputs (numbers after those of the sections), then sections, the longest first. */
static const uint8_t turns[] = {
	N_PARTS + PREPARED, N_PARTS + LOD, SPANS,    FLAME, MAIN,   MEMORY, OPS, COARSE, TABLES,
	ALLOCATOR,	    CRITICAL,	   ROOFLINE, HTA,   LEDGER, TT
};
_Static_assert(sizeof turns == N_PARTS + N_THINGS, "every job has its turn");

static bool wanted(const struct part *p, const char *only)
{
	size_t n = only ? strlen(only) : 0;
	const char *at = n && *p->views ? strstr(p->views, only) : p->views;
	return !n || !*p->views || (at && at[-1] == ' ' && at[n] == ' ');
}

static const struct part *part_named(const char *name)
{
	for (size_t i = 0; i < N_PARTS; i++)
		if (!strcmp(parts[i].name, name))
			return &parts[i];
	return NULL;
}

bool tide__page_has(const char *only, const char *section)
{
	const struct part *p = part_named(section);
	return p && wanted(p, only);
}

/* ---- running jobs ---- */

struct work {
	const tide_model *m;
	tide_page_options opt; /* written by the thread that makes an input, before it is ready */
	tide_lod lod;
	pthread_mutex_t lock;
	pthread_cond_t made;
	size_t next;	/* under the lock: position in `turns` */
	unsigned ready; /*   "  : inputs that are ready, or failed */
	struct {
		char *text; /* malloc's: the element, "" = nothing to show */
		size_t n;
		tide_error err;
		tide_code rc;
	} done[N_PARTS + N_THINGS];
};

static tide_code pack(tide_box *b, char **text, size_t *n, tide_error *err)
{
	FILE *mem = open_memstream(text, n);
	if (!mem)
		return tide__nomem(err);
	bool ok = tide__box_empty(b) || tide__box_write(b, mem);
	ok = !fclose(mem) && ok;
	return ok ? TIDE_OK : tide__nomem(err);
}

/* Returns the error of a section that could not be filled, or that memory ran out. */
static tide_code why(tide_error *err)
{
	return err && err->code != TIDE_OK ? err->code : tide__nomem(err);
}

static tide_code fill(struct work *w, size_t i, tide_error *err)
{
	tide_box *b = tide__box_new(parts[i].name);
	if (!b)
		return tide__nomem(err);
	tide__box_set_number(b, w->opt.number);
	tide_code rc = parts[i].fill(b, w->m, &w->opt, err)
			       ? pack(b, &w->done[i].text, &w->done[i].n, err)
			       : why(err);
	tide__box_free(b);
	return rc;
}

static tide_code make_lod(struct work *w, tide_error *err)
{
	if (w->opt.lod)
		return TIDE_OK;
	tide_code rc = tide__lod_build(w->m, &w->lod, err);
	w->opt.lod = rc == TIDE_OK ? &w->lod : NULL;
	return rc;
}

static tide_code make(struct work *w, unsigned thing, tide_error *err)
{
	if (thing == LOD)
		return make_lod(w, err);
	return w->opt.prepare ? w->opt.prepare(w->opt.user, &w->opt, err) : TIDE_OK;
}

/* Returns true if a section of the page needs it. */
static bool needed(const struct work *w, unsigned thing)
{
	for (size_t i = 0; i < N_PARTS; i++)
		if (parts[i].needs >> thing & 1 && wanted(&parts[i], w->opt.only))
			return true;
	return false;
}

/* Returns false if its input could not be made. */
static bool wait_for(struct work *w, unsigned needs)
{
	bool ok = true;
	pthread_mutex_lock(&w->lock);
	while ((w->ready & needs) != needs)
		pthread_cond_wait(&w->made, &w->lock);
	pthread_mutex_unlock(&w->lock);
	for (unsigned t = 0; t < N_THINGS; t++)
		ok = ok && (!(needs >> t & 1) || w->done[N_PARTS + t].rc == TIDE_OK);
	return ok;
}

static void do_thing(struct work *w, size_t job)
{
	unsigned thing = (unsigned)(job - N_PARTS);
	if (needed(w, thing))
		w->done[job].rc = make(w, thing, &w->done[job].err);
	pthread_mutex_lock(&w->lock);
	w->ready |= 1U << thing;
	pthread_cond_broadcast(&w->made);
	pthread_mutex_unlock(&w->lock);
}

static void *take_jobs(void *arg)
{
	struct work *w = arg;
	for (;;) {
		pthread_mutex_lock(&w->lock);
		size_t turn = w->next < sizeof turns ? w->next++ : sizeof turns;
		pthread_mutex_unlock(&w->lock);
		if (turn == sizeof turns)
			return NULL;
		size_t job = turns[turn];
		if (job >= N_PARTS)
			do_thing(w, job);
		else if (wanted(&parts[job], w->opt.only) && wait_for(w, parts[job].needs))
			w->done[job].rc = fill(w, job, &w->done[job].err);
	}
}

/* ---- threads ---- */

static unsigned choose_threads(const tide_model *m)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (m->spans.n + m->memory_events.n <= SMALL)
		return 1;
	return cores < 2 ? 2 : cores < MOST_THREADS ? (unsigned)cores : MOST_THREADS;
}

static void together(struct work *w)
{
	pthread_t other[MOST_THREADS];
	unsigned n = choose_threads(w->m) - 1, started = 0;
	while (started < n && !pthread_create(&other[started], NULL, take_jobs, w))
		started++; /* fewer threads are enough */
	take_jobs(w);
	for (unsigned i = 0; i < started; i++)
		pthread_join(other[i], NULL);
}

/* Writes the sections in the page's order. Returns the first error, if any. */
static tide_code write_done(struct work *w, FILE *out, tide_error *err)
{
	for (size_t i = N_PARTS + N_THINGS; i-- > 0;)
		if (w->done[i].rc != TIDE_OK) {
			if (err)
				*err = w->done[i].err;
			return w->done[i].rc;
		}
	for (size_t i = 0; i < N_PARTS; i++)
		if (w->done[i].n)
			fwrite(w->done[i].text, 1, w->done[i].n, out);
	return ferror(out) ? tide__fail_errno(err, "cannot write the page") : TIDE_OK;
}

tide_code tide__page_write_trace(const tide_model *m, const tide_page_options *opt, FILE *out,
				 tide_error *err)
{
	struct work *w = tide__calloc(1, sizeof *w);
	if (!w)
		return tide__nomem(err);
	w->m = m;
	w->opt = *opt;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->made, NULL);
	together(w);
	tide_code rc = write_done(w, out, err);
	for (size_t i = 0; i < N_PARTS; i++)
		free(w->done[i].text);
	pthread_cond_destroy(&w->made);
	pthread_mutex_destroy(&w->lock);
	tide__lod_free(&w->lod);
	tide__free(w);
	return rc;
}

/* ---- for a server ---- */

tide_code tide__page_write_section(const char *name, const tide_model *m,
				   const tide_page_options *opt, FILE *out, tide_error *err)
{
	const struct part *p = part_named(name);
	if (!p)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such section");
	tide_box *b = tide__box_new(name);
	tide_error e = { 0 };
	bool ok =
		b && p->fill(b, m, opt, &e) && (tide__box_empty(b) || tide__box_write_gzip(b, out));
	tide__box_free(b);
	tide_code rc = ok ? TIDE_OK : why(&e);
	if (err && !ok)
		*err = e;
	return rc;
}
