// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The connection: a database in memory without a table of its own. */
#include "sql/sql.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"
#include "sql/internal.h"

enum {
	STEP = 1000,	       /* instructions of SQLite between two calls of on_progress */
	MOST_VALUE = 64 << 20, /* bytes of a text */
	MOST_QUERY = 1 << 20,
};

/* ---- what a query may do ---- */

/* PRAGMAs that describe tables. */
static bool is_harmless(const char *pragma)
{
	static const char *const names[] = { "table_info", "table_xinfo", "table_list",
					     "function_list" };
	for (size_t i = 0; pragma && i < sizeof names / sizeof *names; i++)
		if (!strcmp(pragma, names[i]))
			return true;
	return false;
}

static int authorize(void *user, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)user;
	(void)c;
	(void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !strcmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless(a) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int on_progress(void *user)
{
	tide_sql *s = user;
	const tide_sql_limits *l = s->limits;
	if (l && l->stop && *l->stop)
		s->why = "stopped";
	else if (s->until_ms && tide__now_ms() > s->until_ms)
		s->why = "the query took longer than its limit";
	else if (l && l->bytes && s->kept + (uint64_t)sqlite3_memory_used() > l->bytes)
		s->why = "the query needs more memory than its limit";
	else if (tide__mem_stopped())
		s->why = "the program is ending";
	return s->why != NULL;
}

static bool run_own(tide_sql *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool restrict_to_reading(tide_sql *s)
{
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, MOST_VALUE },	    { SQLITE_LIMIT_SQL_LENGTH, MOST_QUERY },
		{ SQLITE_LIMIT_COLUMN, TIDE_ROWS_COLUMNS }, { SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },	    { SQLITE_LIMIT_VDBE_OP, 1000000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 64 },	    { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 }, { SQLITE_LIMIT_VARIABLE_NUMBER, 16 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },	    { SQLITE_LIMIT_WORKER_THREADS, 0 }
	};
	static const struct {
		int what, value;
	} settings[] = { { SQLITE_DBCONFIG_DEFENSIVE, 1 },
			 { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
			 { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
			 { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
			 { SQLITE_DBCONFIG_DQS_DML, 0 } };
	bool ok = true;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(s->db, limits[i].what, limits[i].most);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		ok &= sqlite3_db_config(s->db, settings[i].what, settings[i].value, NULL) ==
		      SQLITE_OK;
	ok = ok && run_own(s, "PRAGMA temp_store=MEMORY") && run_own(s, "PRAGMA query_only=ON");
	sqlite3_progress_handler(s->db, STEP, on_progress, s);
	return ok && sqlite3_set_authorizer(s->db, authorize, s) == SQLITE_OK;
}

/* ---- opening ---- */

int tide__sql_create(tide_sql *s, const char *name, const sqlite3_module *module, void *aux)
{
	int rc = sqlite3_create_module(s->db, name, module, aux);
	char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\" USING \"%w\"", name, name);
	if (rc == SQLITE_OK)
		rc = sql ? sqlite3_exec(s->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

int tide__sql_vtab_fail(sqlite3_vtab *t, const char *text)
{
	sqlite3_free(t->zErrMsg);
	t->zErrMsg = sqlite3_mprintf("%s", text);
	return SQLITE_ERROR;
}

tide_code tide__sql_open(const tide_report_traces *in, tide_sql **out, tide_error *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
			  SQLITE_OPEN_NOMUTEX;
	tide_sql *s = tide__calloc(1, sizeof *s);
	*out = NULL;
	if (!s)
		return tide__nomem(err);
	s->in = *in;
	int rc = sqlite3_open_v2(":memory:", &s->db, flags, NULL);
	rc = rc == SQLITE_OK ? tide__sql_add_tables(s) : rc;
	rc = rc == SQLITE_OK ? tide__sql_add_reports(s) : rc;
	rc = rc == SQLITE_OK ? tide__sql_add_functions(s) : rc;
	if (rc == SQLITE_OK && !restrict_to_reading(s))
		rc = SQLITE_ERROR;
	if (rc == SQLITE_OK) {
		*out = s;
		return TIDE_OK;
	}
	tide_code code = rc == SQLITE_NOMEM
				 ? tide__nomem(err)
				 : tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET, "SQLite: %s",
					      s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	tide__sql_close(s);
	return code;
}

void tide__sql_close(tide_sql *s)
{
	if (!s)
		return;
	sqlite3_close_v2(s->db);
	tide__sql_free_tables(s);
	tide__sql_free_reports(s);
	tide__sql_free_functions(s);
	tide__free(s);
}

/* ---- running ---- */

static tide_code fail(const tide_sql *s, int rc, tide_error *err)
{
	if (s->why)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET, "%s", s->why);
	if (rc == SQLITE_NOMEM)
		return tide__nomem(err);
	int at = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
	at = sqlite3_error_offset(s->db);
#endif
	const char *text =
		rc == SQLITE_AUTH ? "not allowed: queries only read" : sqlite3_errmsg(s->db);
	return tide__fail(err, TIDE_EUSAGE, at >= 0 ? (uint64_t)at : TIDE_NO_OFFSET, "%s", text);
}

tide_code tide__sql_run(tide_sql *s, const char *query, const tide_sql_limits *limits,
			const char **rest, tide_sql_result **out, tide_error *err)
{
	sqlite3_stmt *q = NULL;
	const char *tail = query;
	tide_code code = TIDE_OK;
	*out = NULL;
	s->limits = limits;
	s->why = NULL;
	s->kept = 0;
	s->until_ms = limits && limits->ms ? tide__now_ms() + limits->ms : 0;
	int rc = sqlite3_prepare_v2(s->db, query, -1, &q, &tail);
	if (rc != SQLITE_OK)
		code = fail(s, rc, err);
	else if (q && !sqlite3_column_count(q))
		code = fail(s, SQLITE_AUTH, err);
	else if (q && (code = tide__sql_collect(s, q, out, err)) == TIDE_EUSAGE)
		code = fail(s, sqlite3_errcode(s->db), err);
	sqlite3_finalize(q);
	s->limits = NULL;
	if (rest)
		*rest = tail;
	return code;
}

bool tide__sql_complete(const char *text)
{
	return sqlite3_complete(text) != 0;
}
