// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

double tide__heap_own_size(double estimate, double mean)
{
	double lo = 0, hi = estimate;
	for (int i = 0; i < 64 && hi - lo > 0.25; i++) {
		double mid = (lo + hi) / 2, p = -expm1(-mid / mean);
		if (p > 0 && mid / p > estimate)
			hi = mid;
		else
			lo = mid;
	}
	return estimate <= mean ? 1 : (lo + hi) / 2;
}

uint32_t tide__heap_pool(const tide_model *m)
{
	for (uint32_t i = 1; i < m->pools.n; i++)
		if (!strcmp(tide__text(m, m->pools.name[i], NULL), "malloc") &&
		    m->devices.kind[m->pools.device[i].i] == TIDE_DEVICE_HOST)
			return i;
	return 0;
}

double tide__heap_mean(const tide_model *m)
{
	int64_t f = tide__fact_find(m, "capture.heap");
	return f >= 0 && !tide__fact_is_text(m, (size_t)f) && m->facts.number[f] > 0
		       ? (double)m->facts.number[f]
		       : 0;
}

/* Returns the number of allocations that a row represents. */
static double weight(const tide_model *m, uint32_t row, double mean)
{
	double size = (double)m->allocs.size[row];
	return m->allocs.flags[row] & TIDE_ALLOC_SAMPLED && mean > 0
		       ? size / tide__heap_own_size(size, mean)
		       : 1;
}

/* Returns its contribution to the variance of a sum of sizes: own^2 (1 - p) / p^2. */
static double variance(const tide_model *m, uint32_t row, double mean)
{
	double size = (double)m->allocs.size[row];
	if (!(m->allocs.flags[row] & TIDE_ALLOC_SAMPLED) || mean <= 0)
		return 0;
	double p = tide__heap_own_size(size, mean) / size;
	return size * size * (1 - (p < 1 ? p : 1));
}

/* Returns its contribution to the variance of a number of blocks: (1 - p) / p^2. `n` is 1 / p. */
static double count_variance(double n)
{
	return n > 1 ? n * n - n : 0;
}

struct sweep {
	const tide_model *m;
	tide_heap *h;
	tide_map rows; /* stack + 1 -> row + 1 */
	size_t cap;
};

static bool of_heap(const struct sweep *s, size_t i)
{
	const tide_memory_events *v = &s->m->memory_events;
	return v->kind[i] <= TIDE_MEMORY_FREE && s->m->allocs.pool[v->row[i]].i == s->h->pool;
}

/* Finds the high-water mark: the first memory event after which live bytes are highest. */
static size_t find_peak(struct sweep *s)
{
	uint64_t live = 0;
	size_t at = 0;
	for (size_t i = 0; i < s->m->memory_events.n; i++) {
		if (!of_heap(s, i))
			continue;
		uint64_t size = s->m->allocs.size[s->m->memory_events.row[i]];
		live = s->m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? live + size : live - size;
		if (live > s->h->total.peak) {
			s->h->total.peak = live;
			s->h->peak_t = tide__memory_event_time(s->m, i);
			at = i + 1;
		}
	}
	return at;
}

static tide_heap_row *row_of(struct sweep *s, tide_stack_id stack)
{
	uint32_t at = tide__map_get(&s->rows, (uint64_t)stack.i + 1);
	if (at)
		return &s->h->rows[at - 1];
	if (!TIDE_ROOM(s->h->rows, s->cap, s->h->n + 1) ||
	    !tide__map_put(&s->rows, (uint64_t)stack.i + 1, (uint32_t)s->h->n + 1))
		return NULL;
	s->h->rows[s->h->n] = (tide_heap_row){ .stack = stack };
	return &s->h->rows[s->h->n++];
}

/* Returns true if the next event of the heap is the free of this block. */
static bool temporary(const struct sweep *s, size_t i)
{
	const tide_memory_events *v = &s->m->memory_events;
	uint32_t row = v->row[i];
	if (s->h->mean > 0 || s->m->allocs.flags[row] & TIDE_ALLOC_HANDED)
		return false;
	for (i++; i < v->n && !of_heap(s, i); i++)
		continue;
	return i < v->n && v->row[i] == row;
}

