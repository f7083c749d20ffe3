// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What is told to clients as it happens: a short log of messages in the form of server-sent events.
 *
 * Writers append; every reader has its own place and takes what came since. Old messages are
 * overwritten: a reader that is too slow is told so (event "lost") and goes on with the oldest that
 * is there, so neither it nor anybody else ever waits. Any thread may call. */
#ifndef TIDE_SERVE_EVENTS_H
#define TIDE_SERVE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "serve/store.h"

typedef struct tide_events tide_events;

typedef struct tide_place_in_events {
	uint64_t next; /* number of the message to read */
	size_t at;     /* bytes of it that were read */
} tide_place_in_events;

tide_events *tide__events_new(void); /* NULL on exhaustion */
void tide__events_free(tide_events *e);

/* Append event `name` with one line of JSON. Left out when memory is out. */
void tide__events_put(tide_events *e, const char *name, const char *json);
/* A place at the end: only what comes from now on. */
tide_place_in_events tide__events_end(tide_events *e);
/* Up to n bytes of what there is from a place on, which moves; 0 = nothing yet. */
size_t tide__events_read(tide_events *e, tide_place_in_events *p, char *buf, size_t n);

/* The line for a recording that was read (again): what it is by now. `rec`: as the list has it; `l`
 * may be NULL. malloc's; NULL on exhaustion. */
char *tide__events_recording(const tide_rec *rec, tide_loaded *l);

#endif
