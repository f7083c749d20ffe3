// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Splits allocations that several tensors share: which bytes belong to which view.
 *
 * The parts of an allocation are its views by offset, each byte once: where two overlap, the one
 * that begins first gets the bytes. Bytes outside every view (padding, unlabelled views) are the
 * rest. Definitions: docs/analyses/peak.md, "Shared storages". */
#ifndef TIDE_ANALYZE_MEMORY_VIEW_PARTS_H
#define TIDE_ANALYZE_MEMORY_VIEW_PARTS_H

#include "base/map.h"
#include "model/model.h"

typedef struct tide_view_part {
	uint32_t view; /* row in views */
	uint64_t bytes;
} tide_view_part;

typedef struct tide_view_parts {
	tide_map first;	   /* alloc -> 1 + index of its first part; absent: it has no views */
	tide_view_part *v; /* owned; grouped by allocation, by offset */
	size_t n;
} tide_view_parts;

/* O(views log views). Returns false if memory runs out. Release with tide__view_parts_free. */
bool tide__view_parts_find(const tide_model *m, tide_view_parts *out);
void tide__view_parts_free(tide_view_parts *p);

/* Returns the parts of an allocation; *n is 0 if it has none. Borrowed until
 * tide__view_parts_free. */
const tide_view_part *tide__view_parts_of(const tide_view_parts *p, const tide_model *m,
					  uint32_t alloc, size_t *n);

/* Returns the role that all views of an allocation have, 0 if they differ or it has none; *n is
 * the number of views. */
uint8_t tide__view_parts_role(const tide_view_parts *p, const tide_model *m, uint32_t alloc,
			      size_t *n);
#endif
