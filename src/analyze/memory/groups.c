// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each kind of grouping is one function in a table: the key of an allocation. Adding a kind is
 * adding a row here and one in render/text/labels.c, which names the keys. */
#include "analyze/memory/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "base/error.h"
#include "base/mem.h"

#define NO_KEY UINT64_MAX /* out of memory */

/* ---- keys ---- */

/* Who made it: `key`, or for 0, not known, whether it could be. */
static uint64_t made_by(const tide_model *m, uint32_t row, uint64_t key)
{
	bool before = m->allocs.flags[row] & TIDE_ALLOC_BEFORE;
	return key || !before ? key : TIDE_GROUP_BEFORE;
}

static uint64_t key_op(tide_groups *g, const tide_model *m, uint32_t row)
{
	uint32_t node = tide__paths_span(&g->paths, m, m->allocs.span[row]);
	return node == TIDE_NO_PATH ? NO_KEY : made_by(m, row, node);
}

static uint64_t key_stack(tide_groups *g, const tide_model *m, uint32_t row)
{
	return made_by(m, row, m->allocs.stack[row].i);
}

size_t tide__tensor_text(const tide_model *m, uint32_t t, char *buf, size_t n)
{
	size_t len, at;
	const char *name = tide__text(m, m->tensors.name[t], &len);
	at = len < n / 2 ? len : n / 2;
	memcpy(buf, name, at);
	at += (size_t)snprintf(buf + at, n - at, "%s%s[", at ? " " : "",
			       tide__dtype_text(m->tensors.dtype[t]));
	for (uint32_t k = 0; k < m->tensors.ndim[t] && at + 32 < n; k++)
		at += (size_t)snprintf(buf + at, n - at, "%s%" PRIu64, k ? ", " : "",
				       m->dims[m->tensors.dims[t] + k]);
	return at + (size_t)snprintf(buf + at, n - at, "]");
}

static uint64_t key_tensor(tide_groups *g, const tide_model *m, uint32_t row)
{
	char buf[TIDE_TENSOR_TEXT];
	uint32_t t = tide__map_get(&g->tensors, row);
	if (!t)
		return 0;
	uint32_t label =
		tide__strings_add(g->labels, buf, tide__tensor_text(m, t, buf, sizeof buf));
	return label ? label : NO_KEY;
}

static uint64_t key_role(tide_groups *g, const tide_model *m, uint32_t row)
{
	return g->roles[row];
}

static uint64_t key_pool(tide_groups *g, const tide_model *m, uint32_t row)
{
	return m->allocs.pool[row].i;
}

static uint64_t key_stream(tide_groups *g, const tide_model *m, uint32_t row)
{
	return m->allocs.stream[row].i;
}

/* 0 for size 0, else 1 + log2. */
static uint64_t key_size(tide_groups *g, const tide_model *m, uint32_t row)
{
	uint64_t size = m->allocs.size[row];
	return size ? 64 - (uint64_t)__builtin_clzll(size) : 0;
}

static uint64_t key_frame(tide_groups *g, const tide_model *m, uint32_t row)
{
	return made_by(m, row, g->faces[m->allocs.stack[row].i].i);
}

static uint64_t key_module(tide_groups *g, const tide_model *m, uint32_t row)
{
	return made_by(m, row, g->owner[row].i);
}

static uint64_t (*const keys[])(tide_groups *g, const tide_model *m, uint32_t row) = {
	[TIDE_BY_OP] = key_op,	   [TIDE_BY_STACK] = key_stack, [TIDE_BY_TENSOR] = key_tensor,
	[TIDE_BY_ROLE] = key_role, [TIDE_BY_POOL] = key_pool,	[TIDE_BY_STREAM] = key_stream,
	[TIDE_BY_SIZE] = key_size, [TIDE_BY_FRAME] = key_frame, [TIDE_BY_MODULE] = key_module,
};

/* ---- grouping ---- */

/* alloc -> last tensor, for the allocations of the set only. */
static bool index_tensors(tide_groups *g, const tide_model *m, const tide_alive *set)
{
	tide_map in = { 0 };
	bool ok = true;
	if (m->tensors.n <= 1)
		return true;
	for (size_t i = 0; i < set->n && ok; i++)
		ok = tide__map_put(&in, set->rows[i], 1);
	for (uint32_t t = 1; t < m->tensors.n && ok; t++)
		if (tide__map_get(&in, m->tensors.alloc[t].i))
			ok = tide__map_put(&g->tensors, m->tensors.alloc[t].i, t);
	tide__map_free(&in);
	return ok;
}

