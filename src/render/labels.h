// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of groups of allocations (analyze/groups.h). */
#ifndef TIDE_RENDER_LABELS_H
#define TIDE_RENDER_LABELS_H

#include <stdio.h>

#include "analyze/groups.h"

/* The name of a group: "train/forward", "weights float32[64, 32]", "1 MiB - 2 MiB" ... Frames of a
 * stack from the outermost to the innermost, separated by " > ". Any length, any bytes: the caller
 * escapes. */
void tide__groups_label(const tide_groups *g, const tide_model *m, size_t row, FILE *out);

#endif
