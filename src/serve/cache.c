// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Caches answers by request. A list in order of use under one lock: it has few, large entries, and
 * requests are compared by hash first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "serve/routes.h"

enum { MOST_ENTRIES = 4096, ENTRY_COST = 256 };

struct entry {
	struct entry *prev, *next; /* most recently used first */
	struct entry *chain;	   /* same bucket */
	uint64_t hash;
	char *key; /* owned */
	tide_blob *blob;
};

struct tide_cache {
	pthread_mutex_t lock;
	uint64_t most, held;
	size_t n;
	struct entry ends; /* the list's head and tail */
	struct entry *buckets[1024];
};

/* ---- blobs ---- */

static tide_blob *blob_hold(tide_blob *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void tide__blob_drop(tide_blob *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
		return;
	tide__free(b->bytes);
	tide__free(b->name);
	tide__free(b);
}

/* ---- the cache ---- */

tide_cache *tide__cache_new(uint64_t most)
{
	tide_cache *c = tide__calloc(1, sizeof *c);
	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->most = most;
	c->ends.next = c->ends.prev = &c->ends;
	return c;
}

static struct entry **bucket(tide_cache *c, uint64_t hash)
{
	return &c->buckets[hash % (sizeof c->buckets / sizeof *c->buckets)];
}

static struct entry *find(tide_cache *c, uint64_t hash, const char *key)
{
	for (struct entry *e = *bucket(c, hash); e; e = e->chain)
		if (e->hash == hash && !strcmp(e->key, key))
			return e;
	return NULL;
}

static void unlink_entry(struct entry *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static void to_front(tide_cache *c, struct entry *e)
{
	e->next = c->ends.next;
	e->prev = &c->ends;
	e->next->prev = e->prev->next = e;
}

static void forget(tide_cache *c, struct entry *e)
{
	struct entry **at = bucket(c, e->hash);
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	unlink_entry(e);
	c->held -= e->blob->n + ENTRY_COST;
	c->n--;
	tide__blob_drop(e->blob);
	tide__free(e->key);
	tide__free(e);
}

void tide__cache_free(tide_cache *c)
{
	if (!c)
		return;
	while (c->n)
		forget(c, c->ends.prev);
	pthread_mutex_destroy(&c->lock);
	tide__free(c);
}

tide_blob *tide__cache_get(tide_cache *c, const char *key)
{
	tide_blob *b = NULL;
	uint64_t hash = XXH3_64bits(key, strlen(key));
	pthread_mutex_lock(&c->lock);
	struct entry *e = find(c, hash, key);
	if (e) {
		unlink_entry(e);
		to_front(c, e);
		b = blob_hold(e->blob);
	}
	pthread_mutex_unlock(&c->lock);
	return b;
}

void tide__cache_put(tide_cache *c, const char *key, tide_blob *b)
{
	uint64_t hash = XXH3_64bits(key, strlen(key));
	struct entry *e = tide__calloc(1, sizeof *e);
	char *copy = tide__strndup(key, strlen(key));
	pthread_mutex_lock(&c->lock);
	bool fits = e && copy && b->n <= c->most / 2 && !find(c, hash, key);
	if (fits) {
		*e = (struct entry){ .hash = hash, .key = copy, .blob = blob_hold(b) };
		e->chain = *bucket(c, hash);
		*bucket(c, hash) = e;
		to_front(c, e);
		c->held += b->n + ENTRY_COST;
		c->n++;
		while (c->n > 1 && (c->held > c->most || c->n > MOST_ENTRIES))
			forget(c, c->ends.prev);
	}
	pthread_mutex_unlock(&c->lock);
	if (!fits) {
		tide__free(e);
		tide__free(copy);
	}
}
