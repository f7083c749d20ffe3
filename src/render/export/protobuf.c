// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/export/protobuf.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static uint8_t *room(tide_proto *p, size_t n)
{
	p->failed = p->failed || !TIDE_ROOM(p->buf, p->cap, p->n + n);
	return p->failed ? NULL : p->buf + p->n;
}

static size_t put_varint(uint8_t *at, uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		at[n++] = (uint8_t)(v | 0x80);
	at[n++] = (uint8_t)v;
	return n;
}

void tide__proto_varint(tide_proto *p, uint64_t v)
{
	uint8_t *at = room(p, 10);
	if (at)
		p->n += put_varint(at, v);
}

static void key(tide_proto *p, unsigned field, unsigned wire)
{
	tide__proto_varint(p, (uint64_t)field << 3 | wire);
}

void tide__proto_u64(tide_proto *p, unsigned field, uint64_t v)
{
	key(p, field, VARINT);
	tide__proto_varint(p, v);
}

void tide__proto_i64(tide_proto *p, unsigned field, int64_t v)
{
	tide__proto_u64(p, field, (uint64_t)v);
}

void tide__proto_fixed64(tide_proto *p, unsigned field, uint64_t v)
{
	key(p, field, FIXED64);
	uint8_t *at = room(p, 8);
	for (int i = 0; at && i < 8; i++)
		at[i] = (uint8_t)(v >> 8 * i);
	if (at)
		p->n += 8;
}

void tide__proto_double(tide_proto *p, unsigned field, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	tide__proto_fixed64(p, field, bits);
}

void tide__proto_text(tide_proto *p, unsigned field, const char *s, size_t n)
{
	size_t begin = tide__proto_begin(p, field);
	uint8_t *at = n <= SIZE_MAX / 2 ? room(p, 2 * n) : NULL;
	if (at)
		p->n += tide__utf8_clean(s, n, (char *)at);
	tide__proto_end(p, begin);
}

void tide__proto_str(tide_proto *p, unsigned field, const char *s)
{
	tide__proto_text(p, field, s, strlen(s));
}

void tide__proto_bytes(tide_proto *p, const void *bytes, size_t n)
{
	uint8_t *at = room(p, n);
	if (!at || !n)
		return;
	memcpy(at, bytes, n);
	p->n += n;
}

size_t tide__proto_begin(tide_proto *p, unsigned field)
{
	key(p, field, BYTES);
	return p->n;
}

/* Inserts the length before a message: moves the message up by the bytes of the length. */
void tide__proto_end(tide_proto *p, size_t at)
{
	uint8_t length[10];
	if (p->failed)
		return;
	size_t n = p->n - at, k = put_varint(length, n);
	if (!room(p, k))
		return;
	memmove(p->buf + at + k, p->buf + at, n);
	memcpy(p->buf + at, length, k);
	p->n += k;
}

void tide__proto_flush(tide_proto *p, FILE *out)
{
	if (!p->failed && p->n && fwrite(p->buf, 1, p->n, out) != p->n)
		p->failed = true;
	p->n = 0;
}

void tide__proto_free(tide_proto *p)
{
	tide__free(p->buf);
	*p = (tide_proto){ 0 };
}
