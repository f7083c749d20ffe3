// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Communication by process group and collective: time, overlap with compute, bus bandwidth.
 *
 * Arguments and names are those of collective_args.h; without arguments the group is unknown. bytes
 * = elements x element size (output for all-gather, else input); bus bytes = bytes x 2(n-1)/n for
 * all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for the rest; bandwidths are
 * bytes over the summed durations of the rows whose bytes are known. */
#include <string.h>

#include "analyze/common/span_args.h"
#include "analyze/device/collective_args.h"
#include "base/mem.h"

typedef struct facts {
	tide_str group, desc, name; /* of the result */
	int64_t size, bytes;	    /* -1 = unknown */
	const tide_collective_kind *kind;
} facts;

static facts read_facts(const tide_hta_input *in, tide_hta *h, const tide_collective_keys *k,
			size_t row)
{
	const tide_model *m = in->m;
	uint32_t at = tide__collective_carrier(in, k, row);
	facts f = { .size = -1, .bytes = -1 };
	if (!at) {
		f.kind = tide__collective_guess(in, row);
		if (f.kind)
			f.name = tide__hta_intern(h, f.kind->name, strlen(f.kind->name));
		return f;
	}
	tide_str name = tide__attr_text(m, at, k->name);
	f.kind = tide__collective_kind(tide__text(m, name, NULL));
	f.name = tide__hta_take(h, m, name);
	f.group = tide__hta_take(h, m, tide__attr_text(m, at, k->group));
	f.desc = tide__hta_take(h, m, tide__attr_text(m, at, k->desc));
	f.size = tide__attr_number(m, at, k->size);
	int64_t n = f.kind ? tide__attr_number(m, at, f.kind->out ? k->out : k->in) : -1;
	unsigned each =
		tide__collective_dtype_bytes(tide__text(m, tide__attr_text(m, at, k->dtype), NULL));
	if (n >= 0 && each && n < TIDE_ABSURD_BYTES / 16)
		f.bytes = n * each;
	return f;
}

static void extend(const tide_hta_input *in, const int64_t *sums, tide_hta_collective *c,
		   tide_union_length *u, int64_t a, int64_t b)
{
	const tide_interval_set *compute = &in->types[TIDE_GPU_COMPUTE];
	int64_t from = u->any && a < u->end ? u->end : a; /* its part of the union */
	tide__union_length_add(u, a, b);
	if (b > from)
		c->overlap += tide__interval_set_before_ns(compute, sums, b) -
			      tide__interval_set_before_ns(compute, sums, from);
	c->busy = u->length;
}

typedef struct groups {
	tide_map places; /* (group, desc) -> number from 1 */
	tide_map rows;	 /* (place, name) -> row + 1 */
	uint32_t n_places;
	tide_union_length *v; /* per row */
	size_t cap;
} groups;

static bool room(groups *g, size_t n)
{
	size_t had = g->cap;
	if (!TIDE_ROOM(g->v, g->cap, n))
		return false;
	memset(g->v + had, 0, (g->cap - had) * sizeof *g->v);
	return true;
}

/* Returns the row of (group, desc, name) + 1, created if new; 0 if memory ran out. */
static uint32_t row_of(tide_hta *h, groups *g, const facts *f)
{
	uint64_t key = (uint64_t)f->group.i << 32 | f->desc.i;
	uint32_t place = tide__map_get(&g->places, key);
	if (!place) {
		place = ++g->n_places;
		if (!tide__map_put(&g->places, key, place))
			return 0;
	}
	key = (uint64_t)place << 32 | f->name.i;
	uint32_t k = tide__map_get(&g->rows, key);
	if (k)
		return k;
	tide_hta_collective *c = TIDE_HTA_PUSH(h, collectives);
	if (!c || !room(g, h->collectives.n) ||
	    !tide__map_put(&g->rows, key, (uint32_t)h->collectives.n))
		return 0;
	c->name = f->name;
	c->group = f->group;
	c->desc = f->desc;
	return (uint32_t)h->collectives.n;
}

static void measure(tide_hta_collective *c, const facts *f, int64_t ns)
{
	tide__stat_add(&c->dur, ns);
	if (f->size > 0)
		c->size = (uint64_t)f->size;
	if (f->bytes < 0 || c->bus_bytes >= INT64_MAX - 2 * TIDE_ABSURD_BYTES ||
	    c->bytes >= INT64_MAX - TIDE_ABSURD_BYTES)
		return;
	c->sized++;
	c->sized_ns = tide__add_sat(c->sized_ns, ns);
	c->bytes += (uint64_t)f->bytes;
	c->bus_bytes +=
		tide__bus_bytes(f->kind, (uint64_t)f->bytes, f->size > 0 ? (uint64_t)f->size : 0);
}

bool tide__hta_find_collectives(const tide_hta_input *in, tide_hta *h)
{
	tide_collective_keys k = tide__collective_keys_find(in->m);
	groups g = { 0 };
	int64_t *sums = tide__interval_set_sums(&in->types[TIDE_GPU_COMPUTE]);
	bool ok = sums;
	for (size_t i = 0; ok && i < in->rows->n; i++) {
		if (in->rows->type[i] != TIDE_GPU_COMM)
			continue;
		facts f = read_facts(in, h, &k, i);
		uint32_t at = row_of(h, &g, &f);
		ok = at != 0;
		if (!ok)
			break;
		measure(&h->collectives.v[at - 1], &f, tide__row_dur(in, i));
		extend(in, sums, &h->collectives.v[at - 1], &g.v[at - 1], tide__row_t0(in, i),
		       tide__row_t1(in, i));
	}
	tide__free(sums);
	tide__map_free(&g.places);
	tide__map_free(&g.rows);
	tide__free(g.v);
	return ok;
}
