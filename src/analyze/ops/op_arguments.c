// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/ops/op_arguments.h"

#include "analyze/common/shape_text.h"
#include "analyze/common/span_args.h"
#include "base/mem.h"
#include "model/strings.h"

bool tide__arguments_begin(tide_arguments *x, const tide_model *m)
{
	*x = (tide_arguments){ .m = m,
			       .dims = tide__attr_key(m, "Input Dims"),
			       .types = tide__attr_key(m, "Input type"),
			       .strides = tide__attr_key(m, "Input Strides") };
	x->sound = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	x->of = tide__calloc(m->spans.n, sizeof *x->of);
	return x->sound && x->of;
}

bool tide__arguments_begin_with_scalars(tide_arguments *x, const tide_model *m)
{
	bool ok = tide__arguments_begin(x, m);
	x->concrete = tide__attr_key(m, "Concrete Inputs");
	return ok;
}

void tide__arguments_end(tide_arguments *x)
{
	tide__free(x->v);
	tide__free(x->sound);
	tide__free(x->of);
	tide__map_free(&x->near);
	tide__map_free(&x->far);
	tide__map_free(&x->all);
	tide__map_free(&x->whole);
	*x = (tide_arguments){ 0 };
}

static tide_str shapes(tide_arguments *x, uint32_t span, tide_str key)
{
	tide_str s = tide__attr_text(x->m, span, key);
	if (s.i && !x->sound[s.i])
		x->sound[s.i] = tide__shape_text_is_sound(tide__text(x->m, s, NULL)) ? 2 : 1;
	return s.i && x->sound[s.i] == 2 ? s : (tide_str){ 0 };
}

/* Returns the number of a pair, from 1; 0 if memory runs out. */
static uint32_t pair(tide_map *map, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t id = tide__map_get(map, key);
	if (id)
		return id;
	id = (uint32_t)map->n + 1;
	return tide__map_put(map, key, id) ? id : 0;
}

const tide_argument_set *tide__arguments_of(tide_arguments *x, uint32_t span)
{
	if (x->of[span])
		return &x->v[x->of[span] - 1];
	tide_argument_set a = { .name = x->m->spans.name[span],
				.dims = shapes(x, span, x->dims),
				.types = tide__attr_text(x->m, span, x->types),
				.strides = shapes(x, span, x->strides),
				.concrete = tide__attr_text(x->m, span, x->concrete) };
	uint32_t near = pair(&x->near, a.name.i, a.dims.i),
		 far = pair(&x->far, a.types.i, a.strides.i);
	uint32_t id = near && far ? pair(&x->all, near, far) : 0;
	if (id && x->concrete.i)
		id = pair(&x->whole, id, a.concrete.i);
	if (!id)
		return NULL;
	if (id > x->n) {
		if (!TIDE_ROOM(x->v, x->cap, x->n + 1))
			return NULL;
		x->v[x->n++] = a;
	}
	x->of[span] = id;
	return &x->v[id - 1];
}
