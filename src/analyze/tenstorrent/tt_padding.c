// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tracks live tensors that operations made: their bytes, and those of their tiles.
 *
 * A value of a program's run lives until a deallocate, or until the run ends. A const-eval program
 * passes its result to the load_cached that ran it. The cache keeps the result for later runs, in
 * which the same load_cached has the same value. */
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct held {
	uint64_t bytes, padded;
	uint32_t next; /* value of the same run + 1, 0 = last */
	uint8_t pool;  /* 0 DRAM, 1 L1 */
	bool live;
} held;

typedef struct scope {	  /* an open run of a program */
	uint32_t program; /* its span; 0 = outside all programs */
	uint32_t values;  /* first value of it + 1 */
	uint32_t load;	  /* operation + 1 that ran it: load_cached; 0 = none */
} scope;

typedef struct lane { /* of a rank */
	scope *open;  /* owned; outermost first */
	size_t n, cap;
	tide_tt_live sum[2]; /* DRAM, L1 */
} lane;

typedef struct walk {
	const tide_tt *t;
	held *v; /* owned; by number of the value */
	size_t n, cap;
	tide_map rows; /* (where, name) -> number + 1 */
	lane *lanes;   /* owned */
	bool *ran;     /* owned; by operation: a load_cached that ran its program */
	bool flat;
} walk;

static uint64_t hash(tide_slice s)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.s[i]) * 1099511628211u;
	return tide__mix(h);
}

/* ---- values ---- */

static void drop(walk *w, lane *l, uint32_t row)
{
	held *h = row ? &w->v[row - 1] : NULL;
	if (!h || !h->live)
		return;
	tide_tt_live *s = &l->sum[h->pool];
	s->bytes -= h->bytes;
	s->padded -= h->padded;
	s->n--;
	h->live = false;
}

/* Returns the number + 1 of the value with a key, created in *list if new; 0 if memory runs out. */
static uint32_t value_of(walk *w, uint64_t key, uint32_t *list)
{
	uint32_t row = tide__map_get(&w->rows, key);
	if (row)
		return row;
	if (!TIDE_ROOM(w->v, w->cap, w->n + 1) || !tide__map_put(&w->rows, key, (uint32_t)w->n + 1))
		return 0;
	w->v[w->n++] = (held){ .next = list ? *list : 0 };
	if (list)
		*list = (uint32_t)w->n;
	return (uint32_t)w->n;
}

static void set(walk *w, lane *l, uint32_t row, const tide_mlir_tensor *x, uint8_t pool)
{
	drop(w, l, row);
	held *h = &w->v[row - 1];
	*h = (held){ x->bytes, x->padded, h->next, pool, true };
	tide_tt_live *s = &l->sum[pool];
	s->bytes += x->bytes;
	s->padded += x->padded;
	s->n++;
}

static uint64_t key_of(const walk *w, uint32_t span, tide_slice ssa)
{
	uint64_t where = w->flat ? w->t->m->spans.lane[span].i : w->t->m->spans.parent[span].i;
	return tide__mix(hash(ssa) ^ (where * 0x9e3779b97f4a7c15u));
}

