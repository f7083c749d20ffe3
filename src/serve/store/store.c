// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See store.h. One lock over the list, threads that read (store_read.c), one that watches
 * (store_watch.c). Readings are reference-counted, so replacing or evicting one never waits for its
 * users. */
#include "serve/store/store_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/search.h"

enum { END_MS = 700 }; /* that ending waits for a thread */

/* ---- the list ---- */

void tide__store_make_id(const char *path, char id[TIDE_REC_ID])
{
	snprintf(id, TIDE_REC_ID, "%016" PRIx64, (uint64_t)XXH3_64bits(path, strlen(path)));
}

/* Returns the position of an id in the list, which is sorted by id, or where it would be. */
static size_t place_of(const tide_store *s, const char *id)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, s->n, mid, strcmp(s->recs[mid]->r.id, id) < 0);
	return lo;
}

struct rec *tide__store_find(const tide_store *s, const char *id)
{
	size_t at = place_of(s, id);
	return at < s->n && !strcmp(s->recs[at]->r.id, id) ? s->recs[at] : NULL;
}

struct rec *tide__store_add(tide_store *s, const char *path, const char *id)
{
	if (!TIDE_ROOM(s->recs, s->cap, s->n + 1))
		return NULL;
	struct rec *x = tide__calloc(1, sizeof *x);
	char *copy = tide__strndup(path, strlen(path));
	if (!x || !copy) {
		tide__free(x);
		tide__free(copy);
		return NULL;
	}
	strcpy(x->r.id, id);
	x->r.path = copy;
	x->most_bytes = s->opt.max_bytes;
	size_t at = place_of(s, id);
	memmove(s->recs + at + 1, s->recs + at, (s->n++ - at) * sizeof *s->recs);
	return s->recs[at] = x;
}

