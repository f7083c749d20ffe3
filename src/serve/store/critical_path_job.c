// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/store/critical_path_job.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"
#include "import/import.h"
#include "render/report/ops/critical_path.h"

enum {
	SPAN_BYTES = 500, /* memory of a span in the graph, its reading included */
	END_MS = 700,	  /* that ending waits for the thread */
};

struct job {
	struct job *next;
	tide_loaded *l; /* held */
	tide_waiter *waiters;
};

struct tide_critical_path_job {
	pthread_mutex_t lock; /* for all below, and for critical of readings */
	pthread_cond_t work;
	pthread_t thread;
	struct job *first; /* owned; the thread is at work on the first */
	uint64_t max_bytes;
	bool stop;
};

/* ---- finding one ---- */

struct critical {
	tide_model *m; /* owned: the model whose rows the path's spans are */
	tide_critical_path path;
	char why[256]; /* reason if there is no path; "" = there is one */
};

/* Reads the file again, because the model for answers lacks the event numbers that the critical
 * path needs. */
static void find(const tide_loaded *l, uint64_t max_bytes, struct critical *c)
{
	const tide_load_options load = { .what = TIDE_WANT_SPANS | TIDE_WANT_RAW };
	tide_critical_search_options o = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	uint64_t needs = (uint64_t)l->m->spans.n * SPAN_BYTES;
	if (needs > max_bytes) {
		snprintf(c->why, sizeof c->why,
			 "finding it takes about %" PRIu64
			 " MiB, more than --max-memory; `tidemark "
			 "critical-path` finds it",
			 needs >> 20);
		return;
	}
	tide_code rc = tide__load(l->m->path, &load, &c->m, &err);
	if (rc == TIDE_OK) {
		o.annotation = tide__critical_view_window(c->m);
		rc = tide__critical_view_run(c->m, false, &o, &c->path, &err);
	}
	if (rc != TIDE_OK)
		snprintf(c->why, sizeof c->why, "%s", err.text[0] ? err.text : tide_code_text(rc));
}

/* Returns the section; NULL if memory ran out. Graph and model are large and freed at once. */
static char *make(const tide_loaded *l, uint64_t max_bytes, size_t *n)
{
	struct critical c = { 0 };
	char *bytes = NULL;
	find(l, max_bytes, &c);
	bool found = !c.why[0];
	const tide_page_options opt = { .losses = "",
					.critical = found ? &c.path : NULL,
					.critical_model = found ? c.m : NULL,
					.critical_why = found ? NULL : c.why };
	FILE *out = open_memstream(&bytes, n);
	tide_code rc =
		out ? tide__page_write_section("critical", l->m, &opt, out, NULL) : TIDE_ENOMEM;
	if (out && (fclose(out) || rc != TIDE_OK)) {
		free(bytes);
		bytes = NULL;
	}
	if (found)
		tide__critical_path_free(&c.path);
	tide__model_free(c.m);
	malloc_trim(0); /* it was much */
	return bytes;
}

static void wake(tide_waiter *w)
{
	for (tide_waiter *next; w; w = next) {
		next = w->next;
		w->ready(w);
	}
}

/* Runs the first job. The lock is held on entry and on return. */
static void do_first(tide_critical_path_job *s)
{
	struct job *k = s->first;
	pthread_mutex_unlock(&s->lock);
	size_t n = 0;
	char *bytes = make(k->l, s->max_bytes, &n);
	pthread_mutex_lock(&s->lock);
	k->l->critical = bytes; /* NULL: memory ran out; the next request tries again */
	k->l->n_critical = n;
	s->first = k->next;
	tide_waiter *waiters = k->waiters;
	pthread_mutex_unlock(&s->lock);
	tide__loaded_drop(k->l);
	tide__free(k);
	wake(waiters);
	pthread_mutex_lock(&s->lock);
}

static void *run(void *arg)
{
	tide_critical_path_job *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (s->first)
			do_first(s);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- requests ---- */

static struct job *job_of(tide_critical_path_job *s, tide_loaded *l)
{
	struct job **at = &s->first;
	while (*at && (*at)->l != l)
		at = &(*at)->next;
	if (!*at) {
		*at = tide__calloc(1, sizeof **at);
		if (*at)
			(*at)->l = tide__loaded_hold(l);
	}
	return *at;
}

tide_code tide__critical_path_job_run(tide_critical_path_job *s, tide_loaded *l, bool all,
				      tide_waiter *w, const char **out, size_t *n)
{
	tide_code rc = TIDE_OK;
	*n = 0;
	*out = NULL;
	if (l->m->spans.n > TIDE_CRITICAL_MANY && !all)
		return TIDE_OK;
	pthread_mutex_lock(&s->lock);
	struct job *k = l->critical || s->stop ? NULL : job_of(s, l);
	if (k) {
		w->next = k->waiters;
		k->waiters = w;
		pthread_cond_signal(&s->work);
		rc = TIDE_EBUSY;
	} else {
		*out = l->critical;
		*n = l->n_critical;
		rc = *out ? TIDE_OK : TIDE_ENOMEM;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ---- begin and end ---- */

tide_critical_path_job *tide__critical_path_job_new(uint64_t max_bytes)
{
	tide_critical_path_job *s = tide__calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->max_bytes = max_bytes;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	if (!pthread_create(&s->thread, NULL, run, s))
		return s;
	tide__free(s);
	return NULL;
}

void tide__critical_path_job_stop(tide_critical_path_job *s)
{
	tide_waiter *waiters = NULL;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	for (struct job *k = s->first; k; k = k->next)
		for (tide_waiter *w = k->waiters, *next; w; w = next) {
			next = w->next;
			w->next = waiters;
			waiters = w;
			k->waiters = NULL;
		}
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	wake(waiters);
}

bool tide__critical_path_job_free(tide_critical_path_job *s)
{
	if (!s)
		return true;
	struct timespec until = tide__in_ms(END_MS);
	if (pthread_timedjoin_np(s->thread, NULL, &until))
		return false;
	for (struct job *k = s->first, *next; k; k = next) {
		next = k->next;
		tide__loaded_drop(k->l);
		tide__free(k);
	}
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	tide__free(s);
	return true;
}
