// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Corrects the ends of Python calls.
 *
 * PyTorch's Python tracer misses some returns (a generator that torch.compile resumed, a call that
 * a C extension left) and then lets the call run to the end of the recording. Nested by time, such
 * a call would contain everything that follows on its thread. `Python parent id` names the caller,
 * and a call cannot outlast its caller: it is shortened to the caller's end, callers first, and
 * counted. */
#include "base/mem.h"
#include "base/search.h"
#include "import/kineto/kineto_impl.h"
#include "model/mergesort.h"

typedef struct calls {
	kin_build *b;
	uint32_t *row; /* Python spans by their id's number */
	uint32_t *todo;
	uint8_t *seen;
	size_t n;
	uint64_t cut;
} calls;

static inline bool id_before(const void *ctx, uint32_t x, uint32_t y)
{
	const uint32_t *link = ctx;
	return link[x] < link[y];
}

/* Returns the index of the call with this id, n if there is none. Ids mostly have no gaps. */
static size_t find(const calls *c, uint32_t id)
{
	const uint32_t *link = c->b->link;
	size_t lo = 0, guess = c->n && id ? id - link[c->row[0]] : c->n;
	if (!id)
		return c->n;
	if (guess < c->n && link[c->row[guess]] == id)
		return guess;
	TIDE_SEARCH(lo, c->n, mid, link[c->row[mid]] < id);
	return lo < c->n && link[c->row[lo]] == id ? lo : c->n;
}

static size_t caller(const calls *c, size_t call)
{
	return find(c, c->b->m->spans.parent[c->row[call]].i);
}

static void cut(calls *c, size_t call)
{
	tide_spans *s = &c->b->m->spans;
	size_t at = caller(c, call);
	if (at == c->n)
		return;
	uint32_t i = c->row[call], up = c->row[at];
	if (s->lane[i].i != s->lane[up].i || s->t0[i] < s->t0[up] || s->t0[i] >= s->t1[up] ||
	    s->t1[i] <= s->t1[up])
		return;
	s->t1[i] = s->t1[up];
	c->cut++;
}

/* Shortens each call once, after its callers; a cycle of ids is followed only once. */
static void cut_all(calls *c)
{
	for (size_t k = 0; k < c->n; k++) {
		size_t deep = 0;
		for (size_t at = k; at < c->n && !c->seen[at]; at = caller(c, at)) {
			c->seen[at] = 1;
			c->todo[deep++] = (uint32_t)at;
		}
		while (deep)
			cut(c, c->todo[--deep]);
	}
}

bool tide__kineto_cut_python_calls(kin_build *b)
{
	const tide_spans *s = &b->m->spans;
	calls c = { .b = b };
	for (size_t i = 1; i < s->n; i++)
		c.n += s->cat[i] == TIDE_CAT_PYTHON && b->link[i];
	if (!c.n)
		return true;
	c.row = tide__alloc(c.n, sizeof *c.row);
	c.todo = tide__alloc(c.n, sizeof *c.todo);
	c.seen = tide__calloc(c.n, 1);
	bool ok = c.row && c.todo && c.seen;
	size_t n = 0;
	for (uint32_t i = 1; ok && i < s->n; i++)
		if (s->cat[i] == TIDE_CAT_PYTHON && b->link[i])
			c.row[n++] = i;
	if (ok) {
		tide__mergesort(c.row, c.todo, n, id_before, b->link);
		cut_all(&c);
	}
	ok = ok && (!c.cut || tide__fact_add(b->m, "loss.python_calls_cut", (int64_t)c.cut));
	tide__free(c.row);
	tide__free(c.todo);
	tide__free(c.seen);
	return ok;
}
