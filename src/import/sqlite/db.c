// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See db.h. An authorizer lets statements read columns of tables and nothing else. Pages of a hostile
 * file may refer to each other in circles, so rows and instructions are counted against what a file of
 * its size can hold. */
#include "import/sqlite/db.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/sqlite/harden.h"
#include "import/sqlite/vfs.h"

enum {
	MOST_VALUE = 64 << 20, /* bytes: a document that a trace keeps */
	STEP = 10000,	       /* instructions between two calls of on_progress */
	STEPS_BASE = 2000,     /* such calls for any file */
	ROW_BYTES = 4, /* of the shortest row: its place in the page, its length and its id */
	MOST_NAME = 128,
};

struct tide_db {
	tide_db_bytes bytes;
	uint8_t *expanded; /* owned; NULL = not compressed */
	sqlite3 *sql;
	uint64_t steps_left; /* calls of on_progress */
};

bool tide__db_is(const uint8_t *head, size_t n)
{
	return n >= sizeof TIDE_DB_MAGIC && !memcmp(head, TIDE_DB_MAGIC, sizeof TIDE_DB_MAGIC);
}

/* ---- what SQLite may do ---- */

static int on_progress(void *user)
{
	tide_db *db = user;
	return !db->steps_left-- || tide__mem_stopped();
}

static int authorize(void *user, int what, const char *a, const char *b, const char *of,
		     const char *by)
{
	(void)user;
	(void)b;
	(void)of;
	bool ok = what == SQLITE_SELECT || what == SQLITE_READ ||
		  (what == SQLITE_PRAGMA && !strcmp(a, "table_xinfo"));
	return ok && !by ? SQLITE_OK : SQLITE_DENY;
}

static bool harden(tide_db *db)
{
	static const tide_sqlite_limits most = {
		.value = MOST_VALUE, .sql = 1 << 20, .columns = 2000, .steps = 25000
	};
	/* a row of n columns takes about n instructions, and each column at least a byte */
	db->steps_left = STEPS_BASE + db->bytes.n * 16 / STEP;
	sqlite3_progress_handler(db->sql, STEP, on_progress, db);
	return tide__sqlite_harden(db->sql, &most) &&
	       sqlite3_set_authorizer(db->sql, authorize, NULL) == SQLITE_OK;
}

/* ---- failing ---- */

static tide_code fail(tide_db *db, int rc, tide_error *err)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return tide__nomem(err);
	case SQLITE_IOERR:
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "the database cannot be read: %s",
				  sqlite3_errstr(rc));
	case SQLITE_INTERRUPT:
		return tide__mem_stopped()
			       ? tide__nomem(err)
			       : tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					    "the database is damaged: reading it does not end");
	case SQLITE_TOOBIG:
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "the database has a value of more than %d bytes", MOST_VALUE);
	default:
		return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "the database is damaged: %s",
				  db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc));
	}
}

/* ---- begin and end ---- */

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Checks what the header of docs/fileformat2 says: the size of a page (16), whether the number of
 * pages (28) is valid (24 equals 92). */
static tide_code check_head(const tide_db *db, tide_error *err)
{
	uint8_t head[100];
	int got = tide__db_bytes_read(&db->bytes, head, sizeof head, 0);
	if (got < 0)
		return tide__fail_errno(err, "cannot read");
	if (got < (int)sizeof head)
		return tide__fail(err, TIDE_ETRUNC, (uint64_t)got,
				  "the database ends in its header");
	uint64_t page = head[16] == 0 && head[17] == 1 ? 65536 : (uint64_t)head[16] << 8 | head[17];
	uint64_t whole = page * big_endian(head + 28);
	if (page < 512 || page & (page - 1))
		return tide__fail(err, TIDE_ECORRUPT, 16,
				  "the database is damaged: its pages have "
				  "%" PRIu64 " bytes",
				  page);
	if (!memcmp(head + 24, head + 92, 4) && whole > db->bytes.n)
		return tide__fail(err, TIDE_ETRUNC, db->bytes.n,
				  "the database is cut off: it had %" PRIu64 " bytes", whole);
	return TIDE_OK;
}

