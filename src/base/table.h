// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of columns, declared once.
 *
 * A table is a struct that begins with `size_t n, cap;` and continues with one pointer per column.
 * Its column list is an X-macro `C(type, name, "what it holds")`; the list makes the struct here
 * and a tide_table_desc, which grow, free, exports and documentation walk. All columns of a table
 * have the same length; rows [n, cap) are uninitialised. */
#ifndef TIDE_BASE_TABLE_H
#define TIDE_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tide_col_type {
	TIDE_COL_U8,
	TIDE_COL_U16,
	TIDE_COL_U32,
	TIDE_COL_U64,
	TIDE_COL_I64,
	TIDE_COL_F64,
	TIDE_COL_ID, /* a distinct id type over uint32_t */
} tide_col_type;

typedef struct tide_column {
	const char *name;
	const char *doc;
	uint16_t at;  /* offset of the column's pointer in the table struct */
	uint8_t size; /* bytes per element */
	uint8_t type; /* tide_col_type */
} tide_column;

typedef struct tide_table_desc {
	const char *name;
	const char *doc;
	const tide_column *columns;
	size_t n_columns;
} tide_table_desc;

#define TIDE__COL_TYPE(type)              \
	_Generic((type){ 0 }, uint8_t     \
		 : TIDE_COL_U8, uint16_t  \
		 : TIDE_COL_U16, uint32_t \
		 : TIDE_COL_U32, uint64_t \
		 : TIDE_COL_U64, int64_t  \
		 : TIDE_COL_I64, double   \
		 : TIDE_COL_F64, default  \
		 : TIDE_COL_ID)

/* Reserves space for `extra` more rows (cap grows by half). Returns false if memory runs out; the
 * table is then unchanged. */
bool tide__table_reserve(void *table, const tide_table_desc *d, size_t extra);

/* Appends one zeroed row and sets *row to its index. Returns false if memory runs out. */
bool tide__table_push(void *table, const tide_table_desc *d, size_t *row);

/* Asks the system for all pages of rows [from, to), which must be reserved, in one call: cheaper
 * than one page fault per page later. Only a hint. */
void tide__table_fault_in(const void *table, const tide_table_desc *d, size_t from, size_t to);

/* Frees the space of rows beyond n; frees everything. Both accept a zeroed table. */
void tide__table_shrink(void *table, const tide_table_desc *d);
void tide__table_free(void *table, const tide_table_desc *d);

/* Bytes held by the used rows: n × the sum of the column sizes. */
size_t tide__table_bytes(const void *table, const tide_table_desc *d);

/* Reorders one column: new element i = old element perm[i], for i in [first, n). tmp must hold
 * them. */
void tide__column_permute(void *data, size_t size, const uint32_t *perm, size_t first, size_t n,
			  void *tmp);
/* Reorders all columns that way. Scratch: one column. Returns false if memory runs out. */
bool tide__table_permute(void *table, const tide_table_desc *d, const uint32_t *perm, size_t first);

#endif
