// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/failures.h"

#include <stdlib.h>
#include <unistd.h>

void tide__failures_open(tide_failures *f, const char *id)
{
	struct sockaddr_un at;
	socklen_t len = tide__run_address_make(&at, id);
	*f = (tide_failures){ .fd = -1 };
	if (len)
		f->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->fd >= 0 && bind(f->fd, (struct sockaddr *)&at, len) != 0) {
		close(f->fd);
		f->fd = -1;
	}
}

void tide__failures_read(tide_failures *f)
{
	char text[TIDE_RUN_MESSAGE];
	ssize_t n;
	while (f->fd >= 0 && (n = recv(f->fd, text, sizeof text - 1, 0)) > 0) {
		char *rest;
		text[n] = 0;
		long pid = strtol(text, &rest, 10);
		if (*rest != ' ')
			continue;
		tide__pids_add(&f->processes, pid);
		if (*f->first)
			continue;
		f->pid = pid;
		snprintf(f->first, sizeof f->first, "%s", rest + 1);
	}
}

void tide__failures_close(tide_failures *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
