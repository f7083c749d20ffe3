// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A flame graph as JSON, as an indented tree with bars, and as a list of hot paths. */
#ifndef TIDE_RENDER_REPORT_OPS_FLAME_H
#define TIDE_RENDER_REPORT_OPS_FLAME_H

#include "analyze/ops/flame.h"
#include "render/text/out.h"

/* Writes members of a node without the braces, including children: {"name", "value", "self",
 * "count", "children"} with value and self in us (3 decimals), then "value_ns", "self_ns"; or in
 * bytes. The caller writes the braces and may add members to the root. */
void tide__flame_json(const tide_flame *f, tide_json *j);

/* Prints the `top` nodes with the largest total (0 = all) as a tree, and how many are hidden. A
 * level of indent is a fork: chains without one run straight down, marked ›. Returns false if
 * memory runs out. */
bool tide__flame_print(const tide_flame *f, FILE *out, const tide_style *style, size_t top);

/* Returns the `top` paths with the largest self value, as a grid of self, share, count, path.
 * NULL if memory runs out. */
tide_grid *tide__flame_hot(const tide_flame *f, size_t top);
/* Returns how many paths have a self value: rows of the above with top = 0. */
size_t tide__flame_paths(const tide_flame *f);

/* Returns "a;b;c" of a node; ";" inside a name becomes ":" and a line break a space, so that the
 * text can be split again. Owned by the caller (tide__free); NULL if memory runs out. */
char *tide__flame_path(const tide_flame *f, uint32_t node, tide_long *longs);

typedef struct tide_flame_view {
	const char *file; /* name of the trace in JSON */
	size_t top;	  /* rows of text, 0 = all */
	bool hot;	  /* text: the paths with the largest self value instead of the tree */
	bool allocated;	  /* memory: all bytes ever allocated instead of those alive at the peak */
} tide_flame_view;

/* Writes the whole report as text and as one JSON object. `m` may be NULL: a tree joined from
 * several traces. Returns false if memory runs out. */
bool tide__flame_report_text(const tide_flame *f, const tide_model *m, const tide_flame_view *v,
			     const tide_out *to);
void tide__flame_report_json(const tide_flame *f, const tide_model *m, const tide_flame_view *v,
			     tide_json *j);

#endif