static tide_code begin(tide_db *db, tide_error *err)
{
	tide_code code = check_head(db, err);
	if (code)
		return code;
	int rc = sqlite3_initialize();
	rc = rc ? rc : tide__db_bytes_register(&db->bytes);
	rc = rc ? rc
		: sqlite3_open_v2("trace", &db->sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
				  db->bytes.name);
	if (rc == SQLITE_OK && !harden(db))
		rc = sqlite3_errcode(db->sql) ? sqlite3_errcode(db->sql) : SQLITE_ERROR;
	return rc ? fail(db, rc, err) : TIDE_OK;
}

static tide_db *new_db(tide_error *err)
{
	tide_db *db = tide__calloc(1, sizeof *db);
	if (db)
		db->bytes.fd = -1;
	else
		tide__nomem(err);
	return db;
}

static tide_code finish(tide_db *db, tide_code code, tide_db **out, tide_error *err)
{
	code = code ? code : begin(db, err);
	if (code)
		tide__db_close(db);
	else
		*out = db;
	return code;
}

/* Changes that are still in a log beside the file are not in what we read. */
static tide_code check_log(const char *path, tide_error *err)
{
	char name[PATH_MAX];
	struct stat st;
	if (snprintf(name, sizeof name, "%s-wal", path) < (int)sizeof name && !stat(name, &st) &&
	    st.st_size > 0)
		return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
				  "a part of the database is in its write-ahead log: merge it with "
				  "sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'");
	return TIDE_OK;
}

static tide_code open_bytes(tide_db *db, const char *path, uint64_t max_expanded, tide_error *err)
{
	tide_whole_file whole = { 0 };
	struct stat st;
	uint8_t head[8];
	size_t n = 0;
	db->bytes.fd = tide__input_open(path, O_NONBLOCK);
	if (db->bytes.fd < 0 || fstat(db->bytes.fd, &st))
		return tide__fail_errno(err, "cannot open");
	if (!tide__input_read_at(db->bytes.fd, head, sizeof head, 0, &n))
		return tide__fail_errno(err, "cannot read");
	db->bytes.n = (uint64_t)st.st_size;
	if (!tide__is_packed(head, n))
		return check_log(path, err);
	close(db->bytes.fd);
	db->bytes.fd = -1;
	tide_code code = tide__source_read_all(path, max_expanded, (size_t)1 << 40, 0, &whole, err);
	db->bytes.data = db->expanded = whole.data;
	db->bytes.n = whole.n;
	return code;
}

tide_code tide__db_open(const char *path, uint64_t max_expanded, tide_db **out, tide_error *err)
{
	*out = NULL;
	tide_db *db = new_db(err);
	return db ? finish(db, open_bytes(db, path, max_expanded, err), out, err) : TIDE_ENOMEM;
}

tide_code tide__db_open_memory(const void *data, size_t n, tide_db **out, tide_error *err)
{
	*out = NULL;
	tide_db *db = new_db(err);
	if (!db)
		return TIDE_ENOMEM;
	db->bytes.data = data;
	db->bytes.n = n;
	return finish(db, TIDE_OK, out, err);
}

void tide__db_close(tide_db *db)
{
	if (!db)
		return;
	sqlite3_close(db->sql);
	tide__db_bytes_unregister(&db->bytes);
	if (db->bytes.fd >= 0)
		close(db->bytes.fd);
	tide__free(db->expanded);
	tide__free(db);
}

/* ---- tables ---- */

tide_code tide__db_tables(tide_db *db, bool (*each)(void *user, const char *name), void *user,
			  tide_error *err)
{
	static const char sql[] =
		"SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0";
	sqlite3_stmt *s = NULL;
	bool more = true;
	int rc = sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL);
	while (rc == SQLITE_OK && more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		more = !name || each(user, name);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(s);
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		return fail(db, rc, err);
	return more ? TIDE_OK : TIDE_ENOTFOUND;
}

static bool is_other(void *user, const char *name)
{
	return strcmp(user, name) != 0;
}

