// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The encoder. One pass over the slots, one small function per group of fields. The writer thread
 * spends most of its time here, so the common records (alloc, free, begin, end) come first and
 * touch nothing but the 2 KiB table of recent addresses. Slots are not trusted: the ring file of a
 * dead process goes through here too. */
#include "format/encode.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* State shared by the records of a chunk. */
struct memory {
	uint8_t *p;	/* next byte to write */
	uint64_t ticks; /* time of the last record */
	uint64_t addr;
	uint32_t pool, stream;
	uint32_t count;
	uint64_t recent[256];
};

uint8_t *tide__put_s(uint8_t *p, const void *bytes, size_t n)
{
	p = tide__put_v(p, n);
	if (n)
		memcpy(p, bytes, n);
	return p + n;
}

void tide__chunk_seal(tide_chunk_head *h, const void *payload, uint32_t n)
{
	h->magic = TIDE_CHUNK_MAGIC;
	h->stored = h->raw = n;
	uint64_t seed = XXH3_64bits(h, offsetof(tide_chunk_head, checksum));
	h->checksum = XXH3_64bits_withSeed(payload, n, seed);
}

uint64_t tide__file_head_sum(const tide_file_head *h)
{
	return XXH3_64bits(h, offsetof(tide_file_head, checksum));
}

size_t tide__encode_schema(uint8_t *out, uint32_t *count)
{
	uint8_t *p = out;
	*count = 0;
#define R(name, tag, text, wire, fields)               \
	*p++ = tag;                                    \
	p = tide__put_s(p, text, sizeof text - 1);     \
	p = tide__put_s(p, wire, sizeof wire - 1);     \
	p = tide__put_s(p, fields, sizeof fields - 1); \
	++*count;
	TIDE_RECORDS(R)
#undef R
	return (size_t)(p - out);
}

/* Writes tag and time. Returns the tag's place, for the flags that later fields set. */
static inline uint8_t *put_tag(struct memory *m, uint8_t tag, uint64_t ticks)
{
	uint8_t *at = m->p;
	*m->p++ = tag;
	uint64_t dt = ticks > m->ticks ? ticks - m->ticks : 0;
	m->ticks += dt;
	m->p = tide__put_v(m->p, dt);
	m->count++;
	return at;
}

static inline void put_addr(struct memory *m, uint8_t *tag, uint64_t addr)
{
	unsigned i = TIDE_RECENT(addr);
	if (m->recent[i] == addr) {
		*tag |= TIDE_TAG_RECENT;
		*m->p++ = (uint8_t)i;
	} else {
		m->recent[i] = addr;
		m->p = tide__put_z(m->p, (int64_t)(addr - m->addr));
	}
	m->addr = addr;
}

static inline void put_pool(struct memory *m, uint8_t *tag, uint32_t pool)
{
	if (m->pool == pool)
		return;
	m->pool = pool;
	*tag |= TIDE_TAG_POOL;
	m->p = tide__put_v(m->p, pool);
}

static inline void put_pool_stream(struct memory *m, uint8_t *tag, uint32_t pool, uint32_t stream)
{
	if (m->pool == pool && m->stream == stream)
		return;
	m->pool = pool;
	m->stream = stream;
	*tag |= TIDE_TAG_POOL;
	m->p = tide__put_v(m->p, pool);
	m->p = tide__put_v(m->p, stream);
}

static inline void put_v(struct memory *m, uint64_t v)
{
	m->p = tide__put_v(m->p, v);
}

uint64_t tide__slot_more(const tide_ring_slot *s)
{
	switch (s->head & 0xff) {
	case TIDE_REC_ALLOC_FULL:
		return 1;
	case TIDE_REC_TENSOR:
		return (s->size >> 24 & 0xff) <= 16 ? ((s->size >> 24 & 0xff) + 3) / 4 : UINT64_MAX;
	case TIDE_REC_VIEW:
		return (s->size >> 24 & 0xff) <= 16 ? ((s->size >> 24 & 0xff) + 4) / 4 : UINT64_MAX;
	case TIDE_REC_ANNOTATE:
	case TIDE_REC_DEVICE_LOG:
		return s->addr <= 4096 ? (s->addr + 31) / 32 : UINT64_MAX;
	case TIDE_REC_LANE:
	case TIDE_REC_BEGIN:
	case TIDE_REC_END:
	case TIDE_REC_ALLOC:
	case TIDE_REC_FREE:
	case TIDE_REC_USE:
	case TIDE_REC_SEG_ALLOC:
	case TIDE_REC_SEG_FREE:
	case TIDE_REC_SAMPLE:
	case TIDE_REC_MARK:
	case TIDE_REC_OOM:
	case TIDE_REC_ALLOC_STACK:
	case TIDE_REC_BEGIN_ARG:
	case TIDE_REC_BEGIN_FULL:
		return 0;
	}
	return UINT64_MAX;
}

