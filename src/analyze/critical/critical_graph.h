// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A weighted directed graph that keeps insertion order, and its longest path.
 *
 * Order matters only for ties: of several longest paths, the one along the edges added first is
 * taken, so the result is the same on every run and agrees with Holistic Trace Analysis's. Adding
 * an existing edge replaces its weight and type and keeps its place. */
#ifndef TIDE_ANALYZE_CRITICAL_CRITICAL_GRAPH_H
#define TIDE_ANALYZE_CRITICAL_CRITICAL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

typedef struct tide_cg_edge {
	uint32_t from, to;
	int64_t weight;
	uint32_t next_out, next_in; /* edge + 1 of the same node, in order of adding; 0 = last */
	uint8_t type;
	int64_t owner; /* the row its time is attributed to, or -1 */
} tide_cg_edge;

typedef struct tide_cg_node {
	uint32_t first_out, last_out, first_in, last_in; /* edge + 1 */
	uint32_t n_out;
	uint32_t rank; /* order in which the node first appeared in an edge, from 1; 0 = in none */
} tide_cg_node;

typedef struct tide_cg {
	tide_cg_node *nodes;
	size_t n_nodes;	   /* fixed at tide__cg_init */
	uint32_t n_ranked; /* nodes that appear in an edge */
	tide_cg_edge *edges;
	size_t n_edges, cap_edges;
	tide_map at; /* (from, to) -> edge + 1, for nodes with many edges */
} tide_cg;

bool tide__cg_init(tide_cg *g, size_t n_nodes);
void tide__cg_free(tide_cg *g);
/* Adds or replaces an edge; its owner is unchanged (-1 when new). Returns NULL if memory runs
 * out. */
tide_cg_edge *tide__cg_add_edge(tide_cg *g, uint32_t from, uint32_t to, uint8_t type,
				int64_t weight);
/* Finds the longest path by weight (negative weights count 0): edges in order in *path (owned by
 * the caller, tide__free). Returns false if memory runs out; sets *cyclic, without a path, if
 * the graph has a cycle. */
bool tide__cg_find_longest(const tide_cg *g, uint32_t **path, size_t *n, bool *cyclic);

#endif
