// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Periodic work of the store: makes the list when inotify reports changed names (watch.h), or
 * regularly if folders cannot be watched; checks files that changed or are in memory; schedules
 * changed ones for reading; starts another reader if all are busy for long. One thread calls this.
 * */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/now.h"
#include "format/rings.h"
#include "serve/store/store_impl.h"

enum {
	AGAIN_MS = 400,	  /* least time between two readings of a file that changes */
	AGAIN_TIMES = 3,  /* and at least this many times as long as one scan takes */
	SETTLE_MS = 1500, /* a file of another format that just changed may be half written */
	LATE_MS = 500,	  /* a recording that waits this long gets its own reader */
};

struct listing {
	tide_store *s;
	bool changed;
	char folder[PATH_MAX]; /* of the last file; files of one folder follow each other */
};

/* ---- the writer of a recording ---- */

/* Checks the writer of a recording. Returns true if its state changed. The lock is held. */
static bool follow(struct rec *x, int64_t now)
{
	if (!x->following)
		return false;
	tide_followed f = tide__follow_poll(&x->follow, now);
	if (f == TIDE_FOLLOW_SAME)
		return false;
	x->changed = true;
	if (f != TIDE_FOLLOW_GREW) {
		x->r.writer = f == TIDE_FOLLOW_CLOSED ? TIDE_WRITER_CLOSED : TIDE_WRITER_KILLED;
		tide__follow_end(&x->follow);
		x->following = false;
	}
	return f != TIDE_FOLLOW_GREW;
}

/* Checks whether a recording that is not in memory is being written. Returns true if that changed.
 * Lock held. */
static bool see_writer(struct rec *x)
{
	if (x->following || x->now || x->busy || x->r.writer > TIDE_WRITER_RUNNING)
		return false;
	tide_rec_writer was = x->r.writer;
	x->r.writer = tide__follow_written(x->r.path) ? TIDE_WRITER_RUNNING : TIDE_WRITER_NONE;
	return x->r.writer != was;
}

/* ---- the list ---- */

/* Watches the folder of a file that was named itself or that a link leads to, because no given
 * folder contains it. */
static void watch_folder_of(struct listing *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash && slash > path ? (size_t)(slash - path) : 1;
	if (n >= sizeof l->folder || (!strncmp(l->folder, path, n) && !l->folder[n]))
		return;
	memcpy(l->folder, path, n);
	l->folder[n] = 0;
	tide__watch_add_folder(l->s->watch, l->folder);
}

static bool on_path(void *to, const char *path)
{
	struct listing *l = to;
	char id[TIDE_REC_ID];
	char *real = realpath(path, NULL);
	if (!real)
		return true; /* gone since */
	watch_folder_of(l, real);
	tide__store_make_id(real, id);
	pthread_mutex_lock(&l->s->lock);
	struct rec *x = tide__store_find(l->s, id);
	if (!x && (x = tide__store_add(l->s, real, id)))
		l->changed = true;
	if (x)
		x->listed = true;
	pthread_mutex_unlock(&l->s->lock);
	free(real);
	return x != NULL;
}

static void on_folder(void *to, const char *path)
{
	struct listing *l = to;
	if (path)
		tide__watch_add_folder(l->s->watch, path);
	else
		tide__watch_add_unknown(l->s->watch);
}

/* Removes files that no longer exist. One that is being read stays until then. */
static bool forget_unlisted(tide_store *s)
{
	tide_waiter *waiters = NULL;
	size_t n = 0, before = s->n;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++) {
		struct rec *x = s->recs[i];
		bool keep = x->listed || x->busy || x->r.state == TIDE_REC_LOADING;
		x->listed = false;
		if (keep) {
			s->recs[n++] = x;
			continue;
		}
		for (tide_waiter *w = x->waiters, *next; w; w = next) {
			next = w->next;
			w->next = waiters;
			waiters = w;
		}
		tide__store_rec_free(x);
	}
	s->n = n;
	pthread_mutex_unlock(&s->lock);
	tide__store_wake(waiters);
	return n != before;
}

