// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parts of a flame graph that the report, the page, the server and exports share. */
#ifndef TIDE_RENDER_REPORT_OPS_FLAME_H
#define TIDE_RENDER_REPORT_OPS_FLAME_H

#include "analyze/ops/flame.h"
#include "render/text/out.h"

/* Returns true if nothing was recorded: rows that last 0 ns are something. */
bool tide__flame_is_empty(const tide_flame *f);

/* Writes members of a node without the braces, including children: {"name", "value", "self",
 * "count", "children"} with value and self in us (3 decimals), then "value_ns", "self_ns"; or in
 * bytes. The caller writes the braces and may add members to the root. */
void tide__flame_json(const tide_flame *f, tide_json *j);

/* Returns "a;b;c" of a node; ";" inside a name becomes ":" and a line break a space, so that the
 * text can be split again. Owned by the caller (tide__free); NULL if memory runs out. */
char *tide__flame_path(const tide_flame *f, uint32_t node, tide_long *longs);

#endif
