// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_file.h. The folder may come from a stranger, and so may this file. So SQLite may do nothing
 * that our own file does not need, a budget ends statements that do not end, and only a file with
 * exactly our table is used. */
#include "serve/store/run_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/sqlite/harden.h"
#include "render/text/format.h"
#include "serve/store/run_file_check.h"

#define VERSION 6 /* of tide_run_summary: figures of other versions are computed again */
#define TABLE                                                                                     \
	"(path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, version INTEGER, figures BLOB, " \
	"tags TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')"

enum {
	MOST_ROWS = 100000,
	MOST_VALUE = 64 << 10, /* bytes */
	STEP = 1000,	       /* instructions of SQLite between two calls of on_progress */
	READ_STEPS = 20000,    /* such calls in which the file must be read */
	PUT_STEPS = 2000,      /* and a row written */
};

struct tide_run_file {
	sqlite3 *db;
	sqlite3_stmt *put;
	int left; /* calls of on_progress until a statement is ended */
};

/* Receives a row; `row` is overwritten by the next one. Returns false if memory runs out. */
typedef bool taker(void *user, const tide_run_row *row);

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- what SQLite may do ---- */

static int on_progress(void *user)
{
	tide_run_file *f = user;
	return --f->left < 0 || tide__mem_stopped();
}

static bool restrict_to_ours(tide_run_file *f)
{
	static const tide_sqlite_limits most = {
		.value = MOST_VALUE, .sql = 4096, .columns = 16, .steps = 1000
	};
	sqlite3_progress_handler(f->db, STEP, on_progress, f);
	return tide__sqlite_harden(f->db, &most) && !sqlite3_busy_timeout(f->db, 2000);
}

/* Finds whether the schema is empty (0) or has our table and its index alone (1); -1 = neither. */
static int find_schema(sqlite3 *db)
{
	static const char sql[] =
		"SELECT COUNT(*), COALESCE(SUM((type='table' AND name='runs' AND tbl_name='runs' AND "
		"sql='CREATE TABLE runs ' || ?1) OR (type='index' AND tbl_name='runs' AND "
		"name='sqlite_autoindex_runs_1' AND sql IS NULL)), 0) FROM sqlite_master";
	sqlite3_stmt *s = NULL;
	int found = -1;
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, TABLE, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		int all = sqlite3_column_int(s, 0), ours = sqlite3_column_int(s, 1);
		found = !all ? 0 : all == 2 && ours == 2 ? 1 : -1;
	}
	sqlite3_finalize(s);
	return found;
}

/* ---- rows ---- */

/* Copies a text that we could have written; "" otherwise. */
static bool copy(char *to, size_t room, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);
	bool ok = text && tide__is_visible_text(text, room - 1);
	snprintf(to, room, "%s", ok ? text : "");
	return ok;
}

static bool is_name(const char *text, size_t room)
{
	return memchr(text, 0, room) && tide__is_visible_text(text, room - 1);
}

/* Copies figures if each is one that tide__run_summarize can give. */
static bool copy_figures(tide_run_summary *to, const void *from)
{
	const int64_t most = INT64_MAX / 4;
	uint8_t partial;
	memcpy(&partial, (const char *)from + offsetof(tide_run_summary, partial), 1);
	if (partial > 1) /* any other value of a bool is undefined */
		return false;
	memcpy(to, from, sizeof *to);
	const int64_t figures[] = { to->start_ns,	to->duration_ns, to->peak_bytes,
				    to->capacity_bytes, to->step_ns,	 to->steps,
				    to->busy_ppm,	to->rank,	 to->compile_ns,
				    to->graph_breaks };
	bool ok = to->n_spark <= TIDE_RUN_SPARK && is_name(to->format, sizeof to->format) &&
		  is_name(to->program, sizeof to->program) &&
		  is_name(to->arguments, sizeof to->arguments) &&
		  is_name(to->device, sizeof to->device);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		ok &= figures[i] >= -1 && figures[i] <= most;
	for (size_t i = 0; ok && i < to->n_spark; i++)
		ok &= to->spark[i] < 32;
	return ok;
}

static void read_row(sqlite3_stmt *s, tide_run_row *r)
{
	const void *figures = sqlite3_column_blob(s, 4);
	*r = (tide_run_row){ .path = (const char *)sqlite3_column_text(s, 0), .size = -1 };
	if (figures && sqlite3_column_int(s, 3) == VERSION &&
	    sqlite3_column_bytes(s, 4) == (int)sizeof r->s && copy_figures(&r->s, figures)) {
		r->size = sqlite3_column_int64(s, 1);
		r->mtime_ns = sqlite3_column_int64(s, 2);
	}
	copy(r->tags, sizeof r->tags, s, 5);
	copy(r->note, sizeof r->note, s, 6);
}