/* Returns the i-th u64 of the continuation slots of slot q. */
static uint64_t word_of(const tide_ring_slot *slots, uint64_t mask, uint64_t q, unsigned i)
{
	uint64_t four[4];
	memcpy(four, &slots[(q + 1 + i / 4) & mask], sizeof four);
	return four[i % 4];
}

/* Encodes TENSOR, and VIEW, which also has an offset: the first word of its slots, the last field
 * of its record. */
static void put_tensor(struct memory *m, const tide_ring_slot *s, const tide_ring_slot *slots,
		       uint64_t mask, uint64_t q)
{
	bool view = (s->head & 0xff) == TIDE_REC_VIEW;
	uint8_t *tag = put_tag(m, (uint8_t)s->head, s->ticks);
	put_addr(m, tag, s->addr);
	put_pool(m, tag, s->head >> 8 & 0xfff);
	put_v(m, s->stack);
	put_v(m, s->size & 0xff);
	put_v(m, s->size >> 8 & 0xff);
	put_v(m, s->size >> 16 & 0xff);
	unsigned ndim = s->size >> 24 & 0xff;
	put_v(m, ndim);
	for (unsigned i = 0; i < ndim; i++)
		put_v(m, word_of(slots, mask, q, i + view));
	if (view)
		put_v(m, word_of(slots, mask, q, 0));
}

static void put_annotation(struct memory *m, const tide_ring_slot *s, const tide_ring_slot *slots,
			   uint64_t mask, uint64_t q)
{
	put_tag(m, (uint8_t)s->head, s->ticks);
	if ((s->head & 0xff) == TIDE_REC_ANNOTATE)
		put_v(m, s->stack);
	put_v(m, s->addr);
	for (uint64_t done = 0; done < s->addr; done += 32) {
		size_t n = s->addr - done < 32 ? (size_t)(s->addr - done) : 32;
		memcpy(m->p, &slots[(q + 1 + done / 32) & mask], n);
		m->p += n;
	}
}

/* Encodes all events except memory events and plain begin and end. */
static void put_rare(struct memory *m, const tide_ring_slot *s, const tide_ring_slot *slots,
		     uint64_t mask, uint64_t q)
{
	uint8_t *tag, type = (uint8_t)s->head;
	uint32_t pool = s->head >> 8 & 0xfff;
	switch (type) {
	case TIDE_REC_SEG_FREE:
		tag = put_tag(m, type, s->ticks);
		put_addr(m, tag, s->addr);
		put_v(m, s->size & 0xffffffffffff);
		put_pool(m, tag, pool);
		break;
	case TIDE_REC_TENSOR:
	case TIDE_REC_VIEW:
		put_tensor(m, s, slots, mask, q);
		break;
	case TIDE_REC_SAMPLE:
		put_tag(m, type, s->ticks);
		put_v(m, s->stack);
		memcpy(m->p, &s->addr, 8);
		m->p += 8;
		break;
	case TIDE_REC_MARK:
		put_tag(m, type, s->ticks);
		put_v(m, s->size & 0xff);
		put_v(m, s->stack);
		m->p = tide__put_z(m->p, (int64_t)s->addr);
		break;
	case TIDE_REC_ANNOTATE:
	case TIDE_REC_DEVICE_LOG:
		put_annotation(m, s, slots, mask, q);
		break;
	case TIDE_REC_OOM:
		tag = put_tag(m, type, s->ticks);
		put_pool(m, tag, pool);
		put_v(m, s->size & INT64_MAX);
		m->p = tide__put_z(m->p, (int64_t)s->addr);
		break;
	}
}

/* Encodes ALLOC and similar events. */
static inline void put_alloc(struct memory *m, const tide_ring_slot *s, const tide_ring_slot *next)
{
	uint8_t type = (uint8_t)s->head;
	uint8_t *tag = put_tag(m, type, s->ticks);
	put_addr(m, tag, s->addr);
	put_v(m, s->size & 0xffffffffffff);
	put_pool_stream(m, tag, s->head >> 8 & 0xfff, (uint32_t)(s->size >> 48));
	if (type == TIDE_REC_SEG_ALLOC)
		put_v(m, s->stack & 0xff); /* the kind */
	else if (type != TIDE_REC_ALLOC)
		put_v(m, s->stack);
	if (type == TIDE_REC_ALLOC_FULL)
		put_v(m, next->ticks);
}

