// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of groups of allocations (analyze/memory/groups.h), stacks and devices. */
#ifndef TIDE_RENDER_TEXT_LABELS_H
#define TIDE_RENDER_TEXT_LABELS_H

#include <stdio.h>

#include "analyze/ops/flame.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/sampled.h"
#include "model/names.h"
#include "render/text/long_text.h"

/* Writes the name of a group: "train/forward", "weights float32[64, 32]", "1 MiB - 2 MiB" ...
 * Frames of a stack from the outermost to the innermost, separated by " > ". Any length, any
 * bytes: the caller escapes. `longs` handles the long texts of this output (long_text.h). */
void tide__groups_write_label(const tide_groups *g, const tide_model *m, size_t row,
			      tide_long *longs, FILE *out);

/* The same for tables and pages: ops and modules by their short names (short_names.h), stacks and
 * frames in short form, the user's innermost line first. */
void tide__groups_write_brief(const tide_groups *g, const tide_model *m, size_t row,
			      tide_long *longs, FILE *out);

/* Writes a stack in short form: "forward (model.py:34), in linear (functional.py:9) < step (train.py:39)". */
void tide__stack_write_brief(const tide_model *m, tide_stack_id s, FILE *out);
/* Returns the innermost frame of `a` that differs from the frame of `b` at the same place; none if
 * `b` begins with all of `a`. */
tide_frame_id tide__stack_differs(const tide_model *m, tide_stack_id a, tide_stack_id b);

/* The same for a path in a flame graph, from `node` up to, without, `root`; without Python, the
 * most informative native function. */
void tide__path_write_brief(const tide_flame *f, uint32_t node, uint32_t root, FILE *out);

/* Writes when a sampled device was at its highest known value: "at 1.000 s", or "between 1.000 s
 * and 2.000 s by its own counter". Returns buf. */
const char *tide__sampled_when(const tide_sampled_device *x, char *buf, size_t n);

#endif