/* Reads all rows; `take` may be NULL. Returns SQLITE_DONE, or an error. */
static int read_rows(sqlite3 *db, taker *take, void *user)
{
	static const char sql[] =
		"SELECT path, size, mtime_ns, version, figures, tags, note FROM runs";
	sqlite3_stmt *s = NULL;
	tide_run_row r;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	for (int n = 0; rc == SQLITE_OK; n++) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		rc = n < MOST_ROWS ? SQLITE_OK : SQLITE_TOOBIG;
		if (rc == SQLITE_OK && take) {
			read_row(s, &r);
			rc = !r.path || take(user, &r) ? SQLITE_OK : SQLITE_NOMEM;
		}
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- begin and end ---- */

static void close_file(tide_run_file *f)
{
	if (!f)
		return;
	sqlite3_finalize(f->put);
	sqlite3_close(f->db);
	tide__free(f);
}

enum outcome { OPENED, FAILED, FOREIGN };

/* Returns FOREIGN for results that a file of ours cannot give. */
static enum outcome judge(int rc, char *why)
{
	static const int foreign[] = { SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_TOOBIG,
				       SQLITE_INTERRUPT };
	snprintf(why, TIDE_RUN_WHY, "%s",
		 rc == SQLITE_INTERRUPT ? "reading it takes too long"
		 : rc == SQLITE_TOOBIG	? "it has too many rows or too long a value"
					: sqlite3_errstr(rc));
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if ((rc & 0xff) == foreign[i] && !tide__mem_stopped())
			return FOREIGN;
	return FAILED;
}

/* Makes our table in an empty file and reads all rows once, before the first is passed on. */
static enum outcome examine(tide_run_file *f, char *why)
{
	int schema = restrict_to_ours(f) ? find_schema(f->db) : -1;
	if (sqlite3_errcode(f->db) != SQLITE_OK && schema < 0)
		return judge(sqlite3_errcode(f->db), why);
	if (schema < 0) {
		snprintf(why, TIDE_RUN_WHY, "its tables are not ours");
		return FOREIGN;
	}
	if (!run(f->db, "PRAGMA journal_mode=TRUNCATE") || !run(f->db, "PRAGMA synchronous=OFF") ||
	    (!schema && !run(f->db, "CREATE TABLE IF NOT EXISTS runs " TABLE)))
		return judge(sqlite3_errcode(f->db), why);
	int rc = read_rows(f->db, NULL, NULL);
	return rc == SQLITE_DONE ? OPENED : judge(rc, why);
}

static enum outcome try_to_open(tide_run_file *f, const char *path, taker *take, void *user,
				char *why)
{
	static const char sql[] =
		"INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(path) DO UPDATE SET "
		"size=?2, mtime_ns=?3, version=?4, figures=?5, tags=COALESCE(?8, tags), "
		"note=COALESCE(?9, note)";
	const char *fault = tide__run_file_find_fault(path);
	if (fault) {
		snprintf(why, TIDE_RUN_WHY, "%s", fault);
		return FOREIGN;
	}
	f->left = READ_STEPS;
	int rc = sqlite3_open_v2(path, &f->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
				 NULL);
	if (rc != SQLITE_OK)
		return judge(rc, why);
	enum outcome o = examine(f, why);
	if (o != OPENED)
		return o;
	rc = read_rows(f->db, take, user);
	if (rc == SQLITE_DONE)
		rc = sqlite3_prepare_v2(f->db, sql, -1, &f->put, NULL);
	return rc == SQLITE_OK ? OPENED : judge(rc, why);
}

/* A file that is not ours is set aside, and a new one made in its place, once. */
static tide_run_file *open_file(const char *path, taker *take, void *user, char *why)
{
	char fault[TIDE_RUN_WHY] = "";
	if (!tide__run_file_is_regular(path, why, TIDE_RUN_WHY))
		return NULL;
	for (unsigned number = 0;;) {
		tide_run_file *f = tide__calloc(1, sizeof *f);
		enum outcome o = f ? try_to_open(f, path, take, user, why) : FAILED;
		if (o == OPENED) {
			*why = 0;
			if (number)
				snprintf(why, TIDE_RUN_WHY, "%s; it is now *.refused-%u", fault,
					 number);
			return f;
		}
		if (!f)
			snprintf(why, TIDE_RUN_WHY, "out of memory");
		close_file(f);
		if (o == FAILED || number || !(number = tide__run_file_set_aside(path)))
			return NULL;
		snprintf(fault, sizeof fault, "%.90s", why);
	}
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
	f->left = PUT_STEPS;
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
