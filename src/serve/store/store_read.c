// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The threads that read recordings: the most recently requested first, the beginning of a large
 * one before the whole, within the available memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/now.h"
#include "format/tide.h"
#include "format/recording_owner.h"
#include "import/import.h"
#include "base/memory_limit.h"
#include "serve/store/store_impl.h"

enum {
	LEAST_EVENTS = 100000,
	EVENT_BYTES = 32,	/* that an event of a .tide file takes in memory, about */
	EARLY_FROM = 128 << 20, /* bytes of a file that is worth a first look; and of that look */
	EARLY_TIDE = 4 << 20,
	EARLY_JSON = 24 << 20,
};

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct rec *x = user;
	atomic_store_explicit(&x->done, done, memory_order_relaxed);
	atomic_store_explicit(&x->total, total, memory_order_relaxed);
}

static void put_away(struct rec *x)
{
	tide__loaded_drop(x->now);
	x->now = NULL;
	x->r.generation = x->r.bytes = 0;
	if (x->r.state == TIDE_REC_READY)
		x->r.state = TIDE_REC_IDLE;
}

/* Keeps the sum of all readings below the limit, and the real memory of readings and answers below
 * 3/4 of the budget; the one used last stays. The lock is held. */
static void evict(tide_store *s)
{
	for (;;) {
		bool tight = tide__mem_live() > tide__mem_budget_now() / 4 * 3;
		uint64_t sum = 0;
		struct rec *oldest = NULL;
		for (size_t i = 0; i < s->n; i++) {
			struct rec *x = s->recs[i];
			if (!x->now)
				continue;
			sum += x->now->bytes;
			if (x->used != s->clock && (!oldest || x->used < oldest->used))
				oldest = x;
		}
		if ((sum <= s->opt.max_bytes && !tight) || !oldest)
			return;
		put_away(oldest);
	}
}

/* Frees memory for a recording that does not fit beside the others. Lock held. */
static void evict_others(tide_store *s, const struct rec *stays)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->recs[i] != stays && s->recs[i]->now && !s->recs[i]->busy)
			put_away(s->recs[i]);
	tide__mem_forgive();
}

static bool not_closed(const tide_model *m)
{
	return !strcmp(m->format, "tide") && (tide__fact_find(m, "recovered.from") >= 0 ||
					      tide__fact_find(m, "loss.not_closed") >= 0);
}

static void begin_following(struct rec *x, const tide_model *m)
{
	const char *host = tide__text(m, m->processes.host[m->processes.n > 1], NULL);
	if (x->following || x->r.writer == TIDE_WRITER_KILLED)
		return;
	if (!not_closed(m)) {
		if (x->r.writer == TIDE_WRITER_RUNNING) /* it was a regular file when the list was
		                                         * made */
			x->r.writer = TIDE_WRITER_CLOSED;
		return;
	}
	x->following = tide__follow_begin(&x->follow, x->r.path, host);
	x->r.writer = x->following ? TIDE_WRITER_RUNNING : TIDE_WRITER_NONE;
}

/* Stores a reading (or its error). Lock held. */
static tide_waiter *settle(tide_store *s, struct rec *x, tide_loaded *l, const tide_error *err)
{
	tide_waiter *waiters = x->waiters;
	x->waiters = NULL;
	if (l) {
		tide__loaded_drop(x->now);
		x->now = l;
		x->r.state = TIDE_REC_READY;
		x->r.generation = l->generation;
		x->r.bytes = l->bytes;
		x->r.has = tide__run_what(l->m);
		x->r.error = (tide_error){ 0 };
		begin_following(x, l->m);
		evict(s);
	} else if (x->now) { /* the file is being replaced: keep the previous reading */
		x->r.state = TIDE_REC_READY;
	} else {
		x->r.state = TIDE_REC_FAILED;
		x->r.error = *err;
	}
	return waiters;
}

/* Returns the events of a .tide file that fit into --max-memory and into half of the available
 * memory, because answers need memory too. */
static uint64_t most_events(uint64_t max_bytes)
{
	uint64_t room = tide__memory_limit() / 2;
	return (room < max_bytes ? room : max_bytes) / EVENT_BYTES + LEAST_EVENTS;
}

