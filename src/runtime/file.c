// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "runtime/writer_tasks.h"

enum { TRIES = 1000 }; /* of a program that replaces descriptors all the time */

/* Never returns 0, 1 or 2, to which a program that closed them may still write. */
static int open_high(const char *path, int flags)
{
	int fd = tide__fd_open(path, O_RDWR | O_CLOEXEC | flags, 0666);
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), e = errno;
	tide__fd_close(fd);
	errno = e;
	return high;
}

static bool is(const tide_file *f, int fd)
{
	struct stat st;
	return fd >= 0 && tide__fd_stat(fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

bool tide__file_still(const tide_file *f)
{
	return is(f, f->fd);
}

/* Closes neither the old number nor, if the program has just taken it too, the new one: they belong
 * to other files. */
bool tide__file_ours(tide_file *f)
{
	for (int i = 0; i < TRIES && !is(f, f->fd); i++)
		f->fd = tide__file_there(f) ? open_high(f->path, 0) : -1;
	if (is(f, f->fd))
		return true;
	errno = EBADF;
	return false;
}

bool tide__file_did(tide_file *f)
{
	if (tide__errand_private() || is(f, f->fd))
		return true;
	f->misled = true;
	errno = EBADF;
	return false;
}

bool tide__file_create(tide_file *f, const char *path)
{
	struct stat st;
	*f = (tide_file){ .fd = open_high(path, O_CREAT | O_EXCL), .path = path };
	if (f->fd < 0)
		return false;
	if ((tide__errand_private() ? tide__fd_stat(f->fd, &st) : stat(path, &st)) != 0)
		return false;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return tide__file_ours(f);
}

bool tide__file_removed(const tide_file *f)
{
	struct stat st;
	return is(f, f->fd) && tide__fd_stat(f->fd, &st) == 0 && st.st_nlink == 0;
}

bool tide__file_there(const tide_file *f)
{
	struct stat st;
	return f->path && stat(f->path, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

int tide__file_close(tide_file *f)
{
	int e = 0;
	if (is(f, f->fd) && tide__fd_close(f->fd) != 0)
		e = errno;
	f->fd = -1;
	return e;
}

int tide__file_allocate(tide_file *f, uint64_t from, uint64_t n)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    from + n > lim.rlim_cur)
		return EFBIG;
	int e = EBADF;
	for (int i = 0; i < TRIES && tide__file_ours(f); i++) {
		e = posix_fallocate(f->fd, (off_t)from, (off_t)n);
		bool did = tide__file_did(f);
		if (did && e != EINTR)
			return e;
		e = did ? EINTR : EBADF;
	}
	return e;
}

int tide__file_truncate(tide_file *f, uint64_t n)
{
	if (tide__errand_private())
		return ftruncate(f->fd, (off_t)n) == 0 ? 0 : errno;
	if (!tide__file_there(f))
		return EBADF;
	return truncate(f->path, (off_t)n) == 0 ? 0 : errno;
}
