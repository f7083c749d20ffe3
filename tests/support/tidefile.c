// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "tidefile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void *grow(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		abort();
	return p;
}

void bytes_add(bytes *b, const void *p, size_t n)
{
	if (n > b->cap - b->n) {
		b->cap = b->cap * 2 + n + 256;
		b->p = grow(b->p, b->cap);
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

void bytes_free(bytes *b)
{
	free(b->p);
	*b = (bytes){ 0 };
}

static void add_v(bytes *b, uint64_t v)
{
	uint8_t tmp[10];
	bytes_add(b, tmp, (size_t)(tide__put_v(tmp, v) - tmp));
}

static const char *wire_of(unsigned tag)
{
	switch (tag & TIDE_TAG_MASK) {
#define R(name, number, text, wire, fields) \
	case number:                        \
		return wire;
		TIDE_RECORDS(R)
#undef R
	}
	abort();
}

void record_add(bytes *b, unsigned tag, ...)
{
	va_list ap;
	uint8_t byte = (uint8_t)tag;
	bytes_add(b, &byte, 1);
	va_start(ap, tag);
	for (const char *w = wire_of(tag); *w; w++) {
		if (*w == 's') {
			const char *s = va_arg(ap, const char *);
			add_v(b, strlen(s));
			bytes_add(b, s, strlen(s));
		} else if (*w == 'd') {
			double d = va_arg(ap, double);
			bytes_add(b, &d, 8);
		} else if (*w == 'a') {
			size_t n = va_arg(ap, size_t);
			const uint64_t *v = va_arg(ap, const uint64_t *);
			add_v(b, n);
			for (size_t i = 0; i < n; i++)
				add_v(b, v[i]);
		} else if ((*w == 'p' || *w == 'q') && !(tag & TIDE_TAG_POOL)) {
			continue;
		} else {
			uint64_t v = va_arg(ap, uint64_t);
			int zigzag = *w == 'z' || (*w == 'x' && !(tag & TIDE_TAG_RECENT));
			if (*w == 'x' && !zigzag) {
				byte = (uint8_t)v;
				bytes_add(b, &byte, 1);
			} else {
				add_v(b, zigzag ? v << 1 ^ (uint64_t)((int64_t)v >> 63) : v);
			}
		}
	}
	va_end(ap);
}

size_t tidefile_chunk(tidefile *f, tide_chunk_head head, const void *payload, size_t n)
{
	size_t at = f->b.n;
	tide__chunk_seal(&head, payload, (uint32_t)n);
	bytes_add(&f->b, &head, sizeof head);
	bytes_add(&f->b, payload, n);
	return at;
}

size_t tidefile_records(tidefile *f, unsigned type, bytes *records)
{
	size_t at = tidefile_chunk(f, (tide_chunk_head){ .type = (uint16_t)type }, records->p,
				   records->n);
	bytes_free(records);
	return at;
}

void tidefile_start(tidefile *f, uint32_t clock, uint64_t start_ticks)
{
	tide_file_head h = { .major = TIDE_FORMAT_MAJOR,
			     .minor = TIDE_FORMAT_MINOR,
			     .head_size = sizeof h,
			     .pid = 4242,
			     .start_ticks = start_ticks,
			     .start_mono_raw = 1000000,
			     .start_real = 1700000000000000000,
			     .clock = clock };
	uint8_t schema[TIDE_SCHEMA_MAX];
	uint32_t count;
	memset(f, 0, sizeof *f);
	for (unsigned i = 0; i < 16; i++)
		f->rings[i].enc.ring = i + 1;
	memcpy(h.magic, TIDE_FILE_MAGIC, 8);
	memcpy(h.recording, "tests' recording", 16);
	h.checksum = tide__file_head_sum(&h);
	bytes_add(&f->b, &h, sizeof h);
	size_t n = tide__encode_schema(schema, &count);
	tidefile_chunk(f, (tide_chunk_head){ .type = TIDE_CHUNK_SCHEMA, .count = count }, schema,
		       n);
}

#define U(x) ((uint64_t)(x))

void tidefile_start_full(tidefile *f)
{
	static const char *const names[] = { "alpha", "beta", "gamma", "delta" };
	bytes r = { 0 };
	tidefile_start(f, TIDE_CLOCK_NS, 0);
	for (size_t i = 0; i < 4; i++)
		record_add(&r, TIDE_REC_NAME, U(i + 1), names[i]);
	record_add(&r, TIDE_REC_FRAME, U(1), U(1), U(3), U(10));
	record_add(&r, TIDE_REC_FRAME, U(2), U(2), U(3), U(20));
	record_add(&r, TIDE_REC_STACK, U(1), U(0), U(1));
	record_add(&r, TIDE_REC_STACK, U(2), U(1), U(2));
	record_add(&r, TIDE_REC_DEVICE, U(1), U(2), U(0), U(4), U(1) << 34);
	record_add(&r, TIDE_REC_POOL, U(1), U(1), U(1), U(1), U(1) << 33, U(0));
	record_add(&r, TIDE_REC_POOL, U(2), U(1), U(2), U(2), U(1) << 20, U(64));
	record_add(&r, TIDE_REC_STREAM, U(1), U(1), U(7), U(3));
	record_add(&r, TIDE_REC_THREAD, U(1), U(100), U(1));
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
}

/* ---- events ---- */

static tide_ring_slot *slot_add(tidefile *f, unsigned ring, uint64_t ticks, unsigned type,
				unsigned pool)
{
	slots *r = &f->rings[ring - 1];
	if (r->n == r->cap) {
		r->cap = r->cap * 2 + 64;
		r->s = grow(r->s, r->cap * sizeof *r->s);
	}
	tide_ring_slot *s = &r->s[r->n++];
	*s = (tide_ring_slot){ .ticks = ticks, .head = type | pool << 8 | r->depth << 20 };
	r->ticks = ticks;
	f->events += type != TIDE_REC_LANE;
	return s;
}

/* A continuation slot. */
static void more_add(tidefile *f, unsigned ring, const void *p, size_t n)
{
	uint64_t ticks = f->rings[ring - 1].ticks;
	tide_ring_slot *s = slot_add(f, ring, 0, 0, 0);
	f->rings[ring - 1].ticks = ticks;
	f->events--;
	memset(s, 0, sizeof *s);
	memcpy(s, p, n);
}

void ev_lane(tidefile *f, unsigned ring, uint64_t ticks, uint64_t lane, uint64_t tid)
{
	f->rings[ring - 1].depth = 0;
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_LANE, 0);
	s->addr = lane;
	s->size = tid;
}

void ev_begin(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name)
{
	slot_add(f, ring, ticks, TIDE_REC_BEGIN, 0)->stack = name;
	f->rings[ring - 1].depth++;
}

void ev_begin_arg(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name, uint64_t arg)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_BEGIN_ARG, 0);
	s->stack = name;
	s->addr = arg;
	f->rings[ring - 1].depth++;
}