/* Reads a file without holding the lock: x and its path stay valid while it is busy. */
static tide_loaded *read_file(struct rec *x, uint64_t generation, uint64_t max_bytes,
			      tide_error *err)
{
	const char *path = x->r.path;
	tide_load_options opt = { .progress = on_progress, .user = x };
	tide_model *m = NULL;
	struct stat st = { 0 };
	bool small = !stat(path, &st) && st.st_size <= TIDE_STORE_SMALL;
	opt.max_events = most_events(x->most_bytes);
	opt.max_bytes = max_bytes;
	if (max_bytes)
		opt.progress = NULL;
	opt.what = TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS | TIDE_WANT_LAUNCH |
		   (small ? TIDE_WANT_SHAPES : TIDE_WANT_ARGS);
	on_progress(x, 0, 0);
	tide_code rc = tide__load(path, &opt, &m, err);
	for (int i = 0;
	     rc == TIDE_ENOMEM && tide__mem_refused() && i < 3 && tide__recording_began(path);
	     i++) {
		opt.max_events /= 8; /* events take more than EVENT_BYTES: read fewer of them */
		tide__mem_forgive();
		rc = tide__load(path, &opt, &m, err);
	}
	if (rc == TIDE_ENOMEM && !tide__mem_refused())
		tide__fail(err, rc, TIDE_NO_OFFSET,
			   "it needs more memory than is available (%" PRIu64 " MiB are free)",
			   tide__memory_limit() >> 20);
	if (rc != TIDE_OK)
		return NULL;
	tide_loaded *l = tide__loaded_new(m, generation);
	if (!l) {
		tide__nomem(err);
		return NULL;
	}
	l->file_size = (uint64_t)st.st_size;
	l->file_mtime_ns = tide__store_mtime(&st);
	return l;
}

/* Returns the bytes of a preview: for a .tide file, or one of plain JSON; 0 = its beginning cannot
 * be read alone. */
static uint64_t beginning_of(const char *path)
{
	char head[64];
	int fd = tide__input_open(path, 0);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	size_t n = f ? fread(head, 1, sizeof head, f) : 0;
	if (f)
		fclose(f);
	size_t at = 0;
	while (at < n && strchr(" \t\r\n", head[at]))
		at++;
	if (n >= 8 && !memcmp(head, TIDE_FILE_MAGIC, 8))
		return EARLY_TIDE;
	return at < n && (head[at] == '{' || head[at] == '[') ? EARLY_JSON : 0;
}

/* Reads the beginning of a large file for a preview: a fraction of a second. Lock held on entry
 * and on return. */
static void read_early(tide_store *s, struct rec *x)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	uint64_t generation = ++s->generation;
	if (x->now || x->early || x->r.size < (s->opt.early_from ? s->opt.early_from : EARLY_FROM))
		return;
	pthread_mutex_unlock(&s->lock);
	uint64_t look = beginning_of(x->r.path);
	tide_loaded *l = look ? read_file(x, generation, look, &err) : NULL;
	pthread_mutex_lock(&s->lock);
	x->early = l;
	x->r.early = l ? l->generation : 0;
	tide_waiter *waiters = x->waiters;
	x->waiters = NULL;
	pthread_mutex_unlock(&s->lock);
	tide__store_wake(waiters); /* requests for the whole file wait again */
	pthread_mutex_lock(&s->lock);
}

/* Reads one recording. The lock is held on entry and on return. */
static void read_one(tide_store *s, struct rec *x)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char id[TIDE_REC_ID];
	uint64_t generation = ++s->generation;
	memcpy(id, x->r.id, sizeof id);
	x->wanted = x->changed = false;
	tide__store_look_at(s, x);
	x->read_size = x->r.size;
	x->read_mtime_ns = x->r.mtime_ns;
	x->changed = false;
	x->r.state = TIDE_REC_LOADING;
	x->busy = true; /* it is not removed meanwhile */
	read_early(s, x);
	pthread_mutex_unlock(&s->lock);
	int64_t began = tide__now_ms();
	tide_loaded *l = read_file(x, generation, 0, &err);
	if (!l && err.code == TIDE_ENOMEM && tide__mem_refused()) {
		pthread_mutex_lock(&s->lock);
		evict_others(s, x);
		pthread_mutex_unlock(&s->lock);
		l = read_file(x, generation, 0, &err);
	}
	int64_t ended = tide__now_ms();
	pthread_mutex_lock(&s->lock);
	x->busy = false;
	x->read_ms = ended;
	x->took_ms = ended - began;
	tide__loaded_drop(x->early);
	x->early = NULL;
	x->r.early = 0;
	tide_waiter *waiters = settle(s, x, l, &err);
	pthread_mutex_unlock(&s->lock);
	tide__store_wake(waiters);
	s->opt.changed(s->opt.user, id);
	pthread_mutex_lock(&s->lock);
}

/* Returns the most recently requested recording that waits to be read; NULL = none. */
static struct rec *next_wanted(tide_store *s, uint64_t most)
{
	struct rec *best = NULL;
	for (size_t i = 0; i < s->n; i++) {
		struct rec *x = s->recs[i];
		if (x->wanted && !x->busy && x->r.size <= most && (!best || x->used > best->used))
			best = x;
	}
	return best;
}

static void read_them(tide_store *s, uint64_t most)
{
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct rec *x = next_wanted(s, most);
		if (x)
			read_one(s, x);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

void *tide__store_run_reader(void *arg)
{
	read_them(arg, UINT64_MAX);
	return NULL;
}

void *tide__store_run_small_reader(void *arg)
{
	read_them(arg, TIDE_STORE_SMALL);
	return NULL;
}
