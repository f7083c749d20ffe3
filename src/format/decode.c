// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two decoders with one result: a fast one for the records that make up nearly every file, as
 * this version writes them, and a general one by the file's schema for everything else.
 *
 * The fast one reads without looking at the end of the payload (there is padding) and checks once
 * per record that it did not pass it. */
#include "format/decode.h"

#include <string.h>

#include "format/encode.h"
#include "format/varint.h"

void tide__cursor_start(tide_cursor *c, const tide_schema *s, const uint8_t *p, size_t n,
			uint64_t ticks)
{
	memset(c, 0, sizeof *c);
	c->schema = s;
	c->start = c->at = p;
	c->end = p + n;
	c->ticks = ticks;
}

static inline uint64_t add_ticks(uint64_t ticks, uint64_t dt)
{
	return ticks + dt < ticks ? UINT64_MAX : ticks + dt;
}

/* ---- by schema ---- */

/* Updates the state of t, x, p and q, for known and unknown types. Returns false if a value is out
 * of range. */
static bool remember(tide_cursor *c, const tide_record_type *t, unsigned flags, const tide_field *f)
{
	for (size_t i = 0; i < t->n; i++) {
		uint64_t v = f[i].num;
		switch (t->wire[i]) {
		case 't':
			c->ticks = add_ticks(c->ticks, v);
			break;
		case 'x':
			c->addr = flags & TIDE_TAG_RECENT ? c->recent[v] : c->addr + v;
			c->recent[TIDE_RECENT(c->addr)] = c->addr;
			break;
		case 'p':
		case 'q':
			if (!(flags & TIDE_TAG_POOL))
				break;
			if (v > UINT16_MAX)
				return false;
			*(t->wire[i] == 'p' ? &c->pool : &c->stream) = (uint16_t)v;
			break;
		default:
			break;
		}
	}
	return true;
}

static uint64_t at_most(uint64_t requested, uint64_t size)
{
	return requested && requested < size ? requested : size;
}

static bool fill_tensor(tide_event *e, const tide_field *f, uint64_t *kind)
{
	if (f[4].num > UINT8_MAX || f[5].num > UINT8_MAX || f[7].num > UINT8_MAX)
		return false;
	e->stream = (uint16_t)(f[4].num | f[5].num << 8);
	*kind = f[6].num;
	e->size = f[7].num;
	e->bytes = f[7].bytes;
	return true;
}

/* Returns whether sizes are below 2^48 (failed requests below 2^63) and depths below 2^32. */
static bool in_range(const tide_event *e)
{
	switch (e->tag) {
	case TIDE_REC_ALLOC:
	case TIDE_REC_SEG_ALLOC:
	case TIDE_REC_SEG_FREE:
		return e->size >> 48 == 0;
	case TIDE_REC_OOM:
		return e->size >> 63 == 0;
	case TIDE_REC_DEPTH:
		return e->size >> 32 == 0;
	default:
		return true;
	}
}

/* Fills a BEGIN: plain, with an argument, or with an argument, a stack and an origin. */
static bool fill_begin(tide_event *e, unsigned tag, const tide_field *f, uint64_t *kind)
{
	e->tag = TIDE_REC_BEGIN;
	if (tag == TIDE_REC_BEGIN)
		return true;
	e->size = f[2].num;
	*kind = tag == TIDE_REC_BEGIN_FULL ? 2 : 1;
	if (tag == TIDE_REC_BEGIN_ARG)
		return true;
	e->requested = f[3].num | f[4].num << 32;
	return !((f[3].num | f[4].num) >> 32);
}

/* Fills the fields of an allocation. Returns its stack, 0 = none. */
static uint64_t fill_alloc(tide_event *e, unsigned tag, const tide_field *f)
{
	e->tag = TIDE_REC_ALLOC;
	e->size = f[2].num;
	e->requested = tag == TIDE_REC_ALLOC_FULL ? at_most(f[6].num, e->size) : e->size;
	return tag != TIDE_REC_ALLOC ? f[5].num : 0;
}

