// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each kind of grouping is one function in a table: the key of an allocation. To add a kind, add a
 * row here and one in render/text/labels.c, which names the keys. */
#include "analyze/memory/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/names.h"

#define NO_KEY UINT64_MAX /* out of memory */

/* ---- keys ---- */

/* Returns `key`, or if it is 0 (unknown) whether the allocation is from before the recording. */
static uint64_t made_by(const tide_model *m, uint32_t row, uint64_t key)
{
	bool before = m->allocs.flags[row] & TIDE_ALLOC_BEFORE;
	return key || !before ? key : TIDE_GROUP_BEFORE;
}

/* Returns the label of a short name, noting the module that has it; 0 if memory runs out. */
static uint32_t add_label(tide_groups *g, const char *text, size_t n, uint32_t first,
			  tide_str module)
{
	uint32_t label = tide__strings_add(g->labels, text, n);
	uint64_t member = (uint64_t)label << 32 | module.i;
	if (!label || !TIDE_ROOM(g->of_label, g->cap_of_label, (size_t)label + 1))
		return 0;
	if (label == tide__strings_count(g->labels) && !tide__map_get(&g->members, label))
		g->of_label[label] = (tide_group_label){ .first = first };
	if (!tide__map_get(&g->members, label) && !tide__map_put(&g->members, label, 1))
		return 0; /* module 0: the label itself */
	if (!module.i || tide__map_get(&g->members, member))
		return label;
	g->of_label[label].modules++;
	return tide__map_put(&g->members, member, 1) ? label : 0;
}

/* Returns the key of a path or module: itself, or the label of its short name. */
static uint64_t named(tide_groups *g, uint32_t id)
{
	char text[TIDE_SHORT_NAME];
	bool fold = g->kind == TIDE_NAMES_FOLDED;
	tide_str module = { id };
	size_t n;
	if (g->kind == TIDE_NAMES_WHOLE || !id)
		return id;
	uint32_t label = tide__map_get(&g->label_of, id);
	if (label)
		return label;
	if (g->by == TIDE_BY_OP)
		n = tide__short_path(&g->names, &g->paths, id, fold, text, &module);
	else
		n = tide__short_module(&g->names, module, fold, text);
	label = add_label(g, text, n, id, module);
	return label && tide__map_put(&g->label_of, id, label) ? label : NO_KEY;
}

static uint64_t key_op(tide_groups *g, const tide_model *m, uint32_t row)
{
	uint32_t node = tide__paths_add_span(&g->paths, m, m->allocs.span[row]);
	uint64_t key = node == TIDE_NO_PATH ? NO_KEY : named(g, node);
	return key == NO_KEY ? NO_KEY : made_by(m, row, key);
}

static uint64_t key_stack(tide_groups *g, const tide_model *m, uint32_t row)
{
	return made_by(m, row, m->allocs.stack[row].i);
}

static uint64_t key_tensor(tide_groups *g, const tide_model *m, uint32_t row)
{
	char buf[TIDE_TENSOR_NAME];
	uint32_t t = tide__map_get(&g->tensors, row);
	static const char rest[] = "(rest of ";
	size_t n;
	uint8_t role = tide__view_parts_role(&g->parts, m, row, &n);
	if (!t && !n)
		return 0;
	if (n) { /* the views have rows of their own */
		memcpy(buf, rest, sizeof rest - 1);
		n = tide__storage_name(role, n, buf + sizeof rest - 1, sizeof buf - sizeof rest) +
		    sizeof rest - 1;
		buf[n++] = ')';
	} else {
		n = tide__tensor_name(m, t, buf, sizeof buf);
	}
	uint32_t label = tide__strings_add(g->labels, buf, n);
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

/* Returns 0 for size 0, else 1 + log2 of the size. */
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
	uint64_t key = named(g, g->owners.alloc[row].i);
	return key == NO_KEY ? NO_KEY : made_by(m, row, key);
}

static uint64_t (*const keys[])(tide_groups *g, const tide_model *m, uint32_t row) = {
	[TIDE_BY_OP] = key_op,	   [TIDE_BY_STACK] = key_stack, [TIDE_BY_TENSOR] = key_tensor,
	[TIDE_BY_ROLE] = key_role, [TIDE_BY_POOL] = key_pool,	[TIDE_BY_STREAM] = key_stream,
	[TIDE_BY_SIZE] = key_size, [TIDE_BY_FRAME] = key_frame, [TIDE_BY_MODULE] = key_module,
};

/* ---- keys of views ---- */

static uint64_t view_tensor(tide_groups *g, const tide_model *m, uint32_t view)
{
	char buf[TIDE_TENSOR_NAME];
	uint32_t label =
		tide__strings_add(g->labels, buf, tide__view_name(m, view, buf, sizeof buf));
	return label ? label : NO_KEY;
}

static uint64_t view_role(tide_groups *g, const tide_model *m, uint32_t view)
{
	return m->views.role[view] ? m->views.role[view] : g->roles[m->views.alloc[view].i];
}

static uint64_t view_module(tide_groups *g, const tide_model *m, uint32_t view)
{
	tide_str name = g->owners.view[view];
	return name.i ? named(g, name.i) : key_module(g, m, m->views.alloc[view].i);
}

