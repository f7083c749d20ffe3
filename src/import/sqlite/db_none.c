// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A build without SQLite. */
#include <string.h>

#include "base/error.h"
#include "import/sqlite/db.h"

bool tide__db_is(const uint8_t *head, size_t n)
{
	return n >= sizeof TIDE_DB_MAGIC && !memcmp(head, TIDE_DB_MAGIC, sizeof TIDE_DB_MAGIC);
}

tide_code tide__db_open(const char *path, uint64_t max_expanded, tide_db **out, tide_error *err)
{
	return tide__db_open_memory(path, max_expanded != 0, out, err);
}

tide_code tide__db_open_memory(const void *data, size_t n, tide_db **out, tide_error *err)
{
	(void)data;
	(void)n;
	*out = NULL;
	return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
			  "an SQLite database, which this build cannot read: install "
			  "libsqlite3-dev and build again");
}

void tide__db_close(tide_db *db)
{
	(void)db;
}

tide_code tide__db_tables(tide_db *db, bool (*each)(void *user, const char *name), void *user,
			  tide_error *err)
{
	(void)db;
	(void)each;
	(void)user;
	(void)err;
	return TIDE_EUNSUPPORTED;
}

bool tide__db_has(tide_db *db, const char *table)
{
	(void)db;
	(void)table;
	return false;
}

tide_code tide__db_select(tide_db *db, const char *table, const char *const *columns, size_t n,
			  tide_db_rows *out, tide_error *err)
{
	(void)table;
	(void)columns;
	(void)n;
	(void)err;
	memset(out, 0, sizeof *out);
	out->db = db;
	return out->rc = TIDE_EUNSUPPORTED;
}

bool tide__db_next(tide_db_rows *r)
{
	(void)r;
	return false;
}

tide_code tide__db_end(tide_db_rows *r, tide_error *err)
{
	(void)err;
	return r->rc;
}

bool tide__db_is_int(const tide_db_rows *r, size_t column)
{
	(void)r;
	(void)column;
	return false;
}

int64_t tide__db_int(const tide_db_rows *r, size_t column, int64_t none)
{
	(void)r;
	(void)column;
	return none;
}

const char *tide__db_text(const tide_db_rows *r, size_t column, size_t *n)
{
	(void)r;
	(void)column;
	*n = 0;
	return NULL;
}
