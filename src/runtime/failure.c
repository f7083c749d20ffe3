// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "format/run_socket.h"

void tide__failure_tell(const tide_error *err)
{
	const char *run = getenv("TIDEMARK_RUN");
	struct sockaddr_un to;
	char text[TIDE_RUN_MESSAGE];
	int saved = errno;
	socklen_t len = run ? tide__run_address_make(&to, run) : 0;
	int fd = len ? (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	if (fd >= 0) {
		int n = snprintf(text, sizeof text, "%ld %s", (long)getpid(), err->text);
		size_t size = n < 0 ? 0 : n >= (int)sizeof text ? sizeof text - 1 : (size_t)n;
		syscall(SYS_sendto, fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL, &to, len);
		tide__fd_close(fd);
	}
	errno = saved;
}
