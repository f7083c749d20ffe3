// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "format/recording_owner.h"

#include "format/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "format/rings.h"
#include "format/tide.h"

/* A line of /proc/PID/maps: "from-to perms offset major:minor inode path". */
static bool line_is(const char *line, const struct stat *st)
{
	unsigned major_no, minor_no;
	unsigned long inode;
	return sscanf(line, "%*s %*s %*s %x:%x %lu", &major_no, &minor_no, &inode) == 3 &&
	       inode == st->st_ino && major_no == major(st->st_dev) &&
	       minor_no == minor(st->st_dev);
}

int tide__has_mapped(uint64_t pid, const struct stat *st)
{
	enum { HEAD = 160 }; /* bytes of a line without the path */
	char name[64], part[1024], line[HEAD];
	size_t at = 0;
	ssize_t n = 0;
	bool found = false;
	snprintf(name, sizeof name, "/proc/%" PRIu64 "/maps", pid);
	int fd = tide__fd_open(name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	while (!found && (n = tide__fd_read(fd, part, sizeof part)) > 0)
		for (ssize_t i = 0; i < n && !found; i++) {
			if (part[i] != '\n') {
				if (at < HEAD - 1)
					line[at++] = part[i];
				continue;
			}
			line[at] = 0;
			found = line_is(line, st);
			at = 0;
		}
	tide__fd_close(fd);
	return found ? 1 : n < 0 ? -1 : 0;
}

static bool read_head(const char *path, tide_file_head *head)
{
	int fd = tide__fd_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	bool ok = fd >= 0 && tide__fd_read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
		  !memcmp(head->magic, TIDE_FILE_MAGIC, sizeof head->magic);
	if (fd >= 0)
		tide__fd_close(fd);
	return ok;
}

uint64_t tide__written_by(const char *path)
{
	tide_file_head head;
	struct stat st;
	char rings[PATH_MAX + sizeof TIDE_RINGS_SUFFIX];
	if ((size_t)snprintf(rings, sizeof rings, "%s%s", path, TIDE_RINGS_SUFFIX) >=
		    sizeof rings ||
	    stat(rings, &st) != 0 || !read_head(path, &head))
		return 0;
	bool ok = head.pid && head.pid <= INT32_MAX && tide__has_mapped(head.pid, &st) == 1;
	return ok ? head.pid : 0;
}

int64_t tide__recording_began(const char *path)
{
	tide_file_head head;
	return read_head(path, &head) ? (int64_t)head.start_real : 0;
}

bool tide__recording_id(const char *path, uint8_t id[16])
{
	tide_file_head head;
	if (!read_head(path, &head))
		return false;
	memcpy(id, head.recording, sizeof head.recording);
	return true;
}

/* Returns the bytes of a name before its ".tide". */
static int stem_of(const char *base)
{
	size_t n = strlen(base);
	return (int)(n >= 5 && !strcmp(base + n - 5, ".tide") ? n - 5 : n);
}

void tide__child_make_name(char *out, size_t n, const char *base, int64_t since)
{
	enum { MOST = 10000 };
	int stem = stem_of(base);
	snprintf(out, n, "%.*s.%ld.tide", stem, base, (long)getpid());
	for (int i = 2; i < MOST && since && tide__recording_began(out) >= since; i++)
		snprintf(out, n, "%.*s.%ld.%d.tide", stem, base, (long)getpid(), i);
}

void tide__ranks_make_name(char *out, size_t n, const char *base, int64_t since)
{
	char place[128];
	long rank;
	const char *launcher = getenv("TIDEMARK_RUN_RANK");
	tide__job_place(place, sizeof place);
	bool ours = since && tide__job_number(TIDE_JOB_RANK, &rank) &&
		    !(launcher && !strcmp(launcher, place));
	if (ours) {
		snprintf(out, n, "%.*s.rank%ld.tide", stem_of(base), base, rank);
		if (tide__recording_began(out) < since && !tide__written_by(out))
			return;
	}
	tide__child_make_name(out, n, base, since);
}