/* Returns the key of a cached result, which is the same in every run of its module. */
static uint64_t cached_key(const walk *w, const tide_tt_op *o)
{
	uint64_t where = (uint64_t)o->lane << 32 | w->t->module_of[o - w->t->ops];
	return tide__mix(tide__mix(o->text.i) ^ (where * 0x9e3779b97f4a7c15u) ^ 1);
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

static bool is_load(const tide_mlir_op *p)
{
	return memmem(p->name.s, p->name.n, "load_cached", 11) != NULL;
}

static bool make(walk *w, const tide_tt_op *o)
{
	lane *l = &w->lanes[o->lane];
	tide_mlir_op p;
	tide_mlir_tensor x;
	if (!tide__tt_parse(w->t, o, &p) || !p.results.n ||
	    !tide__tt_read_result(w->t, o, &p, &x) || !x.n_dims)
		return true;
	bool dram = TIDE_SLICE_IS(x.buffer, "dram"), l1 = TIDE_SLICE_IS(x.buffer, "l1");
	if ((!dram && !l1) || x.bytes > UINT64_MAX >> 20 || x.padded > UINT64_MAX >> 20)
		return true;
	uint64_t key = key_of(w, o->span, first_ssa(p.results));
	bool cached = !w->flat && is_load(&p);
	uint32_t row = cached ? value_of(w, cached_key(w, o), NULL)
			      : value_of(w, key, w->flat ? NULL : &l->open[l->n - 1].values);
	if (!row || (cached && !tide__map_put(&w->rows, key, row)))
		return false;
	set(w, l, row, &x, l1);
	return true;
}

/* Deallocates are not operations of t: they are found among the spans. */
static void unmake(walk *w, uint32_t span, tide_str text)
{
	tide_mlir_op p;
	size_t n;
	const char *s = tide__text(w->t->m, text, &n);
	if (n && tide__mlir_parse_op(s, n, &p) && memmem(p.name.s, p.name.n, "deallocate", 10))
		drop(w, &w->lanes[w->t->m->spans.lane[span].i],
		     tide__map_get(&w->rows, key_of(w, span, first_ssa(p.operands))));
}

/* ---- runs ---- */

static bool is_around(const tide_model *m, uint32_t outer, uint32_t span)
{
	while (span && span != outer)
		span = m->spans.parent[span].i;
	return span == outer;
}

static bool leave(walk *w, lane *l)
{
	scope s = l->open[--l->n];
	for (uint32_t row = s.values; row; row = w->v[row - 1].next)
		drop(w, l, row);
	return !s.load || make(w, &w->t->ops[s.load - 1]);
}

/* Ends runs that are not around the operation. */
static bool enter(walk *w, size_t op)
{
	const tide_tt *t = w->t;
	lane *l = &w->lanes[t->ops[op].lane];
	uint32_t program = t->m->spans.parent[t->ops[op].span].i;
	while (l->n && !is_around(t->m, l->open[l->n - 1].program, program))
		if (!leave(w, l))
			return false;
	if (l->n && l->open[l->n - 1].program == program)
		return true;
	if (!TIDE_ROOM(l->open, l->cap, l->n + 2))
		return false;
	if (!l->n)
		l->open[l->n++] = (scope){ 0 };
	if (program)
		l->open[l->n++] = (scope){ program, 0, t->load_of[op] };
	return true;
}

/* ---- all of it ---- */

static bool run(walk *w, tide_tt_live *out)
{
	const tide_tt *t = w->t;
	const tide_attrs *a = &t->m->attrs;
	keys k = tide__tt_find_keys(t->m);
	size_t at = 0;
	for (size_t i = 0; i < t->n; i++) {
		const tide_tt_op *o = &t->ops[i];
		for (; at < a->n && a->span[at].i < o->span; at++)
			if (a->key[at].i == k.mlir)
				unmake(w, a->span[at].i, a->text[at]);
		if ((!w->flat && !enter(w, i)) || (!w->ran[i] && !make(w, o)))
			return false;
		memcpy(&out[i * 2], w->lanes[o->lane].sum, 2 * sizeof *out);
	}
	return true;
}

tide_code tide__tt_find_padding(const tide_tt *t, bool flat, tide_tt_live *out, tide_error *err)
{
	walk w = { .t = t, .flat = flat };
	w.lanes = tide__calloc(t->m->lanes.n, sizeof *w.lanes);
	w.ran = tide__calloc(t->n + 1, sizeof *w.ran);
	for (size_t i = 0; w.ran && !flat && i < t->n; i++)
		if (t->load_of[i])
			w.ran[t->load_of[i] - 1] = true;
	bool ok = w.lanes && w.ran && run(&w, out);
	for (size_t i = 0; w.lanes && i < t->m->lanes.n; i++)
		tide__free(w.lanes[i].open);
	tide__free(w.lanes);
	tide__free(w.ran);
	tide__free(w.v);
	tide__map_free(&w.rows);
	return ok ? TIDE_OK : tide__nomem(err);
}
