// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/compat/opdiff.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

/* Returns the smallest step of the trace. HTA takes it from the names, even if none of its rows is
 * left. */
static int64_t first_step(const tide_model *m)
{
	int64_t least = -1;
	for (size_t s = 1; s < m->spans.n; s++) {
		const char *name = tide__text(m, m->spans.name[s], NULL);
		if (strncmp(name, "ProfilerStep#", 13))
			continue;
		int64_t n = strtoll(name + 13, NULL, 10);
		least = least < 0 || n < least ? n : least;
	}
	return least;
}

static bool wanted(const tide_compat_frame *f, size_t i, int64_t step, int device)
{
	if (f->step[i] != step)
		return false;
	return device == TIDE_COMPAT_ALL || (device == TIDE_COMPAT_CPU) == (f->stream[i] == -1);
}

static bool add_side(const tide_model *m, const tide_compat_frame *f, int side, int device,
		     tide_strings *names, tide_opdiff *out, size_t *cap)
{
	for (size_t i = 0; i < f->n; i++) {
		size_t n;
		const char *text = tide__text(m, m->spans.name[f->span[i].i], &n);
		if (!wanted(f, i, out->step[side], device))
			continue;
		uint32_t id = tide__strings_add(names, n ? text : "?", n ? n : 1);
		if (!id)
			return false;
		size_t had = *cap;
		if (!TIDE_ROOM(out->v, *cap, id))
			return false;
		memset(out->v + had, 0, (*cap - had) * sizeof *out->v);
		out->v[id - 1].count[side]++;
		out->v[id - 1].sum[side] += f->dur[i];
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const tide_opdiff_row *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static bool name_rows(const tide_strings *names, tide_opdiff *out)
{
	for (uint32_t id = 1; id <= tide__strings_count(names); id++) {
		size_t n;
		const char *text = tide__strings_get(names, id, &n);
		out->v[id - 1].name = tide__strndup(text, n);
		if (!out->v[id - 1].name)
			return false;
		out->n = id;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_name);
	return true;
}

static void count(tide_opdiff *d)
{
	for (size_t i = 0; i < d->n; i++) {
		uint64_t a = d->v[i].count[0], b = d->v[i].count[1];
		uint64_t *which = !a	  ? &d->added
				  : !b	  ? &d->deleted
				  : b > a ? &d->increased
				  : b < a ? &d->decreased
					  : &d->unchanged;
		(*which)++;
	}
}

tide_code tide__find_op_diff(const tide_model *const m[2], const tide_compat_frame *const f[2],
			     int device, tide_opdiff *out, tide_error *err)
{
	size_t cap = 0;
	tide_strings *names = tide__strings_new();
	*out = (tide_opdiff){ .step = { first_step(m[0]), first_step(m[1]) } };
	bool ok = names && add_side(m[0], f[0], 0, device, names, out, &cap) &&
		  add_side(m[1], f[1], 1, device, names, out, &cap) && name_rows(names, out);
	tide__strings_free(names);
	if (!ok) {
		tide__opdiff_free(out);
		return tide__nomem(err);
	}
	count(out);
	return TIDE_OK;
}

void tide__opdiff_free(tide_opdiff *d)
{
	for (size_t i = 0; i < d->n; i++)
		tide__free(d->v[i].name);
	tide__free(d->v);
	*d = (tide_opdiff){ 0 };
}
