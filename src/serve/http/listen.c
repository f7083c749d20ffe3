// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static tide_code open_socket(const struct addrinfo *ai, const char *address, uint16_t port,
			     tide_listener *out, tide_error *err)
{
	int one = 1;
	out->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (out->fd < 0)
		return tide__fail_errno(err, "cannot make a socket");
	setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (ai->ai_family == AF_INET6)
		setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (bind(out->fd, ai->ai_addr, ai->ai_addrlen) || listen(out->fd, 256)) {
		tide_code rc = errno == EADDRINUSE
				       ? tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
						    "port %u of %s is taken: choose another with "
						    "--port (0 = any)",
						    port, address)
				       : tide__fail_errno(err, "cannot listen on port %u of %s",
							  port, address);
		close(out->fd);
		return rc;
	}
	struct sockaddr_storage got;
	socklen_t n = sizeof got;
	if (!getsockname(out->fd, (struct sockaddr *)&got, &n))
		out->port =
			ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
							: ((struct sockaddr_in *)&got)->sin_port);
	return TIDE_OK;
}

tide_code tide__listen(const char *address, uint16_t port, tide_listener *out, tide_error *err)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai = NULL;
	char service[8];
	*out = (tide_listener){ .fd = -1 };
	if (!address || !strcmp(address, "localhost"))
		address = "127.0.0.1";
	snprintf(service, sizeof service, "%u", port);
	if (getaddrinfo(address, service, &hints, &ai))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "'%.60s' is not an address such as 127.0.0.1, ::1 or 0.0.0.0",
				  address);
	out->loopback = is_loopback(ai->ai_addr);
	out->ipv6 = ai->ai_family == AF_INET6;
	snprintf(out->address, sizeof out->address, out->ipv6 ? "[%.60s]" : "%.62s", address);
	tide_code rc = open_socket(ai, address, port, out, err);
	freeaddrinfo(ai);
	return rc;
}

bool tide__token_make(char buf[TIDE_TOKEN])
{
	uint8_t raw[(TIDE_TOKEN - 1) / 2];
	if (getrandom(raw, sizeof raw, 0) != sizeof raw)
		return false;
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(buf + 2 * i, 3, "%02x", raw[i]);
	return true;
}

bool tide__token_fine(const char *token)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t n = strlen(token);
	return n >= TIDE_TOKEN_LEAST && n <= TIDE_TOKEN_MOST && strspn(token, allowed) == n;
}
