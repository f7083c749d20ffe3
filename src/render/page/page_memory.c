// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory section: allocations in order, and their memory events.
 *
 * A memory event is one number: 0 makes the next allocation, k > 0 ends the one made k before the
 * next. Live bytes at any moment are therefore the same prefix sum as everywhere (model.h), and the
 * page can draw, list and check them without another definition of "alive". */
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/groups.h"
#include "analyze/memory/alloc_module.h"
#include "analyze/common/paths.h"
#include "analyze/memory/phases.h"
#include "analyze/live/reserved.h"
#include "analyze/memory/roles.h"
#include "analyze/common/stacks.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/page/page_stacks.h"
#include "model/names.h"

struct memory {
	const tide_model *m;
	tide_box *b;
	const uint8_t *drop; /* borrowed; may be NULL */
	tide_page_names names;
	tide_page_stacks stacks;
	tide_paths paths;
	tide_roles roles;
	tide_modules modules;
	tide_alloc_modules owners; /* modules of allocations */
	tide_view_parts parts;
	bool any_module;
	uint32_t *place;      /* alloc -> its number + 1, in order of memory events */
	uint32_t *tensor;     /* alloc -> its last tensor row */
	tide_frame_id *faces; /* stack -> the frame that names it */
	tide_strings *labels; /* of tensors */
	uint32_t n;
	int dt, back;
	int size, asked, pool, role, op, call, what, flags, module;
	int seg_t, seg_bytes, seg_pool;
	int face, op_name, op_parent;
};

/* ---- stacks ---- */

/* Returns the frame that names a stack: its number in the page, 0 if there is none. */
static uint32_t face_of(struct memory *x, tide_stack_id s)
{
	return tide__page_stacks_add_frame(&x->stacks, x->faces[s.i]);
}

/* ---- tensors ---- */

/* Writes "weights float32[64, 32]", or a description if several tensors share it. Returns its
 * number, 0 = none. */
static uint32_t tensor_of(struct memory *x, uint32_t alloc)
{
	char buf[TIDE_TENSOR_NAME];
	uint32_t row = x->tensor[alloc];
	size_t at;
	uint8_t role = tide__view_parts_role(&x->parts, x->m, alloc, &at);
	if (!row && !at)
		return 0;
	at = at ? tide__storage_name(role, at, buf, sizeof buf)
		: tide__tensor_name(x->m, row, buf, sizeof buf);
	uint32_t id = tide__strings_add(x->labels, buf, at);
	if (!id)
		tide__box_fail(x->b);
	return id;
}

/* ---- rows ---- */

static void put_alloc(struct memory *x, uint32_t row)
{
	const tide_allocs *a = &x->m->allocs;
	uint32_t node = tide__paths_add_span(&x->paths, x->m, a->span[row]);
	if (node == TIDE_NO_PATH) {
		tide__box_fail(x->b);
		node = 0;
	}
	tide__box_put(x->b, x->size, (int64_t)a->size[row]);
	tide__box_put(x->b, x->asked, (int64_t)(a->size[row] - a->requested[row]));
	tide__box_put(x->b, x->pool, a->pool[row].i);
	tide__box_put(x->b, x->role, x->roles.role[row]);
	tide__box_put(x->b, x->op, node);
	tide__box_put(x->b, x->call, tide__page_stacks_add(&x->stacks, a->stack[row]));
	tide__box_put(x->b, x->face, face_of(x, a->stack[row]));
	tide__box_put(x->b, x->what, tensor_of(x, row));
	tide__box_put(x->b, x->flags, a->flags[row]);
	if (x->any_module)
		tide__box_put(x->b, x->module,
			      tide__page_name(&x->names, x->b, x->owners.alloc[row]));
	x->place[row] = ++x->n;
}

/* Writes steps of the reserved bytes (analyze/live/reserved.h) as changes of a pool; a device's
 * total that is unknown by pool is assigned to its first pool. */
static bool put_reserved(struct memory *x, tide_error *err)
{
	tide_reserved r;
	uint32_t *first = tide__calloc(x->m->devices.n, sizeof *first);
	if (!first || tide__find_reserved(x->m, &r, err) != TIDE_OK) {
		tide__free(first);
		return false;
	}
	for (uint32_t p = (uint32_t)x->m->pools.n; p-- > 1;)
		first[x->m->pools.device[p].i] = p;
	for (size_t i = 0; i < r.n; i++) {
		uint32_t pool = r.steps[i].pool ? r.steps[i].pool : first[r.steps[i].device];
		tide__box_put(x->b, x->seg_t, r.steps[i].t);
		tide__box_put(x->b, x->seg_bytes, r.steps[i].change);
		tide__box_put(x->b, x->seg_pool, pool);
	}
	tide__free(first);
	tide__reserved_free(&r);
	return true;
}

static void put_events(struct memory *x)
{
	const tide_memory_events *v = &x->m->memory_events;
	for (size_t i = 0; i < v->n; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(x->m, i, &made);
		if (!row || (x->drop && x->drop[row]))
			continue;
		tide__box_put(x->b, x->dt, tide__memory_event_time(x->m, i));
		tide__box_put(x->b, x->back, made ? 0 : (int64_t)x->n + 1 - x->place[row]);
		if (made)
			put_alloc(x, row);
	}
}

static void put_ops(struct memory *x)
{
	for (size_t i = 1; i < x->paths.n; i++) {
		tide__box_put(x->b, x->op_name, tide__page_name(&x->names, x->b, x->paths.name[i]));
		tide__box_put(x->b, x->op_parent, x->paths.parent[i]);
	}
}

/* ---- JSON ---- */