static inline void put_depth(struct memory *m, tide_encoder *e, uint32_t depth, uint64_t ticks)
{
	put_tag(m, TIDE_REC_DEPTH, ticks);
	put_v(m, depth);
	e->depth = depth;
}

/* Encodes BEGIN_FULL in its shortest complete form, because the recording thread has no time to
 * choose. An origin qualifies the number; without a number it is dropped. */
static inline uint32_t shortest(const tide_ring_slot *s, uint64_t *from)
{
	*from = s->addr ? s->size : s->size & 0xffffffff;
	return *from ? TIDE_REC_BEGIN_FULL : s->addr ? TIDE_REC_BEGIN_ARG : TIDE_REC_BEGIN;
}

static inline void put_begin(struct memory *m, const tide_ring_slot *s, uint32_t type)
{
	uint64_t from = 0;
	if (type == TIDE_REC_BEGIN_FULL)
		type = shortest(s, &from);
	put_tag(m, (uint8_t)type, s->ticks);
	put_v(m, s->stack);
	if (type != TIDE_REC_BEGIN)
		put_v(m, s->addr);
	if (type == TIDE_REC_BEGIN_FULL) {
		put_v(m, from & 0xffffffff);
		put_v(m, from >> 32);
	}
}

/* Encodes one event; q is its slot number. */
static inline void put_event(struct memory *m, tide_encoder *e, const tide_ring_slot *s,
			     const tide_ring_slot *slots, uint64_t mask, uint64_t q)
{
	uint32_t type = s->head & 0xff, depth = s->head >> 20;
	e->events += type != TIDE_REC_LANE;
	if (type == TIDE_REC_LANE) {
		put_tag(m, TIDE_REC_LANE, s->ticks);
		put_v(m, (uint32_t)s->addr);
		put_v(m, s->size);
		e->lane = (uint32_t)s->addr;
		e->depth = 0;
		return;
	}
	uint32_t before = depth + (type == TIDE_REC_END); /* the depth of an END is the depth after
	                                                   * it */
	if (before != e->depth)
		put_depth(m, e, before, s->ticks);
	uint8_t *tag;
	switch (type) {
	case TIDE_REC_FREE:
	case TIDE_REC_USE:
		tag = put_tag(m, (uint8_t)type, s->ticks);
		put_addr(m, tag, s->addr);
		put_pool(m, tag, s->head >> 8 & 0xfff);
		break;
	case TIDE_REC_ALLOC:
	case TIDE_REC_ALLOC_STACK:
	case TIDE_REC_ALLOC_FULL:
	case TIDE_REC_SEG_ALLOC:
		put_alloc(m, s, &slots[(q + 1) & mask]);
		break;
	case TIDE_REC_BEGIN:
	case TIDE_REC_BEGIN_ARG:
	case TIDE_REC_BEGIN_FULL:
		put_begin(m, s, type);
		e->depth++;
		break;
	case TIDE_REC_END:
		put_tag(m, TIDE_REC_END, s->ticks);
		e->depth = depth;
		break;
	default:
		put_rare(m, s, slots, mask, q);
	}
}

size_t tide__encode_events(tide_encoder *e, const tide_ring_slot *slots, uint64_t mask,
			   uint64_t head, uint8_t *out)
{
	if (e->next >= head)
		return 0;
	tide_chunk_head h = { .type = TIDE_CHUNK_EVENTS,
			      .ring = e->ring,
			      .lane = e->lane,
			      .first = e->next,
			      .depth = e->depth };
	uint64_t t0 = slots[e->next & mask].ticks;
	h.ticks = t0 > e->ticks ? t0 : e->ticks;
	struct memory m = { .p = out + sizeof h, .ticks = h.ticks };
	const uint8_t *full = out + TIDE_EVENTS_CHUNK - TIDE_RECORD_MAX;
	uint64_t q = e->next;
	while (q < head && m.p <= full) {
		const tide_ring_slot *s = &slots[q & mask];
		uint64_t more = tide__slot_more(s);
		if (more >= head - q) { /* invalid, or it reaches beyond the head */
			e->bad++;
			q++;
			continue;
		}
		put_event(&m, e, s, slots, mask, q);
		q += 1 + more;
	}
	h.slots = q - e->next;
	h.count = m.count;
	e->next = q;
	e->ticks = m.ticks;
	uint32_t n = (uint32_t)(m.p - out - sizeof h);
	tide__chunk_seal(&h, out + sizeof h, n);
	memcpy(out, &h, sizeof h);
	return sizeof h + n;
}
