// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Limits long texts that many rows share. A small file can use one text of megabytes in 100,000
 * rows; an output without a table of texts would repeat it for each.
 *
 * A text of up to TIDE_LONG bytes is always complete, and so is every longer one at its first use,
 * and again until such repeats have taken TIDE_LONG_AGAIN bytes. From then on a repeat is its first
 * bytes, its number in the table and its length, "abc... (text 7, 1048576 bytes)", which keeps
 * different texts distinct; the writer counts and reports them. So the output size depends on the
 * sum of rows and texts of the input, not on their product.
 *
 * The same holds for paths of nested spans: once those of an output have taken TIDE_LONG_PATHS
 * bytes, a further path has only its inner end. */
#ifndef TIDE_RENDER_TEXT_LONG_TEXT_H
#define TIDE_RENDER_TEXT_LONG_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "analyze/common/paths.h"
#include "model/model.h"
#include "model/strings.h"

enum {
	TIDE_LONG = 4096,
	TIDE_LONG_AGAIN = 16 << 20,
	TIDE_LONG_KEEP = 200,
	TIDE_LONG_PATHS = 64 << 20
};

typedef struct tide_long {	/* of one output; zeroed = nothing is written yet */
	const tide_strings *of; /* the table of the ids */
	uint8_t *seen;		/* owned: a bit per text of it */
	uint32_t n;		/* texts it has bits for */
	bool brief;		/* true: long texts are always cut */
	uint64_t again;		/* bytes of long texts that were written more than once */
	uint64_t paths;		/* bytes of paths that were written */
	uint64_t cut;		/* texts that were cut */
	char text[TIDE_LONG_KEEP + 60];
} tide_long;

/* Frees it and forgets the table, but keeps the counts, for the table of the next trace. */
void tide__long_free(tide_long *l);

/* Returns the text to write; *n (may be NULL) receives its length. Borrowed until the next call.
 * A tide_long uses the first table it is given: long texts of another count as repeats. */
const char *tide__long_get(tide_long *l, const tide_strings *s, uint32_t id, size_t *n);
static inline const char *tide__long_text(tide_long *l, const tide_model *m, tide_str s, size_t *n)
{
	return tide__long_get(l, m->strings, s.i, n);
}

/* Writes the path of a node into buf (n bytes, at least TIDE_LONG_KEEP) and returns buf. */
char *tide__long_path(tide_long *l, const tide_paths *p, const tide_model *m, uint32_t node,
		      char *buf, size_t n);

#endif
