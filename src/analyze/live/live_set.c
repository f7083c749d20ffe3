// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/live/live_set.h"

#include <stdlib.h>

#include "analyze/live/relative.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

static bool is_on(const tide_model *m, uint32_t row, uint32_t device)
{
	return device == TIDE_ANY || m->pools.device[m->allocs.pool[row].i].i == device;
}

static bool wanted(const tide_model *m, uint32_t row, uint32_t device, uint32_t pool)
{
	uint32_t p = m->allocs.pool[row].i;
	if (pool != TIDE_ANY)
		return p == pool && is_on(m, row, device);
	return is_on(m, row, device) && (device == TIDE_ANY || tide__pool_in_device(m, p));
}

/* Sets one bit per live alloc: ALLOC sets it, its end clears it. Returns their number. */
static size_t mark(const tide_model *m, uint64_t position, uint64_t *bits)
{
	size_t n = 0;
	for (uint64_t i = 0; i < position; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(m, i, &made);
		if (made) {
			bits[row / 64] |= (uint64_t)1 << row % 64;
			n++;
		} else if (row) {
			bits[row / 64] &= ~((uint64_t)1 << row % 64);
			n--;
		}
	}
	return n;
}

tide_code tide__live_set_at(const tide_model *m, uint64_t position, uint32_t device, uint32_t pool,
			    tide_live_set *out, tide_error *err)
{
	size_t words = m->allocs.n / 64 + 1;
	uint64_t *bits = tide__calloc(words, sizeof *bits);
	*out = (tide_live_set){ 0 };
	if (!bits)
		return tide__nomem(err);
	size_t n = mark(m, position < m->memory_events.n ? position : m->memory_events.n, bits);
	out->rows = tide__alloc(n, sizeof *out->rows);
	for (size_t w = 0; out->rows && w < words; w++)
		for (uint64_t b = bits[w]; b; b &= b - 1) {
			uint32_t row = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(b);
			if (wanted(m, row, device, pool))
				out->rows[out->n++] = row;
		}
	tide__free(bits);
	return out->rows ? TIDE_OK : tide__nomem(err);
}

void tide__live_set_free(tide_live_set *a)
{
	tide__free(a->rows);
	*a = (tide_live_set){ 0 };
}

/* ---- largest ---- */

static bool less(const tide_model *m, uint32_t a, uint32_t b)
{
	uint64_t x = m->allocs.size[a], y = m->allocs.size[b];
	return x < y || (x == y && a > b);
}

/* Restores the heap (smallest on top) from the top down. */
static void sift(const tide_model *m, uint32_t *h, size_t n, size_t i)
{
	for (;;) {
		size_t k = 2 * i + 1;
		if (k + 1 < n && less(m, h[k + 1], h[k]))
			k++;
		if (k >= n || !less(m, h[k], h[i]))
			return;
		uint32_t t = h[i];
		h[i] = h[k];
		h[k] = t;
		i = k;
	}
}

static void rise(const tide_model *m, uint32_t *h, size_t i)
{
	while (i && less(m, h[i], h[(i - 1) / 2])) {
		uint32_t t = h[i];
		h[i] = h[(i - 1) / 2];
		h[(i - 1) / 2] = t;
		i = (i - 1) / 2;
	}
}

static void offer(const tide_model *m, tide_live_set *out, size_t top, uint32_t row)
{
	if (out->n < top) {
		out->rows[out->n++] = row;
		rise(m, out->rows, out->n - 1);
	} else if (top && less(m, out->rows[0], row)) {
		out->rows[0] = row;
		sift(m, out->rows, top, 0);
	}
}

tide_code tide__live_set_find_largest(const tide_model *m, const tide_live_set *in, uint32_t device,
				      size_t top, tide_live_set *out, tide_error *err)
{
	size_t n = in ? in->n : m->allocs.n - 1;
	if (top > n)
		top = n;
	*out = (tide_live_set){ .rows = tide__alloc(top, sizeof *out->rows) };
	if (!out->rows)
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++) {
		uint32_t row = in ? in->rows[i] : (uint32_t)i + 1;
		if (is_on(m, row, device))
			offer(m, out, top, row);
	}
	for (size_t k = out->n; k > 1; k--) { /* the heap becomes a list, largest first */
		uint32_t t = out->rows[0];
		out->rows[0] = out->rows[k - 1];
		out->rows[k - 1] = t;
		sift(m, out->rows, k - 1, 0);
	}
	return TIDE_OK;
}

/* Returns true if memory events of the device have sizes, but no addresses (relative.h). */
static bool only_sizes(const tide_model *m, uint32_t device)
{
	static const char name[] = TIDE_RELATIVE_COUNTER;
	uint32_t key = tide__strings_find(m->strings, name, sizeof name - 1);
	for (size_t c = 1; key && c < m->counters.n; c++)
		if (m->counters.name[c].i == key &&
		    (device == TIDE_ANY || m->counters.device[c].i == device))
			return true;
	return false;
}

bool tide__memory_known(const tide_model *m, uint32_t device)
{
	if (device == TIDE_ANY && m->allocs.n > 1)
		return true;
	bool pool = false;
	for (size_t p = 1; p < m->pools.n && !pool; p++)
		pool = device == TIDE_ANY || m->pools.device[p].i == device;
	return pool && !only_sizes(m, device);
}
