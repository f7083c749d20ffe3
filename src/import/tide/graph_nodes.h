// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Gives kernels, copies and fills of CUDA graph replays to the call that put them into their graph.
 *
 * A row of a replay has the number of its node. The node was created inside a call on a thread, in an
 * op; or it is the clone of such a node (a child graph, an executable graph), or was updated to do
 * what another node does. CUDA puts the nodes of child graphs and conditional bodies into the executable
 * graph without saying so: they get the places that are missing there, in their order, if there are as
 * many. The model then has for each row the innermost host span around that
 * moment (span_captured). Rows whose node is unknown stay with their launch and are counted. */
#ifndef TIDE_IMPORT_TIDE_GRAPH_NODES_H
#define TIDE_IMPORT_TIDE_GRAPH_NODES_H

#include "model/model.h"

struct tide_graph_node {
	int64_t t; /* Unix ns */
	uint64_t node, original;
	uint32_t tid, number; /* number: order in the file */
	uint8_t how, type; /* how: TIDE_NODE_*; type: CUDA's, 4 = child graph, 13 = conditional */
};

/* Call with spans sorted and their parents known. Reorders v. Returns false if memory runs out.
 * O((nodes + spans) log nodes). */
bool tide__graph_nodes_put(tide_model *m, struct tide_graph_node *v, size_t n);

#endif