void ev_begin_full(tidefile *f, unsigned ring, uint64_t ticks, uint32_t name, uint64_t arg,
		   uint32_t stack, uint32_t origin)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_BEGIN_FULL, 0);
	s->stack = name;
	s->addr = arg;
	s->size = stack | (uint64_t)origin << 32;
	f->rings[ring - 1].depth++;
}

void ev_end(tidefile *f, unsigned ring, uint64_t ticks)
{
	if (f->rings[ring - 1].depth)
		f->rings[ring - 1].depth--;
	slot_add(f, ring, ticks, TIDE_REC_END, 0);
}

void ev_alloc(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	      uint64_t size)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_ALLOC, pool);
	s->addr = addr;
	s->size = size;
}

void ev_alloc_full(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
		   uint64_t size, unsigned stream, uint32_t stack, uint64_t requested)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_ALLOC_FULL, pool);
	s->addr = addr;
	s->size = size | U(stream) << 48;
	s->stack = stack;
	more_add(f, ring, &requested, 8);
}

void ev_free(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr)
{
	slot_add(f, ring, ticks, TIDE_REC_FREE, pool)->addr = addr;
}

void ev_seg(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr, uint64_t size,
	    int free_it)
{
	tide_ring_slot *s =
		slot_add(f, ring, ticks, free_it ? TIDE_REC_SEG_FREE : TIDE_REC_SEG_ALLOC, pool);
	s->addr = addr;
	s->size = size;
	s->stack = free_it ? 0 : 2;
}

