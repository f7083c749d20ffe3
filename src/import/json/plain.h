// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A plain reader of small JSON texts: a log line, a payload, a request body.
 *
 * It allocates nothing, never recurses and never reads past the given end, so the text needs no
 * padding. For large documents use scan.h. A value borrows the text.
 *
 *     tide_plain v, x;
 *     if (tide__plain_parse(text, n, &v) && tide__plain_get(v, "rank", &x))
 *         tide__plain_parse_number(x, 1, &rank); */
#ifndef TIDE_IMPORT_JSON_PLAIN_H
#define TIDE_IMPORT_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_plain {
	const char *at; /* borrowed; for a string the bytes between the quotes, with escapes */
	size_t n;
	char type; /* '"' '{' '[' '0' (a number) 't' 'f' 'n'; 0 = no value */
} tide_plain;

typedef struct tide_plain_walk {
	const char *p, *end;
	bool object, begun;
	bool bad; /* the walk ended at invalid text, which is at p */
} tide_plain_walk;

/* Parses a text that is one value and white space. */
bool tide__plain_parse(const char *text, size_t n, tide_plain *v);

/* Walks the members of an object (key set) or the elements of an array; other values have none. */
tide_plain_walk tide__plain_walk(tide_plain container);
bool tide__plain_next(tide_plain_walk *w, tide_plain *key, tide_plain *value);

/* Finds the first member named `key`; *v has type 0 if there is none. */
bool tide__plain_get(tide_plain object, const char *key, tide_plain *v);
bool tide__plain_is(tide_plain s, const char *text);
/* Returns a number times `scale`, rounded half away from zero; false if it is not a number or
 * too large. */
bool tide__plain_parse_number(tide_plain v, int64_t scale, int64_t *out);

#endif
