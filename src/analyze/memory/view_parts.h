// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocations that several tensors share, split: which bytes belong to which view.
 *
 * The parts of an allocation are its views by offset, each byte once: where two overlap, the one that
 * begins first has it. What no view covers (padding, views that are not labelled) is the rest.
 * Definitions: docs/analyses/peak.md, "Shared storages". */
#ifndef TIDE_ANALYZE_MEMORY_VIEW_PARTS_H
#define TIDE_ANALYZE_MEMORY_VIEW_PARTS_H

#include "base/map.h"
#include "model/model.h"

typedef struct tide_view_part {
	uint32_t view; /* row in views */
	uint64_t bytes;
} tide_view_part;

typedef struct tide_view_parts {
	tide_map first;	   /* alloc -> 1 + index of its first part; none: it has no views */
	tide_view_part *v; /* owned; of one allocation after the other, by offset */
	size_t n;
} tide_view_parts;

/* O(views log views). Returns false if memory ran out. Release with tide__view_parts_free. */
bool tide__view_parts(const tide_model *m, tide_view_parts *out);
void tide__view_parts_free(tide_view_parts *p);

/* The parts of an allocation; *n is 0 if it has none. Borrowed until tide__view_parts_free. */
const tide_view_part *tide__view_parts_of(const tide_view_parts *p, const tide_model *m,
					  uint32_t alloc, size_t *n);

/* What a shared allocation holds, into buf: "gradient bucket, 4 tensors", "flattened parameters, 12
 * tensors", "storage of 3 tensors" where roles differ. Returns its length, 0 without parts. */
size_t tide__storage_text(const tide_view_parts *p, const tide_model *m, uint32_t alloc, char *buf,
			  size_t n);
/* "weights float32[64, 32]" of a view, as tide__tensor_text of a tensor. */
size_t tide__view_text(const tide_model *m, uint32_t view, char *buf, size_t n);

#endif
