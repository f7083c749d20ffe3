// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports ttnn graph captures: a JSON array of nodes, or a report file with the array as "graph".
 *
 * Functions become spans, buffers and circular buffers allocations, tensors descriptions of them. A
 * capture has an order but no clock: a node's number times 1,000 is its time in ns. DRAM counts
 * whole buffers, L1 the bytes of one core (bank). docs/formats/ttnn-graph.md has the rules. */
#ifndef TIDE_IMPORT_TTGRAPH_TTGRAPH_H
#define TIDE_IMPORT_TTGRAPH_TTGRAPH_H

#include "import/import.h"

/* Imports a whole document of n bytes, followed by JSONR_PAD zeros. */
tide_code tide__ttgraph_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
