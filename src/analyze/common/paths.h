// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Op paths: the names from the outermost span to one span, "train/forward/matmul", as nodes of a
 * tree. Spans with equal paths share a node, also on different lanes. Node 0 is the root: no op. */
#ifndef TIDE_ANALYZE_COMMON_PATHS_H
#define TIDE_ANALYZE_COMMON_PATHS_H

#include "model/model.h"

typedef struct tide_paths {
	size_t n, cap;
	uint32_t *parent; /* a smaller node */
	tide_str *name;
	tide_map nodes; /* (parent, name) -> node */
	tide_map spans; /* span -> node + 1, for tide__paths_add_span; replaced by `all` after
			 * tide__paths_prepare_all */
	uint32_t *of_span;
	bool no_steps;	  /* set before use: leaves "ProfilerStep#N" out of paths, so steps share
		        * nodes */
	bool no_overhead; /* the same: leaves out the profiler's own work */
} tide_paths;

#define TIDE_NO_PATH UINT32_MAX /* out of memory */

/* Returns false if memory runs out. Release with tide__paths_free in any case. */
bool tide__paths_init(tide_paths *p);
void tide__paths_free(tide_paths *p);
/* Prepares for queries about most spans: an array finds them faster than a map. Returns false if
 * memory runs out. */
bool tide__paths_prepare_all(tide_paths *p, const tide_model *m);
/* Returns the node of `name` below `parent`, added if new. */
uint32_t tide__paths_add_child(tide_paths *p, uint32_t parent, tide_str name);
/* Returns the node of a span, 0 for none. Amortized O(1): climbs only to the nearest span
 * already seen. */
uint32_t tide__paths_add_span(tide_paths *p, const tide_model *m, tide_span_id span);
/* Writes "a/b/c" into buf (n bytes), NUL-terminated, "" for the root; a path that does not fit
 * keeps its inner end after "...". Returns buf. */
char *tide__paths_text(const tide_paths *p, const tide_model *m, uint32_t node, char *buf,
		       size_t n);

#endif
