// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One section of a page: a JSON value and typed columns, compressed and written as text.
 *
 *     tide_box *b = tide__box_new("spans");
 *     int dur = tide__box_add_column(b, "dur", TIDE_COL_UINT);
 *     tide__box_put(b, dur, 1500);
 *     tide__json_object(tide__box_json(b)); ...      // one JSON value
 *     tide__box_write(b, out);  tide__box_free(b);
 *
 * docs/formats/page.md defines the layout. Running out of memory is sticky: tide__box_write reports
 * it.
 */
#ifndef TIDE_RENDER_PAGE_PAGE_BOX_H
#define TIDE_RENDER_PAGE_PAGE_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/text/json.h"

typedef enum tide_col_enc {
	TIDE_COL_BYTE,	/* "b": one byte each */
	TIDE_COL_UINT,	/* "u": unsigned varint */
	TIDE_COL_INT,	/* "z": zigzag varint */
	TIDE_COL_DELTA, /* "d": zigzag varint of the difference to the value before */
} tide_col_enc;

typedef struct tide_box tide_box;

/* `name` is a static text of letters. Returns NULL if memory runs out. */
tide_box *tide__box_new(const char *name);
void tide__box_free(tide_box *b); /* NULL is allowed */

/* Sets which of the page's traces it belongs to: "NAME.number"; 0, the default, is "NAME". */
void tide__box_set_number(tide_box *b, unsigned number);

/* Adds a column, at most 64; its `name` is a static text. */
int tide__box_add_column(tide_box *b, const char *name, tide_col_enc enc);
void tide__box_put(tide_box *b, int column, int64_t v);

/* Adds a column with all its n values: `value` returns that of row i. It is a compile-time
 * constant at every call and inlined, which is several times as fast as separate puts for
 * millions of rows. */
typedef int64_t tide_box_value(void *ctx, uint32_t i);
static inline void tide__box_fill(tide_box *b, const char *name, tide_col_enc enc, uint32_t n,
				  tide_box_value *value, void *ctx);

/* Returns the writer of the section's JSON value. */
tide_json *tide__box_json(tide_box *b);
/* The same without a writer: the stream itself, for complete JSON. */
FILE *tide__box_stream(tide_box *b);

/* Returns true if nothing has been added. Such a section is not written: the page then lacks its
 * view. */
bool tide__box_empty(tide_box *b);

/* Marks the section as failed. */
void tide__box_fail(tide_box *b);

/* Writes the section's gzip member, which the page holds as base64. */
bool tide__box_write_gzip(tide_box *b, FILE *out);
/* Writes it as one element of the page. Returns false if memory or writing failed. */
bool tide__box_write(tide_box *b, FILE *out);

/* ---- encoding of values ---- */

enum {
	TIDE_BOX_MOST = 10,   /* bytes of the longest value */
	TIDE_BOX_ROWS = 1024, /* values encoded at a time */
};

static inline uint64_t tide__box_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Writes v at `at`, where TIDE_BOX_MOST bytes are free; returns the byte after it. `last` is the
 * previous value. */
static inline uint8_t *tide__box_code(uint8_t *at, tide_col_enc enc, int64_t v, int64_t *last)
{
	if (enc == TIDE_COL_BYTE) {
		*at = (uint8_t)v;
		return at + 1;
	}
	uint64_t u = enc == TIDE_COL_UINT ? (uint64_t)v
		     : enc == TIDE_COL_INT
			     ? tide__box_zigzag(v)
			     : tide__box_zigzag((int64_t)((uint64_t)v - (uint64_t)*last));
	*last = v;
	for (; u >= 0x80; u >>= 7)
		*at++ = (uint8_t)(u | 0x80);
	*at++ = (uint8_t)u;
	return at;
}

/* Returns where the column's next bytes go, with n bytes free; NULL if memory runs out. */
uint8_t *tide__box_reserve(tide_box *b, int column, size_t n);
/* Notes that this many rows were written there, up to `end`. */
void tide__box_took(tide_box *b, int column, const uint8_t *end, uint32_t rows);

static inline __attribute__((always_inline)) void tide__box_fill(tide_box *b, const char *name,
								 tide_col_enc enc, uint32_t n,
								 tide_box_value *value, void *ctx)
{
	int column = tide__box_add_column(b, name, enc);
	int64_t last = 0;
	if (!tide__box_reserve(b, column, (size_t)n + n / 4)) /* most values take one byte */
		return;
	for (uint32_t i = 0, end; i < n; i = end) {
		uint8_t *at = tide__box_reserve(b, column, (size_t)TIDE_BOX_ROWS * TIDE_BOX_MOST);
		if (!at)
			return;
		end = n - i < TIDE_BOX_ROWS ? n : i + TIDE_BOX_ROWS;
		for (uint32_t k = i; k < end; k++)
			at = tide__box_code(at, enc, value(ctx, k), &last);
		tide__box_took(b, column, at, end - i);
	}
}

#endif
