// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/sqlite/harden.h"

#include <sqlite3.h>
#include <stddef.h>

static void limit(sqlite3 *db, const tide_sqlite_limits *most)
{
	const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, most->value },	 { SQLITE_LIMIT_SQL_LENGTH, most->sql },
		{ SQLITE_LIMIT_COLUMN, most->columns },	 { SQLITE_LIMIT_EXPR_DEPTH, 16 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },	 { SQLITE_LIMIT_VDBE_OP, most->steps },
		{ SQLITE_LIMIT_FUNCTION_ARG, 4 },	 { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1 }, { SQLITE_LIMIT_VARIABLE_NUMBER, 16 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },	 { SQLITE_LIMIT_WORKER_THREADS, 0 }
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(db, limits[i].what, limits[i].most);
}

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool tide__sqlite_harden(sqlite3 *db, const tide_sqlite_limits *most)
{
	static const struct {
		int what, value;
	} settings[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },	       { SQLITE_DBCONFIG_DQS_DML, 0 }
	};
	bool ok = true;
	limit(db, most);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		ok &= sqlite3_db_config(db, settings[i].what, settings[i].value, NULL) == SQLITE_OK;
	return ok && run(db, "PRAGMA mmap_size=0") && run(db, "PRAGMA cell_size_check=ON");
}
