// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/sqlite/vfs.h"

#include <stdio.h>
#include <string.h>

#include "base/input.h"

int tide__db_bytes_read(const tide_db_bytes *b, void *to, size_t n, uint64_t at)
{
	size_t got = 0;
	if (b->fd >= 0 && !tide__input_read_at(b->fd, to, n, at, &got))
		return -1;
	if (b->fd < 0 && at < b->n) {
		got = b->n - at < n ? (size_t)(b->n - at) : n;
		memcpy(to, b->data + at, got);
	}
	memset((char *)to + got, 0, n - got);
	return (int)got;
}

/* ---- the file ---- */

typedef struct file {
	sqlite3_file base;
	const tide_db_bytes *bytes;
} file;

static int file_close(sqlite3_file *f)
{
	(void)f;
	return SQLITE_OK;
}

/* The versions of a file with a write-ahead log are read as those of one without: there is none to
 * apply (db.c). */
static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	int got = tide__db_bytes_read(((file *)f)->bytes, to, (size_t)n, (uint64_t)at);
	for (int i = 18; got >= 0 && i < 20; i++)
		if (at <= i && i - at < n && ((uint8_t *)to)[i - at] == 2)
			((uint8_t *)to)[i - at] = 1;
	return got < 0 ? SQLITE_IOERR_READ : got < n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	(void)f;
	(void)from;
	(void)n;
	(void)at;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	(void)f;
	(void)n;
	return SQLITE_READONLY;
}

static int file_flags(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *n)
{
	*n = (sqlite3_int64)((file *)f)->bytes->n;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *f, int *out)
{
	(void)f;
	*out = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	(void)f;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *f)
{
	(void)f;
	return 4096;
}

static int file_is(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_flags,
	.xFileSize = file_size,
	.xLock = file_flags,
	.xUnlock = file_flags,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_is,
};

/* ---- the file system ---- */

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *got)
{
	f->pMethods = NULL;
	(void)name;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	((file *)f)->bytes = v->pAppData;
	f->pMethods = &methods;
	if (got)
		*got = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	(void)name;
	(void)sync;
	return SQLITE_READONLY;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
	(void)v;
	(void)name;
	(void)flags;
	*out = 0;
	return SQLITE_OK;
}

static int vfs_full(sqlite3_vfs *v, const char *name, int n, char *out)
{
	(void)v;
	snprintf(out, (size_t)n, "%s", name);
	return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *v, int n, char *out)
{
	(void)v;
	memset(out, 0, (size_t)n);
	return n;
}

static int vfs_sleep(sqlite3_vfs *v, int us)
{
	(void)v;
	(void)us;
	return 0;
}

static int vfs_time(sqlite3_vfs *v, double *out)
{
	(void)v;
	*out = 0;
	return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *v, int n, char *out)
{
	(void)v;
	(void)n;
	(void)out;
	return 0;
}

int tide__db_bytes_register(tide_db_bytes *b)
{
	snprintf(b->name, sizeof b->name, "tidemark-%p", (void *)b);
	b->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(file),
		.mxPathname = 64,
		.zName = b->name,
		.pAppData = b,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full,
		.xRandomness = vfs_random,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_error,
	};
	return sqlite3_vfs_register(&b->vfs, 0);
}

void tide__db_bytes_unregister(tide_db_bytes *b)
{
	if (b->vfs.zName)
		sqlite3_vfs_unregister(&b->vfs);
}