static void make_list(struct listing *l)
{
	tide_store *s = l->s;
	const char *why;
	tide__watch_begin(s->watch);
	s->relist = !s->opt.list(s->opt.list_user, on_path, on_folder, l);
	tide__watch_end(s->watch);
	if (!s->relist && forget_unlisted(s))
		l->changed = true;
	s->polls = tide__watch_polls(s->watch, &why);
	if (why && !s->said && s->opt.note) {
		char line[200];
		snprintf(line, sizeof line, "looks for new files every 2 seconds: %s", why);
		s->opt.note(s->opt.list_user, line);
	}
	s->said |= why != NULL;
}

/* Called by inotify when a file changed; a ring file counts as its recording. */
static void on_file(void *user, const char *path)
{
	struct listing *l = user;
	char id[TIDE_REC_ID];
	size_t n = strlen(path), tail = strlen(TIDE_RINGS_SUFFIX);
	bool rings = n > tail && !strcmp(path + n - tail, TIDE_RINGS_SUFFIX);
	char *own = tide__strndup(path, rings ? n - tail : n);
	char *real = own ? realpath(own, NULL) : NULL;
	tide__free(own);
	if (!real)
		return;
	tide__store_make_id(real, id);
	pthread_mutex_lock(&l->s->lock);
	struct rec *x = tide__store_find(l->s, id);
	if (x) {
		tide__store_look_at(l->s, x);
		l->changed |= see_writer(x);
	}
	pthread_mutex_unlock(&l->s->lock);
	free(real);
}

/* ---- from time to time ---- */

/* Reads changed recordings in memory again, but not too often, and not while a program is writing
 * the whole file. */
static void read_again(tide_store *s, struct rec *x, int64_t now)
{
	if (!x->changed || !x->now || x->wanted || x->r.state == TIDE_REC_LOADING)
		return;
	int64_t wall = tide__now_ns(CLOCK_REALTIME) / 1000000;
	int64_t pause = x->took_ms * AGAIN_TIMES > AGAIN_MS ? x->took_ms * AGAIN_TIMES : AGAIN_MS;
	bool live = x->r.writer != TIDE_WRITER_NONE;
	if (now - x->read_ms >= pause && (live || wall - x->r.mtime_ns / 1000000 >= SETTLE_MS))
		tide__store_want(s, x);
}

static bool is_active(const struct rec *x)
{
	return x->now || x->following || x->busy || x->wanted;
}

/* Starts another thread if a small recording waits behind slow ones. The lock is held. */
static void help(tide_store *s, const struct rec *x, int64_t now)
{
	if (!x->wanted || x->busy || x->r.size > TIDE_STORE_SMALL || now - x->wanted_ms < LATE_MS)
		return;
	if (s->n_threads < TIDE_STORE_READERS &&
	    !pthread_create(&s->thread[s->n_threads], NULL, tide__store_run_small_reader, s))
		s->n_threads++;
}

/* `list`: it was just made. `seldom`: also looks for writers that ended without closing their file.
 * The lock is held. */
static bool look_at_all(tide_store *s, bool list, bool seldom, int64_t now)
{
	bool changed = false, active = false;
	for (size_t i = 0; i < s->n; i++) {
		struct rec *x = s->recs[i];
		if (list || is_active(x))
			tide__store_look_at(s, x);
		changed |= follow(x, now);
		if (list || (seldom && x->r.writer == TIDE_WRITER_RUNNING))
			changed |= see_writer(x);
		read_again(s, x, now);
		help(s, x, now);
		active |= is_active(x);
	}
	s->active = active;
	return changed;
}

bool tide__store_poll(tide_store *s, bool may_list)
{
	struct listing l = { .s = s };
	int64_t now = tide__now_ms();
	s->relist |= tide__watch_take(s->watch, on_file, &l);
	bool list = may_list && (s->relist || s->polls);
	if (list)
		make_list(&l);
	pthread_mutex_lock(&s->lock);
	if (may_list || s->active)
		l.changed |= look_at_all(s, list, may_list, now);
	if (l.changed)
		s->version++;
	pthread_mutex_unlock(&s->lock);
	if (l.changed)
		s->opt.changed(s->opt.user, NULL);
	return list;
}
