// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The parts of the server that threads share, used by many at once: the sanitizers look for races.
 * Also: the cache keeps to its limit, and slow readers of events lose the oldest, not the newest.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/http/events.h"
#include "serve/http/exchange.h"
#include "testing.h"

/* ---- a store over two small traces ---- */

static char folder[] = "/tmp/tidemark-serve-XXXXXX";
static _Atomic unsigned changes;

static void write_trace(const char *name, int events)
{
	char path[256], part[300];
	snprintf(path, sizeof path, "%s/%s.json", folder, name);
	snprintf(part, sizeof part, "%s.part", path); /* readers see one or the other, whole */
	FILE *f = fopen(part, "w");
	assert_non_null(f);
	fputs("{\"traceEvents\":[", f);
	for (int i = 0; i < events; i++)
		fprintf(f,
			"%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,"
			"\"ts\":%d,\"dur\":5}",
			i ? "," : "", i % 7, i * 10);
	fputs("]}", f);
	fclose(f);
	assert_int_equal(rename(part, path), 0);
}

static bool list(void *user, bool (*add)(void *to, const char *path),
		 void (*seen)(void *to, const char *path), void *to)
{
	static const char *const names[] = { "a", "b" };
	char path[256];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s.json", folder, names[i]);
		if (!add(to, path))
			return false;
	}
	return true;
}

static void changed(void *user, const char *id)
{
	atomic_fetch_add(&changes, 1);
}

static const tide_store_options options = {
	.list = list, .changed = changed, .max_bytes = 1000, .early_from = 1
};

static int setup(void **state)
{
	assert_non_null(mkdtemp(folder));
	write_trace("a", 50);
	write_trace("b", 5000);
	return 0;
}

static int teardown(void **state)
{
	char command[300];
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

/* ---- asking it, from many threads at once ---- */

enum { ASKERS = 6, QUESTIONS = 120 };

struct box { /* an exchange and a way to wait for it */
	tide_exchange x;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool there;
};

static void done(tide_exchange *x)
{
	struct box *b = (struct box *)x;
	pthread_mutex_lock(&b->lock);
	b->there = true;
	pthread_cond_signal(&b->cond);
	pthread_mutex_unlock(&b->lock);
}

struct asker {
	tide_workers *workers;
	char id[2][TIDE_REC_ID];
	unsigned seed, good;
};

static void ask(struct asker *k, const char *target)
{
	struct box *b = calloc(1, sizeof *b);
	unsigned status;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->cond, NULL);
	if (!tide__request_parse(target, &b->x.req))
		abort();
	b->x.route = tide__route_find(&b->x.req, &status);
	if (!b->x.route || !tide__workers_give(k->workers, &b->x))
		abort();
	pthread_mutex_lock(&b->lock);
	while (!b->there)
		pthread_cond_wait(&b->cond, &b->lock);
	pthread_mutex_unlock(&b->lock);
	k->good += b->x.answer && b->x.answer->status == 200 && b->x.answer->n > 10;
	tide__blob_drop(b->x.answer);
	pthread_cond_destroy(&b->cond);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void *asker(void *arg)
{
	static const char *const forms[] = {
		"/api/recordings/%s/spans?px=%u",
		"/api/recordings/%s/search?q=op%u",
		"/data/%s/main?g=%u",
		"/api/profiler/flame?recording=%s&max_depth=%u",
		"/api/recordings/%s/curve?px=%u",
		"/data/%s/pieces?px=%u",
		"/api/recordings/%s/sums?limit=%u",
		"/api/recordings/%s/span?n=%u",
		"/data/%s/critical?all=1&g=%u",
		"/data/%s/memory?px=%u",
		"/data/%s/main?early=1&g=%u",
		"/data/%s/tables?early=1&g=%u",
	};
	enum { FORMS = sizeof forms / sizeof *forms };
	struct asker *k = arg;
	char target[256];
	for (int i = 0; i < QUESTIONS; i++) {
		k->seed = k->seed * 1664525u + 1013904223u;
		unsigned r = k->seed >> 8;
		snprintf(target, sizeof target, forms[r % FORMS], k->id[r / FORMS % 2],
			 1 + r / (2 * FORMS) % 5);
		ask(k, target);
		if (i % 10 == 0) {
			snprintf(target, sizeof target, "/api/diff?a=%s&b=%s", k->id[0], k->id[1]);
			ask(k, target);
			snprintf(target, sizeof target, "/pair/%s/%s/diff", k->id[1], k->id[0]);
			ask(k, target);
		}
	}
	return NULL;
}

static void many_ask_at_once(void **state)
{
	tide_store *s = tide__store_new(&options);
	tide_cache *c = tide__cache_new(1 << 20);
	tide_workers w;
	struct asker k[ASKERS];
	pthread_t t[ASKERS];
	size_t n;
	assert_true(s && c && tide__workers_start(&w, s, c, done));
	tide__store_poll(s, true);
	tide_rec *r = tide__store_list_all(s, &n);
	assert_int_equal(n, 2);
	for (unsigned i = 0; i < ASKERS; i++) {
		k[i] = (struct asker){ .workers = &w, .seed = i + 1 };
		memcpy(k[i].id[0], r[0].id, TIDE_REC_ID);
		memcpy(k[i].id[1], r[1].id, TIDE_REC_ID);
		assert_int_equal(pthread_create(&t[i], NULL, asker, &k[i]), 0);
	}
	tide__store_list_free(r, n);
	for (int i = 0; i < 10; i++) { /* files change meanwhile */
		write_trace("a", 50 + i);
		tide__store_poll(s, i % 2);
		usleep(5000);
	}
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < ASKERS; i++)
		/* half of the requests are for a file that changes, some for a missing one */
		assert_true(k[i].good > QUESTIONS / 8);
	assert_true(atomic_load(&changes) > 0);
	tide__store_stop(s);
	tide__workers_stop(&w);
	assert_true(tide__store_free(s));
	tide__cache_free(c);
}

