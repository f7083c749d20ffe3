// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Both trees are copied into one, without and then with folding: parents are smaller rows
 * throughout, so each step is one walk. */
#include "analyze/compare/flame_pair.h"

#include <string.h>

#include "analyze/compare/diff.h"
#include "base/mem.h"

static bool weights(tide_flame_pair *p)
{
	size_t n = p->tree->nodes.n;
	for (int side = 0; side < 2; side++) {
		p->self[side] = tide__calloc(n, sizeof *p->self[side]);
		p->count[side] = tide__calloc(n, sizeof *p->count[side]);
	}
	return p->self[0] && p->self[1] && p->count[0] && p->count[1];
}

void tide__flame_pair_free(tide_flame_pair *p)
{
	tide__flame_free(p->tree);
	for (int side = 0; side < 2; side++) {
		tide__free(p->self[side]);
		tide__free(p->count[side]);
	}
	*p = (tide_flame_pair){ 0 };
}

/* Adds the paths of `f` to the tree: to[i] is the node for its node i. */
static bool add_paths(tide_flame *tree, const tide_flame *f, bool equate, uint32_t *to)
{
	uint32_t *names = tide__flame_names_new(f);
	bool ok = names != NULL;
	to[0] = 0;
	for (uint32_t i = 1; ok && i < f->nodes.n; i++) {
		size_t n;
		const char *s = tide__flame_name(f, i, &n);
		uint32_t *name = &names[f->nodes.name[i]];
		if (!*name) /* once a text */
			*name = tide__diff_text(tree, s, n, equate);
		to[i] = tide__flame_get_child(tree, to[f->nodes.parent[i]], *name,
					      f->nodes.type[i]);
		ok = to[i] != 0;
	}
	tide__free(names);
	return ok;
}

static bool unite(const tide_flame *const *f, tide_flame_pair *p)
{
	uint32_t *to[2] = { tide__alloc(f[0]->nodes.n, sizeof **to),
			    tide__alloc(f[1]->nodes.n, sizeof **to) };
	size_t n;
	p->tree = tide__flame_new(tide__flame_name(f[0], 0, &n));
	bool equate = tide__diff_equates(f[0]->strings, f[1]->strings);
	bool ok = p->tree && to[0] && to[1] && add_paths(p->tree, f[0], equate, to[0]) &&
		  add_paths(p->tree, f[1], equate, to[1]) && weights(p);
	for (int side = 0; side < 2 && ok; side++)
		for (uint32_t i = 0; i < f[side]->nodes.n; i++) {
			p->self[side][to[side][i]] += f[side]->nodes.self[i];
			p->count[side][to[side][i]] += f[side]->nodes.count[i];
		}
	tide__free(to[0]);
	tide__free(to[1]);
	return ok;
}

/* ---- folding ---- */

/* Returns the larger of the two totals of each node. */
static uint64_t *larger_totals(const tide_flame_pair *p)
{
	size_t n = p->tree->nodes.n;
	uint64_t *most = tide__calloc(n, sizeof *most), *total = tide__alloc(n, sizeof *total);
	for (int side = 0; side < 2 && most && total; side++) {
		memcpy(total, p->self[side], n * sizeof *total);
		for (size_t i = n - 1; i > 0; i--)
			total[p->tree->nodes.parent[i]] += total[i];
		for (size_t i = 0; i < n; i++)
			most[i] = total[i] > most[i] ? total[i] : most[i];
	}
	bool ok = most && total;
	tide__free(total);
	if (!ok)
		tide__free(most);
	return ok ? most : NULL;
}

/* Makes the nodes of the folded copy. sink[i]: everything below node i is folded into the same
 * node. */
static bool fold_nodes(const tide_flame_pair *p, const uint64_t *most, uint64_t min,
		       uint32_t max_depth, tide_flame_pair *out, uint32_t *to, uint8_t *sink,
		       uint32_t *names)
{
	static const char small[] = "[small]";
	const tide_nodes *t = &p->tree->nodes;
	to[0] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t up = t->parent[i];
		bool deep = max_depth && t->depth[i] > max_depth, little = most[i] < min;
		sink[i] = sink[up] || deep || little;
		if (sink[up] || deep)
			to[i] = to[up];
		else if (little)
			to[i] = tide__flame_get_child(
				out->tree, to[up],
				tide__flame_text(out->tree, small, sizeof small - 1),
				TIDE_NODE_NOTE);
		else
			to[i] = tide__flame_get_child(
				out->tree, to[up], tide__flame_copy(out->tree, p->tree, i, names),
				t->type[i]);
		out->folded += little && !sink[up];
		if (!to[i] && !sink[up] && !deep)
			return false;
	}
	return true;
}

static bool fold(const tide_flame_pair *p, uint64_t parts, uint32_t max_depth, tide_flame_pair *out)
{
	size_t n = p->tree->nodes.n, len;
	uint64_t *most = larger_totals(p);
	uint32_t *to = tide__calloc(n, sizeof *to), *names = tide__flame_names_new(p->tree);
	uint8_t *sink = tide__calloc(n, 1);
	out->tree = tide__flame_new(tide__flame_name(p->tree, 0, &len));
	bool ok =
		most && to && sink && names && out->tree &&
		fold_nodes(p, most, parts ? most[0] / parts : 0, max_depth, out, to, sink, names) &&
		weights(out);
	for (int side = 0; side < 2 && ok; side++)
		for (size_t i = 0; i < n; i++) {
			out->self[side][to[i]] += p->self[side][i];
			out->count[side][to[i]] += p->count[side][i];
		}
	tide__free(most);
	tide__free(to);
	tide__free(names);
	tide__free(sink);
	return ok;
}

bool tide__flame_pair_build(const tide_flame *a, const tide_flame *b, uint64_t parts,
			    uint32_t max_depth, tide_flame_pair *out)
{
	const tide_flame *const both[2] = { a, b };
	tide_flame_pair whole = { 0 };
	*out = (tide_flame_pair){ 0 };
	bool ok = unite(both, &whole) && fold(&whole, parts, max_depth, out);
	tide__flame_pair_free(&whole);
	return ok;
}
