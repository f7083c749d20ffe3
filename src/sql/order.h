// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Rows in the order of a column, and rows by their interval. Both are made when a query first needs
 * them. */
#ifndef TIDE_SQL_ORDER_H
#define TIDE_SQL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the value of a row. */
typedef int64_t tide_order_value(const void *of, size_t row);

typedef struct tide_order {
	tide_order_value *value;
	const void *of;	 /* borrowed */
	uint32_t *rows;	 /* owned; NULL = rows are in this order already */
	size_t first, n; /* rows [first, first + n) */
} tide_order;

/* Sorts rows [first, first + n) by their value; equal ones stay in order. O(n log runs). Returns
 * NULL if memory runs out. */
tide_order *tide__order_new(tide_order_value *value, const void *of, size_t first, size_t n);
void tide__order_free(tide_order *o); /* NULL is allowed */

/* Returns the i-th row. */
static inline size_t tide__order_row(const tide_order *o, size_t i)
{
	return o->rows ? o->rows[i] : o->first + i;
}

/* Returns the number of rows with a smaller value; with `equal`, with a smaller or equal one. */
size_t tide__order_find(const tide_order *o, int64_t v, bool equal);

/* For rows in the order of their starts: the latest end of every 16 rows, of every 16 of these ... */
typedef struct tide_intervals {
	const tide_order *starts; /* borrowed */
	tide_order_value *end;
	const void *of;
	int64_t *latest[16]; /* owned; levels */
	size_t levels;
} tide_intervals;

tide_intervals *tide__intervals_new(const tide_order *starts, tide_order_value *end,
				    const void *of);
void tide__intervals_free(tide_intervals *t); /* NULL is allowed */

/* Returns the first place at or after `at`, before `most`, of a row that ends after t; `most` if
 * there is none. O(log n). */
size_t tide__intervals_next(const tide_intervals *t, size_t at, size_t most, int64_t after);

#endif
