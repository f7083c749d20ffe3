// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/rings.h"

enum { QUIET_MS = 2000 }; /* a writer that is not found is gone when nothing came for so long */

/* Take all chunks that are there by now; *came: how many of them say something. */
static tide_reader_state drain(tide_follow *f, uint64_t *came)
{
	tide_chunk c;
	uint64_t n = 0;
	while (tide__reader_next(f->reader, &c, NULL) == TIDE_OK && c.head.type)
		n += c.head.type != TIDE_CHUNK_CLOCK; /* those come even when nothing happens */
	f->chunks += n;
	*came = n;
	return tide__reader_state(f->reader);
}

bool tide__follow_begin(tide_follow *f, const char *path, const char *host)
{
	char here[256] = "";
	uint64_t came;
	*f = (tide_follow){ 0 };
	gethostname(here, sizeof here - 1);
	f->same_host = host && !strcmp(host, here);
	f->rings = tide__alloc(strlen(path) + sizeof TIDE_RINGS_SUFFIX, 1);
	if (!f->rings || tide__reader_open(path, &f->reader, NULL) != TIDE_OK) {
		tide__follow_end(f);
		return false;
	}
	strcpy(f->rings, path);
	strcat(f->rings, TIDE_RINGS_SUFFIX);
	drain(f, &came);
	return true;
}

void tide__follow_end(tide_follow *f)
{
	tide__reader_close(f->reader);
	tide__free(f->rings);
	*f = (tide_follow){ 0 };
}

/* Does the process have the ring file mapped? -1 = cannot be told. */
static int has_mapped(uint64_t pid, const struct stat *st)
{
	char line[512], name[64];
	bool found = false;
	snprintf(name, sizeof name, "/proc/%" PRIu64 "/maps", pid);
	FILE *maps = fopen(name, "re");
	if (!maps)
		return errno == ENOENT ? 0 : -1;
	while (!found && fgets(line, sizeof line, maps)) {
		unsigned major_no, minor_no;
		unsigned long inode;
		found = sscanf(line, "%*s %*s %*s %x:%x %lu", &major_no, &minor_no, &inode) == 3 &&
			inode == st->st_ino && major_no == major(st->st_dev) &&
			minor_no == minor(st->st_dev);
	}
	fclose(maps);
	return found;
}

/* The process that the file's head names, if it still has the ring file mapped: a number that was
 * given to another process does not fool us. */
static bool writer_there(const tide_follow *f)
{
	uint64_t pid = tide__reader_head(f->reader)->pid;
	struct stat st;
	if (!f->same_host || !pid || pid > INT32_MAX)
		return true; /* not to be known: as long as we do not know better */
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return false;
	return stat(f->rings, &st) || has_mapped(pid, &st) != 0;
}

tide_followed tide__follow_poll(tide_follow *f, int64_t now_ms)
{
	uint64_t came;
	tide_reader_state state = drain(f, &came);
	if (came || !f->last_ms)
		f->last_ms = now_ms;
	if (state == TIDE_READER_CLOSED)
		return TIDE_FOLLOW_CLOSED;
	if (came)
		return TIDE_FOLLOW_GREW;
	bool quiet = now_ms - f->last_ms >= QUIET_MS;
	return quiet && !writer_there(f) ? TIDE_FOLLOW_GONE : TIDE_FOLLOW_SAME;
}

bool tide__follow_written(const char *path)
{
	tide_file_head head;
	struct stat st;
	char *rings = tide__alloc(strlen(path) + sizeof TIDE_RINGS_SUFFIX, 1);
	if (!rings)
		return false;
	strcpy(rings, path);
	strcat(rings, TIDE_RINGS_SUFFIX);
	bool has = !stat(rings, &st);
	tide__free(rings);
	FILE *f = has ? fopen(path, "re") : NULL;
	bool ok = f && fread(&head, sizeof head, 1, f) == 1 &&
		  !memcmp(head.magic, TIDE_FILE_MAGIC, sizeof head.magic);
	if (f)
		fclose(f);
	return ok && head.pid && head.pid <= INT32_MAX && has_mapped(head.pid, &st) == 1;
}
