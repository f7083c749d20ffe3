// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Completes the model after the last block: begin/end pairs become spans, times start at 0, spans
 * are sorted and linked, memory is paired, marks and samples are sorted, losses become facts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/kineto/keywords.h"
#include "import/xla_names.h"
#include "model/span_parents.h"
#include "model/mergesort.h"

/* ---- spans written as two events ---- */

static inline bool half_before(const void *ctx, uint32_t x, uint32_t y)
{
	const kin_half *h = ctx;
	return h[x].ts < h[y].ts;
}

typedef struct pairing {
	kin_build *b;
	uint32_t *below; /* per half: the one opened before it on the same lane (stack), + 1 */
	uint32_t *top;	 /* per lane: innermost open one, + 1 */
	tide_map async;	 /* (lane, id, name) -> open half + 1 */
	uint64_t unopened, open;
} pairing;

static bool put_pair(kin_build *b, const kin_half *h, int64_t t1, unsigned flags)
{
	tide_spans *s = &b->m->spans;
	kin_lane lane = { .global = h->lane };
	kin_row r = { .ts = h->ts,
		      .dur = t1 - h->ts,
		      .lane = &lane,
		      .src = h->src,
		      .kind = KIN_SPAN,
		      .cat = h->cat == KIN_CAT_SKIP ? TIDE_CAT_OTHER : h->cat };
	kin_out o = { .rows = &r, .n_rows = 1 };
	size_t before = s->n;
	if (!tide__kineto_add(b, &o))
		return false;
	if (s->n > before) {
		s->name[before].i = h->name;
		s->flags[before] = (uint8_t)flags;
	}
	return true;
}

static uint64_t async_key(const kin_half *h)
{
	return tide__mix(h->id ^ tide__mix((uint64_t)h->lane << 32 | h->name));
}

/* Returns false if memory runs out; *open is the half that h closes, or NULL. */
static bool match(pairing *p, uint32_t i, const kin_half **open)
{
	const kin_half *v = p->b->halves, *h = &v[i];
	*open = NULL;
	switch (h->kind) {
	case KIN_BEGIN:
		p->below[i] = p->top[h->lane];
		p->top[h->lane] = i + 1;
		return true;
	case KIN_ASYNC_BEGIN:
		return tide__map_put(&p->async, async_key(h), i + 1);
	default:;
		uint32_t k = h->kind == KIN_END ? p->top[h->lane]
						: tide__map_del(&p->async, async_key(h));
		if (!k)
			p->unopened++;
		else
			*open = &v[k - 1];
		if (k && h->kind == KIN_END)
			p->top[h->lane] = p->below[k - 1];
		return true;
	}
}

static bool pair_all(pairing *p, uint32_t *order, uint8_t *closed)
{
	kin_build *b = p->b;
	for (size_t i = 0; i < b->n_halves; i++) {
		const kin_half *open;
		if (!match(p, order[i], &open))
			return false;
		if (!open)
			continue;
		closed[open - b->halves] = closed[order[i]] = 1;
		if (!put_pair(b, open, b->halves[order[i]].ts, 0))
			return false;
	}
	for (size_t i = 0; i < b->n_halves; i++) {
		const kin_half *h = &b->halves[i];
		if (closed[i] || (h->kind != KIN_BEGIN && h->kind != KIN_ASYNC_BEGIN))
			continue;
		p->open++;
		if (!put_pair(b, h, b->t_max, TIDE_SPAN_OPEN))
			return false;
	}
	return true;
}

static bool pair_halves(kin_build *b)
{
	size_t n = b->n_halves;
	pairing p = { .b = b };
	if (!n)
		return true;
	uint32_t *order = n < UINT32_MAX - 1 ? tide__alloc(n * 2, sizeof *order) : NULL;
	uint8_t *closed = tide__calloc(n, 1);
	p.below = tide__calloc(n, sizeof *p.below);
	p.top = tide__calloc(b->m->lanes.n, sizeof *p.top);
	bool ok = order && closed && p.below && p.top;
	for (uint32_t i = 0; ok && i < n; i++)
		order[i] = i;
	if (ok)
		tide__mergesort(order, order + n, n, half_before, b->halves);
	ok = ok && pair_all(&p, order, closed);
	ok = ok &&
	     (!p.unopened || tide__fact_add(b->m, "loss.ends_without_begin", (int64_t)p.unopened));
	ok = ok && (!p.open || tide__fact_add(b->m, "loss.begins_without_end", (int64_t)p.open));
	tide__free(order);
	tide__free(closed);
	tide__free(p.below);
	tide__free(p.top);
	tide__map_free(&p.async);
	return ok;
}

/* ---- time, order ---- */

static void shift_times(kin_build *b)
{
	tide_model *m = b->m;
	if (b->t_min > b->t_max)
		b->t_min = b->t_max = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		m->spans.t0[i] -= b->t_min;
		m->spans.t1[i] -= b->t_min;
	}
	for (size_t i = 1; i < m->marks.n; i++)
		m->marks.t[i] -= b->t_min;
	for (size_t i = 0; i < m->samples.n; i++)
		m->samples.t[i] -= b->t_min;
	for (size_t i = 0; i < b->n_memory_events; i++)
		b->memory_events[i].ts -= b->t_min;
	for (size_t i = 0; i < b->n_flows; i++)
		b->flows[i].ts -= b->t_min;
	m->t_end = b->t_max - b->t_min;
}