/* Functions for the key of a part, by grouping. NULL: the grouping does not split allocations. */
static uint64_t (*const view_keys[])(tide_groups *g, const tide_model *m, uint32_t view) = {
	[TIDE_BY_TENSOR] = view_tensor,
	[TIDE_BY_ROLE] = view_role,
	[TIDE_BY_MODULE] = view_module,
};
static bool splits(tide_group_by by)
{
	return (size_t)by < sizeof view_keys / sizeof *view_keys && view_keys[by];
}

/* ---- grouping ---- */

/* Maps alloc -> last tensor, for the allocations of the set only. */
static bool index_tensors(tide_groups *g, const tide_model *m, const tide_live_set *set)
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

static bool add(tide_groups *g, uint64_t key, uint64_t bytes, uint64_t requested)
{
	tide_group *r = key == NO_KEY ? NULL : group_of(g, key);
	if (!r)
		return false;
	r->bytes += bytes;
	r->requested += requested;
	r->count++;
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Adds the views of an allocation separately, then its remainder, if any. */
static bool collect_one(tide_groups *g, const tide_model *m, uint32_t row)
{
	uint64_t left = m->allocs.size[row], asked = m->allocs.requested[row];
	size_t n;
	const tide_view_part *v = tide__view_parts_of(&g->parts, m, row, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t want = least(v[i].bytes, asked);
		if (v[i].bytes && !add(g, view_keys[g->by](g, m, v[i].view), v[i].bytes, want))
			return false;
		left -= v[i].bytes;
		asked -= want;
	}
	return (n && !left) || add(g, keys[g->by](g, m, row), left, asked);
}

static bool collect(tide_groups *g, const tide_model *m, const tide_live_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (!collect_one(g, m, set->rows[i]))
			return false;
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

tide_code tide__find_groups(const tide_model *m, const tide_live_set *set, tide_group_by by,
			    tide_groups *out, tide_error *err)
{
	return tide__groups_find_in_roles(m, set, by, TIDE_NAMES_WHOLE, NULL, out, err);
}

uint64_t tide__groups_key(tide_groups *g, const tide_model *m, uint32_t row)
{
	return keys[g->by](g, m, row);
}

uint64_t tide__groups_view_key(tide_groups *g, const tide_model *m, uint32_t view)
{
	return view_keys[g->by](g, m, view);
}

size_t tide__groups_find(const tide_groups *g, uint64_t key)
{
	uint32_t at = tide__map_get(&g->index, key);
	return at ? at - 1 : SIZE_MAX;
}

static bool find_owners(tide_groups *g, const tide_model *m, tide_error *err)
{
	tide_modules modules;
	bool ok = tide__modules_find_of_spans(m, &modules, err) == TIDE_OK;
	ok = ok && tide__find_alloc_modules(m, &modules, &g->owners);
	tide__modules_free(&modules);
	return ok;
}

const char *tide__groups_short_name(const tide_groups *g, size_t row, char out[TIDE_SHORT_NAME],
				    uint32_t *modules)
{
	uint32_t key = (uint32_t)g->rows[row].key;
	bool whole = g->kind == TIDE_NAMES_WHOLE;
	*modules = whole ? 1 : g->of_label[key].modules;
	bool fold = g->kind == TIDE_NAMES_FOLDED && *modules > 1;
	key = whole ? key : g->of_label[key].first;
	if (g->by == TIDE_BY_OP)
		tide__short_path(&g->names, &g->paths, key, fold, out, NULL);
	else
		tide__short_module(&g->names, (tide_str){ key }, fold, out);
	return out;
}

tide_code tide__groups_find_in_roles(const tide_model *m, const tide_live_set *set,
				     tide_group_by by, tide_group_names names, const uint8_t *roles,
				     tide_groups *out, tide_error *err)
{
	bool tensors = by == TIDE_BY_TENSOR, named = by == TIDE_BY_OP || by == TIDE_BY_MODULE;
	*out = (tide_groups){ .by = by, .roles = roles };
	out->kind = named ? names : TIDE_NAMES_WHOLE;
	bool ok = by != TIDE_BY_OP || tide__paths_init(&out->paths);
	out->paths.no_steps = true; /* one op over all steps */
	if (ok && named)
		ok = tide__short_names_init(&out->names, m);
	if (ok && (tensors || out->kind != TIDE_NAMES_WHOLE))
		ok = (out->labels = tide__strings_new()) != NULL;
	if (ok && splits(by))
		ok = tide__view_parts_find(m, &out->parts);
	if (ok && by == TIDE_BY_MODULE)
		ok = find_owners(out, m, err);
	if (ok && by == TIDE_BY_ROLE && !roles) {
		ok = tide__find_roles(m, &out->own) == TIDE_OK;
		out->roles = out->own.role;
	}
	if (ok && by == TIDE_BY_FRAME)
		ok = (out->faces = tide__stack_main_frames_find(m)) != NULL;
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
	tide__short_names_free(&g->names);
	tide__free(g->of_label);
	tide__map_free(&g->label_of);
	tide__map_free(&g->members);
	tide__alloc_modules_free(&g->owners);
	tide__view_parts_free(&g->parts);
	tide__free(g->faces);
	tide__roles_free(&g->own);
	*g = (tide_groups){ 0 };
}

tide_group_by tide__group_by_best(const tide_model *m)
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
