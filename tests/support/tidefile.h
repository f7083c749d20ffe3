// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Makes .tide files for tests, in memory: valid ones with the recorder's own encoder, and invalid
 * ones byte by byte. Running out of memory aborts the test. */
#ifndef TIDE_TESTS_TIDEFILE_H
#define TIDE_TESTS_TIDEFILE_H

#include <stddef.h>
#include <stdint.h>

#include "format/encode.h"
#include "format/rings.h"
#include "format/tide.h"

typedef struct bytes {
	uint8_t *p;
	size_t n, cap;
} bytes;

void bytes_add(bytes *b, const void *p, size_t n);
void bytes_free(bytes *b);

/* Append one record by its own wire types: v z t x p q take uint64_t (x: the difference; p, q only
 * with TIDE_TAG_POOL in the tag), d double, s const char *, a size_t count and const uint64_t *. */
void record_add(bytes *b, unsigned tag, ...);

typedef struct slots { /* slots of one ring that no chunk holds yet */
	tide_ring_slot *s;
	size_t n, cap;
	tide_encoder enc;
	uint32_t depth; /* the depth of the next slots */
	uint64_t ticks;
} slots;

typedef struct tidefile {
	bytes b;
	slots rings[16]; /* ring number - 1 */
	uint64_t events;
} tidefile;

/* Head and schema. clock TIDE_CLOCK_NS: ticks are ns from `start`. */
void tidefile_start(tidefile *f, uint32_t clock, uint64_t start_ticks);
/* The same, and names 1.. "alpha" "beta" "gamma" "delta", device 1 (cuda 0), pools 1 (DRAM) and 2
 * (L1), stream 1 (number 7), stacks 1 and 2 (alpha; alpha > beta), thread lane 1 (tid 100 "alpha").
 */
void tidefile_start_full(tidefile *f);
/* A chunk of any type. head's type, flags and event fields are used. Returns its begin. */
size_t tidefile_chunk(tidefile *f, tide_chunk_head head, const void *payload, size_t n);
size_t tidefile_records(tidefile *f, unsigned type, bytes *records);

/* One event of a ring at `ticks`, inside `rings[ring - 1].depth` ops. begin and end change that
 * depth. */
void ev_lane(tidefile *f, unsigned ring, uint64_t ticks, uint64_t lane, uint64_t tid);
void ev_begin(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name);
void ev_begin_arg(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name, uint64_t arg);
void ev_begin_full(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name, uint64_t arg,
		   uint32_t stack, uint32_t origin);
void ev_end(tidefile *f, unsigned ring, uint64_t ticks);
void ev_alloc(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	      uint64_t size);
void ev_alloc_full(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
		   uint64_t size, unsigned stream, uint32_t stack, uint64_t requested);
void ev_free(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr);
void ev_seg(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr, uint64_t size,
	    int free_it);
void ev_tensor(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	       uint32_t name, unsigned dtype, unsigned role, unsigned ndim, const uint64_t *shape);
void ev_view(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	     uint64_t offset, uint32_t name, unsigned dtype, unsigned role, unsigned ndim,
	     const uint64_t *shape);
void ev_sample(tidefile *f, unsigned ring, uint64_t ticks, uint32_t counter, double value);
void ev_mark(tidefile *f, unsigned ring, uint64_t ticks, unsigned kind, uint32_t name,
	     int64_t value);
void ev_note(tidefile *f, unsigned ring, uint64_t ticks, uint32_t key, const char *text);
void ev_oom(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t size, int64_t left);

/* Writes the slots of a ring as EVENTS chunks. */
void tidefile_flush(tidefile *f, unsigned ring);
/* Flush all rings, END chunk. */
void tidefile_end(tidefile *f);
/* Into a file. */
void tidefile_save(const tidefile *f, const char *path);
void tidefile_free(tidefile *f);

#endif
