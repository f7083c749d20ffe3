// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/store/follow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/rings.h"
#include "format/recording_owner.h"

enum {
	QUIET_MS = 2000
}; /* a writer that cannot be found has ended if nothing was written for this
			   * long */

/* Reads all available chunks; *came: how many of them have content. */
static tide_reader_state drain(tide_follow *f, uint64_t *came)
{
	tide_chunk c;
	uint64_t n = 0;
	while (tide__reader_next(f->reader, &c, NULL) == TIDE_OK && c.head.type)
		n += c.head.type != TIDE_CHUNK_CLOCK; /* clock chunks come even without events */
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

/* Returns true if the process named in the file's head still has the ring file mapped; a reused
 * process id is not mistaken for it. */
static bool writer_there(const tide_follow *f)
{
	uint64_t pid = tide__reader_head(f->reader)->pid;
	struct stat st;
	if (!f->same_host || !pid || pid > INT32_MAX)
		return true; /* unknown: assume that it is running */
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return false;
	return stat(f->rings, &st) || tide__has_mapped(pid, &st) != 0;
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
	return tide__written_by(path) != 0;
}
