// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_file.h. */
#include "serve/store/run_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define VERSION 5 /* of tide_run_summary: figures of other versions are computed again */

struct tide_run_file {
	sqlite3 *db;
	sqlite3_stmt *put;
};

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool make_tables(sqlite3 *db)
{
	return run(db, "PRAGMA journal_mode=TRUNCATE") && run(db, "PRAGMA synchronous=OFF") &&
	       run(db,
		   "CREATE TABLE IF NOT EXISTS runs (path TEXT PRIMARY KEY, size INTEGER, "
		   "mtime_ns INTEGER, version INTEGER, figures BLOB, tags TEXT NOT NULL DEFAULT '', "
		   "note TEXT NOT NULL DEFAULT '')");
}

static void copy(char *to, size_t room, sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);
	snprintf(to, room, "%s", text ? (const char *)text : "");
}

static bool read_rows(sqlite3 *db, bool (*take)(void *user, const tide_run_row *r), void *user)
{
	static const char sql[] =
		"SELECT path, size, mtime_ns, version, figures, tags, note FROM runs";
	sqlite3_stmt *s = NULL;
	bool ok = sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK;
	int rc = SQLITE_DONE;
	while (ok && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		tide_run_row r = { .path = (const char *)sqlite3_column_text(s, 0), .size = -1 };
		const void *figures = sqlite3_column_blob(s, 4);
		if (!r.path)
			continue;
		if (figures && sqlite3_column_int(s, 3) == VERSION &&
		    sqlite3_column_bytes(s, 4) == (int)sizeof r.s) {
			memcpy(&r.s, figures, sizeof r.s);
			r.s.format[sizeof r.s.format - 1] = r.s.program[sizeof r.s.program - 1] = 0;
			r.s.device[sizeof r.s.device - 1] = 0;
			r.s.arguments[sizeof r.s.arguments - 1] = 0;
			if (r.s.n_spark > TIDE_RUN_SPARK)
				r.s.n_spark = 0;
			r.size = sqlite3_column_int64(s, 1);
			r.mtime_ns = sqlite3_column_int64(s, 2);
		}
		copy(r.tags, sizeof r.tags, s, 5);
		copy(r.note, sizeof r.note, s, 6);
		ok = take(user, &r);
	}
	sqlite3_finalize(s);
	return ok && rc == SQLITE_DONE;
}

static void close_file(tide_run_file *f)
{
	sqlite3_finalize(f->put);
	sqlite3_close(f->db);
	tide__free(f);
}

/* Describes the file: SQLite has one message for all of these cases. */
static bool is_ours_to_open(const char *path, char *why)
{
	struct stat st;
	if (lstat(path, &st) || S_ISREG(st.st_mode))
		return true;
	snprintf(why, TIDE_RUN_WHY, "it is %s",
		 S_ISLNK(st.st_mode)   ? "a link"
		 : S_ISDIR(st.st_mode) ? "a folder"
				       : "not a regular file");
	return false;
}

static tide_run_file *open_file(const char *path, bool (*take)(void *user, const tide_run_row *r),
				void *user, char *why)
{
	static const char sql[] =
		"INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(path) DO UPDATE SET "
		"size=?2, mtime_ns=?3, version=?4, figures=?5, tags=COALESCE(?8, tags), "
		"note=COALESCE(?9, note)";
	tide_run_file *f = tide__calloc(1, sizeof *f);
	if (!f || !is_ours_to_open(path, why)) {
		tide__free(f);
		return NULL;
	}
	if (sqlite3_open_v2(path, &f->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
			    NULL) == SQLITE_OK &&
	    !sqlite3_busy_timeout(f->db, 2000) && make_tables(f->db) &&
	    read_rows(f->db, take, user) &&
	    sqlite3_prepare_v2(f->db, sql, -1, &f->put, NULL) == SQLITE_OK)
		return f;
	snprintf(why, TIDE_RUN_WHY, "%s", f->db ? sqlite3_errmsg(f->db) : "out of memory");
	close_file(f);
	return NULL;
}

/* Binds the text, or NULL for a column that keeps its value, which another server may have
 * written. */
static void bind_if(sqlite3_stmt *s, int column, bool set, const char *text)
{
	if (set)
		sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, column);
}

static bool put(tide_run_file *f, const tide_run_row *r, unsigned what, char *why)
{
	sqlite3_stmt *s = f->put;
	sqlite3_bind_text(s, 1, r->path, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, r->size);
	sqlite3_bind_int64(s, 3, r->mtime_ns);
	sqlite3_bind_int(s, 4, VERSION);
	if (r->size >= 0)
		sqlite3_bind_blob(s, 5, &r->s, sizeof r->s, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, 5);
	sqlite3_bind_text(s, 6, r->tags, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 7, r->note, -1, SQLITE_STATIC);
	bind_if(s, 8, what & TIDE_RUN_PUT_TAGS, r->tags);
	bind_if(s, 9, what & TIDE_RUN_PUT_NOTE, r->note);
	bool ok = sqlite3_step(s) == SQLITE_DONE;
	if (!ok)
		snprintf(why, TIDE_RUN_WHY, "%s", sqlite3_errmsg(f->db));
	sqlite3_reset(s);
	return ok;
}

static const tide_run_ops ops = { open_file, put, close_file };
const tide_run_ops *const tide__run_file = &ops;
