// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "format/tide.h"
#include "import/source.h"

enum { PIECE = 1 << 20 };

static tide_code make_file(tide_unpacked *u, tide_error *err)
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	dir = dir && *dir ? dir : "/tmp";
	if ((size_t)snprintf(name, sizeof name, "%s/tidemark-XXXXXX", dir) >= sizeof name)
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "TMPDIR is too long");
	u->fd = mkostemp(name, O_CLOEXEC);
	if (u->fd < 0)
		return tide__fail_errno(err, "cannot expand it into %s", dir);
	unlink(name);
	snprintf(u->path, sizeof u->path, "/proc/self/fd/%d", u->fd);
	return TIDE_OK;
}

static tide_code put(int fd, const uint8_t *p, size_t n, tide_error *err)
{
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return tide__fail_errno(err, "cannot expand it into a temporary file");
		p += w;
		n -= (size_t)w;
	}
	return TIDE_OK;
}

/* Keeps what comes before damage; exceeding a limit is not damage. */
static tide_code copy(tide_source *s, uint8_t *buf, const tide_load_options *opt, tide_unpacked *u,
		      tide_error *err)
{
	uint64_t done = 0;
	size_t got = PIECE;
	while (got == PIECE && !u->ends.code && (!opt->max_bytes || done < opt->max_bytes)) {
		tide_error why = { .offset = TIDE_NO_OFFSET };
		tide_code rc = tide__source_read(s, buf, PIECE, &got, &why);
		if (rc == TIDE_ETRUNC || rc == TIDE_ECORRUPT) {
			u->ends = why;
		} else if (rc != TIDE_OK) {
			if (err)
				*err = why;
			return rc;
		}
		if (!done && got >= 8 && memcmp(buf, TIDE_FILE_MAGIC, 8)) /* too small to keep */
			return tide__fail(err, TIDE_EFORMAT, 0, "not a .tide file");
		if ((rc = put(u->fd, buf, got, err)) != TIDE_OK)
			return rc;
		done += got;
		if (opt->progress)
			opt->progress(opt->user, tide__source_consumed(s), tide__source_size(s));
	}
	return TIDE_OK;
}

/* Checks the magic first; most files are uncompressed. */
static bool is_plain(const char *path)
{
	uint8_t head[4];
	int fd = tide__input_open(path, 0);
	bool packed = fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head &&
		      tide__is_packed(head, sizeof head);
	if (fd >= 0)
		close(fd);
	return !packed;
}

tide_code tide__unpack(const char *path, const tide_load_options *opt, tide_unpacked *out,
		       tide_error *err)
{
	tide_source *s = NULL;
	*out = (tide_unpacked){ .fd = -1 };
	if (is_plain(path))
		return TIDE_OK;
	tide_code rc = tide__source_open(path, opt->max_expanded, &s, err);
	if (rc != TIDE_OK)
		return rc;
	out->stored = tide__source_size(s);
	uint8_t *buf = tide__alloc(PIECE, 1);
	rc = buf ? make_file(out, err) : tide__nomem(err);
	if (rc == TIDE_OK)
		rc = copy(s, buf, opt, out, err);
	tide__free(buf);
	tide__source_close(s);
	return rc;
}

void tide__unpacked_close(tide_unpacked *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
}
