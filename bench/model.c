// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Building the model: makes .tide files of any size with the recorder's own encoder, and loads
 * them.
 *
 *     bench_model make FILE EVENTS LIVE [RINGS]   EVENTS events, about LIVE allocations alive at
 * once bench_model load FILE                       CPU seconds, events/s, bytes an event, peak RSS
 *
 * The program in the file trains: ops nest four deep; allocations take the first fitting free block
 * of a heap that splits and joins, sizes as a transformer's (512 B .. 64 MiB, some always new);
 * lifetimes are short, one step, or unlimited. So addresses are reused as in real programs, also
 * with other sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "format/encode.h"
#include "import/import.h"

/* ---- a heap: size classes of free blocks, split from and joined to wholes ---- */

enum { CLASSES = 40, RING = 1 << 15, NAMES = 200 };

struct heap {
	uint64_t *free_at[CLASSES]; /* stacks of addresses */
	size_t n[CLASSES], cap[CLASSES];
	uint64_t top;
};

static uint64_t seed = 42;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void *grow(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		abort();
	return p;
}

static void give(struct heap *h, unsigned k, uint64_t addr)
{
	if (h->n[k] == h->cap[k]) {
		h->cap[k] = h->cap[k] * 2 + 64;
		h->free_at[k] = grow(h->free_at[k], h->cap[k] * sizeof(uint64_t));
	}
	h->free_at[k][h->n[k]++] = addr;
}

/* Returns a block of 2^k bytes; sometimes a larger one is split for it. */
static uint64_t take(struct heap *h, unsigned k)
{
	if (h->n[k])
		return h->free_at[k][--h->n[k]];
	for (unsigned j = k + 1; j < k + 4; j++) {
		if (!h->n[j])
			continue;
		uint64_t a = h->free_at[j][--h->n[j]];
		while (j-- > k)
			give(h, j, a + (UINT64_C(1) << j));
		return a;
	}
	uint64_t a = h->top;
	h->top += UINT64_C(1) << k;
	return a;
}

/* ---- the stream ---- */

struct ring {
	tide_ring_slot *s;
	tide_encoder enc;
	uint64_t n;
	unsigned depth;
};

struct block {
	uint64_t addr;
	unsigned k;
};

struct gen {
	FILE *out;
	struct ring *rings;
	unsigned n_rings;
	uint64_t ticks, events;
	struct heap heap;
	struct block *live;
	size_t n_live, cap_live;
};

static void put(struct gen *g, const void *p, size_t n)
{
	if (fwrite(p, 1, n, g->out) != n) {
		perror("bench_model");
		exit(1);
	}
}

static void chunk(struct gen *g, unsigned type, const void *p, size_t n)
{
	tide_chunk_head h = { .type = (uint16_t)type };
	tide__chunk_seal(&h, p, (uint32_t)n);
	put(g, &h, sizeof h);
	put(g, p, n);
}

static void flush(struct gen *g, struct ring *r)
{
	static uint8_t out[TIDE_EVENTS_CHUNK];
	size_t n;
	while ((n = tide__encode_events(&r->enc, r->s, RING - 1, r->n, out)) > 0)
		put(g, out, n);
}

static tide_ring_slot *slot(struct gen *g, struct ring *r, unsigned type)
{
	if (r->n - r->enc.next >= RING / 2)
		flush(g, r);
	tide_ring_slot *s = &r->s[r->n++ & (RING - 1)];
	g->ticks += 60 + rnd() % 200; /* a clock of 3 GHz, an event every 50 ns */
	*s = (tide_ring_slot){ .ticks = g->ticks, .head = type | 1u << 8 | r->depth << 20 };
	g->events += type != TIDE_REC_LANE;
	return s;
}

static void start(struct gen *g)
{
	static uint8_t buf[65536];
	uint32_t count;
	tide_file_head h = { .major = TIDE_FORMAT_MAJOR,
			     .head_size = sizeof h,
			     .pid = 1,
			     .clock = TIDE_CLOCK_TSC,
			     .start_real = 1 };
	memcpy(h.magic, TIDE_FILE_MAGIC, 8);
	h.checksum = tide__file_head_sum(&h);
	put(g, &h, sizeof h);
	chunk(g, TIDE_CHUNK_SCHEMA, buf, tide__encode_schema(buf, &count));
	uint8_t *p = buf;
	for (unsigned i = 1; i <= NAMES; i++) {
		char name[32];
		int n = snprintf(name, sizeof name, "layer.%u.forward", i);
		*p++ = TIDE_REC_NAME;
		p = tide__put_v(p, i);
		p = tide__put_s(p, name, (size_t)n);
	}
	static const uint8_t device[] = { TIDE_REC_DEVICE, 1, 2, 0, 1, 0 };
	static const uint8_t pool[] = { TIDE_REC_POOL, 1, 1, 1, 1, 0, 0 };
	memcpy(p, device, sizeof device);
	memcpy(p + sizeof device, pool, sizeof pool);
	chunk(g, TIDE_CHUNK_DEFS, buf, (size_t)(p - buf) + sizeof device + sizeof pool);
}

static void tick(struct gen *g)
{
	uint8_t buf[64], *p = buf;
	*p++ = TIDE_REC_TICK;
	p = tide__put_v(p, g->ticks);
	p = tide__put_v(p, g->ticks / 3);
	p = tide__put_z(p, (int64_t)(g->ticks / 3));
	chunk(g, TIDE_CHUNK_CLOCK, buf, (size_t)(p - buf));
}

