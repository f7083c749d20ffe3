// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The part of TOML that settings need: one item per line, each with its line and bytes.
 *
 *     tide_toml t = { .text = text, .n = n };
 *     tide_toml_item i;
 *     while ((rc = tide__toml_next(&t, &i, err)) == TIDE_OK && i.what != TIDE_TOML_END)
 *             ...
 *
 * Read: comments, [table], [[table]], bare and quoted keys, one-line basic and literal strings,
 * integers, decimals, true and false. Arrays, inline tables, dates, dotted keys and multi-line
 * strings are legal TOML that no setting uses: they are refused with an error that names them; in a
 * file of another program (`foreign`) they are items of type TIDE_TOML_OTHER.
 * Nothing is allocated. A separate reader is needed because changing one value without touching the
 * rest of the file requires the byte range of every value. */
#ifndef TIDE_CONFIG_TOML_H
#define TIDE_CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>

#include <tidemark/error.h>

enum {
	TIDE_TOML_KEY = 64,
	TIDE_TOML_TEXT = 4096
};				    /* maximum bytes of a key, of a text,
						     * including NUL */
enum { TIDE_TOML_BYTES = 1 << 20 }; /* maximum bytes of a file */

typedef enum tide_toml_what {
	TIDE_TOML_END,
	TIDE_TOML_TABLE,  /* [key] */
	TIDE_TOML_TABLES, /* [[key]] */
	TIDE_TOML_VALUE,  /* key = value */
} tide_toml_what;

typedef enum tide_toml_type {
	TIDE_TOML_STRING,
	TIDE_TOML_NUMBER,
	TIDE_TOML_BOOL,
	TIDE_TOML_OTHER, /* foreign files only: any other value; the text is its first word */
} tide_toml_type;

typedef struct tide_toml {
	const char *text; /* borrowed */
	size_t n, at;
	unsigned line; /* of `at`, from 0 */
	bool foreign;  /* skip what no setting uses */
} tide_toml;

typedef struct tide_toml_item {
	tide_toml_what what;
	tide_toml_type type;
	unsigned line;		   /* from 1 */
	size_t start;		   /* first byte of the item */
	size_t at, end;		   /* bytes of the value; end also of a table's header */
	char key[TIDE_TOML_KEY];   /* of the table or the value */
	char text[TIDE_TOML_TEXT]; /* STRING: its content; else as written */
	double number;
	bool flag;
} tide_toml_item;

/* Reads the next item. Returns TIDE_OK, or TIDE_EFORMAT with "line N: ..." and the byte. */
tide_code tide__toml_next(tide_toml *t, tide_toml_item *i, tide_error *err);

/* Parses a decimal number as in TOML and on the command line; returns false for anything else,
 * or more than 15 digits. Independent of the locale. */
bool tide__toml_parse_number(const char *text, double *out);

#endif
