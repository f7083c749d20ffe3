// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

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

bool tide__file_create(tide_file *f, const char *path)
{
	struct stat st;
	*f = (tide_file){ .fd = open_high(path, O_CREAT | O_EXCL), .path = path };
	if (f->fd < 0 || tide__fd_stat(f->fd, &st) != 0)
		return false;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return true;
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

bool tide__file_ours(tide_file *f)
{
	if (is(f, f->fd))
		return true;
	int fd = f->path ? open_high(f->path, 0) : -1;
	if (is(f, fd)) {
		f->fd = fd; /* the old number belongs to another file: do not close it */
		return true;
	}
	if (fd >= 0)
		tide__fd_close(fd);
	errno = EBADF;
	return false;
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
	if (!tide__file_ours(f))
		return EBADF;
	int e;
	do
		e = posix_fallocate(f->fd, (off_t)from, (off_t)n);
	while (e == EINTR);
	return e;
}