static void alloc_one(struct gen *g, struct ring *r)
{
	unsigned k = 9 + (unsigned)(rnd() % 8); /* 512 B .. 64 KiB, */
	if (rnd() % 16 == 0)
		k += 10; /* and sometimes large */
	uint64_t a = take(&g->heap, k);
	tide_ring_slot *s = slot(g, r, TIDE_REC_ALLOC);
	s->addr = a;
	s->size = (UINT64_C(1) << k) - 64 * (rnd() % 8);
	if (g->n_live == g->cap_live) {
		g->cap_live = g->cap_live * 2 + 1024;
		g->live = grow(g->live, g->cap_live * sizeof *g->live);
	}
	g->live[g->n_live++] = (struct block){ a, k };
}

/* Returns a live block, usually a recent one. */
static void free_one(struct gen *g, struct ring *r)
{
	size_t young = g->n_live < 64 ? g->n_live : 64;
	size_t i = rnd() % 4 ? g->n_live - 1 - rnd() % young : rnd() % g->n_live;
	struct block b = g->live[i];
	g->live[i] = g->live[--g->n_live];
	slot(g, r, TIDE_REC_FREE)->addr = b.addr;
	give(&g->heap, b.k, b.addr);
}

static void op(struct gen *g, struct ring *r)
{
	bool end = r->depth && (r->depth == 4 || rnd() % 2);
	if (end) {
		r->depth--;
		slot(g, r, TIDE_REC_END);
	} else {
		slot(g, r, TIDE_REC_BEGIN)->stack = 1 + (uint32_t)(rnd() % NAMES);
		r->depth++;
	}
}

static int make(const char *path, uint64_t events, uint64_t live, unsigned n_rings)
{
	struct gen g = { .n_rings = n_rings, .ticks = 1000 };
	uint64_t next_tick = 0;
	g.heap.top = UINT64_C(0x7f0000000000);
	g.out = fopen(path, "wb");
	g.rings = calloc(n_rings, sizeof *g.rings);
	if (!g.out || !g.rings) {
		perror(path);
		return 1;
	}
	start(&g);
	for (unsigned i = 0; i < n_rings; i++) {
		g.rings[i].s = grow(NULL, RING * sizeof(tide_ring_slot));
		g.rings[i].enc.ring = i + 1;
		tide_ring_slot *s = slot(&g, &g.rings[i], TIDE_REC_LANE);
		s->addr = i + 1;
		s->size = 100 + i;
	}
	while (g.events < events) {
		struct ring *r = &g.rings[n_rings > 1 ? rnd() % n_rings : 0];
		if (g.ticks >= next_tick) {
			tick(&g);
			next_tick = g.ticks + UINT64_C(3000000000);
		}
		if (rnd() % 5 == 0)
			op(&g, r);
		else if (g.n_live < live && (g.n_live < live / 2 || rnd() % 2))
			alloc_one(&g, r);
		else
			free_one(&g, r);
	}
	for (unsigned i = 0; i < n_rings; i++)
		flush(&g, &g.rings[i]);
	tick(&g);
	uint8_t total[32], *p = total;
	*p++ = TIDE_REC_TOTAL;
	p = tide__put_v(p, g.events);
	*p++ = 0;
	p = tide__put_v(p, n_rings);
	chunk(&g, TIDE_CHUNK_END, total, (size_t)(p - total));
	long size = ftell(g.out);
	if (fclose(g.out))
		return 1;
	printf("%s: %" PRIu64 " events, %.2f bytes an event\n", path, g.events,
	       (double)size / (double)g.events);
	return 0;
}

/* ---- loading ---- */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int load(const char *path)
{
	tide_model *m;
	tide_error err = { 0 };
	struct rusage u0, u;
	getrusage(RUSAGE_SELF, &u0);
	if (tide__load(path, NULL, &m, &err)) {
		fprintf(stderr, "bench_model: %s: %s\n", path, err.text);
		return 1;
	}
	getrusage(RUSAGE_SELF, &u);
	double user = seconds(u.ru_utime) - seconds(u0.ru_utime),
	       sys = seconds(u.ru_stime) - seconds(u0.ru_stime);
	int64_t at = tide__fact_find(m, "tide.events");
	double n = at < 0 ? 0 : (double)m->facts.number[at];
	printf("%11.0f events  %7.3f s user + %6.3f s system  %5.1f M/s (%5.1f without system)  "
	       "%4.1f bytes/event  %6.0f MiB peak RSS\n",
	       n, user, sys, n / (user + sys) / 1e6, n / user / 1e6,
	       (double)tide__model_bytes(m) / n, (double)u.ru_maxrss / 1024);
	for (size_t i = 0; i < m->facts.n; i++)
		if (!strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5))
			printf("  %s\n", tide__text(m, m->facts.key[i], NULL));
	tide__model_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "make"))
		return make(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
			    argc > 5 ? (unsigned)atoi(argv[5]) : 1);
	if (argc == 3 && !strcmp(argv[1], "load"))
		return load(argv[2]);
	fprintf(stderr, "usage: bench_model make FILE EVENTS LIVE [RINGS] | load FILE\n");
	return 2;
}
