// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The socket to listen on, and tokens. */
#ifndef TIDE_SERVE_HTTP_LISTEN_H
#define TIDE_SERVE_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include <tidemark/error.h>

typedef struct tide_listener {
	int fd;
	uint16_t port; /* the port in use */
	bool ipv6;
	bool loopback;	  /* reachable from this machine only */
	char address[64]; /* for URLs: "127.0.0.1", "[::1]" */
} tide_listener;

/* `address`: numeric, or "localhost", or NULL for 127.0.0.1. Returns TIDE_EUSAGE, TIDE_EIO. */
tide_code tide__listen(const char *address, uint16_t port, tide_listener *out, tide_error *err);

enum { TIDE_TOKEN = 33, TIDE_TOKEN_LEAST = 16, TIDE_TOKEN_MOST = 128 };
/* Writes 32 random hexadecimal digits from the kernel. Returns false on failure. */
bool tide__token_make(char buf[TIDE_TOKEN]);
/* Returns true for letters, digits, '-' and '_' of sufficient length. */
bool tide__token_fine(const char *token);

#endif