/* The errors are sums of variances until all samples are added. */
static void add(tide_heap_row *r, uint64_t size, double n, double v, bool peak, bool left,
		bool temp)
{
	r->peak_error += peak ? v : 0;
	r->left_error += left ? v : 0;
	r->count_error += count_variance(n);
	r->left_count_error += left ? count_variance(n) : 0;
	r->allocated += size;
	r->count += n;
	r->peak += peak ? size : 0;
	r->left += left ? size : 0;
	r->left_count += left ? n : 0;
	r->temporary += temp;
}

static void take_roots(tide_heap_row *r)
{
	r->peak_error = sqrt(r->peak_error);
	r->left_error = sqrt(r->left_error);
	r->count_error = sqrt(r->count_error);
	r->left_count_error = sqrt(r->left_count_error);
}

static bool add_all(struct sweep *s, size_t peak)
{
	const tide_model *m = s->m;
	tide_heap *h = s->h;
	int64_t peak_time = h->peak_t;
	double peak_var = 0, left_var = 0, count_var = 0, left_count_var = 0;
	uint64_t most = h->total.peak;
	uint8_t *at_peak = tide__calloc(m->allocs.n + 1, 1);
	if (!at_peak)
		return false;
	for (size_t i = 0; i < peak; i++)
		if (of_heap(s, i))
			at_peak[m->memory_events.row[i]] =
				m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		if (!of_heap(s, i) || m->memory_events.kind[i] != TIDE_MEMORY_ALLOC)
			continue;
		uint32_t a = m->memory_events.row[i];
		bool left = m->allocs.died[a] == TIDE_T_NEVER, temp = temporary(s, i);
		double n = weight(m, a, h->mean), v = variance(m, a, h->mean);
		tide_heap_row *r = row_of(s, m->allocs.stack[a]);
		if (!r) {
			tide__free(at_peak);
			return false;
		}
		add(r, m->allocs.size[a], n, v, at_peak[a], left, temp);
		add(&h->total, m->allocs.size[a], n, v, false, left, temp);
		peak_var += at_peak[a] ? v : 0;
		left_var += left ? v : 0;
		count_var += count_variance(n);
		left_count_var += left ? count_variance(n) : 0;
		h->samples++;
	}
	tide__free(at_peak);
	for (size_t i = 0; i < h->n; i++)
		take_roots(&h->rows[i]);
	h->total.peak = most;
	h->peak_t = peak_time;
	h->peak_error = sqrt(peak_var);
	h->left_error = sqrt(left_var);
	h->count_error = sqrt(count_var);
	h->left_count_error = sqrt(left_count_var);
	return true;
}

static int by_size(const void *a, const void *b)
{
	const tide_heap_row *x = a, *y = b;
	if (x->peak != y->peak)
		return x->peak < y->peak ? 1 : -1;
	if (x->left != y->left)
		return x->left < y->left ? 1 : -1;
	if (x->allocated != y->allocated)
		return x->allocated < y->allocated ? 1 : -1;
	return (x->stack.i > y->stack.i) - (x->stack.i < y->stack.i);
}

tide_code tide__heap_report_find(const tide_model *m, tide_heap *out, tide_error *err)
{
	struct sweep s = { .m = m, .h = out };
	memset(out, 0, sizeof *out);
	out->pool = tide__heap_pool(m);
	out->mean = tide__heap_mean(m);
	if (!out->pool)
		return TIDE_OK;
	size_t peak = find_peak(&s);
	bool ok = add_all(&s, peak);
	if (ok && out->n)
		qsort(out->rows, out->n, sizeof *out->rows, by_size);
	tide__map_free(&s.rows);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__heap_report_free(tide_heap *h)
{
	tide__free(h->rows);
	memset(h, 0, sizeof *h);
}