static tide_group *group_of(tide_groups *g, uint64_t key)
{
	uint32_t at = tide__map_get(&g->index, key);
	if (at)
		return &g->rows[at - 1];
	if (!TIDE_ROOM(g->rows, g->cap, g->n + 1))
		return NULL;
	if (!tide__map_put(&g->index, key, (uint32_t)g->n + 1))
		return NULL;
	g->rows[g->n] = (tide_group){ .key = key };
	return &g->rows[g->n++];
}

static bool collect(tide_groups *g, const tide_model *m, const tide_alive *set)
{
	for (size_t i = 0; i < set->n; i++) {
		uint32_t row = set->rows[i];
		uint64_t key = keys[g->by](g, m, row);
		tide_group *r = key == NO_KEY ? NULL : group_of(g, key);
		if (!r)
			return false;
		r->bytes += m->allocs.size[row];
		r->requested += m->allocs.requested[row];
		r->count++;
	}
	return true;
}

struct order {
	tide_group g;
	size_t first;
};

static int by_bytes(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	if (x->g.bytes != y->g.bytes)
		return x->g.bytes < y->g.bytes ? 1 : -1;
	return x->first < y->first ? -1 : 1;
}

static bool sort(tide_groups *g)
{
	struct order *o = tide__alloc(g->n, sizeof *o);
	if (!o)
		return false;
	for (size_t i = 0; i < g->n; i++)
		o[i] = (struct order){ g->rows[i], i };
	qsort(o, g->n, sizeof *o, by_bytes);
	bool ok = true;
	for (size_t i = 0; i < g->n; i++) {
		g->rows[i] = o[i].g;
		ok = ok && tide__map_put(&g->index, o[i].g.key, (uint32_t)i + 1);
	}
	tide__free(o);
	return ok;
}

tide_code tide__groups(const tide_model *m, const tide_alive *set, tide_group_by by,
		       tide_groups *out, tide_error *err)
{
	return tide__groups_in_roles(m, set, by, NULL, out, err);
}

uint64_t tide__groups_key(tide_groups *g, const tide_model *m, uint32_t row)
{
	return keys[g->by](g, m, row);
}

size_t tide__groups_find(const tide_groups *g, uint64_t key)
{
	uint32_t at = tide__map_get(&g->index, key);
	return at ? at - 1 : SIZE_MAX;
}

static bool find_owners(tide_groups *g, const tide_model *m, tide_error *err)
{
	tide_modules modules;
	bool ok = tide__modules_of(m, &modules, err) == TIDE_OK;
	g->owner = ok ? tide__owners(m, &modules) : NULL;
	tide__modules_free(&modules);
	return g->owner;
}

tide_code tide__groups_in_roles(const tide_model *m, const tide_alive *set, tide_group_by by,
				const uint8_t *roles, tide_groups *out, tide_error *err)
{
	*out = (tide_groups){ .by = by, .roles = roles };
	bool tensors = by == TIDE_BY_TENSOR;
	bool ok = by != TIDE_BY_OP || tide__paths_init(&out->paths);
	if (ok && by == TIDE_BY_TENSOR)
		ok = (out->labels = tide__strings_new()) != NULL;
	if (ok && by == TIDE_BY_MODULE)
		ok = find_owners(out, m, err);
	if (ok && by == TIDE_BY_ROLE && !roles) {
		ok = tide__roles(m, &out->own) == TIDE_OK;
		out->roles = out->own.role;
	}
	if (ok && by == TIDE_BY_FRAME)
		ok = (out->faces = tide__stack_faces(m)) != NULL;
	ok = ok && (!tensors || index_tensors(out, m, set)) && collect(out, m, set) && sort(out);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__groups_free(tide_groups *g)
{
	tide__free(g->rows);
	tide__map_free(&g->index);
	tide__map_free(&g->tensors);
	tide__paths_free(&g->paths);
	tide__strings_free(g->labels);
	tide__free(g->owner);
	tide__free(g->faces);
	tide__roles_free(&g->own);
	*g = (tide_groups){ 0 };
}

tide_group_by tide__groups_telling(const tide_model *m)
{
	bool op = false, role = false;
	for (size_t i = 1; i < m->allocs.n; i++) {
		if (m->allocs.stack[i].i)
			return TIDE_BY_STACK;
		op |= m->allocs.span[i].i != 0;
		role |= m->allocs.role[i] != TIDE_ROLE_UNKNOWN;
	}
	for (size_t i = 1; i < m->tensors.n && !role; i++)
		role = m->tensors.role[i] != TIDE_ROLE_UNKNOWN;
	return op ? TIDE_BY_OP : role ? TIDE_BY_ROLE : TIDE_BY_SIZE;
}