void ev_tensor(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	       uint32_t name, unsigned dtype, unsigned role, unsigned ndim, const uint64_t *shape)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_TENSOR, pool);
	s->addr = addr;
	s->stack = name;
	s->size = dtype | role << 8 | 1u << 16 | U(ndim) << 24;
	for (unsigned i = 0; i < ndim; i += 4)
		more_add(f, ring, shape + i, (ndim - i < 4 ? ndim - i : 4) * sizeof *shape);
}

void ev_view(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t addr,
	     uint64_t offset, uint32_t name, unsigned dtype, unsigned role, unsigned ndim,
	     const uint64_t *shape)
{
	uint64_t words[17] = { offset };
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_VIEW, pool);
	s->addr = addr;
	s->stack = name;
	s->size = dtype | role << 8 | 1u << 16 | U(ndim) << 24;
	for (unsigned i = 0; i < ndim; i++)
		words[1 + i] = shape[i];
	for (unsigned i = 0; i < ndim + 1; i += 4)
		more_add(f, ring, words + i, (ndim + 1 - i < 4 ? ndim + 1 - i : 4) * sizeof *words);
}

void ev_sample(tidefile *f, unsigned ring, uint64_t ticks, uint32_t counter, double value)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_SAMPLE, 0);
	memcpy(&s->addr, &value, 8);
	s->stack = counter;
}

void ev_mark(tidefile *f, unsigned ring, uint64_t ticks, unsigned kind, uint32_t name,
	     int64_t value)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_MARK, 0);
	s->addr = (uint64_t)value;
	s->size = kind;
	s->stack = name;
}

void ev_note(tidefile *f, unsigned ring, uint64_t ticks, uint32_t key, const char *text)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_ANNOTATE, 0);
	size_t n = strlen(text);
	s->addr = n;
	s->stack = key;
	for (size_t i = 0; i < n; i += 32)
		more_add(f, ring, text + i, n - i < 32 ? n - i : 32);
}

void ev_oom(tidefile *f, unsigned ring, uint64_t ticks, unsigned pool, uint64_t size, int64_t left)
{
	tide_ring_slot *s = slot_add(f, ring, ticks, TIDE_REC_OOM, pool);
	s->addr = (uint64_t)left;
	s->size = size;
}

/* The encoder sees a ring that is large enough to hold everything since its slot 0. */
void tidefile_flush(tidefile *f, unsigned ring)
{
	slots *r = &f->rings[ring - 1];
	uint8_t *out = grow(NULL, TIDE_EVENTS_CHUNK);
	size_t n;
	while ((n = tide__encode_events(&r->enc, r->s, UINT64_MAX, r->n, out)) > 0)
		bytes_add(&f->b, out, n);
	free(out);
}

void tidefile_end(tidefile *f)
{
	bytes r = { 0 };
	for (unsigned i = 1; i <= 16; i++)
		tidefile_flush(f, i);
	record_add(&r, TIDE_REC_TOTAL, f->events, U(0), U(16));
	tidefile_records(f, TIDE_CHUNK_END, &r);
}

void tidefile_save(const tidefile *f, const char *path)
{
	unlink(path); /* truncating it instead makes some file systems wait for the disk */
	FILE *out = fopen(path, "wb");
	if (!out || fwrite(f->b.p, 1, f->b.n, out) != f->b.n || fclose(out))
		abort();
}

void tidefile_free(tidefile *f)
{
	bytes_free(&f->b);
	for (unsigned i = 0; i < 16; i++)
		free(f->rings[i].s);
	memset(f, 0, sizeof *f);
}
