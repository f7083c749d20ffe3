// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/flat.h"

#include <string.h>

#include "base/mem.h"

/* Makes room for n more bytes in front. */
static bool room(tide_flat *b, size_t n)
{
	size_t old = b->cap;
	if (!TIDE_ROOM(b->v, b->cap, b->n + n)) {
		b->failed = true;
		return false;
	}
	if (b->cap != old)
		memmove(b->v + b->cap - b->n, b->v + old - b->n, b->n);
	return true;
}

static void put_bytes(tide_flat *b, const void *bytes, size_t n)
{
	if (!n || !room(b, n))
		return;
	b->n += n;
	memcpy(b->v + b->cap - b->n, bytes, n);
}

/* Pads so that a value of `size` bytes is aligned to `align` after `more` bytes were put. */
static void align_to(tide_flat *b, size_t align, size_t more)
{
	static const unsigned char zeros[8];
	size_t over = (b->n + more) % align;
	put_bytes(b, zeros, over ? align - over : 0);
}

/* Numbers are little-endian. */
static void put_number(tide_flat *b, uint64_t v, size_t size)
{
	unsigned char bytes[8];
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(v >> 8 * i);
	put_bytes(b, bytes, size);
}

static void put_ref(tide_flat *b, uint32_t place)
{
	align_to(b, 4, 0);
	put_number(b, (uint32_t)b->n + 4 - place, 4);
}

uint32_t tide__flat_text(tide_flat *b, const char *text)
{
	size_t n = strlen(text);
	align_to(b, 4, n + 1);
	put_bytes(b, text, n + 1);
	put_number(b, n, 4);
	return (uint32_t)b->n;
}

uint32_t tide__flat_refs(tide_flat *b, const uint32_t *places, size_t n)
{
	align_to(b, 4, 0);
	for (size_t i = n; i--;)
		put_ref(b, places[i]);
	put_number(b, n, 4);
	return (uint32_t)b->n;
}

uint32_t tide__flat_structs(tide_flat *b, const int64_t *numbers, size_t n, size_t each)
{
	align_to(b, 8, 0);
	for (size_t i = n * each; i--;)
		put_number(b, (uint64_t)numbers[i], 8);
	put_number(b, n, 4);
	return (uint32_t)b->n;
}

void tide__flat_table(tide_flat *b)
{
	memset(b->fields, 0, sizeof b->fields);
	b->table = b->n;
}

void tide__flat_number(tide_flat *b, size_t field, int64_t v, size_t size)
{
	align_to(b, size, 0);
	put_number(b, (uint64_t)v, size);
	b->fields[field] = (uint32_t)b->n;
}

void tide__flat_ref(tide_flat *b, size_t field, uint32_t place)
{
	put_ref(b, place);
	b->fields[field] = (uint32_t)b->n;
}

uint32_t tide__flat_table_end(tide_flat *b)
{
	align_to(b, 4, 0);
	put_number(b, 0, 4); /* the distance to the list of fields, set below */
	size_t table = b->n, n = TIDE_FLAT_FIELDS;
	while (n && !b->fields[n - 1])
		n--;
	for (size_t i = n; i--;)
		put_number(b, b->fields[i] ? table - b->fields[i] : 0, 2);
	put_number(b, table - b->table, 2);
	put_number(b, 4 + 2 * n, 2);
	if (b->failed)
		return 0;
	uint32_t back = (uint32_t)(b->n - table);
	for (size_t i = 0; i < 4; i++)
		b->v[b->cap - table + i] = (unsigned char)(back >> 8 * i);
	return (uint32_t)table;
}

void tide__flat_finish(tide_flat *b, uint32_t root)
{
	align_to(b, 8, 4);
	put_ref(b, root);
}

const unsigned char *tide__flat_begin(const tide_flat *b)
{
	return b->v + b->cap - b->n;
}

void tide__flat_free(tide_flat *b)
{
	tide__free(b->v);
	*b = (tide_flat){ 0 };
}