/* A client that waited for the newest recording is woken by the end, and asks again before the
 * workers notice. */
static void the_end_has_no_newest(void **state)
{
	tide_store *s = tide__store_new(&options);
	tide_cache *c = tide__cache_new(1 << 20);
	tide_workers w;
	assert_true(s && c && tide__workers_start(&w, s, c, done));
	struct asker k = { .workers = &w };
	tide__store_poll(s, true);
	tide__store_stop(s);
	ask(&k, "/api/profiler/flame");
	assert_int_equal(k.good, 1);
	tide__workers_stop(&w);
	assert_true(tide__store_free(s));
	tide__cache_free(c);
}

/* ---- the cache ---- */

static void cache_keeps_to_its_limit(void **state)
{
	tide_cache *c = tide__cache_new(100000);
	char key[32];
	for (int i = 0; i < 2000; i++) {
		tide_blob *b = tide__answer_error(200, "text");
		snprintf(key, sizeof key, "key %d", i);
		tide__cache_put(c, key, b);
		tide__blob_drop(b);
		tide_blob *first = tide__cache_get(c, "key 0"); /* used: stays */
		assert_non_null(first);
		tide__blob_drop(first);
	}
	assert_null(tide__cache_get(c, "key 1"));
	tide_blob *last = tide__cache_get(c, "key 1999");
	assert_non_null(last);
	tide__blob_drop(last);
	tide__cache_free(c);
}

/* ---- events ---- */

static void slow_readers_lose_the_oldest(void **state)
{
	tide_events *e = tide__events_new();
	tide_place_in_events p = tide__events_end(e), late = p;
	char text[64], buf[16384];
	assert_int_equal(tide__events_read(e, &p, buf, sizeof buf), 0);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "{\"i\":%d}", i);
		tide__events_put(e, "x", text);
		size_t n = tide__events_read(e, &p, buf, sizeof buf);
		buf[n] = 0;
		assert_non_null(strstr(buf, text));
	}
	size_t n = 0, got;
	while ((got = tide__events_read(e, &late, buf + n, 100))) /* in small bites */
		n += got;
	buf[n] = 0;
	assert_non_null(strstr(buf, "event: lost\n"));
	assert_null(strstr(buf, "{\"i\":100}"));
	assert_non_null(strstr(buf, "{\"i\":136}"));
	assert_non_null(strstr(buf, "{\"i\":199}\n\n"));
	tide__events_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cache_keeps_to_its_limit),
		cmocka_unit_test(slow_readers_lose_the_oldest),
		cmocka_unit_test(many_ask_at_once),
		cmocka_unit_test(the_end_has_no_newest),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
