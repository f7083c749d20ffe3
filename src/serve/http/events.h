// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Live messages for clients: a short log of server-sent events.
 *
 * Writers append; every reader has its own position and reads later messages. Old messages are
 * overwritten: a reader that is too slow gets the event "lost" and continues with the oldest
 * message, so no thread ever waits. Thread-safe. */
#ifndef TIDE_SERVE_HTTP_EVENTS_H
#define TIDE_SERVE_HTTP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "serve/store/store.h"

typedef struct tide_events tide_events;

typedef struct tide_place_in_events {
	uint64_t next; /* number of the message to read */
	size_t at;     /* bytes of it already read */
} tide_place_in_events;

tide_events *tide__events_new(void); /* NULL if memory runs out */
void tide__events_free(tide_events *e);

/* Appends event `name` with one line of JSON. Dropped if memory runs out. */
void tide__events_put(tide_events *e, const char *name, const char *json);
/* Returns a position at the end: only later messages are read. */
tide_place_in_events tide__events_end(tide_events *e);
/* Reads up to n bytes from a position, which advances; 0 = nothing yet. */
size_t tide__events_read(tide_events *e, tide_place_in_events *p, char *buf, size_t n);

/* Returns the line for a recording that was read (again), with its current state. `rec`: its
 * list entry; `l` may be NULL. From malloc; NULL if memory runs out. */
char *tide__events_write_recording(const tide_rec *rec, tide_loaded *l);

#endif
