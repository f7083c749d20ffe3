// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/table.h"

#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

struct head {
	size_t n, cap;
};

static void **slot(void *table, const tide_column *c)
{
	return (void **)(void *)((char *)table + c->at);
}

static bool resize(void *table, const tide_table_desc *d, size_t cap)
{
	struct head *h = table;
	for (size_t i = 0; i < d->n_columns; i++) {
		void **p = slot(table, &d->columns[i]);
		void *q = tide__realloc(*p, cap, d->columns[i].size);
		if (!q)
			return false; /* columns grown so far keep their size; cap is unchanged */
		*p = q;
	}
	h->cap = cap;
	return true;
}

bool tide__table_reserve(void *table, const tide_table_desc *d, size_t extra)
{
	struct head *h = table;
	if (extra <= h->cap - h->n)
		return true;
	if (extra > SIZE_MAX / 2 - h->n)
		return false;
	size_t cap = h->cap ? h->cap : 16;
	while (cap < h->n + extra)
		cap += cap / 2 + 16;
	return resize(table, d, cap);
}

bool tide__table_push(void *table, const tide_table_desc *d, size_t *row)
{
	struct head *h = table;
	if (h->n == h->cap && !tide__table_reserve(table, d, 1))
		return false;
	for (size_t i = 0; i < d->n_columns; i++) {
		const tide_column *c = &d->columns[i];
		memset((char *)*slot(table, c) + h->n * c->size, 0, c->size);
	}
	*row = h->n++;
	return true;
}

void tide__table_fault_in(const void *table, const tide_table_desc *d, size_t from, size_t to)
{
#ifdef MADV_POPULATE_WRITE
	for (size_t i = 0; i < d->n_columns; i++) {
		const tide_column *c = &d->columns[i];
		uintptr_t base = (uintptr_t) * (void *const *)((const char *)table + c->at);
		uintptr_t first = (base + from * c->size + 4095) & ~(uintptr_t)4095;
		uintptr_t end = (base + to * c->size) & ~(uintptr_t)4095;
		if (end > first)
			(void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
	}
#else
	(void)table, (void)d, (void)from, (void)to;
#endif
}

void tide__table_shrink(void *table, const tide_table_desc *d)
{
	struct head *h = table;
	if (h->cap <= h->n)
		return;
	h->cap =
		h->n ? h->n : 1; /* set first: if a column fails to shrink it is too long, never too
		            * short */
	(void)resize(table, d, h->cap);
}

void tide__table_free(void *table, const tide_table_desc *d)
{
	struct head *h = table;
	for (size_t i = 0; i < d->n_columns; i++) {
		void **p = slot(table, &d->columns[i]);
		tide__free(*p);
		*p = NULL;
	}
	h->n = h->cap = 0;
}

size_t tide__table_bytes(const void *table, const tide_table_desc *d)
{
	const struct head *h = table;
	size_t row = 0;
	for (size_t i = 0; i < d->n_columns; i++)
		row += d->columns[i].size;
	return row * h->n;
}

static void gather(void *dst, const void *src, const uint32_t *perm, size_t first, size_t n,
		   size_t size)
{
	switch (size) {
	case 1:
		for (size_t i = first; i < n; i++)
			((uint8_t *)dst)[i - first] = ((const uint8_t *)src)[perm[i]];
		break;
	case 4:
		for (size_t i = first; i < n; i++)
			((uint32_t *)dst)[i - first] = ((const uint32_t *)src)[perm[i]];
		break;
	case 8:
		for (size_t i = first; i < n; i++)
			((uint64_t *)dst)[i - first] = ((const uint64_t *)src)[perm[i]];
		break;
	default:
		for (size_t i = first; i < n; i++)
			memcpy((char *)dst + (i - first) * size, (const char *)src + perm[i] * size,
			       size);
	}
}

void tide__column_permute(void *data, size_t size, const uint32_t *perm, size_t first, size_t n,
			  void *tmp)
{
	if (n <= first)
		return;
	gather(tmp, data, perm, first, n, size);
	memcpy((char *)data + first * size, tmp, (n - first) * size);
}

bool tide__table_permute(void *table, const tide_table_desc *d, const uint32_t *perm, size_t first)
{
	struct head *h = table;
	if (h->n <= first)
		return true;
	void *tmp = tide__alloc(h->n - first, 8);
	if (!tmp)
		return false;
	for (size_t i = 0; i < d->n_columns; i++) {
		const tide_column *c = &d->columns[i];
		tide__column_permute(*slot(table, c), c->size, perm, first, h->n, tmp);
	}
	tide__free(tmp);
	return true;
}
