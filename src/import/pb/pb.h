// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads protobuf wire format in place, from hostile bytes.
 *
 *     tide_pb p = tide__pb_of(data, n);
 *     tide_pb_field f;
 *     while (tide__pb_next(&p, &f))
 *             if (f.number == 3)
 *                     read(tide__pb_message(&f));
 *     if (p.bad) ...                        // p.at: where
 *
 * Nothing is copied or allocated: fields point into the data, which must outlive them. Groups,
 * which proto3 does not have, count as damage. */
#ifndef TIDE_IMPORT_PB_PB_H
#define TIDE_IMPORT_PB_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TIDE_PB_VARINT = 0, TIDE_PB_FIXED64 = 1, TIDE_PB_BYTES = 2, TIDE_PB_FIXED32 = 5 };

typedef struct tide_pb {
	const uint8_t *at, *end;
	bool bad; /* at is the damaged field */
} tide_pb;

typedef struct tide_pb_field {
	uint32_t number;
	uint8_t type;
	uint64_t value;	     /* of a number */
	const uint8_t *data; /* of bytes, a text or a message; of a number: as it is written */
	size_t n;
} tide_pb_field;

static inline tide_pb tide__pb_of(const void *data, size_t n)
{
	const uint8_t *p = data;
	return (tide_pb){ p, p ? p + n : p, false };
}

/* Returns the message in a field; an empty one if the field is a number. */
static inline tide_pb tide__pb_message(const tide_pb_field *f)
{
	return tide__pb_of(f->data, f->type == TIDE_PB_BYTES ? f->n : 0);
}

/* Returns the numbers in a repeated field, which may be packed:
 *     tide_pb list = tide__pb_list(&f);
 *     while (tide__pb_varint(&list, &v)) */
static inline tide_pb tide__pb_list(const tide_pb_field *f)
{
	return tide__pb_of(f->data, f->n);
}

/* Reads the next field. Returns false at the end, and if the rest is damaged (bad). */
bool tide__pb_next(tide_pb *p, tide_pb_field *f);
/* Reads a number without a field, of a packed list. Returns false at the end and for damage. */
bool tide__pb_varint(tide_pb *p, uint64_t *v);

static inline double tide__pb_double(const tide_pb_field *f)
{
	double d;
	memcpy(&d, &f->value, sizeof d);
	return d;
}

/* Returns true if a field is this text. */
static inline bool tide__pb_is(const tide_pb_field *f, const char *text)
{
	return f->type == TIDE_PB_BYTES && f->n == strlen(text) && !memcmp(f->data, text, f->n);
}

#endif
