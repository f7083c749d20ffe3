// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Lines through two recordings. */
#include "analyze/predict.h"

#include "base/error.h"
#include "base/mem.h"

__extension__ typedef __int128 wide;

static tide_code reserve(tide_held *h, size_t n, tide_error *err)
{
	h->live = tide__alloc(n, sizeof *h->live);
	h->what = tide__alloc(n, sizeof *h->what);
	h->row = tide__alloc(n, sizeof *h->row);
	return h->live && h->what && h->row ? TIDE_OK : tide__nomem(err);
}

void tide__held_free(tide_held *h)
{
	tide__free(h->live);
	tide__free(h->what);
	tide__free(h->row);
	*h = (tide_held){ 0 };
}

/* Where an allocation was made, by its name: the numbers of names differ between traces. */
static uint64_t made_in(const tide_model *m, uint32_t a)
{
	uint32_t span = m->allocs.span[a].i, stack = m->allocs.stack[a].i;
	tide_str name = span ? m->spans.name[span]
			     : m->frames.function[m->stacks.frame[stack].i]; /* of none: "" */
	size_t n;
	const char *text = tide__text(m, name, &n);
	uint64_t hash = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
	return hash | UINT64_C(1) << 63; /* a free's number is never that large */
}

tide_code tide__held(const tide_model *m, uint32_t device, uint64_t size, tide_held *out,
		     tide_error *err)
{
	uint32_t *number = tide__alloc(m->allocs.n, sizeof *number), made = 0;
	uint64_t live = 0;
	*out = (tide_held){ .size = size };
	tide_code rc = number ? reserve(out, m->moves.n, err) : tide__nomem(err);
	for (size_t i = 0; rc == TIDE_OK && i < m->moves.n; i++) {
		bool born = m->moves.kind[i] == TIDE_MOVE_ALLOC;
		uint32_t a = born ? m->moves.row[i] : tide__move_ends(m, i);
		if (!a || m->pools.device[m->allocs.pool[a].i].i != device)
			continue;
		if (born)
			number[a] = made++;
		live += born ? m->allocs.size[a] : -m->allocs.size[a];
		out->live[out->n] = live;
		out->what[out->n] = born ? made_in(m, a) : number[a];
		out->row[out->n++] = a;
	}
	tide__free(number);
	return rc;
}

tide_code tide__held_one(uint64_t size, uint64_t bytes, tide_held *out, tide_error *err)
{
	*out = (tide_held){ .size = size };
	tide_code rc = reserve(out, 1, err);
	if (rc != TIDE_OK)
		return rc;
	out->live[0] = bytes;
	out->what[0] = 0;
	out->row[0] = 0;
	out->n = 1;
	return TIDE_OK;
}

tide_code tide__held_raised(const tide_held *h, uint64_t by, tide_held *out, tide_error *err)
{
	*out = (tide_held){ .size = h->size };
	tide_code rc = reserve(out, h->n, err);
	for (size_t i = 0; rc == TIDE_OK && i < h->n; i++) {
		out->live[i] = h->live[i] + by;
		out->what[i] = h->what[i];
		out->row[i] = h->row[i];
		out->n++;
	}
	return rc;
}

size_t tide__held_same(const tide_held *a, const tide_held *b)
{
	size_t n = a->n < b->n ? a->n : b->n, i = 0;
	while (i < n && a->what[i] == b->what[i])
		i++;
	return i;
}

/* Rounded towards plus infinity; b > 0. */
static wide up(wide a, wide b)
{
	return a / b + (a % b > 0);
}

static wide down(wide a, wide b)
{
	return a / b - (a % b < 0);
}

static wide on_line(const tide_held *a, const tide_held *b, size_t k, uint64_t size)
{
	wide by = (wide)b->live[k] - (wide)a->live[k], far = (wide)size - (wide)a->size;
	return (wide)a->live[k] + up(by * far, (wide)(b->size - a->size));
}

uint64_t tide__predict(const tide_held *a, const tide_held *b, uint64_t size, size_t *at)
{
	wide most = 0; /* no line counts below nothing */
	size_t where = 0;
	for (size_t k = 0; k < a->n; k++) {
		wide v = on_line(a, b, k, size);
		if (v > most) {
			most = v;
			where = k;
		}
	}
	if (at)
		*at = where;
	return most > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)most;
}

uint64_t tide__predict_fits(const tide_held *a, const tide_held *b, uint64_t capacity)
{
	wide most = TIDE_MOST_SIZE;
	for (size_t k = 0; k < a->n; k++) {
		wide by = (wide)b->live[k] - (wide)a->live[k];
		if (by <= 0) /* falls or stays: decided below */
			continue;
		wide room = (wide)capacity - (wide)a->live[k];
		wide size = (wide)a->size + down(room * (wide)(b->size - a->size), by);
		most = size < most ? size : most;
	}
	if (most < 1 || tide__predict(a, b, (uint64_t)most, NULL) > capacity)
		return 0; /* a line that falls is lower the larger the size: none smaller fits */
	return (uint64_t)most;
}