static void pools_json(const struct memory *x, tide_json *j)
{
	const tide_pools *p = &x->m->pools;
	tide__json_karray(j, "pools");
	for (uint32_t i = 0; i < p->n; i++) {
		tide__json_object(j);
		if (p->name[i].i)
			tide__json_ktext(j, "name", x->m, p->name[i]);
		else
			tide__json_kstr(j, "name", tide__pool_kind_text(p->kind[i]));
		tide__json_kuint(j, "device", p->device[i].i);
		tide__json_kuint(j, "capacity", p->capacity[i]);
		tide__json_kuint(j, "banks", p->banks[i]);
		tide__json_kbool(j, "on_chip", !tide__pool_in_device(x->m, i));
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void roles_json(tide_json *j)
{
	tide__json_karray(j, "roles");
	for (unsigned r = 0; r <= TIDE_ROLE_WORKSPACE; r++)
		tide__json_str(j, tide__role_text(r));
	tide__json_array_end(j);
}

static void labels_json(const struct memory *x, tide_json *j)
{
	tide__json_karray(j, "tensors");
	tide__json_str(j, "");
	for (uint32_t i = 1; i <= tide__strings_count(x->labels); i++) {
		size_t n;
		const char *s = tide__strings_get(x->labels, i, &n);
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
}

/* Writes the memory events of the first phases that are in the section. */
static void phases_json(const struct memory *x, const tide_page_options *opt, tide_json *j)
{
	tide__json_karray(j, "phase_events");
	for (uint32_t p = 0; p < opt->downsampled->px && p < opt->phases->n; p++)
		tide__json_uint(j, tide__phase_life_events(x->m, &opt->phases->phases[p], x->drop));
	tide__json_array_end(j);
}

static bool setup(struct memory *x)
{
	const struct {
		int *at;
		const char *name;
		tide_col_enc enc;
	} cols[] = {
		{ &x->dt, "t", TIDE_COL_DELTA },
		{ &x->back, "back", TIDE_COL_UINT },
		{ &x->size, "size", TIDE_COL_UINT },
		{ &x->asked, "slack", TIDE_COL_UINT },
		{ &x->pool, "pool", TIDE_COL_UINT },
		{ &x->role, "role", TIDE_COL_BYTE },
		{ &x->op, "op", TIDE_COL_UINT },
		{ &x->call, "stack", TIDE_COL_UINT },
		{ &x->what, "tensor", TIDE_COL_UINT },
		{ &x->flags, "flags", TIDE_COL_BYTE },
		{ &x->seg_t, "seg_t", TIDE_COL_DELTA },
		{ &x->seg_bytes, "seg_bytes", TIDE_COL_INT },
		{ &x->seg_pool, "seg_pool", TIDE_COL_UINT },
		{ &x->face, "face", TIDE_COL_UINT },
		{ &x->op_name, "op_name", TIDE_COL_UINT },
		{ &x->op_parent, "op_parent", TIDE_COL_UINT },
	};
	for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
		*cols[i].at = tide__box_add_column(x->b, cols[i].name, cols[i].enc);
	for (size_t i = 1; x->modules.any && i < x->m->spans.n && !x->any_module; i++)
		x->any_module = x->modules.of[i].i != 0;
	if (x->any_module)
		x->module = tide__box_add_column(x->b, "module", TIDE_COL_UINT);
	x->place = tide__calloc(x->m->allocs.n, sizeof *x->place);
	x->tensor = tide__calloc(x->m->allocs.n, sizeof *x->tensor);
	x->faces = tide__stack_main_frames_find(x->m);
	x->labels = tide__strings_new();
	return tide__page_stacks_init(&x->stacks, x->m, x->b, &x->names) &&
	       tide__page_names_init(&x->names, x->m) && tide__paths_init(&x->paths) &&
	       tide__paths_prepare_all(&x->paths, x->m) && x->place && x->tensor && x->faces &&
	       x->labels && tide__find_alloc_modules(x->m, &x->modules, &x->owners) &&
	       tide__view_parts_find(x->m, &x->parts) &&
	       tide__find_roles(x->m, &x->roles) == TIDE_OK;
}

bool tide__page_write_memory(tide_box *b, const tide_model *m, const tide_page_options *opt,
			     tide_error *err)
{
	struct memory x = { .m = m,
			    .b = b,
			    .drop = opt->downsampled ? opt->downsampled->drop : NULL };
	tide_json *j = tide__box_json(b);
	bool ok = tide__modules_find_of_spans(m, &x.modules, err) == TIDE_OK && setup(&x);
	if (ok) {
		for (size_t i = 1; i < m->tensors.n; i++)
			x.tensor[m->tensors.alloc[i].i] = (uint32_t)i;
		put_events(&x);
		ok = put_reserved(&x, err);
		put_ops(&x);
		tide__json_object(j);
		pools_json(&x, j);
		roles_json(j);
		tide__json_kbool(j, "modules", x.any_module);
		if (opt->downsampled) {
			tide__json_kuint(j, "intervals", opt->downsampled->px);
			tide__json_kuint(j, "left_out", m->allocs.n - 1 - opt->downsampled->kept);
			if (opt->phases)
				phases_json(&x, opt, j);
		}
		labels_json(&x, j);
		tide__page_names_json(&x.names, m, "names", j);
		tide__json_object_end(j);
	}
	tide__page_names_free(&x.names);
	tide__paths_free(&x.paths);
	tide__roles_free(&x.roles);
	tide__modules_free(&x.modules);
	tide__alloc_modules_free(&x.owners);
	tide__view_parts_free(&x.parts);
	tide__strings_free(x.labels);
	tide__free(x.place);
	tide__free(x.tensor);
	tide__page_stacks_free(&x.stacks);
	tide__free(x.faces);
	return ok;
}
