// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The server between its files: http.c speaks HTTP, server.c begins, watches and ends. */
#ifndef TIDE_SERVE_HTTP_H
#define TIDE_SERVE_HTTP_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/events.h"
#include "serve/exchange.h"
#include "serve/listen.h"
#include "serve/server.h"

/* A client that takes events. It is set aside while there are none. */
typedef struct tide_client {
	struct tide_client *prev, *next;
	tide_server *server;
	void *connection;
	tide_place_in_events place;
	bool aside; /* suspended */
	bool beat;  /* owes it a sign of life */
} tide_client;

/* A connection, from accept to close. */
typedef struct tide_conn {
	struct tide_conn *prev, *next;
	int fd;
	int64_t since_ms; /* when it began to wait for a request, or the request came */
	bool busy;	  /* a request is being answered */
	bool forever;	  /* it takes events */
	bool gone;	  /* told to go: there was no room */
} tide_conn;

struct tide_server {
	tide_listener listener;
	char token[TIDE_TOKEN_MOST + 1]; /* "" = none is needed */
	char cookie[32];		 /* its name */
	char *host;			 /* owned; may be NULL */
	char *shell;			 /* owned, malloc's: the page; NULL = not built */
	size_t n_shell;
	char csp[1024]; /* of the page */
	tide_store *store;
	struct tide_run_index *index; /* owned */
	tide_cache *cache;
	tide_events *events;
	tide_workers workers;
	void *daemon;
	pthread_t watcher;
	_Atomic bool stop;
	pthread_mutex_t lock; /* for what follows */
	tide_client clients;  /* head of the list */
	tide_conn conns;      /* head of the list */
};

/* Begin to answer on s->listener.fd, which is taken over. */
tide_code tide__http_start(tide_server *s, tide_error *err);
/* After s->stop was set and the workers have ended: close all connections. */
void tide__http_stop(tide_server *s);
/* There are new events, or it is time to see who is still there (`beat`). */
void tide__http_wake(tide_server *s, bool beat);
/* Close connections that take too long to ask. */
void tide__http_reap(tide_server *s, int64_t now_ms);

#endif