/* Frees unused columns while spans are sorted, and restores them as zeros: untouched pages cost
 * nothing. */
static bool nest(kin_build *b)
{
	tide_spans *s = &b->m->spans;
	const tide_parent_column link = { b->link, sizeof *b->link };
	const tide_parent_ref refs = { b->n_refs ? &b->refs->span : NULL, b->n_refs,
				       sizeof *b->refs };
	tide__free(s->parent);
	tide__free(s->cause);
	tide__free(s->stack);
	s->parent = NULL;
	s->cause = NULL;
	s->stack = NULL;
	if (!tide__find_span_parents(b->m, &link, b->link ? 1 : 0, &refs, 1))
		return false;
	s->cause = tide__calloc(s->cap, sizeof *s->cause);
	s->stack = tide__calloc(s->cap, sizeof *s->stack);
	return s->cause && s->stack;
}

static inline bool mark_before(const void *ctx, uint32_t x, uint32_t y)
{
	const tide_marks *k = ctx;
	return k->t[x] < k->t[y];
}

static inline bool sample_before(const void *ctx, uint32_t x, uint32_t y)
{
	const tide_samples *s = ctx;
	return s->t[x] < s->t[y];
}

static bool sort_rows(void *table, const tide_table_desc *d, size_t n, size_t first,
		      void (*sort)(uint32_t *, uint32_t *, size_t, const void *))
{
	uint32_t *perm = n < UINT32_MAX ? tide__alloc(n * 2, sizeof *perm) : NULL;
	if (!perm)
		return false;
	for (uint32_t i = 0; i < n; i++)
		perm[i] = i;
	sort(perm + first, perm + n, n - first, table);
	bool ok = tide__table_permute(table, d, perm, first);
	tide__free(perm);
	return ok;
}

static void order_marks(uint32_t *v, uint32_t *tmp, size_t n, const void *t)
{
	tide__mergesort(v, tmp, n, mark_before, t);
}

static void order_samples(uint32_t *v, uint32_t *tmp, size_t n, const void *t)
{
	tide__mergesort(v, tmp, n, sample_before, t);
}

/* Sorts marks by time and gives each the number of memory events up to its time. */
static bool finish_marks(tide_model *m)
{
	size_t memory_events = 0;
	if (!sort_rows(&m->marks, &tide_marks_desc, m->marks.n, 1, order_marks))
		return false;
	for (size_t i = 1; i < m->marks.n; i++) {
		while (memory_events < m->memory_events.n &&
		       tide__memory_event_time(m, memory_events) <= m->marks.t[i])
			memory_events++;
		m->marks.position[i] = memory_events;
	}
	return true;
}

/* ---- facts ---- */

static bool put_losses(kin_build *b)
{
	static const char *const keys[] = {
#define X(id, key) key,
		KIN_LOSSES(X)
#undef X
	};
	bool ok = tide__fact_set_number(b->m, "kineto.events", (int64_t)b->events);
	if (b->want & TIDE_WANT_RAW) /* raw ts of t = 0 */
		ok = ok && tide__fact_set_number(b->m, "kineto.ts0_ns", b->t_min);
	for (int i = 0; i < KIN_N_LOSS; i++)
		ok = ok && (!b->loss[i] || tide__fact_add(b->m, keys[i], (int64_t)b->loss[i]));
	return ok;
}

/* "kineto.window.0": start from t = 0 and length in ns, number of ops (-1 = not given), name. */
static bool put_windows(kin_build *b)
{
	bool ok = true;
	for (size_t i = 0; ok && i < b->n_windows; i++) {
		const kin_window *w = &b->windows[i];
		char key[40], *text;
		snprintf(key, sizeof key, "kineto.window.%zu", i);
		if (asprintf(&text, "%" PRId64 " %" PRId64 " %" PRId64 " %s", w->ts - b->t_min,
			     w->dur, w->ops, tide__text(b->m, w->name, NULL)) < 0)
			return false;
		ok = tide__fact_text(b->m, key, text);
		free(text);
	}
	return ok;
}

tide_code tide__kineto_finish(kin_build *b, tide_error *err)
{
	tide_model *m = b->m;
	kin_memory *memory = NULL;
	bool ok = pair_halves(b);
	if (ok)
		shift_times(b);
	if (!(b->want & TIDE_WANT_MEMORY))
		tide__kineto_set_kinds(b);
	if (!(b->want & TIDE_WANT_RAW)) /* --hta-compat needs the rows as written */
		ok = ok && tide__kineto_cut_python_calls(b);
	ok = ok && tide__kineto_find_xla_devices(b) && tide__kineto_memory_begin(b, &memory) &&
	     nest(b);
	if (ok && b->xla)
		tide__xla_mark_containers(m);
	ok = ok && tide__kineto_link(b);
	ok = tide__kineto_memory_end(memory, ok) && finish_marks(m) &&
	     sort_rows(&m->samples, &tide_samples_desc, m->samples.n, 0, order_samples) &&
	     tide__kineto_add_metas(b) && tide__kineto_add_names(b) && put_windows(b) &&
	     put_losses(b);
	return ok ? TIDE_OK : tide__nomem(err);
}
