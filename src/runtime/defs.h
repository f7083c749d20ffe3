// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Definitions (names, frames, stacks, devices, pools, streams) and their ids.
 *
 * Ids belong to the process: they are the same in every recording it makes. All definitions are
 * kept, encoded as the records of a DEFS chunk, one after the other in one growing range of private
 * memory; `used` is stored last, so a child forked at any moment sees complete records only and
 * rebuilds its tables from them. During a recording each definition is also in its log (see
 * format/rings.h) before its id is returned.
 *
 * One hash table finds them all: two definitions are equal if their kind and encoded fields
 * (without the id) are. Static names have a second, lock-free table, from pointer to id. Everything
 * else here is called in a slow section. Memory: the records, at most TIDE_DEFS_MAX (less in a
 * small address space, limits.h), and 16 to 32 bytes of table for each; nothing is freed before the
 * process ends. */
#ifndef TIDE_RUNTIME_DEFS_H
#define TIDE_RUNTIME_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/ring_file.h"

enum { TIDE_DEFS_MAX = 256 << 20 };

/* Returns the id (from 1) of the definition of type `tag` with these encoded fields: `n_head`
 * bytes, then `n_tail` more. `log` is the recording's, or NULL. Returns 0 if memory or log space
 * runs out, or if the id would exceed `max`. */
uint32_t tide__define(uint32_t tag, const void *head, size_t n_head, const void *tail,
		      size_t n_tail, uint32_t max, tide_ring_file *log);

enum { TIDE_STACKS_MAX = 32 };
/* Defines n (at most TIDE_STACKS_MAX) stacks, frames[0] on top of `parent` and each next one on top
 * of the previous one. Returns the first of n consecutive ids, or 0 as above. The caller guarantees
 * that they are new: equal definitions are not looked up. */
uint32_t tide__define_stacks(uint32_t parent, const uint32_t *frames, size_t n,
			     tide_ring_file *log);

/* Lock-free: returns the id of a static text that was seen before, else 0. */
uint32_t tide__static_find(const char *text);
/* Adds a text to that table. A failure only costs time later. */
void tide__static_add(const char *text, uint32_t id);

/* Copies all definitions into a new recording's log. Returns false if there is no space. */
bool tide__defs_replay(tide_ring_file *log);
/* In a forked child: rebuilds the tables. */
void tide__defs_rebuild(void);
/* Bytes of memory in use. */
size_t tide__defs_memory(void);

/* Returns the bytes of the record (a definition) at p, or 0 if [p, end) does not hold all of it. */
size_t tide__def_size(const uint8_t *p, const uint8_t *end);

#endif
