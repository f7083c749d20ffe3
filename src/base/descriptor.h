// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* File operations of the recorder as direct system calls.
 *
 * The writer thread has its own descriptor table (runtime/writer_tasks.h), so one number means two files
 * in one process. Libraries that interpose open, close, read, pread, pwrite, fstat or mmap keep notes by
 * number: ThreadSanitizer would report races between the recorder's file and a file of the program,
 * and tools that count I/O would attribute the recorder's bytes to the program's file. These
 * functions bypass such libraries. Results and errno are those of the C library's functions. Linux,
 * 64 bits. */
#ifndef TIDE_BASE_DESCRIPTOR_H
#define TIDE_BASE_DESCRIPTOR_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int tide__fd_open(const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int tide__fd_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline int tide__fd_stat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline ssize_t tide__fd_read(int fd, void *buf, size_t n)
{
	return (ssize_t)syscall(SYS_read, fd, buf, n);
}

static inline ssize_t tide__fd_read_at(int fd, void *buf, size_t n, uint64_t at)
{
	return (ssize_t)syscall(SYS_pread64, fd, buf, n, at);
}

static inline ssize_t tide__fd_write_at(int fd, const void *buf, size_t n, uint64_t at)
{
	return (ssize_t)syscall(SYS_pwrite64, fd, buf, n, at);
}

/* fd -1 and MAP_ANONYMOUS in `flags` map memory without a file. Returns MAP_FAILED on failure. */
static inline void *tide__fd_map(void *where, size_t n, int prot, int flags, int fd, uint64_t at)
{
	return (void *)syscall(SYS_mmap, where, n, prot, flags, fd, at);
}

#endif
