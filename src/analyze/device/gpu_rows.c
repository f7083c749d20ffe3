// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/gpu_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/device/collective_names.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

const char *const tide__gpu_type_text[TIDE_GPU_TYPES] = { "compute", "communication", "memory",
							  "other" };

enum { /* classification of a name, computed once */
       NAME_SEEN = 1,
       NAME_COMM = 2,
       NAME_CUSTOM = 4,
       NAME_COPY = 8,
       MTIA_SHIFT = 4, /* TIDE_GPU_* of an mtia row of that name */
};

static bool starts(const char *s, const char *head)
{
	return !strncmp(s, head, strlen(head));
}

static int mtia_type(const char *s)
{
	static const char *const other[] = {
		"runFunction", "job_exe",	    "packet",
		"pe_exe",      "cpum_exe_subgraph", "collective_subgraph_execution"
	};
	if (starts(s, "hccl"))
		return TIDE_GPU_COMM;
	if (starts(s, "dma") || starts(s, "Memcpy") || starts(s, "Memset"))
		return TIDE_GPU_MEMORY;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (starts(s, other[i]))
			return TIDE_GPU_OTHER;
	return strstr(s, "dma") || strstr(s, "Sync") ? TIDE_GPU_OTHER : TIDE_GPU_COMPUTE;
}

bool tide__copy_name(const char *s)
{
	return starts(s, "__amd_rocclr_copy") || starts(s, "__amd_rocclr_fill");
}

typedef struct context {
	const tide_model *m;
	uint8_t *name;	     /* per string: NAME_* */
	uint8_t *collective; /* bit per span: carries "Collective name"; NULL = none does */
	const char *const *extra;
	size_t n_extra;
} context;

static uint8_t name_says(context *c, tide_str s)
{
	uint8_t v = c->name[s.i];
	if (v)
		return v;
	const char *text = tide__text(c->m, s, NULL);
	v = NAME_SEEN;
	if (tide__comm_name(text))
		v |= NAME_COMM;
	if (tide__is_custom_collective(text, c->extra, c->n_extra))
		v |= NAME_CUSTOM;
	if (tide__copy_name(text))
		v |= NAME_COPY;
	v |= (uint8_t)(mtia_type(text) << MTIA_SHIFT);
	return c->name[s.i] = v;
}

static int type_of(context *c, uint32_t span, bool *custom)
{
	const tide_spans *sp = &c->m->spans;
	unsigned cat = sp->cat[span];
	*custom = false;
	if (cat == TIDE_CAT_MEMCPY || cat == TIDE_CAT_MEMSET)
		return TIDE_GPU_MEMORY;
	uint8_t name = name_says(c, sp->name[span]);
	if (cat == TIDE_CAT_MTIA)
		return name >> MTIA_SHIFT;
	if (name & NAME_COMM || (c->collective && c->collective[span >> 3] >> (span & 7) & 1))
		return TIDE_GPU_COMM;
	if (name & NAME_COPY)
		return TIDE_GPU_MEMORY;
	*custom = name & NAME_CUSTOM;
	return TIDE_GPU_COMPUTE;
}

static bool find_collectives(context *c)
{
	static const char key[] = "Collective name";
	uint32_t id = tide__strings_find(c->m->strings, key, sizeof key - 1);
	const tide_attrs *a = &c->m->attrs;
	if (!id)
		return true;
	c->collective = tide__calloc(c->m->spans.n / 8 + 1, 1);
	if (!c->collective)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->key[i].i == id)
			c->collective[a->span[i].i >> 3] |= (uint8_t)(1 << (a->span[i].i & 7));
	return true;
}

static bool in_window(const tide_spans *sp, uint32_t span, const tide_span_window *w)
{
	if (w->all)
		return true;
	uint32_t launch = sp->cause[span].i;
	return launch && sp->t0[launch] >= w->from && sp->t0[launch] < w->to;
}

static bool make_room(tide_gpu_rows *r, size_t n)
{
	r->span = tide__alloc(n, sizeof *r->span);
	r->type = tide__alloc(n, sizeof *r->type);
	r->custom = tide__alloc(n, sizeof *r->custom);
	r->stream = tide__alloc(n, sizeof *r->stream);
	r->step = tide__alloc(n, sizeof *r->step);
	return r->span && r->type && r->custom && r->stream && r->step;
}

static size_t count_gpu(const tide_spans *sp)
{
	size_t n = 0;
	for (size_t i = 1; i < sp->n; i++)
		n += tide__cat_is_gpu(sp->cat[i]);
	return n;
}