int64_t tide__store_mtime(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

void tide__store_look_at(tide_store *s, struct rec *x)
{
	struct stat st;
	if (stat(x->r.path, &st))
		return;
	if (x->r.size != (uint64_t)st.st_size || x->r.mtime_ns != tide__store_mtime(&st)) {
		s->version++;
		x->r.has = 0;
	}
	x->r.size = (uint64_t)st.st_size;
	x->r.mtime_ns = tide__store_mtime(&st);
	if (!x->following && (x->r.size != x->read_size || x->r.mtime_ns != x->read_mtime_ns))
		x->changed = true;
}

void tide__store_wake(tide_waiter *w)
{
	for (tide_waiter *next; w; w = next) {
		next = w->next;
		w->ready(w);
	}
}

void tide__store_rec_free(struct rec *x)
{
	tide__loaded_drop(x->now);
	tide__loaded_drop(x->early);
	tide__follow_end(&x->follow);
	tide__free(x->r.path);
	tide__free(x);
}

/* ---- requests ---- */

void tide__store_want(tide_store *s, struct rec *x)
{
	if (!x->wanted)
		x->wanted_ms = tide__now_ms();
	x->wanted = s->active = true;
	if (x->r.state != TIDE_REC_LOADING && !x->now)
		x->r.state = TIDE_REC_LOADING;
	pthread_cond_broadcast(&s->work);
}

tide_code tide__store_get(tide_store *s, const char *id, bool early, tide_waiter *w,
			  tide_loaded **out, tide_error *err)
{
	tide_code rc = TIDE_OK;
	*out = NULL;
	pthread_mutex_lock(&s->lock);
	struct rec *x = tide__store_find(s, id);
	if (s->stop || !x) {
		rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such recording");
	} else if (x->now) {
		x->used = ++s->clock;
		*out = tide__loaded_hold(x->now);
	} else if (early && x->early) {
		*out = tide__loaded_hold(x->early);
	} else if (x->r.state == TIDE_REC_FAILED && !x->changed) {
		*err = x->r.error;
		rc = err->code ? err->code : TIDE_EIO;
	} else {
		x->used = ++s->clock;
		w->next = x->waiters;
		x->waiters = w;
		tide__store_want(s, x);
		rc = TIDE_EBUSY;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

tide_code tide__store_peek(tide_store *s, const char *id, tide_loaded **out, tide_error *err)
{
	pthread_mutex_lock(&s->lock);
	struct rec *x = tide__store_find(s, id);
	*out = x && x->now ? tide__loaded_hold(x->now) : NULL;
	pthread_mutex_unlock(&s->lock);
	return *out ? TIDE_OK : tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "not in memory");
}

uint64_t tide__store_generation(tide_store *s, const char *id, bool early)
{
	pthread_mutex_lock(&s->lock);
	struct rec *x = tide__store_find(s, id);
	const tide_loaded *l = x && x->now ? x->now : x && early ? x->early : NULL;
	uint64_t generation = l ? l->generation : 0;
	if (generation)
		x->used = ++s->clock;
	pthread_mutex_unlock(&s->lock);
	return generation;
}

bool tide__store_find_rec(tide_store *s, const char *id, tide_rec *out)
{
	pthread_mutex_lock(&s->lock);
	struct rec *x = tide__store_find(s, id);
	if (x) {
		*out = x->r;
		out->path = tide__strndup(x->r.path, strlen(x->r.path));
	}
	pthread_mutex_unlock(&s->lock);
	return x && out->path;
}

/* Returns whether a recording can answer, by what is known about it. */
static bool can(unsigned has, unsigned needs)
{
	if (has & TIDE_HAS_NOTHING || (has & TIDE_HAS_REPORT && !(needs & TIDE_HAS_REPORT)))
		return false;
	return has & needs & TIDE_HAS_ANY;
}

bool tide__store_find_newest(tide_store *s, unsigned needs, bool unknown, char id[TIDE_REC_ID])
{
	struct rec *best = NULL, *any = NULL;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && !s->stop; i++) { /* a stopped store returns none:
							 * tide__store_get */
		struct rec *x = s->recs[i];
		bool report = x->r.has & TIDE_HAS_REPORT;
		if (x->r.state == TIDE_REC_FAILED && !report)
			continue;
		if (!report && (!any || x->r.mtime_ns > any->r.mtime_ns))
			any = x;
		if ((x->r.has ? can(x->r.has, needs) : unknown) &&
		    (!best || x->r.mtime_ns > best->r.mtime_ns))
			best = x;
	}
	best = best ? best : any;
	if (best)
		memcpy(id, best->r.id, TIDE_REC_ID);
	pthread_mutex_unlock(&s->lock);
	return best;
}

void tide__store_note(tide_store *s, const tide_rec *r, unsigned has)
{
	pthread_mutex_lock(&s->lock);
	struct rec *x = tide__store_find(s, r->id);
	if (x && !x->r.has && x->r.size == r->size && x->r.mtime_ns == r->mtime_ns)
		x->r.has = has;
	pthread_mutex_unlock(&s->lock);
}

static int newest_first(const void *a, const void *b)
{
	const tide_rec *x = a, *y = b;
	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

tide_rec *tide__store_list_all(tide_store *s, size_t *n)
{
	pthread_mutex_lock(&s->lock);
	tide_rec *r = tide__calloc(s->n, sizeof *r);
	*n = 0;
	for (size_t i = 0; r && i < s->n; i++) {
		const struct rec *x = s->recs[i];
		char *path = tide__strndup(x->r.path, strlen(x->r.path));
		if (!path)
			continue;
		r[*n] = x->r;
		r[*n].path = path;
		if (x->busy) {
			r[*n].done = atomic_load_explicit(&x->done, memory_order_relaxed);
			r[*n].total = atomic_load_explicit(&x->total, memory_order_relaxed);
		}
		++*n;
	}
	pthread_mutex_unlock(&s->lock);
	if (r && *n)
		qsort(r, *n, sizeof *r, newest_first);
	return r;
}

void tide__store_list_free(tide_rec *r, size_t n)
{
	for (size_t i = 0; r && i < n; i++)
		tide__free(r[i].path);
	tide__free(r);
}

/* ---- the store itself ---- */

tide_store *tide__store_new(const tide_store_options *opt)
{
	tide_store *s = tide__calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->opt = *opt;
	s->relist = true;
	s->watch = tide__watch_new();
	s->slow = tide__critical_path_job_new(opt->max_bytes);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	if (s->watch && s->slow &&
	    !pthread_create(&s->thread[0], NULL, tide__store_run_reader, s)) {
		s->n_threads = 1;
		if (!pthread_create(&s->thread[1], NULL, tide__store_run_small_reader, s)) {
			s->n_threads = 2;
			return s;
		}
		tide__store_stop(s);
		pthread_join(s->thread[0], NULL);
	} else if (s->slow) {
		tide__critical_path_job_stop(s->slow);
	}
	(void)tide__critical_path_job_free(s->slow);
	tide__watch_free(s->watch);
	tide__free(s);
	return NULL;
}

uint64_t tide__store_version(tide_store *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t version = s->version;
	pthread_mutex_unlock(&s->lock);
	return version;
}

tide_critical_path_job *tide__store_slow(tide_store *s)
{
	return s->slow;
}

void tide__store_stop(tide_store *s)
{
	tide_waiter *waiters = NULL;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	for (size_t i = 0; i < s->n; i++)
		for (tide_waiter *w = s->recs[i]->waiters, *next; w; w = next) {
			next = w->next;
			w->next = waiters;
			waiters = w;
			s->recs[i]->waiters = NULL;
		}
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	tide__store_wake(waiters);
	tide__critical_path_job_stop(s->slow);
}

bool tide__store_free(tide_store *s)
{
	struct timespec until = tide__in_ms(END_MS);
	for (unsigned i = 0; i < s->n_threads; i++)
		if (pthread_timedjoin_np(s->thread[i], NULL, &until))
			return false;
	if (!tide__critical_path_job_free(s->slow))
		return false;
	for (size_t i = 0; i < s->n; i++)
		tide__store_rec_free(s->recs[i]);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	tide__watch_free(s->watch);
	tide__free(s->recs);
	tide__free(s);
	return true;
}
