// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/virtual_memory.h"

#include <stdlib.h>

#include "base/mem.h"
#include "format/device_log.h"

struct mapping {
	uint64_t bytes;
	uint32_t of; /* the call that created its memory, + 1 */
};

struct hold {
	uint32_t refs, maps; /* references to the handle, mappings */
	uint64_t place;
};

struct track {
	struct tide_virtual_call *v;
	tide_map by_handle;  /* handle -> creating call + 1 */
	tide_map by_address; /* -> mapping + 1 */
	struct mapping *mappings;
	size_t n_mappings;
	struct hold *holds; /* [creating call] */
	struct tide_device_memory *out;
	size_t n_out;
	uint64_t created; /* bytes so far */
};

static int by_time(const void *a, const void *b)
{
	const struct tide_virtual_call *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Writes an allocation or a free. Memory without an address gets one that no real memory has, above
 * all earlier ones. */
static void put(struct track *k, uint32_t of, int64_t t, bool ends)
{
	const struct tide_virtual_call *c = &k->v[of - 1];
	k->out[k->n_out++] = (struct tide_device_memory){
		.t = t,
		.addr = UINT64_C(1) << 63 | k->holds[of - 1].place,
		.bytes = c->bytes,
		.device = c->device,
		.source = c->source,
		.memory = c->host ? TIDE_DEVICE_MEMORY_PINNED : TIDE_DEVICE_MEMORY_DEVICE,
		.free = ends,
	};
}

/* Drops one reference or mapping; the last one frees the memory. */
static void drop(struct track *k, uint32_t of, bool mapped, int64_t t)
{
	struct hold *h = of ? &k->holds[of - 1] : NULL;
	uint32_t *n = !h ? NULL : mapped ? &h->maps : &h->refs;
	if (n && *n && !--*n && !h->refs && !h->maps)
		put(k, of, t, true);
}

/* Returns the memory that a handle names now; 0: another process's. */
static uint32_t held(const struct track *k, uint64_t handle)
{
	uint32_t of = tide__map_get(&k->by_handle, handle);
	return of && k->holds[of - 1].refs ? of : 0;
}

static bool create(struct track *k, const struct tide_virtual_call *c, uint32_t of)
{
	if (!c->bytes)
		return true;
	for (uint32_t old; (old = held(k, c->handle));) /* its release was not recorded */
		drop(k, old, false, c->t);
	k->holds[of - 1] = (struct hold){ .refs = 1, .place = k->created };
	k->created += c->bytes;
	put(k, of, c->t, false);
	return tide__map_put(&k->by_handle, c->handle, of);
}

static void unmap_one(struct track *k, uint32_t mapping, int64_t t)
{
	if (mapping)
		drop(k, k->mappings[mapping - 1].of, true, t);
}

static bool map(struct track *k, const struct tide_virtual_call *c)
{
	uint32_t of = held(k, c->handle);
	if (!of || !c->bytes)
		return true;
	unmap_one(k, tide__map_get(&k->by_address, c->addr), c->t); /* not recorded */
	k->holds[of - 1].maps++;
	k->mappings[k->n_mappings++] = (struct mapping){ c->bytes, of };
	return tide__map_put(&k->by_address, c->addr, (uint32_t)k->n_mappings);
}

static void unmap(struct track *k, const struct tide_virtual_call *c)
{
	for (uint64_t done = 0; done < c->bytes;) {
		uint32_t i = tide__map_del(&k->by_address, c->addr + done);
		if (!i)
			return;
		unmap_one(k, i, c->t);
		done += k->mappings[i - 1].bytes;
	}
}

static bool apply(struct track *k, uint32_t at)
{
	const struct tide_virtual_call *c = &k->v[at];
	uint32_t of = held(k, c->handle);
	switch (c->operation) {
	case TIDE_VIRTUAL_CREATE:
		return create(k, c, at + 1);
	case TIDE_VIRTUAL_MAP:
		return map(k, c);
	case TIDE_VIRTUAL_UNMAP:
		unmap(k, c);
		return true;
	case TIDE_VIRTUAL_RELEASE:
		drop(k, of, false, c->t);
		return true;
	case TIDE_VIRTUAL_RETAIN:
		if (of)
			k->holds[of - 1].refs++;
		return true;
	default:
		return true;
	}
}

size_t tide__virtual_memory_resolve(struct tide_virtual_call *v, size_t n,
				    struct tide_device_memory *out)
{
	struct track k = { .v = v, .out = out };
	if (!n || n >= UINT32_MAX)
		return n ? SIZE_MAX : 0;
	k.mappings = tide__alloc(n, sizeof *k.mappings);
	k.holds = tide__calloc(n, sizeof *k.holds);
	bool ok = k.mappings && k.holds;
	if (ok)
		qsort(v, n, sizeof *v, by_time);
	for (size_t i = 0; ok && i < n; i++)
		ok = apply(&k, (uint32_t)i);
	tide__map_free(&k.by_handle);
	tide__map_free(&k.by_address);
	tide__free(k.mappings);
	tide__free(k.holds);
	return ok ? k.n_out : SIZE_MAX;
}
