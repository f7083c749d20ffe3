// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A file for the input of one process: in memory if there is room, else in /tmp. */
#ifndef TIDE_FUZZ_SCRATCH_H
#define TIDE_FUZZ_SCRATCH_H

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SCRATCH_ROOM = 256 << 20 };

/* Writes the path of the file into `path`. */
static inline void scratch_path(char *path, size_t n, const char *name)
{
	struct statvfs s;
	int room = !access("/dev/shm", W_OK) && !statvfs("/dev/shm", &s) &&
		   s.f_bavail >= SCRATCH_ROOM / s.f_frsize;
	snprintf(path, n, "%s/tide-%s-%d", room ? "/dev/shm" : "/tmp", name, (int)getpid());
}

/* The same for a target that needs one file only: without a name, so that nothing is created and
 * removed for every input. */
static inline void scratch_memory(char *path, size_t n, const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0 &&
	    fchmod(fd, 0600) == 0) /* else it is executable: a program, to some commands */
		snprintf(path, n, "/proc/self/fd/%d", fd);
	else
		scratch_path(path, n, name);
}

#endif