/* Fills the fields of rare records. END and FREE have no further fields. */
static void fill_rare(tide_event *e, unsigned tag, const tide_field *f, uint64_t *name,
		      uint64_t *kind)
{
	switch (tag) {
	case TIDE_REC_MARK:
		*kind = f[1].num;
		*name = f[2].num;
		e->size = f[3].num;
		break;
	case TIDE_REC_ANNOTATE:
		*name = f[1].num;
		e->size = f[2].num;
		e->bytes = f[2].bytes;
		break;
	case TIDE_REC_DEVICE_LOG:
		e->size = f[1].num;
		e->bytes = f[1].bytes;
		break;
	case TIDE_REC_OOM:
		e->size = f[2].num;
		e->addr = f[3].num;
		break;
	case TIDE_REC_DEPTH:
		e->size = f[1].num;
		break;
	default:
		break;
	}
}

/* Fills the fields by their place in TIDE_RECORDS. Returns false if a value is out of range. */
static bool fill(tide_event *e, unsigned tag, const tide_field *f)
{
	uint64_t name = 0, kind = 0;
	switch (tag) {
	case TIDE_REC_LANE:
	case TIDE_REC_SAMPLE:
		name = f[1].num;
		e->size = f[2].num;
		break;
	case TIDE_REC_BEGIN_FULL:
	case TIDE_REC_BEGIN_ARG:
	case TIDE_REC_BEGIN:
		name = f[1].num;
		if (!fill_begin(e, tag, f, &kind))
			return false;
		break;
	case TIDE_REC_ALLOC:
	case TIDE_REC_ALLOC_STACK:
	case TIDE_REC_ALLOC_FULL:
		name = fill_alloc(e, tag, f);
		break;
	case TIDE_REC_SEG_ALLOC:
		kind = f[5].num;
		/* fall through */
	case TIDE_REC_SEG_FREE:
		e->size = f[2].num;
		break;
	case TIDE_REC_TENSOR:
	case TIDE_REC_VIEW:
		name = f[3].num;
		if (!fill_tensor(e, f, &kind))
			return false;
		break;
	default:
		fill_rare(e, tag, f, &name, &kind);
	}
	e->name = (uint32_t)name;
	e->kind = (uint8_t)kind;
	return name <= UINT32_MAX && kind <= UINT8_MAX && in_range(e);
}

/* Decodes the record at c->at. Returns 1 if *e is an event, 0 if it was skipped, -1 if it is
 * malformed. */
static int decode_any(tide_cursor *c, tide_event *e)
{
	tide_field f[TIDE_FIELDS_MAX];
	unsigned tag = *c->at & TIDE_TAG_MASK, flags = *c->at & ~TIDE_TAG_MASK;
	const tide_record_type *t = &c->schema->types[tag];
	const uint8_t *p = t->n ? tide__fields_read(t, flags, c->at + 1, c->end, f) : NULL;
	c->bad = !p || !remember(c, t, flags, f);
	if (c->bad)
		return -1;
	*e = (tide_event){ .ticks = c->ticks,
			   .addr = c->addr,
			   .pool = c->pool,
			   .stream = c->stream,
			   .tag = (uint8_t)tag };
	bool wanted = t->known && tag <= TIDE_REC_USE;
	if (wanted && !fill(e, tag, f)) {
		c->bad = true;
		return -1;
	}
	c->at = p;
	c->records++;
	c->skipped += !wanted;
	return wanted;
}

/* ---- the fast ones ---- */

struct fast {
	const uint8_t *p;
	uint64_t ticks, addr, pool, stream;
	bool bad;
};

static inline uint64_t take(struct fast *s)
{
	uint64_t v;
	s->p = tide__varint(s->p, &v, &s->bad);
	return v;
}

static inline void take_addr(struct fast *s, unsigned tag, uint64_t *recent)
{
	if (tag & TIDE_TAG_RECENT)
		s->addr = recent[*s->p++];
	else
		s->addr += (uint64_t)tide__unzigzag(take(s));
	recent[TIDE_RECENT(s->addr)] = s->addr;
}

