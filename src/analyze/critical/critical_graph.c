// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/critical/critical_graph.h"

#include <string.h>

#include "base/mem.h"

bool tide__cg_init(tide_cg *g, size_t n_nodes)
{
	*g = (tide_cg){ .n_nodes = n_nodes };
	g->nodes = tide__calloc(n_nodes, sizeof *g->nodes);
	return g->nodes != NULL;
}

void tide__cg_free(tide_cg *g)
{
	tide__free(g->nodes);
	tide__free(g->edges);
	tide__map_free(&g->at);
	*g = (tide_cg){ 0 };
}

static void appear(tide_cg *g, uint32_t node)
{
	if (!g->nodes[node].rank)
		g->nodes[node].rank = ++g->n_ranked;
}

static void chain(tide_cg *g, uint32_t e)
{
	tide_cg_node *from = &g->nodes[g->edges[e].from], *to = &g->nodes[g->edges[e].to];
	if (from->last_out)
		g->edges[from->last_out - 1].next_out = e + 1;
	else
		from->first_out = e + 1;
	from->last_out = e + 1;
	from->n_out++;
	if (to->last_in)
		g->edges[to->last_in - 1].next_in = e + 1;
	else
		to->first_in = e + 1;
	to->last_in = e + 1;
}

static bool room(tide_cg *g)
{
	return g->n_edges < UINT32_MAX - 1 && TIDE_ROOM(g->edges, g->cap_edges, g->n_edges + 1);
}

enum { FEW = 8 }; /* edges of a node that are searched linearly */

static uint64_t key_of(uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | to;
}

/* Returns the edge + 1, 0 if it does not exist. */
static uint32_t find(const tide_cg *g, uint32_t from, uint32_t to)
{
	if (g->nodes[from].n_out > FEW)
		return tide__map_get(&g->at, key_of(from, to));
	uint32_t e = g->nodes[from].first_out;
	while (e && g->edges[e - 1].to != to)
		e = g->edges[e - 1].next_out;
	return e;
}

/* Indexes the node's edges once there are too many for a linear search. */
static bool index_edges(tide_cg *g, uint32_t from)
{
	bool ok = true;
	for (uint32_t e = g->nodes[from].first_out; e && ok; e = g->edges[e - 1].next_out)
		ok = tide__map_put(&g->at, key_of(from, g->edges[e - 1].to), e);
	return ok;
}

tide_cg_edge *tide__cg_add_edge(tide_cg *g, uint32_t from, uint32_t to, uint8_t type,
				int64_t weight)
{
	uint32_t old = find(g, from, to), many = g->nodes[from].n_out;
	if (old) {
		g->edges[old - 1].type = type;
		g->edges[old - 1].weight = weight;
		return &g->edges[old - 1];
	}
	uint32_t e = (uint32_t)g->n_edges;
	if (!room(g) || (many == FEW && !index_edges(g, from)) ||
	    (many >= FEW && !tide__map_put(&g->at, key_of(from, to), e + 1)))
		return NULL;
	g->edges[e] = (tide_cg_edge){
		.from = from, .to = to, .weight = weight, .type = type, .owner = -1
	};
	g->n_edges++;
	appear(g, from);
	appear(g, to);
	chain(g, e);
	return &g->edges[e];
}

/* Visits nodes generation by generation: those without an open predecessor, in order of
 * appearance. */
static uint32_t *topological(const tide_cg *g, size_t *n)
{
	uint32_t *order = tide__alloc(g->n_ranked + 1, sizeof *order);
	uint32_t *open = tide__calloc(g->n_nodes, sizeof *open);
	uint32_t *ranked = tide__alloc(g->n_ranked + 1, sizeof *ranked);
	*n = 0;
	if (!order || !open || !ranked) {
		tide__free(order);
		order = NULL;
		goto done;
	}
	for (uint32_t v = 0; v < g->n_nodes; v++)
		if (g->nodes[v].rank)
			ranked[g->nodes[v].rank - 1] = v;
	for (size_t e = 0; e < g->n_edges; e++)
		open[g->edges[e].to]++;
	for (uint32_t i = 0; i < g->n_ranked; i++)
		if (!open[ranked[i]])
			order[(*n)++] = ranked[i];
	for (size_t i = 0; i < *n; i++)
		for (uint32_t e = g->nodes[order[i]].first_out; e; e = g->edges[e - 1].next_out)
			if (!--open[g->edges[e - 1].to])
				order[(*n)++] = g->edges[e - 1].to;
done:
	tide__free(open);
	tide__free(ranked);
	return order;
}

struct best {
	int64_t length;
	uint32_t by; /* edge + 1 that leads here, 0 = the path starts here */
};

static struct best best_into(const tide_cg *g, const struct best *best, uint32_t v)
{
	struct best b = { INT64_MIN, 0 };
	for (uint32_t e = g->nodes[v].first_in; e; e = g->edges[e - 1].next_in) {
		int64_t w = g->edges[e - 1].weight,
			length = best[g->edges[e - 1].from].length + (w < 0 ? 0 : w);
		if (length > b.length)
			b = (struct best){ length, e };
	}
	return b.by && b.length >= 0 ? b : (struct best){ 0, 0 };
}

static bool walk_back(const tide_cg *g, const struct best *best, uint32_t v, uint32_t **path,
		      size_t *n)
{
	*n = 0;
	for (uint32_t u = v; best[u].by; u = g->edges[best[u].by - 1].from)
		(*n)++;
	*path = tide__alloc(*n, sizeof **path);
	if (!*path)
		return false;
	size_t i = *n;
	for (uint32_t u = v; best[u].by; u = g->edges[best[u].by - 1].from)
		(*path)[--i] = best[u].by - 1;
	return true;
}

bool tide__cg_find_longest(const tide_cg *g, uint32_t **path, size_t *n, bool *cyclic)
{
	size_t count;
	uint32_t *order = topological(g, &count);
	struct best *best = tide__calloc(g->n_nodes, sizeof *best);
	bool ok = order && best;
	*path = NULL;
	*n = 0;
	*cyclic = ok && count < g->n_ranked;
	if (ok && !*cyclic && count) {
		uint32_t top = order[0];
		for (size_t i = 0; i < count; i++) {
			best[order[i]] = best_into(g, best, order[i]);
			if (best[order[i]].length > best[top].length)
				top = order[i];
		}
		ok = walk_back(g, best, top, path, n);
	}
	tide__free(order);
	tide__free(best);
	return ok;
}
