// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUND = 512, SEGMENT = 1 << 20 };

/* Blocks of one segment form a list in address order; the segment's size is their sum. */
struct block {
	struct block *prev, *next; /* neighbours in the segment */
	char *at;
	size_t size;
	int used;
};

struct segment {
	struct segment *next;
	struct block *first;
	char *base;
	size_t size;
};

struct pool {
	struct segment *segments;
	tide_pool id;
};

pool *pool_new(int kind, const char *name)
{
	pool *p = calloc(1, sizeof *p);
	if (p)
		p->id = tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, "host", 0), kind, name,
				       0);
	return p;
}

static void drop_segment(pool *p, struct segment *s)
{
	tide_segment_free(p->id, (uintptr_t)s->base, s->size);
	for (struct block *b = s->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(s->base);
	free(s);
}

void pool_free(pool *p)
{
	for (struct segment *s = p->segments, *next; s; s = next) {
		next = s->next;
		drop_segment(p, s);
	}
	free(p);
}

static struct block *best_fit(pool *p, size_t size)
{
	struct block *best = NULL;
	for (struct segment *s = p->segments; s; s = s->next)
		for (struct block *b = s->first; b; b = b->next)
			if (!b->used && b->size >= size && (!best || b->size < best->size))
				best = b;
	return best;
}

static struct block *new_segment(pool *p, size_t size)
{
	struct segment *s = calloc(1, sizeof *s);
	struct block *b = calloc(1, sizeof *b);
	size_t room = size > SEGMENT ? (size + SEGMENT - 1) / SEGMENT * SEGMENT : SEGMENT;
	char *base = s && b ? aligned_alloc(ROUND, room) : NULL;
	if (!base) {
		tide_oom(p->id, room, -1);
		fprintf(stderr, "gpt: out of memory for %zu bytes\n", room);
		exit(1);
	}
	*b = (struct block){ .at = base, .size = room };
	*s = (struct segment){ p->segments, b, base, room };
	p->segments = s;
	tide_segment_alloc(p->id, (uintptr_t)base, room, 0, size > SEGMENT ? 2 : 1);
	return b;
}

/* Keeps `size` bytes of b and makes the rest a free block after it. */
static void split(struct block *b, size_t size)
{
	struct block *rest = b->size - size >= ROUND ? calloc(1, sizeof *rest) : NULL;
	if (!rest)
		return;
	*rest = (struct block){ b, b->next, b->at + size, b->size - size, 0 };
	if (b->next)
		b->next->prev = rest;
	b->next = rest;
	b->size = size;
}

/* Merges b's right neighbour into b. */
static void join(struct block *b)
{
	struct block *gone = b->next;
	b->size += gone->size;
	b->next = gone->next;
	if (b->next)
		b->next->prev = b;
	free(gone);
}

static struct block *find(pool *p, const char *at)
{
	for (struct segment *s = p->segments; s; s = s->next) {
		if (at < s->base || at >= s->base + s->size)
			continue;
		for (struct block *b = s->first; b; b = b->next)
			if (b->at == at)
				return b;
	}
	return NULL;
}

float *pool_take(pool *p, tide_name name, int role, int ndim, const uint64_t *shape)
{
	size_t bytes = sizeof(float);
	for (int i = 0; i < ndim; i++)
		bytes *= shape[i];
	size_t size = (bytes + ROUND - 1) / ROUND * ROUND;
	struct block *b = best_fit(p, size);
	if (!b)
		b = new_segment(p, size);
	split(b, size);
	b->used = 1;
	tide_alloc_full(p->id, (uintptr_t)b->at, b->size, 0, 0, bytes);
	tide_tensor(p->id, (uintptr_t)b->at,
		    &(tide_tensor_info){ .name = name,
					 .dtype = TIDE_DTYPE_F32,
					 .role = (uint8_t)role,
					 .requires_grad = role == TIDE_ROLE_PARAMETER,
					 .ndim = (uint8_t)ndim,
					 .shape = shape });
	return (float *)(void *)b->at;
}

void pool_give(pool *p, float *data)
{
	struct block *b = data ? find(p, (char *)data) : NULL;
	if (!b)
		return;
	tide_free(p->id, (uintptr_t)b->at); /* before the memory can be used again */
	b->used = 0;
	if (b->next && !b->next->used)
		join(b);
	if (b->prev && !b->prev->used)
		join(b->prev);
}
