// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Restricts SQLite to what plain tables need, for a file that may come from a stranger. The index of
 * the server (serve/store/run_file.c) and traces in SQLite (db.h) use it. */
#ifndef TIDE_IMPORT_SQLITE_HARDEN_H
#define TIDE_IMPORT_SQLITE_HARDEN_H

#include <stdbool.h>

struct sqlite3;

typedef struct tide_sqlite_limits {
	int value;   /* bytes of a value, and of a row */
	int sql;     /* bytes of a statement */
	int columns; /* of a table or a statement */
	int steps;   /* instructions that one statement compiles to */
} tide_sqlite_limits;

/* Turns off triggers, views, untrusted functions, attached files, memory mapping and texts in double
 * quotes, and sets limits. Call it before the first statement. Returns false if SQLite refuses. */
bool tide__sqlite_harden(struct sqlite3 *db, const tide_sqlite_limits *most);

#endif
