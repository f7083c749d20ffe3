// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A plain reader of small JSON texts: a log line, a payload, a request body.
 *
 * It allocates nothing, never recurses and never looks past the end it was given, so the text needs
 * no padding. Large documents are the business of scan.h. A value borrows the text.
 *
 *     tide_plain v, x;
 *     if (tide__plain_parse(text, n, &v) && tide__plain_get(v, "rank", &x))
 *         tide__plain_number(x, 1, &rank);
 */
#ifndef TIDE_IMPORT_JSON_PLAIN_H
#define TIDE_IMPORT_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_plain {
	const char *at; /* borrowed; of a string what is between the quotes, escapes as they are */
	size_t n;
	char type; /* '"' '{' '[' '0' (a number) 't' 'f' 'n'; 0 = no value */
} tide_plain;

typedef struct tide_plain_walk {
	const char *p, *end;
	bool object, begun;
	bool bad; /* the walk ended at damage, which is at p */
} tide_plain_walk;

/* The whole text is one value and white space. */
bool tide__plain_parse(const char *text, size_t n, tide_plain *v);

/* Members of an object (key set), elements of an array; of anything else there are none. */
tide_plain_walk tide__plain_walk(tide_plain container);
bool tide__plain_next(tide_plain_walk *w, tide_plain *key, tide_plain *value);

/* The first member named `key`; *v has type 0 if there is none. */
bool tide__plain_get(tide_plain object, const char *key, tide_plain *v);
bool tide__plain_is(tide_plain s, const char *text);
/* A number times `scale`, rounded half away from zero; false: not a number, or too large. */
bool tide__plain_number(tide_plain v, int64_t scale, int64_t *out);

#endif
