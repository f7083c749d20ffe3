// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A ring of blocks. Each goes FREE -> FULL -> BUSY -> DONE -> FREE, in input order:
 *
 *     taken ... claimed ... filled          (numbers of blocks; taken <= claimed <= filled)
 *
 * One thread at a time fills (reads and decompresses), but any of them may: a thread that finds no
 * other filling fills the next block and then parses it while it is still in its cache. It
 * continues to fill only while others wait for blocks. So as many threads as cores stay busy,
 * whichever of decompressing and parsing takes longer.
 *
 * One lock guards the states; a block's content belongs to the thread that moved it to its state,
 * the source and the reader's tail to the thread that set `filling`. */
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
	pthread_cond_t work;	       /* for workers: a block to parse, or room to fill one */
	pthread_cond_t done;	       /* for the caller: the next block in order, or work */
	size_t filled, claimed, taken; /* guarded by the lock */
	unsigned idle;		       /*   "  : threads that wait for a block to parse */
	bool filling;		       /* "  : a thread is filling */
	bool ended;		       /*   "  : the last block is filled */
	bool stop;		       /*   "  : give up */
} ring;

typedef struct worker {
	ring *g;
	kin_parser *parser; /* NULL: only fills, ahead of the others */
	pthread_t thread;
} worker;

/* ---- reading ---- */

/* Grows a buffer to exactly n bytes: blocks are large and rarely grow. */
static bool room(char **text, size_t *cap, size_t n)
{
	if (*cap >= n)
		return true;
	if (!TIDE_RESIZE(*text, n))
		return false;
	*cap = n;
	return true;
}

/* Fills a block: the tail of the previous one, then new bytes, up to the begin of the last event.
 * */
static void fill(kin_reader *r, kin_block_in *k)
{
	size_t got = 0, cut;
	k->failed = TIDE_ENOMEM;
	k->last = true;
	k->n = k->parsed = 0;
	if (!room(&k->text, &k->cap, r->n_tail + r->block + JSONR_PAD))
		return;
	if (r->n_tail)
		memcpy(k->text, r->tail, r->n_tail);
	tide_code rc = tide__source_read(r->src, k->text + r->n_tail, r->block, &got, &k->why);
	k->n = r->n_tail + got;
	k->last = got < r->block;
	memset(k->text + k->n, 0, JSONR_PAD);
	k->consumed = tide__source_consumed(r->src);
	k->base = r->base;
	r->n_tail = 0;
	k->failed = rc == TIDE_EIO ? rc : TIDE_OK;
	if (rc != TIDE_OK) {
		r->damage = rc;
		r->why = k->why;
	}
	cut = k->last ? 0 : tide__kineto_find_last_event(k->text, k->n);
	if (cut) {
		if (!room(&r->tail, &r->cap_tail, k->n - cut)) {
			k->failed = TIDE_ENOMEM;
			k->last = true;
			return;
		}
		r->n_tail = k->n - cut;
		memcpy(r->tail, k->text + cut, r->n_tail);
		k->n = cut;
		memset(k->text + k->n, 0, JSONR_PAD);
	}
	r->base += k->n;
}

/* ---- parsing ---- */

static void parse(kin_parser *c, kin_block_in *k)
{
	kin_doc d = { .state = KIN_SOME_EVENTS, .limit = KIN_ITEM_MAX };
	tide__kineto_out_clear(&k->out);
	if (k->failed != TIDE_OK || !k->base)
		return; /* the first block begins with the document's head, which load.c parses */
	c->out = &k->out;
	c->base = k->base;
	if (tide__jsonr_scan_text(&c->json.s, k->text, k->n))
		k->parsed = tide__kineto_parse_doc(c, &d, 0, false);
	else
		c->json.why = JSONR_NOMEM;
	k->seeking = d.seeking;
	if (c->json.why == JSONR_NOMEM)
		k->failed = TIDE_ENOMEM;
}

/* ---- threads ---- */

static kin_block_in *block_at(ring *g, size_t i)
{
	return &g->blocks[i % g->n];
}

/* The functions below are called with the lock held and return with it held. */

static void fill_next(ring *g)
{
	kin_block_in *k = block_at(g, g->filled);
	g->filling = true;
	pthread_mutex_unlock(&g->lock);
	fill(g->r, k);
	bool last = k->last;
	pthread_mutex_lock(&g->lock);
	k->state = FULL;
	g->filled++;
	g->ended = last;
	g->filling = false;
	pthread_cond_signal(&g->done);
	if (last)
		pthread_cond_broadcast(&g->work);
	else
		pthread_cond_signal(&g->work);
}

