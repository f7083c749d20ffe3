// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The dashboard: a server for one page and an API over recordings (docs/guide/dashboard.md).
 *
 * Threads: one for all sockets, a few workers that produce answers, one that reads recordings
 * (store.h), one that watches files. A slow request never delays others: its connection is
 * suspended until a worker has the answer.
 *
 * Access requires the token, because other users of this machine can reach its loopback address
 * too. Always: only GET, HEAD and POST for notes; a Host that no DNS name can lead to (so that no
 * web page can reach us under a name of its own; request.c), and our own Origin if there is one.
 * Bounded: the size of a request (16 KiB), the number of connections (512, or what `ulimit -n` leaves), the time to send a
 * request (15 s), to take an answer (30 s without progress), and waiting requests (1024). */
#ifndef TIDE_SERVE_SERVER_H
#define TIDE_SERVE_SERVER_H

#include "serve/store/store.h"

typedef struct tide_server tide_server;

typedef struct tide_server_options {
	const char *address; /* numeric, or "localhost"; NULL = 127.0.0.1 */
	uint16_t port;	     /* 0 = any free one */
	const char *token;   /* NULL = the user's stored token (token_file.h) */
	bool no_token;	     /* anybody on this machine may ask; loopback addresses only */
	const char *host;    /* an additional name that clients may use; NULL = none */
	uint64_t max_bytes;  /* memory limit of recordings and answers together */
	/* As in store.h. */
	bool (*list)(void *user, bool (*add)(void *to, const char *path),
		     void (*folder)(void *to, const char *path), void *to);
	void (*note)(void *user, const char *line); /* prints one line; also for the index */
	void *user;
} tide_server_options;

/* Returns TIDE_EIO (the port is taken, the address is not ours), TIDE_EUSAGE (no address),
 * TIDE_ENOMEM, TIDE_EUNSUPPORTED if it was not built. SIGPIPE must be ignored. */
tide_code tide__server_start(const tide_server_options *opt, tide_server **out, tide_error *err);
/* Writes "http://127.0.0.1:6970/", with the token if one is needed. Returns buf. */
char *tide__server_url(const tide_server *s, char *buf, size_t n);
/* Ends connections and threads. Returns false if a reading or an answer is still in progress
 * after a second: then memory is not freed, and the program should exit. */
bool tide__server_stop(tide_server *s);

#endif