static int by_end(const void *a, const void *b, void *spans)
{
	const tide_spans *sp = spans;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (sp->t1[x] != sp->t1[y])
		return sp->t1[x] < sp->t1[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Spans are sorted by t0; sorts rows of equal t0 by t1, then by id. */
static void order_ties(const tide_spans *sp, uint32_t *v, size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && sp->t0[v[k]] == sp->t0[v[i]];)
			k++;
		if (k - i > 1)
			qsort_r(v + i, k - i, sizeof *v, by_end, (void *)(uintptr_t)sp);
	}
}

static void select_rows(const tide_spans *sp, const tide_span_window *w, tide_gpu_rows *r)
{
	for (size_t i = 1; i < sp->n; i++) {
		if (!tide__cat_is_gpu(sp->cat[i]))
			continue;
		if (in_window(sp, (uint32_t)i, w))
			r->span[r->n++] = (uint32_t)i;
		else
			r->left_out++;
	}
	order_ties(sp, r->span, r->n);
}

static int by_place(const void *a, const void *b)
{
	const tide_gpu_stream *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->name.i != y->name.i)
		return x->name.i < y->name.i ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static tide_gpu_stream place(const tide_model *m, uint32_t lane)
{
	tide_device_id d = m->lanes.device[lane];
	bool other = m->devices.kind[d.i] == TIDE_DEVICE_OTHER;
	return (tide_gpu_stream){ .device = d.i ? m->devices.index[d.i] : -1,
				  .number = lane ? m->lanes.number[lane] : -1,
				  .kind = m->devices.kind[d.i],
				  .name = other ? m->devices.name[d.i] : (tide_str){ 0 },
				  .row = d };
}

/* Streams = distinct (device, kind, name, number) of the lanes with rows; slot[lane] = 1 marks a
 * used lane and becomes its stream's index. */
static bool find_streams(const tide_model *m, tide_gpu_rows *r)
{
	uint32_t *slot = tide__calloc(m->lanes.n + 1, sizeof *slot);
	if (!slot)
		return false;
	size_t used = 0, n = 0;
	for (size_t i = 0; i < r->n; i++) {
		uint32_t lane = m->spans.lane[r->span[i]].i;
		used += !slot[lane];
		slot[lane] = 1;
	}
	r->streams = tide__alloc(used, sizeof *r->streams);
	if (!r->streams) {
		tide__free(slot);
		return false;
	}
	for (uint32_t lane = 0; lane < m->lanes.n; lane++)
		if (slot[lane])
			r->streams[n++] = place(m, lane);
	if (n)
		qsort(r->streams, n, sizeof *r->streams, by_place);
	for (size_t i = 0; i < n; i++)
		if (!i || by_place(&r->streams[i], &r->streams[i - 1]))
			r->streams[r->n_streams++] = r->streams[i];
	for (uint32_t lane = 0; lane < m->lanes.n; lane++) {
		if (!slot[lane])
			continue;
		tide_gpu_stream key = place(m, lane), *at;
		at = bsearch(&key, r->streams, r->n_streams, sizeof key, by_place);
		slot[lane] = (uint32_t)(at - r->streams);
	}
	for (size_t i = 0; i < r->n; i++)
		r->stream[i] = slot[m->spans.lane[r->span[i]].i];
	tide__free(slot);
	return true;
}

static void fill(context *c, const tide_steps *steps, tide_gpu_rows *r)
{
	const tide_spans *sp = &c->m->spans;
	for (size_t i = 0; i < r->n; i++) {
		bool custom;
		uint32_t launch = sp->cause[r->span[i]].i;
		r->type[i] = (uint8_t)type_of(c, r->span[i], &custom);
		r->custom[i] = custom;
		r->step[i] = launch && steps->n
				     ? (uint32_t)(tide__steps_at(steps, sp->t0[launch]) + 1)
				     : 0;
	}
}

tide_code tide__gpu_rows_find(const tide_model *m, const tide_steps *steps,
			      const tide_span_window *w, const char *const *extra, size_t n_extra,
			      tide_gpu_rows *out, tide_error *err)
{
	context c = { .m = m, .extra = extra, .n_extra = n_extra };
	*out = (tide_gpu_rows){ 0 };
	c.name = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	bool ok = c.name && find_collectives(&c) && make_room(out, count_gpu(&m->spans));
	if (ok) {
		select_rows(&m->spans, w, out);
		fill(&c, steps, out);
		ok = find_streams(m, out);
	}
	tide__free(c.name);
	tide__free(c.collective);
	if (ok)
		return TIDE_OK;
	tide__gpu_rows_free(out);
	return tide__nomem(err);
}

void tide__gpu_rows_free(tide_gpu_rows *r)
{
	tide__free(r->span);
	tide__free(r->type);
	tide__free(r->custom);
	tide__free(r->stream);
	tide__free(r->step);
	tide__free(r->streams);
	*r = (tide_gpu_rows){ 0 };
}
