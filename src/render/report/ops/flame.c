// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Walks go down by `child`, along by `next` and up by `parent`. There is no recursion, so only the
 * output limits the depth. */
#include "render/report/ops/flame.h"

#include "base/mem.h"

/* ---- JSON ---- */

static void amount(const tide_flame *f, tide_json *j, const char *key, uint64_t v)
{
	tide__json_key(j, key);
	if (f->bytes)
		tide__json_uint(j, v);
	else
		tide__json_milli(j, (int64_t)v);
}

/* Returns true if nothing was recorded: rows that last 0 ns are something. */
bool tide__flame_is_empty(const tide_flame *f)
{
	bool any = f->nodes.total[0] > 0;
	for (size_t i = 0; !any && i < f->nodes.n; i++)
		any = f->nodes.count[i] > 0;
	return !any;
}

static void open_node(const tide_flame *f, tide_json *j, uint32_t node)
{
	static const char *const keys[] = { "value", "self", "value_ns", "self_ns" };
	bool unknown = f->kind == TIDE_FLAME_GPU && tide__flame_is_empty(f); /* not 0 */
	tide__json_key(j, "name");
	tide__json_text(j, f->strings, f->nodes.name[node]);
	for (size_t i = 0; unknown && i < 4; i++)
		tide__json_knull(j, keys[i]);
	if (!unknown) {
		amount(f, j, "value", f->nodes.total[node]);
		amount(f, j, "self", f->nodes.self[node]);
	}
	if (!unknown && !f->bytes) {
		tide__json_kuint(j, "value_ns", f->nodes.total[node]);
		tide__json_kuint(j, "self_ns", f->nodes.self[node]);
	}
	tide__json_kuint(j, "count", f->nodes.count[node]);
	tide__json_karray(j, "children");
}

void tide__flame_json(const tide_flame *f, tide_json *j)
{
	const tide_nodes *t = &f->nodes;
	uint32_t node = 0;
	open_node(f, j, node);
	for (;;) {
		if (t->child[node]) {
			node = t->child[node];
		} else {
			for (; node && !t->next[node]; node = t->parent[node]) {
				tide__json_array_end(j);
				tide__json_object_end(j);
			}
			if (!node)
				break;
			tide__json_array_end(j);
			tide__json_object_end(j);
			node = t->next[node];
		}
		tide__json_object(j);
		open_node(f, j, node);
	}
	tide__json_array_end(j);
}

/* ---- paths ---- */

struct path {
	char *s; /* owned */
	size_t n, cap;
};

/* Prepends a name and its separator. Returns false if memory runs out. */
static bool add_name(struct path *p, const char *name, size_t n)
{
	if (!TIDE_ROOM(p->s, p->cap, p->n + n + 2))
		return false;
	if (p->n)
		p->s[p->n++] = ';';
	for (size_t k = 0; k < n; k++)
		p->s[p->n++] = name[k] == ';'					? ':'
			       : name[k] == '\n' || name[k] == '\r' || !name[k] ? ' '
										: name[k];
	p->s[p->n] = 0;
	return true;
}

char *tide__flame_path(const tide_flame *f, uint32_t node, tide_long *longs)
{
	struct path p = { 0 };
	size_t depth = 0, n = 0;
	for (uint32_t i = node; i; i = f->nodes.parent[i])
		depth++;
	uint32_t *way = tide__alloc(depth + 1, sizeof *way);
	bool ok = way && (depth || add_name(&p, "", 0));
	for (uint32_t i = ok ? node : 0; i; i = f->nodes.parent[i])
		way[n++] = i;
	while (ok && n) {
		size_t len;
		const char *s = tide__long_get(longs, f->strings, f->nodes.name[way[--n]], &len);
		ok = add_name(&p, s, len);
	}
	tide__free(way);
	if (ok)
		return p.s;
	tide__free(p.s);
	return NULL;
}
