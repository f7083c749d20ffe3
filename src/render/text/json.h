// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only JSON writer: streaming, into a growing buffer or a FILE.
 *
 * It handles commas, quoting and nesting. Any bytes may be written: invalid UTF-8 and control
 * characters are escaped (a bad byte 0xNN becomes \u00NN), so the output is always valid JSON.
 * Integers are written exactly; doubles shortest-round-trip, and NaN/infinity as null. Write
 * failures are sticky: check tide__json_end. */
#ifndef TIDE_RENDER_TEXT_JSON_H
#define TIDE_RENDER_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/text/long_text.h"

/* One item of a document, for a receiver other than a file. */
typedef struct tide_json_item {
	enum {
		TIDE_JSON_OPEN_OBJECT,
		TIDE_JSON_OPEN_ARRAY,
		TIDE_JSON_CLOSE,
		TIDE_JSON_KEY,	/* text */
		TIDE_JSON_TEXT, /* text, any bytes */
		TIDE_JSON_INT,	/* negative: i */
		TIDE_JSON_UINT, /* u */
		TIDE_JSON_REAL, /* d */
		TIDE_JSON_BOOL, /* u: 0 or 1 */
		TIDE_JSON_NULL
	} kind;
	const char *text; /* borrowed for the call */
	size_t n;
	int64_t i;
	uint64_t u;
	double d;
} tide_json_item;
/* Returns false to make the document fail. */
typedef bool tide_json_sink(void *user, const tide_json_item *item);

typedef struct tide_json {
	FILE *out;	      /* NULL: for a sink alone */
	tide_json_sink *sink; /* NULL = none */
	void *user;
	unsigned depth;
	uint64_t first[32]; /* bit per depth (at most 2047): nothing written there yet */
	bool keyed;	    /* a key was just written */
	bool indent;	    /* two spaces per level and a newline, else compact */
	bool failed;
	tide_long *longs; /* owned; NULL = no long text yet */
	uint64_t cut;	  /* long texts that were cut */
} tide_json;

void tide__json_begin(tide_json *j, FILE *out, bool indent);
/* Writes the same document, item by item, into `sink`. */
void tide__json_begin_sink(tide_json *j, tide_json_sink *sink, void *user);
/* Gives every item to `sink` as well, from now on. */
void tide__json_watch(tide_json *j, tide_json_sink *sink, void *user);
/* Writes the final newline; returns false if anything failed (write error, unbalanced). j->cut
 * is kept. */
bool tide__json_end(tide_json *j);
/* Frees its memory, for a document that is not ended. */
void tide__json_free(tide_json *j);

void tide__json_object(tide_json *j);
void tide__json_object_end(tide_json *j);
void tide__json_array(tide_json *j);
void tide__json_array_end(tide_json *j);
void tide__json_key(tide_json *j, const char *key);

void tide__json_str(tide_json *j, const char *s); /* NULL = null */
void tide__json_strn(tide_json *j, const char *s, size_t n);
/* Writes a text of a table by its id, for rows that may share it: long_text.h. "" for 0. */
void tide__json_text(tide_json *j, const tide_strings *s, uint32_t id);
void tide__json_int(tide_json *j, int64_t v);
void tide__json_uint(tide_json *j, uint64_t v);
void tide__json_fixed(tide_json *j, double v, int decimals); /* 12.3400 */
void tide__json_double(tide_json *j, double v);
void tide__json_milli(tide_json *j, int64_t v); /* v thousandths, exactly: 12345 is 12.345 */
void tide__json_bool(tide_json *j, bool v);
void tide__json_null(tide_json *j);
void tide__json_maybe(tide_json *j, uint64_t v); /* UINT64_MAX = null */

/* key and value in one call */
void tide__json_kstr(tide_json *j, const char *key, const char *s);
/* Writes a complete JSON value as it is, without line ends after it.
 * NULL: null. */
void tide__json_kraw(tide_json *j, const char *key, const char *text, size_t n);
void tide__json_ktext(tide_json *j, const char *key, const tide_model *m, tide_str s);
void tide__json_kint(tide_json *j, const char *key, int64_t v);
void tide__json_kuint(tide_json *j, const char *key, uint64_t v);
void tide__json_kfixed(tide_json *j, const char *key, double v, int decimals);
void tide__json_kmilli(tide_json *j, const char *key, int64_t v);
void tide__json_kbool(tide_json *j, const char *key, bool v);
void tide__json_knull(tide_json *j, const char *key);
void tide__json_kmaybe(tide_json *j, const char *key, uint64_t v);
void tide__json_kint_if(tide_json *j, const char *key, bool known, int64_t v); /* else null */
void tide__json_kuint_if(tide_json *j, const char *key, bool known, uint64_t v);
void tide__json_kstrn(tide_json *j, const char *key, const char *s, size_t n);
void tide__json_karray(tide_json *j, const char *key);
void tide__json_kobject(tide_json *j, const char *key);

#endif
