// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads JSON values of a large text: their begin, end and content.
 *
 * One reader reads one text at a time and belongs to one thread. The text is borrowed; JSONR_PAD
 * zero bytes must follow it. Values are slices of it. Functions take a position and return the
 * position after what they read, or JSONR_FAIL with the reason in `why`: the text may end inside a
 * value (JSONR_MORE), so a document may be read in pieces. Nothing recurses.
 *
 *     jsonr r = { 0 };
 *     jsonr_slice v;
 *     if (tide__jsonr_scan_text(&r.s, text, n))
 *         p = tide__jsonr_parse_value(&r, jsonr_ws(text, 0), &v);
 *     tide__jsonr_fini(&r); */
#ifndef TIDE_IMPORT_JSON_READER_H
#define TIDE_IMPORT_JSON_READER_H

#include "import/json/scan.h"
#include "import/json/text.h"

typedef enum jsonr_status {
	JSONR_OK,
	JSONR_MORE, /* the text ends inside an item */
	JSONR_BAD,  /* not JSON */
	JSONR_NOMEM,
} jsonr_status;

typedef struct jsonr_slice { /* a value in the text */
	uint32_t at, n;	     /* for a string: between the quotes */
	char type;	     /* '"' string, '{' or '[' container, '0' anything else; 0 = none */
} jsonr_slice;

typedef struct jsonr {
	jsonr_scan s;
	jsonr_texts texts; /* until tide__jsonr_fini */
	jsonr_status why;  /* set by the function that returns JSONR_FAIL */
	char *scratch;	   /* owned; unescaped texts */
	size_t room;
	char *copy; /* owned; the text that node.h opened */
	size_t copy_room;
} jsonr;

void tide__jsonr_fini(jsonr *c);

#define JSONR_FAIL SIZE_MAX

/* Fails at byte p: if p is past the text, more text is needed. */
static inline size_t jsonr_fail(jsonr *c, size_t p)
{
	c->why = p >= c->s.n ? JSONR_MORE : JSONR_BAD;
	return JSONR_FAIL;
}

static inline size_t jsonr_nomem(jsonr *c)
{
	c->why = JSONR_NOMEM;
	return JSONR_FAIL;
}

/* The same for functions that return success. */
static inline bool jsonr_oom(jsonr *c)
{
	c->why = JSONR_NOMEM;
	return false;
}

/* Reads the value at p (not white space). Returns the byte after it, or JSONR_FAIL. value.h has
 * the inline versions. */
size_t tide__jsonr_parse_value(jsonr *c, size_t p, jsonr_slice *v);
size_t tide__jsonr_parse_scalar(jsonr *c, size_t p, jsonr_slice *v);
size_t tide__jsonr_parse_container(jsonr *c, size_t p, jsonr_slice *v);
/* Reads `"key" :` at p (a quote). Returns the position of the value. */
size_t tide__jsonr_parse_key(jsonr *c, size_t p, jsonr_slice *key);
/* Passes each member of an object to `member`. Returns the byte after the object; JSONR_FAIL if it
 * is damaged or member returned false (having set c->why). */
typedef bool jsonr_member(jsonr *c, void *user, jsonr_slice key, jsonr_slice value);
size_t tide__jsonr_parse_object(jsonr *c, size_t p, jsonr_member *member, void *user);

typedef struct jsonr_walk { /* through the members of an object or the elements of an array */
	size_t p;	    /* SIZE_MAX: neither; the closing bracket at the end, damage if bad */
	bool object, begun, bad;
} jsonr_walk;

/* Begins to walk a value; one that is no container has nothing in it. */
jsonr_walk tide__jsonr_begin_walk(jsonr_slice v);
/* Reads the next one; key only of a member. Returns false at the end and at damage (w->bad). */
bool tide__jsonr_next(jsonr *c, jsonr_walk *w, jsonr_slice *key, jsonr_slice *value);

/* Returns the text of a string with escapes decoded, of a container in the notation of compact.h,
 * of anything else unchanged. NULL if memory runs out. */
jsonr_text *tide__jsonr_slice_text(jsonr *c, jsonr_slice v);

typedef struct jsonr_val { /* a number, or a text that is not a number */
	int64_t num;
	jsonr_text *text;
} jsonr_val;

/* Reads a number, the number in a string, or else the text. Returns false if memory runs out. */
bool tide__jsonr_parse_slice(jsonr *c, jsonr_slice v, jsonr_val *out);

#endif
