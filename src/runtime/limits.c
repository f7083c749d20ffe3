// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor.h"

enum { SHARE = 64 };

/* Reads the number at the start of a kernel file. */
static bool number_in(const char *path, uint64_t *out)
{
	char text[32];
	int fd = tide__fd_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : tide__fd_read(fd, text, sizeof text);
	if (fd >= 0)
		tide__fd_close(fd);
	*out = 0;
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		*out = *out * 10 + (uint64_t)(text[i] - '0');
	return n > 0 && text[0] >= '0' && text[0] <= '9'; /* "max": none */
}

uint64_t tide__limit_share(void)
{
	struct rlimit lim;
	uint64_t pages = 0;
	if (getrlimit(RLIMIT_AS, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	if (!number_in("/proc/self/statm", &pages)) /* no descriptor left, or no /proc: assume a
	                                             * small limit */
		return lim.rlim_cur / SHARE / SHARE;
	uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return used < lim.rlim_cur ? (lim.rlim_cur - used) / SHARE : 0;
}

uint64_t tide__limit_file(void)
{
	struct rlimit lim;
	return getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY ? lim.rlim_cur
										   : UINT64_MAX;
}

/* Handles containers, where the process's own group appears as the root. */
uint64_t tide__limit_memory(void)
{
	uint64_t most;
	return number_in("/sys/fs/cgroup/memory.max", &most) ||
			       number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", &most)
		       ? most
		       : UINT64_MAX;
}
