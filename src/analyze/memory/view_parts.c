// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorts views by allocation and offset, then clips overlaps in one pass. */
#include "analyze/memory/view_parts.h"

#include <stdlib.h>

#include "analyze/memory/groups.h"
#include "base/mem.h"

struct place {
	uint32_t alloc, view;
	uint64_t offset;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->alloc != y->alloc)
		return x->alloc < y->alloc ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->view < y->view ? -1 : 1;
}

static bool clip(const tide_model *m, const struct place *p, size_t n, tide_view_parts *out)
{
	uint64_t end = 0; /* end of the bytes already assigned to views */
	for (size_t i = 0; i < n; i++) {
		bool first = !i || p[i].alloc != p[i - 1].alloc;
		if (first && !tide__map_put(&out->first, p[i].alloc, (uint32_t)out->n + 1))
			return false;
		uint64_t to = p[i].offset + m->views.bytes[p[i].view];
		uint64_t from = first || p[i].offset > end ? p[i].offset : end;
		end = first || to > end ? to : end;
		out->v[out->n++] = (tide_view_part){ p[i].view, to > from ? to - from : 0 };
	}
	return true;
}

bool tide__view_parts_find(const tide_model *m, tide_view_parts *out)
{
	*out = (tide_view_parts){ 0 };
	size_t n = m->views.n > 1 ? m->views.n - 1 : 0;
	if (!n)
		return true;
	struct place *p = tide__alloc(n, sizeof *p);
	out->v = tide__alloc(n, sizeof *out->v);
	bool ok = p && out->v;
	for (size_t i = 0; ok && i < n; i++)
		p[i] = (struct place){ m->views.alloc[i + 1].i, (uint32_t)i + 1,
				       m->views.offset[i + 1] };
	if (ok) {
		qsort(p, n, sizeof *p, by_place);
		ok = clip(m, p, n, out);
	}
	tide__free(p);
	return ok;
}

void tide__view_parts_free(tide_view_parts *p)
{
	tide__map_free(&p->first);
	tide__free(p->v);
	*p = (tide_view_parts){ 0 };
}

const tide_view_part *tide__view_parts_of(const tide_view_parts *p, const tide_model *m,
					  uint32_t alloc, size_t *n)
{
	uint32_t at = p->n ? tide__map_get(&p->first, alloc) : 0;
	*n = 0;
	if (!at)
		return NULL;
	while (at - 1 + *n < p->n && m->views.alloc[p->v[at - 1 + *n].view].i == alloc)
		++*n;
	return &p->v[at - 1];
}

uint8_t tide__view_parts_role(const tide_view_parts *p, const tide_model *m, uint32_t alloc,
			      size_t *n)
{
	const tide_view_part *v = tide__view_parts_of(p, m, alloc, n);
	uint8_t role = *n ? m->views.role[v->view] : 0;
	for (size_t i = 1; i < *n; i++)
		role = m->views.role[v[i].view] == role ? role : 0;
	return role;
}
