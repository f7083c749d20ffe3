// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The dashboard: a server for one page and an API over recordings (docs/guide/dashboard.md).
 *
 * Threads: one for all sockets, a few that make answers, one that reads recordings (store.h), one
 * that watches files. A question that takes long never keeps others waiting: its connection is set
 * aside until a worker has the answer.
 *
 * Who may ask: who shows the token, for other users of this machine reach its loopback address too.
 * Always: GET and HEAD alone, a Host that no DNS name can lead to (so that no web page can
 * reach us under a name of its own), and an Origin of our own where there is one. Bounded: the size
 * of a request (16 KiB), the number of connections (512), the time to send a request (15 s), to
 * take an answer (30 s without progress), and questions that wait (1024). */
#ifndef TIDE_SERVE_SERVER_H
#define TIDE_SERVE_SERVER_H

#include "serve/store.h"

typedef struct tide_server tide_server;

typedef struct tide_server_options {
	const char *address; /* numeric, or "localhost"; NULL = 127.0.0.1 */
	uint16_t port;	     /* 0 = any that is free */
	const char *token;   /* NULL = the user's, which is kept (token_file.h) */
	bool no_token;	     /* anybody on this machine may ask; for loopback addresses alone */
	const char *host;    /* a further name that clients may use for us; NULL = none */
	uint64_t max_bytes;  /* that recordings and answers may hold in memory together */
	bool (*list)(void *user, bool (*add)(void *to, const char *path), void *to);
	void *user;
} tide_server_options;

/* TIDE_EIO (the port is taken, the address is not ours), TIDE_EUSAGE (no address), TIDE_ENOMEM,
 * TIDE_EUNSUPPORTED when it was not built. SIGPIPE must be ignored. */
tide_code tide__server_start(const tide_server_options *opt, tide_server **out, tide_error *err);
/* "http://127.0.0.1:6970/", with the token where one is needed. Returns buf. */
char *tide__server_url(const tide_server *s, char *buf, size_t n);
/* Ends connections and threads. False when a recording is still being read, or an answer still being made,
 * after 2 seconds: then memory is left alone, and the program should end. */
bool tide__server_stop(tide_server *s);

#endif
