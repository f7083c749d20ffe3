// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One walk over a unit lists its functions that have code; a binary search finds that of an address;
 * only its own entries are then searched for inlined functions. */
#include "cli/run/native_functions.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

enum { DEEPEST = 64 }; /* levels of entries; a file may be made to have more */

/* ---- the functions of a unit ---- */

static bool add_ranges(tide_functions *f, Dwarf_Die *die)
{
	Dwarf_Addr base, from, to;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &from, &to)) > 0;) {
		if (from >= to)
			continue;
		if (!TIDE_ROOM(f->v, f->cap, f->n + 1))
			return false;
		f->v[f->n++] = (tide_function){ from, to, dwarf_dieoffset(die) };
	}
	return true;
}

/* Returns whether entries with this tag may contain functions. */
static bool may_contain(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static bool add_inside(tide_functions *f, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	if (depth > DEEPEST || dwarf_child(parent, &die))
		return true;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram && !add_ranges(f, &die))
			return false;
		if (may_contain(tag) && !add_inside(f, &die, depth + 1))
			return false;
	} while (!dwarf_siblingof(&die, &die));
	return true;
}

/* By address; around another one first. */
static int by_place(const void *a, const void *b)
{
	const tide_function *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to < y->to) - (x->to > y->to);
}

/* Returns the number of the unit + 1, 0 if memory ran out. */
static uint32_t unit_of(tide_functions *f, Dwarf_Die *cu)
{
	uint64_t key = dwarf_dieoffset(cu) + 1;
	uint32_t unit = tide__map_get(&f->units, key);
	size_t from = f->n;
	if (unit)
		return unit;
	if (!TIDE_ROOM(f->ends, f->cap_units, f->n_units + 1) || !add_inside(f, cu, 0) ||
	    !tide__map_put(&f->units, key, (uint32_t)f->n_units + 1)) {
		f->n = from;
		return 0;
	}
	if (f->n > from)
		qsort(f->v + from, f->n - from, sizeof *f->v, by_place);
	f->ends[f->n_units] = f->n;
	return (uint32_t)++f->n_units;
}

bool tide__function_find_at(tide_functions *f, Dwarf *dw, Dwarf_Die *cu, Dwarf_Addr at,
			    Dwarf_Die *out)
{
	enum { BACK = 64 }; /* functions inside others are rare */
	uint32_t unit = unit_of(f, cu);
	if (!unit)
		return false;
	size_t first = unit > 1 ? f->ends[unit - 2] : 0, lo = first;
	TIDE_SEARCH(lo, f->ends[unit - 1], mid, f->v[mid].from <= at);
	for (size_t tries = 0; lo > first && tries < BACK; lo--, tries++)
		if (at < f->v[lo - 1].to)
			return dwarf_offdie(dw, f->v[lo - 1].die, out) != NULL;
	return false;
}

void tide__functions_free(tide_functions *f)
{
	tide__free(f->v);
	tide__free(f->ends);
	tide__map_free(&f->units);
	*f = (tide_functions){ 0 };
}

/* ---- inlined functions ---- */

/* Finds the block or inlined function directly inside `die` that has the address. */
static bool inner(Dwarf_Die *die, Dwarf_Addr at, Dwarf_Die *out)
{
	if (dwarf_child(die, out))
		return false;
	do {
		int tag = dwarf_tag(out);
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(out, at) > 0)
			return true;
	} while (!dwarf_siblingof(out, out));
	return false;
}

size_t tide__inlined_find_at(Dwarf_Die *die, Dwarf_Addr at, Dwarf_Die *out, size_t most)
{
	Dwarf_Die now = *die, next;
	size_t n = 0;
	if (most)
		out[n++] = now;
	for (int depth = 0; depth < DEEPEST * 4 && inner(&now, at, &next); depth++) {
		now = next;
		if (dwarf_tag(&now) == DW_TAG_inlined_subroutine && n < most)
			out[n++] = now;
	}
	return n;
}
