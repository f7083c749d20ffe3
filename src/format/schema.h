// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Record types: those of this version, and those a file declares.
 *
 * A file's SCHEMA chunk lists every record type with its fields. A type this version does not know
 * is skipped by that list; a known type may have additional fields at its end, which are skipped
 * too. A known type whose first fields differ cannot be read: TIDE_EFORMAT. */
#ifndef TIDE_FORMAT_SCHEMA_H
#define TIDE_FORMAT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#include "format/tide.h"

enum { TIDE_FIELDS_MAX = 24, TIDE_TAGS = 64 };

typedef struct tide_record_type {
	uint8_t n;     /* fields in this file; 0 = the file lacks this type */
	uint8_t known; /* how many of these this version knows; 0 = unknown type */
	char wire[TIDE_FIELDS_MAX];
} tide_record_type;

typedef struct tide_schema {
	tide_record_type types[TIDE_TAGS]; /* by tag */
	bool plain; /* every type is exactly this version's: the fast decoder applies */
} tide_schema;

/* Gets the schema of this version. */
void tide__schema_own(tide_schema *s);

/* Reads a SCHEMA payload of n bytes (TIDE_PAD readable bytes follow it). `at` is its byte in the
 * file, for errors: TIDE_ECORRUPT when it is malformed, TIDE_EFORMAT as above. */
tide_code tide__schema_read(tide_schema *s, const uint8_t *p, size_t n, uint64_t at,
			    tide_error *err);

/* Returns the name of a record type of this version; NULL for others. */
const char *tide__record_text(unsigned tag);

/* One record, field by field. */
typedef struct tide_field {
	uint64_t num;	      /* v; z (as two's complement); d (its bits); length of s; count of a;
			       * t: the difference; x: the difference, or with TIDE_TAG_RECENT the
			       * index; p, q: 0 if the tag marks them as absent */
	const uint8_t *bytes; /* s: the text; a: the first varint */
} tide_field;

/* Decodes the fields of one record at p (after its tag byte, whose two flag bits are `flags`) into
 * f[0 .. t->n). Returns the byte behind it, or NULL if it is malformed or passes `end`. */
const uint8_t *tide__fields_read(const tide_record_type *t, unsigned flags, const uint8_t *p,
				 const uint8_t *end, tide_field *f);

#endif
