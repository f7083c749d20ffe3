// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The only way for SQLite to reach bytes: a file system with one file, which cannot be written. */
#ifndef TIDE_IMPORT_SQLITE_VFS_H
#define TIDE_IMPORT_SQLITE_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_db_bytes {
	int fd;		     /* -1 = in memory */
	const uint8_t *data; /* borrowed */
	uint64_t n;
	char name[40]; /* of the file system */
	sqlite3_vfs vfs;
} tide_db_bytes;

/* Registers the file system of these bytes under a name of its own. The caller has set fd or data,
 * and n. Returns an SQLite result. */
int tide__db_bytes_register(tide_db_bytes *b);
void tide__db_bytes_unregister(tide_db_bytes *b);

/* Reads n bytes at `at`; what lies beyond the end is zero. Returns the bytes there are, -1 if reading
 * failed. */
int tide__db_bytes_read(const tide_db_bytes *b, void *to, size_t n, uint64_t at);

#endif
