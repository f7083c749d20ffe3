// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The socket on which `tidemark run` hears of processes that could not be recorded: an abstract
 * Unix datagram address made of the run's id. A message is "PID TEXT". Anybody on the machine can
 * send one, so its text is shown and never interpreted. */
#ifndef TIDE_FORMAT_RUN_SOCKET_H
#define TIDE_FORMAT_RUN_SOCKET_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { TIDE_RUN_MESSAGE = 512 }; /* bytes, with its terminator */

/* Fills in the address of a run. Returns its length; 0 if the id is too long. */
static inline socklen_t tide__run_address_make(struct sockaddr_un *to, const char *id)
{
	memset(to, 0, sizeof *to);
	to->sun_family = AF_UNIX; /* sun_path[0] is 0: no file */
	int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "tidemark.run.%s", id);
	if (n < 0 || (size_t)n >= sizeof to->sun_path - 1)
		return 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

#endif
