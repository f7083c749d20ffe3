// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The example's own memory: a small caching allocator that reports its work to Tidemark.
 *
 * It works like the allocators of GPU frameworks: it reserves whole segments from the system,
 * splits blocks off by best fit, merges free neighbours, and keeps segments for reuse. Every block
 * and segment is reported, so `tidemark` can show both live and reserved bytes. One thread at a
 * time (each pool belongs to one thread here). */
#ifndef EXAMPLE_POOL_H
#define EXAMPLE_POOL_H

#include <stdint.h>

#include <tidemark/record.h>

typedef struct pool pool;

/* Creates a pool on the host that Tidemark shows as `name`. Returns NULL if memory runs out. */
pool *pool_new(int kind, const char *name);
void pool_free(pool *p);

/* Returns n floats described as a tensor. If memory runs out, records that and exits the
 * example. */
float *pool_take(pool *p, tide_name name, int role, int ndim, const uint64_t *shape);
void pool_give(pool *p, float *data);

#endif
