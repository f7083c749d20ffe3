// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes protobuf wire format into one growing buffer.
 *
 *     tide__proto_u64(p, 1, iid);
 *     size_t at = tide__proto_begin(p, 11);      // a message inside
 *     tide__proto_text(p, 2, name, n);
 *     tide__proto_end(p, at);
 *     tide__proto_flush(p, out);                 // to a FILE; the buffer is empty again
 *
 * Running out of memory or a write error is sticky: `failed`. Lengths are written in their shortest
 * form. Texts are made valid UTF-8: a bad byte 0xNN becomes U+00NN, as in our JSON. */
#ifndef TIDE_RENDER_EXPORT_PROTOBUF_H
#define TIDE_RENDER_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tide_proto { /* zero-initialise */
	uint8_t *buf;	    /* owned */
	size_t n, cap;
	bool failed;
} tide_proto;

void tide__proto_u64(tide_proto *p, unsigned field, uint64_t v);
void tide__proto_i64(tide_proto *p, unsigned field, int64_t v); /* int64: ten bytes when negative */
void tide__proto_fixed64(tide_proto *p, unsigned field, uint64_t v);
void tide__proto_double(tide_proto *p, unsigned field, double v);
void tide__proto_text(tide_proto *p, unsigned field, const char *s, size_t n);
void tide__proto_str(tide_proto *p, unsigned field, const char *s);
/* Writes a bare varint, for packed fields inside begin/end. */
void tide__proto_varint(tide_proto *p, uint64_t v);
/* Writes bytes as they are, inside begin/end. */
void tide__proto_bytes(tide_proto *p, const void *bytes, size_t n);
size_t tide__proto_begin(tide_proto *p, unsigned field);
void tide__proto_end(tide_proto *p, size_t at);
void tide__proto_flush(tide_proto *p, FILE *out);
void tide__proto_free(tide_proto *p);

#endif
