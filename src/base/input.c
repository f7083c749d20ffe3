// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

static _Atomic bool no_links;

void tide__input_refuse_links(void)
{
	atomic_store(&no_links, true);
}

/* Constants of openat2(2), whose header is missing on older systems. */
struct how {
	uint64_t flags, mode, resolve;
};
enum { NO_SYMLINKS = 0x04, NO_MAGICLINKS = 0x02 };

static int open_strictly(const char *path, int flags)
{
#ifdef SYS_openat2
	struct how how = { .flags = (uint64_t)flags, .resolve = NO_SYMLINKS | NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return (int)fd;
#endif
	return open(path, flags | O_NOFOLLOW); /* kernels before 5.6: protects the last path
					        * component only */
}

/* Counts a file in the memory budget. One that is opened again soon, to detect its format for
 * example, counts once. */
static void count(int fd)
{
	enum { RECENT = 16 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		dev_t dev;
		ino_t ino;
	} recent[RECENT];
	static size_t next;
	struct stat st;
	bool again = false;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < RECENT; i++)
		again |= recent[i].dev == st.st_dev && recent[i].ino == st.st_ino;
	if (!again) {
		recent[next].dev = st.st_dev;
		recent[next].ino = st.st_ino;
		next = (next + 1) % RECENT;
	}
	pthread_mutex_unlock(&lock);
	if (!again)
		tide__mem_add_input((uint64_t)st.st_size);
}

static int open_input(const char *path, int flags)
{
	static const char ours[] = "/proc/self/fd/";
	flags |= O_RDONLY | O_CLOEXEC;
	if (!atomic_load_explicit(&no_links, memory_order_relaxed) ||
	    !strncmp(path, ours, sizeof ours - 1))
		return open(path, flags);
	return open_strictly(path, flags);
}

int tide__input_open(const char *path, int flags)
{
	int fd = open_input(path, flags);
	count(fd);
	return fd;
}

bool tide__input_read_at(int fd, void *buf, size_t n, uint64_t at, size_t *got)
{
	for (*got = 0; *got < n;) {
		ssize_t k = pread(fd, (char *)buf + *got, n - *got, (off_t)(at + *got));
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		if (k == 0)
			break;
		*got += (size_t)k;
	}
	return true;
}
