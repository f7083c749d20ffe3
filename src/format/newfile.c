// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "format/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

enum { NAMES = 100 };

/* Opens an unnamed file in the folder of `place`; returns -1 if the file system has none. */
static int open_unnamed(const char *place)
{
	const char *slash = strrchr(place, '/');
	char *folder =
		slash ? tide__strndup(place, (size_t)(slash - place) + 1) : tide__strndup(".", 1);
	int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
	tide__free(folder);
	return fd;
}

/* Tries names until one is free. Returns false with errno set. */
static bool each_name(tide_newfile *f, bool (*take)(tide_newfile *f))
{
	size_t n = strlen(f->place) + 48;
	errno = EEXIST;
	for (int i = 0; i < NAMES && errno == EEXIST; i++) {
		snprintf(f->part, n, "%s.%ld.%d.part", f->place, (long)getpid(), i);
		if (take(f))
			return true;
	}
	return false;
}

static bool create(tide_newfile *f)
{
	f->fd = open(f->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	return f->fd >= 0;
}

static bool link_to(const tide_newfile *f, const char *name)
{
	char own[64];
	snprintf(own, sizeof own, "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool link_part(tide_newfile *f)
{
	return link_to(f, f->part);
}

tide_code tide__newfile_open(tide_newfile *f, const char *place, tide_error *err)
{
	*f = (tide_newfile){ .fd = -1 };
	f->place = tide__strndup(place, strlen(place));
	f->part = tide__alloc(strlen(place) + 48, 1);
	if (!f->place || !f->part) {
		tide__newfile_drop(f);
		return tide__nomem(err);
	}
	f->existed = !lstat(place, &f->before);
	f->fd = open_unnamed(place);
	if (f->fd < 0)
		f->named = each_name(f, create);
	if (f->fd >= 0)
		return TIDE_OK;
	tide_code rc = tide__fail_errno(err, "cannot create %s", place);
	tide__newfile_drop(f);
	return rc;
}

/* Returns whether the place is unchanged since we began. */
static bool undisturbed(const tide_newfile *f)
{
	struct stat now;
	if (lstat(f->place, &now))
		return !f->existed || errno == ENOENT;
	return f->existed && now.st_dev == f->before.st_dev && now.st_ino == f->before.st_ino &&
	       now.st_mtim.tv_sec == f->before.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == f->before.st_mtim.tv_nsec;
}

static tide_code disturbed(const tide_newfile *f, tide_error *err)
{
	return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET,
			  "another process wrote %s meanwhile: that file is kept, this one is not",
			  f->place);
}

static tide_code move(tide_newfile *f, tide_error *err)
{
	if (!f->named && !f->existed && link_to(f, f->place))
		return TIDE_OK;
	if (!f->named && !f->existed && errno == EEXIST)
		return disturbed(f, err);
	if (!f->named && !(f->named = each_name(f, link_part)))
		return tide__fail_errno(err, "cannot write %s", f->place);
	if (!undisturbed(f))
		return disturbed(f, err);
	if (rename(f->part, f->place))
		return tide__fail_errno(err, "cannot write %s", f->place);
	f->named = false;
	return TIDE_OK;
}

tide_code tide__newfile_keep(tide_newfile *f, tide_error *err)
{
	tide_code rc = move(f, err);
	int fd = f->fd;
	f->fd = -1;
	if (close(fd) && !rc)
		rc = tide__fail_errno(err, "cannot write %s", f->place);
	tide__newfile_drop(f);
	return rc;
}

void tide__newfile_drop(tide_newfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->named)
		unlink(f->part);
	tide__free(f->place);
	tide__free(f->part);
	*f = (tide_newfile){ .fd = -1 };
}