bool tide__db_has(tide_db *db, const char *table)
{
	char name[MOST_NAME];
	snprintf(name, sizeof name, "%s", table);
	return tide__db_tables(db, is_other, name, NULL) == TIDE_ENOTFOUND;
}

/* ---- rows ---- */

static int prepare(tide_db *db, char *sql, sqlite3_stmt **s)
{
	int rc = sql ? sqlite3_prepare_v2(db->sql, sql, -1, s, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

/* Finds which of the columns the table stores. Those that it computes would run expressions of the
 * file: they count as missing. */
static int find_columns(tide_db *db, const char *table, const char *const *columns, size_t n,
			bool *has)
{
	enum { NAME = 1, HIDDEN = 6 };
	sqlite3_stmt *s = NULL;
	int rc = prepare(db, sqlite3_mprintf("PRAGMA table_xinfo(%Q)", table), &s);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, NAME);
		bool stored = !sqlite3_column_int(s, HIDDEN);
		for (size_t k = 0; name && stored && k < n; k++)
			has[k] |= !sqlite3_stricmp(name, columns[k]);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int select_columns(tide_db_rows *r, const char *table, const char *const *columns, size_t n,
			  const bool *has)
{
	char list[TIDE_DB_COLUMNS * (MOST_NAME + 4)] = "";
	size_t used = 0;
	int8_t place = 0;
	for (size_t i = 0; i < n; i++) {
		r->at[i] = has[i] ? place++ : -1;
		if (has[i])
			used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%.*s\"",
						 place > 1 ? ", " : "", MOST_NAME, columns[i]);
	}
	if (!place)
		return SQLITE_OK;
	return prepare(r->db, sqlite3_mprintf("SELECT %s FROM \"%w\"", list, table),
		       (sqlite3_stmt **)&r->statement);
}

tide_code tide__db_select(tide_db *db, const char *table, const char *const *columns, size_t n,
			  tide_db_rows *out, tide_error *err)
{
	bool has[TIDE_DB_COLUMNS] = { false };
	*out = (tide_db_rows){ .db = db, .left = db->bytes.n / ROW_BYTES };
	out->why.offset = TIDE_NO_OFFSET;
	memset(out->at, -1, sizeof out->at);
	if (!tide__db_has(db, table))
		return TIDE_OK;
	int rc = find_columns(db, table, columns, n, has);
	rc = rc ? rc : select_columns(out, table, columns, n, has);
	if (rc) {
		out->rc = fail(db, rc, &out->why);
		if (err)
			*err = out->why;
	}
	return out->rc;
}

bool tide__db_next(tide_db_rows *r)
{
	if (!r->statement || r->rc)
		return false;
	int rc = sqlite3_step(r->statement);
	if (rc == SQLITE_ROW && r->left--)
		return true;
	if (rc == SQLITE_ROW)
		r->rc = tide__fail(&r->why, TIDE_ECORRUPT, TIDE_NO_OFFSET,
				   "the database is damaged: it has more rows than its bytes can "
				   "hold");
	else if (rc != SQLITE_DONE)
		r->rc = fail(r->db, rc, &r->why);
	return false;
}

tide_code tide__db_end(tide_db_rows *r, tide_error *err)
{
	sqlite3_finalize(r->statement);
	r->statement = NULL;
	if (r->rc && err)
		*err = r->why;
	return r->rc;
}

bool tide__db_is_int(const tide_db_rows *r, size_t column)
{
	return r->at[column] >= 0 &&
	       sqlite3_column_type(r->statement, r->at[column]) == SQLITE_INTEGER;
}

int64_t tide__db_int(const tide_db_rows *r, size_t column, int64_t none)
{
	return tide__db_is_int(r, column) ? sqlite3_column_int64(r->statement, r->at[column])
					  : none;
}

const char *tide__db_text(const tide_db_rows *r, size_t column, size_t *n)
{
	*n = 0;
	if (r->at[column] < 0 || sqlite3_column_type(r->statement, r->at[column]) != SQLITE_TEXT)
		return NULL;
	const char *text = (const char *)sqlite3_column_text(r->statement, r->at[column]);
	*n = (size_t)sqlite3_column_bytes(r->statement, r->at[column]);
	return text;
}