static void parse_next(ring *g, kin_parser *c)
{
	kin_block_in *k = block_at(g, g->claimed++);
	k->state = BUSY;
	pthread_mutex_unlock(&g->lock);
	parse(c, k);
	pthread_mutex_lock(&g->lock);
	k->state = DONE;
	if (k == block_at(g, g->taken))
		pthread_cond_signal(&g->done);
}

/* Fills or parses one block, whichever is needed more. Returns false if neither is possible now. */
static bool work(ring *g, kin_parser *c, bool fills)
{
	size_t ready = g->filled - g->claimed;
	bool room = g->filled - g->taken < g->n;
	if (fills && room && !g->filling && !g->ended && (!c || ready <= g->idle))
		fill_next(g);
	else if (c && ready)
		parse_next(g, c);
	else
		return false;
	return true;
}

static void idle(ring *g, pthread_cond_t *on, bool parses)
{
	g->idle += parses;
	pthread_cond_wait(on, &g->lock);
	g->idle -= parses;
}

static void *work_thread(void *arg)
{
	worker *w = arg;
	ring *g = w->g;
	pthread_mutex_lock(&g->lock);
	while (!g->stop && !(g->ended && (!w->parser || g->claimed == g->filled)))
		if (!work(g, w->parser, true))
			idle(g, &g->work, w->parser);
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* Makes the caller's thread take the next block in order, or else work like the others. */
static tide_code take_all(ring *g, kin_parser *own, bool fills, kin_take *take, void *user,
			  tide_error *err)
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
			pthread_cond_signal(&g->work);
		} else if (!work(g, own, fills)) {
			idle(g, &g->done, true);
		}
	}
	g->stop = true;
	pthread_cond_broadcast(&g->work);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* threads = parsers, the caller's among them; one more thread if `ahead`. */
static tide_code together(ring *g, unsigned threads, bool ahead, kin_take *take, void *user,
			  tide_error *err)
{
	worker w[KIN_THREADS_MAX];
	kin_parser *parsers = g->r->parsers;
	unsigned started = 0, more = threads - 1 + ahead;
	for (; started < more; started++) {
		w[started] = (worker){ g, started + 1 < threads ? &parsers[started + 1] : NULL, 0 };
		if (pthread_create(&w[started].thread, NULL, work_thread, &w[started]))
			break; /* fewer threads are enough */
	}
	bool fills = !ahead || started < more;
	tide_code rc = take_all(g, &parsers[0], fills, take, user, err);
	for (unsigned i = 0; i < started; i++)
		pthread_join(w[i].thread, NULL);
	return rc;
}

static bool make_parsers(kin_reader *r, unsigned threads, unsigned want)
{
	r->parsers = tide__calloc(threads, sizeof *r->parsers);
	if (!r->parsers)
		return false;
	r->n_parsers = threads;
	for (unsigned i = 0; i < threads; i++)
		r->parsers[i].want = want;
	return true;
}

tide_code tide__kineto_read_blocks(kin_reader *r, unsigned threads, bool ahead, unsigned want,
				   kin_take *take, void *user, tide_error *err)
{
	unsigned all = threads + ahead;
	ring g = { .r = r, .n = all > 1 ? all + 3 : 1 };
	if (!make_parsers(r, threads, want))
		return tide__nomem(err);
	g.blocks = tide__calloc(g.n, sizeof *g.blocks);
	if (!g.blocks)
		return tide__nomem(err);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.work, NULL);
	pthread_cond_init(&g.done, NULL);
	tide_code rc = together(&g, threads, ahead, take, user, err);
	pthread_cond_destroy(&g.done);
	pthread_cond_destroy(&g.work);
	pthread_mutex_destroy(&g.lock);
	for (size_t i = 0; i < g.n; i++) {
		tide__free(g.blocks[i].text);
		tide__kineto_out_fini(&g.blocks[i].out);
	}
	tide__free(g.blocks);
	return rc;
}

void tide__kineto_reader_fini(kin_reader *r)
{
	for (unsigned i = 0; i < r->n_parsers; i++)
		tide__kineto_parser_fini(&r->parsers[i]);
	tide__free(r->parsers);
	tide__free(r->tail);
	r->parsers = NULL;
	r->tail = NULL;
	r->n_parsers = 0;
}
