// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/holders.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* Maps the sequence numbers of living graphs to their rows + 1. */
static bool find_graphs(const tide_model *m, tide_map *graphs)
{
	const tide_referrers *h = &m->referrers;
	for (size_t i = 0; i < h->n; i++)
		if (h->sequence[i] >= 0 &&
		    !tide__map_put(graphs, (uint64_t)h->sequence[i], (uint32_t)i + 1))
			return false;
	return true;
}

/* Gives each op its row + 1 of a living graph, from its sequence number. */
static uint32_t *find_ops(const tide_model *m, const tide_map *graphs)
{
	const tide_attrs *a = &m->attrs;
	uint32_t *rows = tide__calloc(m->spans.n + 1, sizeof *rows);
	for (size_t i = 0; rows && i < a->n; i++)
		if (a->span[i].i && !strcmp(tide__text(m, a->key[i], NULL), "sequence"))
			rows[a->span[i].i] = tide__map_get(graphs, (uint64_t)a->number[i]);
	return rows;
}

/* Returns the row + 1 of the graph of an op or of an op around it. */
static uint32_t graph_of(const tide_model *m, const uint32_t *rows, tide_span_id s)
{
	for (uint32_t i = s.i; i; i = m->spans.parent[i].i)
		if (rows[i])
			return rows[i];
	return 0;
}

static void hold(const tide_model *m, tide_str *of, uint32_t a, uint32_t row)
{
	const tide_referrers *h = &m->referrers;
	if (row && !of[a].i && h->t[row - 1] >= m->allocs.born[a] &&
	    h->t[row - 1] <= m->allocs.died[a])
		of[a] = h->path[row - 1];
}

static bool add_graphs(const tide_model *m, tide_str *of)
{
	tide_map graphs = { 0 };
	uint32_t *rows = NULL;
	bool ok = find_graphs(m, &graphs) && (rows = find_ops(m, &graphs));
	for (size_t i = 0; ok && i < m->uses.n; i++)
		hold(m, of, m->uses.alloc[i].i, graph_of(m, rows, m->uses.span[i]));
	for (uint32_t a = 1; ok && a < m->allocs.n; a++)
		hold(m, of, a, graph_of(m, rows, m->allocs.span[a]));
	tide__map_free(&graphs);
	tide__free(rows);
	return ok;
}

tide_code tide__referrers_find(const tide_model *m, tide_holder_names *out)
{
	const tide_referrers *h = &m->referrers;
	*out = (tide_holder_names){ 0 };
	if (!h->n)
		return TIDE_OK;
	tide_str *of = tide__calloc(m->allocs.n + 1, sizeof *of);
	for (size_t i = 0; of && i < h->n; i++)
		if (h->alloc[i].i)
			of[h->alloc[i].i] = h->path[i];
	if (!of || !add_graphs(m, of)) {
		tide__free(of);
		return TIDE_ENOMEM;
	}
	out->of = of;
	return TIDE_OK;
}

void tide__referrers_free(tide_holder_names *h)
{
	tide__free(h->of);
}
