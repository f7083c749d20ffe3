// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernels of graph replays, and the calls that put them into their graph when it was captured.
 *
 * A replay has one launch (cudaGraphLaunch, hipGraphLaunch) for all its device rows. The trace of
 * the capture has the calls that made the graph's nodes, in their ops and modules, and no device
 * rows of them. A replay belongs to the captured graph whose nodes have the same names. Where the
 * capture does not have the names of nodes (CUDA), it belongs to a graph with as many nodes whose
 * ops its kernels do not contradict. docs/analyses/captured.md has the rules. */
#ifndef TIDE_ANALYZE_DEVICE_CAPTURED_H
#define TIDE_ANALYZE_DEVICE_CAPTURED_H

#include "model/model.h"

typedef struct tide_captured {
	uint32_t *launch; /* owned; per span of the replay trace: a span of the capture; 0 = none */
	uint64_t graphs;  /* captured graphs with nodes */
	uint64_t replays; /* launches of graphs with device rows */
	uint64_t rows, matched; /* device rows of these */
	bool by_name;		/* the capture has names of nodes */
} tide_captured;

/* Needs a capture loaded with TIDE_WANT_SHAPES. `known`: per span, rows that another capture
 * explains, not 0; NULL = none. Release with tide__captured_free in any case. */
tide_code tide__find_captured(const tide_model *replay, const tide_model *capture,
			      const uint32_t *known, tide_captured *out, tide_error *err);
void tide__captured_free(tide_captured *c);

#endif
