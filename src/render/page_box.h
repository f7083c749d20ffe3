// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One section of a page: a JSON value and typed columns, compressed and written as text.
 *
 *     tide_box *b = tide__box_new("spans");
 *     int dur = tide__box_column(b, "dur", TIDE_COL_UINT);
 *     tide__box_put(b, dur, 1500);
 *     tide__json_object(tide__box_json(b)); ...      // one JSON value
 *     tide__box_write(b, out);  tide__box_free(b);
 *
 * The layout is docs/page-format.md. Running out of memory is sticky and told by tide__box_write.
 */
#ifndef TIDE_RENDER_PAGE_BOX_H
#define TIDE_RENDER_PAGE_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/json.h"

typedef enum tide_col_enc {
	TIDE_COL_BYTE,	/* "b": one byte each */
	TIDE_COL_UINT,	/* "u": unsigned varint */
	TIDE_COL_INT,	/* "z": zigzag varint */
	TIDE_COL_DELTA, /* "d": zigzag varint of the difference to the value before */
} tide_col_enc;

typedef struct tide_box tide_box;

/* `name` is a static text of letters. NULL on exhaustion. */
tide_box *tide__box_new(const char *name);
void tide__box_free(tide_box *b); /* NULL is fine */

/* Which of the page's traces it is of: "NAME.number"; 0, as it begins, is "NAME". */
void tide__box_number(tide_box *b, unsigned number);

/* A new column, at most 64; its `name` is a static text. */
int tide__box_column(tide_box *b, const char *name, tide_col_enc enc);
void tide__box_put(tide_box *b, int column, int64_t v);

/* Where to write the section's JSON value. */
tide_json *tide__box_json(tide_box *b);
/* The same without a writer: the stream itself, for JSON that comes whole. */
FILE *tide__box_stream(tide_box *b);

/* Has nothing been put in? Such a section is not written: the page then has no view of it. */
bool tide__box_empty(tide_box *b);

/* Anything that failed elsewhere while it was filled. */
void tide__box_fail(tide_box *b);

/* Write it alone: the gzip member that the page holds as base64. */
bool tide__box_write_gzip(tide_box *b, FILE *out);
/* Write it as one element of the page. False when memory or writing failed. */
bool tide__box_write(tide_box *b, FILE *out);

#endif
