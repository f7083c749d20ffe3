// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tensors that operations made and nothing deallocated yet: their bytes, and what tiles make of them. */
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct held {
	uint64_t bytes, padded;
	uint8_t pool; /* 0 DRAM, 1 L1 */
	bool live;
} held;

typedef struct walk {
	const tide_tt *t;
	held *v; /* owned; by number of the value */
	size_t n, cap;
	tide_map rows;	   /* (where, name) -> number + 1 */
	tide_tt_live *sum; /* per lane: DRAM, L1 */
} walk;

static uint64_t hash(tide_slice s)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.s[i]) * 1099511628211u;
	return tide__mix(h);
}

static void drop(walk *w, uint32_t lane, uint64_t key)
{
	uint32_t row = tide__map_get(&w->rows, key);
	held *h = row ? &w->v[row - 1] : NULL;
	if (!h || !h->live)
		return;
	tide_tt_live *s = &w->sum[lane * 2 + h->pool];
	s->bytes -= h->bytes;
	s->padded -= h->padded;
	s->n--;
	h->live = false;
}

static bool add(walk *w, uint32_t lane, uint64_t key, const tide_mlir_tensor *x, uint8_t pool)
{
	uint32_t row = tide__map_get(&w->rows, key);
	drop(w, lane, key);
	if (!row) {
		if (!TIDE_ROOM(w->v, w->cap, w->n + 1) ||
		    !tide__map_put(&w->rows, key, row = (uint32_t)++w->n))
			return false;
	}
	w->v[row - 1] = (held){ x->bytes, x->padded, pool, true };
	tide_tt_live *s = &w->sum[lane * 2 + pool];
	s->bytes += x->bytes;
	s->padded += x->padded;
	s->n++;
	return true;
}

static uint64_t key_of(const walk *w, uint32_t span, tide_slice ssa, bool flat)
{
	uint64_t where = flat ? w->t->m->spans.lane[span].i : w->t->m->spans.parent[span].i;
	return tide__mix(hash(ssa) ^ (where * 0x9e3779b97f4a7c15u));
}

static tide_slice first_ssa(tide_slice list)
{
	tide_slice one = { NULL, 0 };
	if (tide__mlir_next(&list, &one)) {
		const char *colon = memchr(one.s, ':', one.n);
		one.n = colon ? (size_t)(colon - one.s) : one.n;
	}
	return one;
}

static bool make(walk *w, const tide_tt_op *o, bool flat)
{
	tide_mlir_op p;
	tide_mlir_tensor x;
	if (!tide__tt_parse(w->t, o, &p) || !p.results.n || !tide__tt_result(w->t, o, &p, &x) ||
	    !x.n_dims)
		return true;
	bool dram = TIDE_SLICE_IS(x.buffer, "dram"), l1 = TIDE_SLICE_IS(x.buffer, "l1");
	if ((!dram && !l1) || x.bytes > UINT64_MAX >> 20 || x.padded > UINT64_MAX >> 20)
		return true;
	return add(w, o->lane, key_of(w, o->span, first_ssa(p.results), flat), &x, l1);
}

/* Deallocates are not operations of t: they are found among the spans. */
static void unmake(walk *w, uint32_t span, tide_str text, bool flat)
{
	tide_mlir_op p;
	size_t n;
	const char *s = tide__text(w->t->m, text, &n);
	if (n && tide__mlir_op(s, n, &p) && memmem(p.name.s, p.name.n, "deallocate", 10))
		drop(w, w->t->m->spans.lane[span].i, key_of(w, span, first_ssa(p.operands), flat));
}

static bool run(walk *w, bool flat, tide_tt_live *out)
{
	const tide_tt *t = w->t;
	const tide_attrs *a = &t->m->attrs;
	keys k = tide__tt_keys(t->m);
	size_t at = 0;
	for (size_t i = 0; i < t->n; i++) {
		const tide_tt_op *o = &t->ops[i];
		for (; at < a->n && a->span[at].i < o->span; at++)
			if (a->key[at].i == k.mlir)
				unmake(w, a->span[at].i, a->text[at], flat);
		if (!make(w, o, flat))
			return false;
		memcpy(&out[i * 2], &w->sum[o->lane * 2], 2 * sizeof *out);
	}
	return true;
}

tide_code tide__tt_padding(const tide_tt *t, bool flat, tide_tt_live *out, tide_error *err)
{
	walk w = { .t = t, .sum = tide__calloc(t->m->lanes.n * 2, sizeof *w.sum) };
	bool ok = w.sum && run(&w, flat, out);
	tide__free(w.v);
	tide__free(w.sum);
	tide__map_free(&w.rows);
	return ok ? TIDE_OK : tide__nomem(err);
}
