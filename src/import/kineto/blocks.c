// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A ring of blocks. Each goes FREE -> FULL -> BUSY -> DONE -> FREE, in order of the input:
 *
 *     taken ... claimed ... filled          (numbers of blocks; taken <= claimed <= filled)
 *
 * One lock and one condition guard the states; the blocks' contents belong to whoever moved them to
 * the state they are in. */
#include "import/kineto/blocks.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { FREE, FULL, BUSY, DONE };

typedef struct ring {
	kin_reader *r;
	kin_block_in *blocks; /* owned */
	size_t n;
	pthread_mutex_t lock;
	pthread_cond_t change;
	size_t filled, claimed, taken; /* under the lock */
	bool ended;		       /*   "  : the last block is filled */
	bool stop;		       /*   "  : give up */
} ring;

typedef struct worker {
	ring *g;
	kin_parser *parser;
	pthread_t thread;
} worker;

/* ---- reading ---- */

static bool room(char **text, size_t *cap, size_t n)
{
	if (*cap >= n)
		return true;
	char *big = tide__realloc(*text, n, 1);
	if (!big)
		return false;
	*text = big;
	*cap = n;
	return true;
}

/* Fill a block: the last one's tail, then new bytes, cut before the last event. */
static void fill(kin_reader *r, kin_block_in *k)
{
	size_t got = 0, cut;
	k->failed = TIDE_ENOMEM;
	k->last = true;
	k->n = k->parsed = 0;
	if (!room(&k->text, &k->cap, r->n_tail + r->block + KIN_PAD))
		return;
	if (r->n_tail)
		memcpy(k->text, r->tail, r->n_tail);
	tide_code rc = tide__source_read(r->src, k->text + r->n_tail, r->block, &got, &k->why);
	k->n = r->n_tail + got;
	k->last = got < r->block;
	memset(k->text + k->n, 0, KIN_PAD);
	k->consumed = tide__source_consumed(r->src);
	k->base = r->base;
	r->n_tail = 0;
	k->failed = rc == TIDE_EIO ? rc : TIDE_OK;
	if (rc != TIDE_OK) {
		r->damage = rc;
		r->why = k->why;
	}
	cut = k->last ? 0 : tide__kin_last_event(k->text, k->n);
	if (cut) {
		if (!room(&r->tail, &r->cap_tail, k->n - cut)) {
			k->failed = TIDE_ENOMEM;
			k->last = true;
			return;
		}
		r->n_tail = k->n - cut;
		memcpy(r->tail, k->text + cut, r->n_tail);
		k->n = cut;
		memset(k->text + k->n, 0, KIN_PAD);
	}
	r->base += k->n;
}

/* ---- parsing ---- */

static void parse(kin_parser *c, kin_block_in *k)
{
	kin_doc d = { .state = KIN_SOME_EVENTS, .limit = KIN_ITEM_MAX };
	tide__kin_out_clear(&k->out);
	if (k->failed != TIDE_OK || !k->base)
		return; /* the first block begins with the document's head: not for us */
	c->out = &k->out;
	c->base = k->base;
	if (tide__kin_scan_text(&c->s, k->text, k->n))
		k->parsed = tide__kin_doc(c, &d, 0, false);
	else
		c->why = KIN_NOMEM;
	k->seeking = d.seeking;
	if (c->why == KIN_NOMEM)
		k->failed = TIDE_ENOMEM;
}

/* ---- threads ---- */

static kin_block_in *block_at(ring *g, size_t i)
{
	return &g->blocks[i % g->n];
}

static void *read_thread(void *arg)
{
	ring *g = arg;
	bool last = false;
	while (!last) {
		pthread_mutex_lock(&g->lock);
		while (!g->stop && g->filled - g->taken >= g->n)
			pthread_cond_wait(&g->change, &g->lock);
		kin_block_in *k = block_at(g, g->filled);
		bool stop = g->stop;
		pthread_mutex_unlock(&g->lock);
		if (stop)
			break;
		fill(g->r, k);
		last = k->last;
		pthread_mutex_lock(&g->lock);
		k->state = FULL;
		g->filled++;
		g->ended = last;
		pthread_cond_broadcast(&g->change);
		pthread_mutex_unlock(&g->lock);
	}
	return NULL;
}

