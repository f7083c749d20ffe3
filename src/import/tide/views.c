// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads tensors that share an allocation. A view is identified by its allocation and its offset;
 * the last description of it counts, as with tensors. */
#include <string.h>

#include "base/mem.h"
#include "format/varint.h"
#include "import/tide/build_rows.h"
#include "model/strings.h"

enum { MAX_DIMS = 256 }; /* the decoder rejects more */

struct view {
	uint64_t dims[MAX_DIMS], offset, bytes;
};

/* Reads dimensions and offset, and computes the bytes. Returns false if they are not part of
 * `size` bytes. */
static bool read_view(const tide_event *e, uint64_t size, struct view *v)
{
	const uint8_t *p = e->bytes;
	bool bad = false, small = true;
	v->bytes = tide__dtype_bytes(e->stream & 0xff);
	for (uint64_t i = 0; i < e->size && i < MAX_DIMS; i++) {
		p = tide__varint(p, &v->dims[i], &bad);
		small = small && !__builtin_mul_overflow(v->bytes, v->dims[i], &v->bytes);
	}
	tide__varint(p, &v->offset, &bad);
	return small && !bad && v->offset <= size && v->bytes <= size - v->offset;
}

/* Returns the row of this allocation's view at this offset, created if needed; 0 if memory runs
 * out. */
static uint32_t row_of(tide_build *b, uint32_t alloc, uint64_t offset)
{
	char key[sizeof alloc + sizeof offset];
	memcpy(key, &alloc, sizeof alloc);
	memcpy(key + sizeof alloc, &offset, sizeof offset);
	if (!b->view_keys && !(b->view_keys = tide__strings_new()))
		return 0;
	uint32_t before = tide__strings_count(b->view_keys);
	uint32_t row = tide__strings_add(b->view_keys, key, sizeof key);
	if (row <= before)
		return row;
	row = tide__push(&b->m->views, &tide_views_desc);
	if (row) {
		b->m->views.alloc[row] = (tide_alloc_id){ alloc };
		b->m->views.offset[row] = offset;
		b->m->views.requires_grad[row] = 2;
	}
	return row;
}

static bool set_shape(tide_model *m, uint32_t row, const tide_event *e, const struct view *v)
{
	tide_views *x = &m->views;
	if (e->size > x->ndim[row]) {
		if (!TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + (size_t)e->size))
			return false;
		x->dims[row] = m->n_dims;
		m->n_dims += (size_t)e->size;
	}
	x->ndim[row] = (uint32_t)e->size;
	x->bytes[row] = v->bytes;
	x->dtype[row] = (uint8_t)e->stream;
	memcpy(m->dims + x->dims[row], v->dims, (size_t)e->size * sizeof *v->dims);
	return true;
}

bool tide__build_view(tide_build *b, const tide_event *e)
{
	tide_model *m = b->m;
	struct view v = { .offset = 0 };
	uint32_t alloc = tide__live_find(&b->allocs, tide__build_pool(b, e), e->addr);
	if (!alloc || e->size >= MAX_DIMS) {
		b->tensor_unknown++;
		return true;
	}
	if (!read_view(e, m->allocs.size[alloc], &v)) {
		b->view_outside++;
		return true;
	}
	uint32_t row = row_of(b, alloc, v.offset);
	if (!row)
		return false;
	if (e->name)
		m->views.name[row] =
			(tide_str){ tide__ids_get(&b->defs->names, e->name, &b->undefined) };
	if (e->kind <= 1)
		m->views.requires_grad[row] = e->kind;
	if (e->stream >> 8)
		m->views.role[row] = (uint8_t)(e->stream >> 8);
	return (!(e->stream & 0xff) && !e->size) || set_shape(m, row, e, &v);
}

struct sums {
	tide_map rows; /* alloc << 8 | role -> index in bytes, from 1 */
	uint64_t *bytes;
	size_t n, cap;
};

static uint32_t sum_of(const struct sums *s, const tide_views *v, size_t i)
{
	return tide__map_get(&s->rows, (uint64_t)v->alloc[i].i << 8 | v->role[i]);
}

static bool add_up(struct sums *s, const tide_views *v)
{
	for (size_t i = 1; i < v->n; i++) {
		uint32_t at = sum_of(s, v, i);
		if (!at) {
			at = (uint32_t)++s->n;
			if (!TIDE_ROOM(s->bytes, s->cap, s->n + 1) ||
			    !tide__map_put(&s->rows, (uint64_t)v->alloc[i].i << 8 | v->role[i], at))
				return false;
			s->bytes[at] = 0;
		}
		s->bytes[at] += v->bytes[i];
	}
	return true;
}

/* Chooses the role of most bytes, the first of equals. A role that a tensor gave to the whole
 * allocation stays. */
static bool choose(const struct sums *s, tide_model *m)
{
	const tide_views *v = &m->views;
	tide_map chosen = { 0 }; /* alloc -> index in bytes */
	bool ok = true;
	for (size_t i = 1; ok && i < v->n; i++) {
		uint32_t a = v->alloc[i].i, mine = sum_of(s, v, i),
			 best = tide__map_get(&chosen, a);
		if (!v->role[i] || (!best && m->allocs.role[a]) ||
		    (best && s->bytes[mine] <= s->bytes[best]))
			continue;
		m->allocs.role[a] = v->role[i];
		ok = tide__map_put(&chosen, a, mine);
	}
	tide__map_free(&chosen);
	return ok;
}

bool tide__build_view_roles(tide_build *b)
{
	struct sums s = { .n = 0 };
	bool ok = b->m->views.n <= 1 || (add_up(&s, &b->m->views) && choose(&s, b->m));
	tide__map_free(&s.rows);
	tide__free(s.bytes);
	return ok;
}
