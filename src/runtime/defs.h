// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Definitions: names, frames, stacks, devices, pools, streams; and their ids.
 *
 * Ids belong to the process: they are the same in every recording it makes. All definitions are
 * kept, encoded as the records of a DEFS chunk, one after the other in one growing stretch of
 * private memory; `used` is stored last, so a child forked at any moment sees whole records only
 * and rebuilds its tables from them. While a recording is on, each definition is also in its log
 * (see format/rings.h) before the id is returned to anybody.
 *
 * One hash table finds them all: two definitions are equal when kind and encoded fields (without
 * the id) are. Static names have a second, lock-free table, from pointer to id. Everything else
 * here is called in a slow section. Memory: the records, at most TIDE_DEFS_MAX (less in a small
 * address space, limits.h), and 16 to 32 bytes of table for each; nothing is freed before the
 * process ends. */
#ifndef TIDE_RUNTIME_DEFS_H
#define TIDE_RUNTIME_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/ring_file.h"

enum { TIDE_DEFS_MAX = 256 << 20 };

/* The id (from 1) of the definition of type `tag` with these encoded fields: `n_head` bytes, then
 * `n_tail` more. `log` is the recording's, or NULL. 0: no memory, no space in the log, or the id
 * would exceed `max`. */
uint32_t tide__define(uint32_t tag, const void *head, size_t n_head, const void *tail,
		      size_t n_tail, uint32_t max, tide_ring_file *log);

/* Lock-free: id of a static text that was seen before, else 0. */
uint32_t tide__static_find(const char *text);
/* Remember it. Failure only costs time later. */
void tide__static_add(const char *text, uint32_t id);

/* Copy all definitions into a new recording's log. */
bool tide__defs_replay(tide_ring_file *log);
/* In a forked child: make the tables anew. */
void tide__defs_rebuild(void);
/* Bytes held. */
size_t tide__defs_memory(void);

/* Bytes of the record at p (a definition), or 0 when [p, end) does not hold it wholly. */
size_t tide__def_size(const uint8_t *p, const uint8_t *end);

#endif