/* Decodes ALLOC, ALLOC_STACK and ALLOC_FULL. `wide` receives values that do not fit their field. */
static inline void fast_alloc(struct fast *s, unsigned tag, tide_event *e, uint64_t *recent,
			      uint64_t *wide)
{
	take_addr(s, tag, recent);
	e->size = e->requested = take(s);
	if (tag & TIDE_TAG_POOL) {
		s->pool = take(s);
		s->stream = take(s);
	}
	e->tag = TIDE_REC_ALLOC;
	e->name = 0;
	*wide = e->size >> 48;
	tag &= TIDE_TAG_MASK;
	if (tag == TIDE_REC_ALLOC)
		return;
	uint64_t stack = take(s);
	e->name = (uint32_t)stack;
	*wide |= stack >> 32;
	if (tag == TIDE_REC_ALLOC_FULL)
		e->requested = at_most(take(s), e->size);
}

static inline void fast_begin(struct fast *s, unsigned tag, tide_event *e, uint64_t *wide)
{
	uint64_t name = take(s);
	e->tag = TIDE_REC_BEGIN;
	e->name = (uint32_t)name;
	*wide = name >> 32;
	tag &= TIDE_TAG_MASK;
	e->kind = tag == TIDE_REC_BEGIN_FULL ? 2 : tag == TIDE_REC_BEGIN_ARG;
	if (e->kind)
		e->size = take(s);
	if (e->kind < 2)
		return;
	uint64_t stack = take(s), origin = take(s);
	e->requested = stack | origin << 32;
	*wide |= (stack | origin) >> 32;
}

/* Decodes one record. Returns false if it needs the slow path. */
static inline bool fast_one(struct fast *s, tide_event *e, uint64_t *recent, uint64_t *wide)
{
	unsigned tag = *s->p++;
	s->ticks = add_ticks(s->ticks, take(s));
	switch (tag & TIDE_TAG_MASK) {
	case TIDE_REC_ALLOC:
	case TIDE_REC_ALLOC_STACK:
	case TIDE_REC_ALLOC_FULL:
		fast_alloc(s, tag, e, recent, wide);
		return true;
	case TIDE_REC_FREE:
	case TIDE_REC_USE:
		take_addr(s, tag, recent);
		if (tag & TIDE_TAG_POOL)
			s->pool = take(s);
		e->tag = tag & TIDE_TAG_MASK;
		return true;
	case TIDE_REC_BEGIN:
	case TIDE_REC_BEGIN_ARG:
	case TIDE_REC_BEGIN_FULL:
		fast_begin(s, tag, e, wide);
		return true;
	case TIDE_REC_END:
		e->tag = TIDE_REC_END;
		return true;
	default:
		return false;
	}
}

/* Decodes events from c->at on until `room`, the end, or a record that has no fast decoder or is
 * malformed: decode_any handles that one. (A malformed one may already have written to
 * `recent`; decode_any then fails as well, and nothing reads it afterwards.) */
static size_t decode_fast(tide_cursor *c, tide_event *out, size_t room)
{
	struct fast s = { c->at, c->ticks, c->addr, c->pool, c->stream, false }, good = s;
	size_t n = 0;
	while (n < room && s.p < c->end) {
		tide_event *e = &out[n];
		uint64_t wide = 0;
		if (!fast_one(&s, e, c->recent, &wide))
			break;
		if (__builtin_expect(s.bad || s.p > c->end || wide || (s.pool | s.stream) >> 16, 0))
			break;
		e->ticks = s.ticks;
		e->addr = s.addr;
		e->pool = (uint16_t)s.pool;
		e->stream = (uint16_t)s.stream;
		good = s;
		n++;
	}
	c->at = good.p;
	c->ticks = good.ticks;
	c->addr = good.addr;
	c->pool = (uint16_t)good.pool;
	c->stream = (uint16_t)good.stream;
	c->records += n;
	return n;
}

size_t tide__events_decode(tide_cursor *c, tide_event *out, size_t room)
{
	size_t n = 0;
	while (n < room && c->at < c->end && !c->bad) {
		if (c->schema->plain)
			n += decode_fast(c, out + n, room - n);
		if (n == room || c->at >= c->end)
			break;
		int got = decode_any(c, &out[n]);
		if (got < 0)
			break;
		n += (size_t)got;
	}
	return n;
}