/* Claim and parse one block; the lock is held on entry and exit. */
static void parse_next(ring *g, kin_parser *c)
{
	kin_block_in *k = block_at(g, g->claimed++);
	k->state = BUSY;
	pthread_mutex_unlock(&g->lock);
	parse(c, k);
	pthread_mutex_lock(&g->lock);
	k->state = DONE;
	pthread_cond_broadcast(&g->change);
}

static void *parse_thread(void *arg)
{
	worker *w = arg;
	ring *g = w->g;
	pthread_mutex_lock(&g->lock);
	while (!g->stop && !(g->ended && g->claimed == g->filled)) {
		if (g->claimed < g->filled)
			parse_next(g, w->parser);
		else
			pthread_cond_wait(&g->change, &g->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

static tide_code take_all(ring *g, kin_parser *own, kin_take *take, void *user, tide_error *err)
{
	tide_code rc = TIDE_OK;
	bool last = false;
	pthread_mutex_lock(&g->lock);
	while (rc == TIDE_OK && !last) {
		kin_block_in *k = block_at(g, g->taken);
		if (g->taken < g->claimed && k->state == DONE) {
			last = k->last;
			pthread_mutex_unlock(&g->lock);
			rc = take(user, k, err);
			pthread_mutex_lock(&g->lock);
			k->state = FREE;
			g->taken++;
			pthread_cond_broadcast(&g->change);
		} else if (g->claimed < g->filled) {
			parse_next(g, own);
		} else {
			pthread_cond_wait(&g->change, &g->lock);
		}
	}
	g->stop = true;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static tide_code alone(kin_reader *r, kin_parser *c, kin_take *take, void *user, tide_error *err)
{
	kin_block_in k = { 0 };
	tide_code rc;
	do {
		fill(r, &k);
		parse(c, &k);
		rc = take(user, &k, err);
	} while (rc == TIDE_OK && !k.last);
	tide__free(k.text);
	tide__kin_out_fini(&k.out);
	return rc;
}

static tide_code together(ring *g, worker *w, unsigned threads, kin_take *take, void *user,
			  tide_error *err)
{
	kin_reader *r = g->r;
	pthread_t reader;
	unsigned started = 0;
	if (pthread_create(&reader, NULL, read_thread, g))
		return alone(r, &r->parsers[0], take, user, err);
	for (; started + 1 < threads; started++) {
		w[started] = (worker){ .g = g, .parser = &r->parsers[started + 1] };
		if (pthread_create(&w[started].thread, NULL, parse_thread, &w[started]))
			break; /* fewer will do */
	}
	tide_code rc = take_all(g, &r->parsers[0], take, user, err);
	pthread_join(reader, NULL);
	for (unsigned i = 0; i < started; i++)
		pthread_join(w[i].thread, NULL);
	return rc;
}

tide_code tide__kin_blocks(kin_reader *r, unsigned threads, unsigned want, kin_take *take,
			   void *user, tide_error *err)
{
	worker w[KIN_THREADS_MAX];
	ring g = { .r = r, .n = threads + 3 };
	tide_code rc;
	r->parsers = tide__calloc(threads, sizeof *r->parsers);
	if (!r->parsers)
		return tide__nomem(err);
	r->n_parsers = threads;
	for (unsigned i = 0; i < threads; i++)
		r->parsers[i].want = want;
	if (threads == 1)
		return alone(r, &r->parsers[0], take, user, err);
	g.blocks = tide__calloc(g.n, sizeof *g.blocks);
	if (!g.blocks)
		return tide__nomem(err);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.change, NULL);
	rc = together(&g, w, threads, take, user, err);
	pthread_cond_destroy(&g.change);
	pthread_mutex_destroy(&g.lock);
	for (size_t i = 0; i < g.n; i++) {
		tide__free(g.blocks[i].text);
		tide__kin_out_fini(&g.blocks[i].out);
	}
	tide__free(g.blocks);
	return rc;
}

void tide__kin_reader_fini(kin_reader *r)
{
	for (unsigned i = 0; i < r->n_parsers; i++)
		tide__kin_parser_fini(&r->parsers[i]);
	tide__free(r->parsers);
	tide__free(r->tail);
	r->parsers = NULL;
	r->tail = NULL;
	r->n_parsers = 0;
}
