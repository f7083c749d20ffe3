// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the server: http.c handles HTTP; server.c starts, watches and stops. */
#ifndef TIDE_SERVE_HTTP_HTTP_H
#define TIDE_SERVE_HTTP_HTTP_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/http/events.h"
#include "serve/http/exchange.h"
#include "serve/http/listen.h"
#include "serve/server.h"

/* A client that receives events. It is suspended while there are none. */
typedef struct tide_client {
	struct tide_client *prev, *next;
	tide_server *server;
	void *connection;
	tide_place_in_events place;
	bool aside; /* suspended */
	bool beat;  /* a keep-alive message is due */
} tide_client;

/* A connection, from accept to close. */
typedef struct tide_conn {
	struct tide_conn *prev, *next;
	int fd;
	int64_t since_ms; /* when it began to wait for a request, or when the request came */
	bool busy;	  /* a request is being answered */
	bool forever;	  /* it receives events */
	bool gone;	  /* closing: too many connections */
} tide_conn;

struct tide_server {
	tide_listener listener;
	char token[TIDE_TOKEN_MOST + 1]; /* "" = not required */
	char cookie[32];		 /* its name */
	char *host;			 /* owned; may be NULL */
	char *shell;			 /* owned, from malloc: the page; NULL = not built */
	size_t n_shell;
	char csp[1024]; /* of the page */
	tide_store *store;
	struct tide_run_index *index;		    /* owned */
	void (*note)(void *user, const char *line); /* may be NULL */
	void *note_user;
	tide_cache *cache;
	tide_events *events;
	tide_workers workers;
	void *daemon;
	unsigned connections; /* that there may be; half of them may take events */
	pthread_t watcher;
	_Atomic bool stop;
	pthread_mutex_t lock; /* protects the fields below */
	tide_client clients;  /* head of the list */
	tide_conn conns;      /* head of the list */
};

/* Begins to answer on s->listener.fd, whose ownership is taken. */
tide_code tide__http_start(tide_server *s, tide_error *err);
/* Closes all connections, after s->stop was set and the workers have ended. */
void tide__http_stop(tide_server *s);
/* Notifies of new events, or of a keep-alive check (`beat`). */
void tide__http_wake(tide_server *s, bool beat);
/* Closes connections that take too long to send a request. */
void tide__http_reap(tide_server *s, int64_t now_ms);

#endif
