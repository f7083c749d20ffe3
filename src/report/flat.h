// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes FlatBuffers, the format of Arrow's metadata: https://flatbuffers.dev/internals.
 *
 * A buffer is written from its end to its beginning: a value first, then what refers to it. A place
 * is the number of bytes from the value's start to the end of the buffer.
 *
 *     flat b = { 0 };
 *     uint32_t name = tide__flat_text(&b, "x");
 *     tide__flat_table(&b);
 *     tide__flat_ref(&b, 0, name);
 *     tide__flat_number(&b, 1, 7, 2);            // field 1, a short
 *     tide__flat_finish(&b, tide__flat_table_end(&b));
 *
 * Running out of memory is sticky: b.failed. */
#ifndef TIDE_REPORT_FLAT_H
#define TIDE_REPORT_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIDE_FLAT_FIELDS = 8 };

typedef struct tide_flat {
	unsigned char *v; /* owned; the buffer is its last n bytes */
	size_t n, cap;
	uint32_t fields[TIDE_FLAT_FIELDS]; /* of the open table: places; 0 = default */
	size_t table;			   /* n when it was opened */
	bool failed;
} tide_flat;

/* Returns the place of a text. */
uint32_t tide__flat_text(tide_flat *b, const char *text);
/* Returns the place of a vector of references. */
uint32_t tide__flat_refs(tide_flat *b, const uint32_t *places, size_t n);
/* Returns the place of a vector of structs of 8-byte numbers, `each` numbers in each. */
uint32_t tide__flat_structs(tide_flat *b, const int64_t *numbers, size_t n, size_t each);

/* Tables do not nest: write what a table refers to before it. */
void tide__flat_table(tide_flat *b);
/* Sets a field to a number of `size` bytes: 1, 2, 4 or 8. */
void tide__flat_number(tide_flat *b, size_t field, int64_t v, size_t size);
/* Sets a field to a text, a vector or a table. */
void tide__flat_ref(tide_flat *b, size_t field, uint32_t place);
/* Ends the table. Returns its place. */
uint32_t tide__flat_table_end(tide_flat *b);

/* Ends the buffer with its root table. It begins at tide__flat_begin and has b->n bytes, a multiple of
 * 8. */
void tide__flat_finish(tide_flat *b, uint32_t root);
const unsigned char *tide__flat_begin(const tide_flat *b);
void tide__flat_free(tide_flat *b);

#endif
