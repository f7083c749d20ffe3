// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/store/run_file_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (INT64_C(1) << 30)
enum { MOST_ASIDE = 99 };

static const char *const beside[] = { "-journal", "-wal", "-shm" };

bool tide__run_file_is_regular(const char *path, char *why, size_t n)
{
	struct stat st;
	if (lstat(path, &st) || S_ISREG(st.st_mode))
		return true;
	snprintf(why, n, "it is %s",
		 S_ISLNK(st.st_mode)   ? "a link"
		 : S_ISDIR(st.st_mode) ? "a folder"
				       : "not a regular file");
	return false;
}

/* Reads up to n bytes at `from`, or at `from` bytes before the end if it is negative. Returns the
 * bytes read, -1 without such a file. */
static ssize_t bytes_of(const char *path, off_t from, void *to, size_t n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	ssize_t got = size < 0 ? -1 : pread(fd, to, n, from < 0 && -from <= size ? size + from : 0);
	if (fd >= 0)
		close(fd);
	return got;
}

/* A header of docs/fileformat2: 16 bytes of text, then from byte 18 the versions: 1 = a rollback
 * journal, 2 = a write-ahead log. An empty file is a new one. */
static const char *header_fault(const char *path)
{
	uint8_t head[20];
	ssize_t got = bytes_of(path, 0, head, sizeof head);
	if (got == 0)
		return NULL;
	if (got < (ssize_t)sizeof head || memcmp(head, "SQLite format 3", 16))
		return "it is not a database";
	return head[18] == 1 && head[19] == 1 ? NULL : "it has a write-ahead log";
}

/* A journal that ends with its magic number names a second journal, which SQLite deletes. */
static const char *journal_fault(const char *path)
{
	static const uint8_t magic[] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	uint8_t tail[sizeof magic];
	ssize_t got = bytes_of(path, -(off_t)sizeof tail, tail, sizeof tail);
	bool named = got == (ssize_t)sizeof tail && !memcmp(tail, magic, sizeof magic);
	return named ? "its journal names another file" : NULL;
}

static const char *fault_beside(const char *path, const char *end)
{
	char name[PATH_MAX];
	struct stat st;
	if (snprintf(name, sizeof name, "%s%s", path, end) >= (int)sizeof name)
		return "its name is too long";
	if (lstat(name, &st))
		return NULL;
	if (strcmp(end, "-journal"))
		return "it has a write-ahead log";
	if (!S_ISREG(st.st_mode) || st.st_size > MOST_BYTES)
		return "its journal is not one of ours";
	return journal_fault(name);
}

const char *tide__run_file_find_fault(const char *path)
{
	struct stat st;
	const char *fault = NULL;
	for (size_t i = 0; !fault && i < sizeof beside / sizeof *beside; i++)
		fault = fault_beside(path, beside[i]);
	if (fault || lstat(path, &st))
		return fault;
	return st.st_size > MOST_BYTES ? "it is larger than 1 GiB" : header_fault(path);
}

/* Returns false if the new name is taken or the old one cannot be renamed. */
static bool move(const char *path, const char *end, unsigned number)
{
	char from[PATH_MAX], to[PATH_MAX];
	if (snprintf(from, sizeof from, "%s%s", path, end) >= (int)sizeof from ||
	    snprintf(to, sizeof to, "%s.refused-%u%s", path, number, end) >= (int)sizeof to)
		return false;
	return !renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) || errno == ENOENT;
}

unsigned tide__run_file_set_aside(const char *path)
{
	for (unsigned number = 1; number <= MOST_ASIDE; number++) {
		bool ok = true;
		if (!move(path, "", number))
			continue;
		for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
			ok &= move(path, beside[i], number);
		return ok ? number : 0;
	}
	return 0;
}
