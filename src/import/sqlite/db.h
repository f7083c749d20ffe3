// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads plain tables of an SQLite database that may come from a stranger.
 *
 * SQLite itself opens no file: it reads bytes that we give it, so no journal is applied or written
 * and nothing beside the file is touched. Only tables are read, column by column and row by row; no
 * view, trigger, function, virtual table or expression of the file runs. What a file can make us do
 * is bounded by its size. Gzip and zstd are expanded into memory first.
 *
 *     tide_db *db;
 *     if (tide__db_open(path, 0, &db, err)) ...
 *     static const char *const columns[] = { "start", "end" };
 *     tide_db_rows r;
 *     for (rc = tide__db_select(db, "T", columns, 2, &r, err); rc == TIDE_OK && tide__db_next(&r);)
 *             t0 = tide__db_int(&r, 0, -1);
 *     rc = tide__db_end(&r, err);
 *     tide__db_close(db);
 *
 * A database belongs to one thread. */
#ifndef TIDE_IMPORT_SQLITE_DB_H
#define TIDE_IMPORT_SQLITE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#define TIDE_DB_MAGIC "SQLite format 3" /* and a NUL */

typedef struct tide_db tide_db;

/* Returns true if this is the beginning of an SQLite database. */
bool tide__db_is(const uint8_t *head, size_t n);

/* Opens a file. `max_expanded` limits a compressed one; 0 = the default (source.h). Fails with
 * TIDE_EUNSUPPORTED in a build without SQLite, TIDE_ETRUNC if pages are missing, TIDE_ECORRUPT,
 * TIDE_EIO, TIDE_ENOMEM. */
tide_code tide__db_open(const char *path, uint64_t max_expanded, tide_db **out, tide_error *err);
/* The same for n bytes of memory, borrowed until tide__db_close. */
tide_code tide__db_open_memory(const void *data, size_t n, tide_db **out, tide_error *err);
void tide__db_close(tide_db *db); /* NULL is allowed */

/* Calls `each` with the name of every table. Returns TIDE_ENOTFOUND if it returned false. */
tide_code tide__db_tables(tide_db *db, bool (*each)(void *user, const char *name), void *user,
			  tide_error *err);
bool tide__db_has(tide_db *db, const char *table);

enum { TIDE_DB_COLUMNS = 32 };
typedef struct tide_db_rows {
	tide_db *db;
	void *statement; /* NULL = no row comes */
	int8_t at
		[TIDE_DB_COLUMNS]; /* place of each column in the statement; -1 = the table lacks it */
	uint64_t left;		   /* rows that the file has room for */
	tide_code rc;
	tide_error why;
} tide_db_rows;

/* Begins to read columns of a table; those that it lacks are read as NULL. A missing table
 * has no rows. Always to be followed by tide__db_end. */
tide_code tide__db_select(tide_db *db, const char *table, const char *const *columns, size_t n,
			  tide_db_rows *out, tide_error *err);
bool tide__db_next(tide_db_rows *r);
/* Returns how reading ended: TIDE_OK after the last row. */
tide_code tide__db_end(tide_db_rows *r, tide_error *err);

/* Returns whether the table has a column. */
static inline bool tide__db_column(const tide_db_rows *r, size_t column)
{
	return r->at[column] >= 0;
}
/* Returns whether the row has an integer there, and which (`none` otherwise). */
bool tide__db_is_int(const tide_db_rows *r, size_t column);
int64_t tide__db_int(const tide_db_rows *r, size_t column, int64_t none);
/* Returns the text there, NULL if it is not a text. Valid until the next row. */
const char *tide__db_text(const tide_db_rows *r, size_t column, size_t *n);

#endif
