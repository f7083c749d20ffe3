// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts event dicts to rows: from their items for any pickle, and directly from the bytes for
 * the form that torch and Python's pickler write.
 *
 * That form is `} memo ( key value ... u`, where keys are memo reads that come in the same order
 * from event to event. The keys of the last event are kept as bit patterns (`shape`), so that a key
 * costs one comparison. Anything unexpected undoes the memo entries made so far and leaves the dict
 * to the pickle machine, which then passes its items to tide__snap_make_event. */
#include <string.h>

#include "base/error.h"
#include "import/torchsnap/pickle/memo_run.h"
#include "import/torchsnap/pickle/pickle_vm.h"
#include "import/torchsnap/reader.h"

/* ---- events ---- */

struct event {
	tide_snap_event e;
	tide_snap_extra x;
	unsigned have; /* TIDE_EVENT_* */
};

static bool event_text(tide_snap_reader *r, tide_pickle *p, tide_pv v, tide_str *out)
{
	size_t n;
	const char *text = tide__pickle_text(p, v, &n);
	if (!text)
		return v == tide__pv(TIDE_PV_CONST, 0);
	*out = tide__intern_n(r->m, text, n);
	if (n && !out->i)
		return tide__snap_nomem(r), false;
	return true;
}

static bool event_action(tide_snap_reader *r, tide_pickle *p, tide_pv v, struct event *e)
{
	e->have |= TIDE_EVENT_ACTION;
	if (tide__pv_tag(v) == TIDE_PV_KEY && tide__pv_payload(v) < TIDE_SNAP_UNKNOWN) {
		e->e.action = (uint8_t)tide__pv_payload(v);
		return true;
	}
	e->e.action = TIDE_SNAP_UNKNOWN;
	return event_text(r, p, v, &e->x.action) && e->x.action.i;
}

/* Reads one item of an event. Returns false if its type is wrong. */
static bool event_item(tide_snap_reader *r, tide_pickle *p, tide_pv key, tide_pv v, struct event *e)
{
	int64_t number;
	switch (tide__pv_tag(key) == TIDE_PV_KEY ? tide__pv_payload(key) : (uint64_t)K_N) {
	case K_action:
		return event_action(r, p, v, e);
	case K_addr:
		e->have |= TIDE_EVENT_ADDR;
		return tide__pickle_u64(p, v, &e->e.addr);
	case K_device_free:
		return tide__pickle_u64(p, v, &e->e.addr);
	case K_size:
		e->have |= TIDE_EVENT_SIZE;
		return tide__pickle_u64(p, v, &e->e.size);
	case K_stream:
		return tide__pickle_i64(p, v, &number) &&
		       tide__snap_get_stream(r, number, &e->e.stream);
	case K_time_us:
		return tide__pickle_i64(p, v, &e->e.time_us);
	case K_frames:
		return tide__snap_stack(v, &e->e.stack);
	case K_compile_context:
		if (v == tide__pv(TIDE_PV_KEY, K_no_context))
			return true;
		return event_text(r, p, v, &e->x.context);
	case K_user_metadata:
		return event_text(r, p, v, &e->x.metadata);
	case K_pool_id:
		return tide__snap_pool_id(p, v, &e->x.pool);
	case K_device:
		return true;
	case K_block_size:
		return tide__pickle_u64(p, v, &e->x.block) && e->x.block < TIDE_SNAP_MAX_SIZE;
	default:
		r->unknown_keys++;
		return true;
	}
}

/* Makes a row from a complete event. */
static tide_pv push(tide_snap_reader *r, struct event *e)
{
	tide_snap *s = r->s;
	if (!(e->have & TIDE_EVENT_ADDR))
		e->e.extra |= TIDE_SNAP_NO_ADDR;
	if (s->events.n >= INT32_MAX) {
		r->client.failed =
			tide__fail(r->err, TIDE_ELIMIT, TIDE_NO_OFFSET, "more than 2^31 events");
		return TIDE_PV_NONE;
	}
	if (!TIDE_SNAP_ROOM(s->events))
		return tide__snap_nomem(r);
	s->events.v[s->events.n] = e->e;
	return tide__pv_made(MADE_EVENT, (uint32_t)s->events.n++);
}

tide_pv tide__snap_make_event(tide_snap_reader *r, tide_pickle *p, const tide_pv *kv, size_t n)
{
	struct event e = { .e.time_us = TIDE_SNAP_NO_TIME };
	tide_snap *s = r->s;
	uint64_t unknown = r->unknown_keys;
	for (size_t i = 0; i < n; i += 2)
		if (!event_item(r, p, kv[i], kv[i + 1], &e)) {
			r->unknown_keys = unknown;
			return TIDE_PV_NONE;
		}
	if (!tide__snap_event_sane(&e.e, e.have))
		return TIDE_PV_NONE;
	if (e.x.context.i || e.x.metadata.i || e.x.action.i || e.x.pool || e.x.block) {
		if (!TIDE_SNAP_ROOM(s->extras))
			return tide__snap_nomem(r);
		e.x.event = (uint32_t)s->events.n;
		e.e.extra |= TIDE_SNAP_HAS_EXTRA;
		s->extras.v[s->extras.n++] = e.x;
	}
	return push(r, &e);
}

/* ---- straight from the bytes ---- */

enum { NEAR_END = 256 }; /* no event has more bytes, but for its stack */

/* Reads a memo read at *at: its value, NONE for anything else. */
static tide_pv read_memo(const tide_pickle *p, const uint8_t **at)
{
	uint64_t index;
	if (**at == 'j') {
		index = tide__pickle_le32(*at + 1);
		*at += 5;
	} else if (**at == 'h') {
		index = (*at)[1];
		*at += 2;
	} else {
		return TIDE_PV_NONE;
	}
	return tide__pickle_memo_get(p, index);
}

/* Returns the key at place i of the event; K_N if it is not a keyword's memo read. */
static unsigned read_key(tide_snap_reader *r, const tide_pickle *p, const uint8_t **at, size_t i)
{
	tide_snap_key *k = &r->shape[i];
	if (i < r->n_shape && (tide__load8(*at) & k->mask) == k->want) {
		*at += k->len;
		return k->key;
	}
	const uint8_t *from = *at;
	tide_pv v = read_memo(p, at);
	if (tide__pv_tag(v) != TIDE_PV_KEY)
		return K_N;
	k->len = (uint8_t)(*at - from);
	k->mask = (UINT64_C(1) << (8 * k->len)) - 1;
	k->want = tide__load8(from) & k->mask;
	k->key = (uint8_t)tide__pv_payload(v);
	r->n_shape = i + 1;
	return k->key;
}

/* Reads an integer at *at that fits 64 bits, negative ones as two's complement. */
static bool read_int(const uint8_t **pos, uint64_t *out)
{
	const uint8_t *at = *pos;
	uint64_t x = tide__load8(at + 2);
	unsigned n;
	switch (*at) {
	case 0x8a: /* LONG1 */
		n = at[1];
		if (n > 8 || !n)
			return false;
		*out = (uint64_t)((int64_t)(x << (64 - 8 * n)) >> (64 - 8 * n));
		*pos = at + 2 + n;
		return true;
	case 'J': /* BININT */
		*out = (uint64_t)(int64_t)(int32_t)tide__pickle_le32(at + 1);
		*pos = at + 5;
		return true;
	case 'M': /* BININT2 */
		*out = at[1] | (uint64_t)at[2] << 8;
		*pos = at + 3;
		return true;
	case 'K': /* BININT1 */
		*out = at[1];
		*pos = at + 2;
		return true;
	default:
		return false;
	}
}

static bool read_frames(tide_pickle *p, const uint8_t **at, uint32_t *stack)
{
	tide_pv v;
	if (**at == ']') {
		const uint8_t *after = tide__pickle_run(p, *at + 1, &v);
		if (after)
			*at = after;
		else if (!tide__pickle_read_empty(p, at, tide__pv_made(MADE_STACK, 0), &v))
			return false;
	} else {
		v = tide__pickle_settle(p, read_memo(p, at));
	}
	return tide__snap_stack(v, stack);
}

/* Reads an absent compile_context, which is a separate text in every event; fails for others. */
static bool read_no_context(tide_pickle *p, const uint8_t **at)
{
	const uint64_t text = 0x412f4e038c; /* SHORT_BINUNICODE 3 N/A */
	const tide_pv none = tide__pv(TIDE_PV_KEY, K_no_context);
	if ((tide__load8(*at) & 0xffffffffff) != text)
		return read_memo(p, at) == none;
	const uint8_t *op = *at;
	*at += 5;
	return tide__pickle_read_memo(p, at, none, op);
}

/* Reads an empty text; the last one is recognised by its value. */
static bool read_empty(tide_snap_reader *r, tide_pickle *p, const uint8_t **at)
{
	size_t n;
	tide_pv v = read_memo(p, at);
	if (v && v == r->empty)
		return true;
	if (tide__pv_tag(v) != TIDE_PV_TEXT || !tide__pickle_text(p, v, &n) || n)
		return false;
	r->empty = v;
	return true;
}

/* Reads the pool_id of the default pool: a tuple of two zeroes. */
static bool read_default_pool(tide_pickle *p, const uint8_t **at)
{
	const uint8_t *op = *at;
	if (*op != 'K')
		return read_memo(p, at) == tide__pv(TIDE_PV_PAIR, 0);
	if ((tide__load8(op) & 0xffffffffff) != 0x86004b004b) /* BININT1 0 BININT1 0 TUPLE2 */
		return false;
	*at += 5;
	return tide__pickle_read_memo(p, at, tide__pv(TIDE_PV_PAIR, 0), op);
}

static bool read_item(tide_snap_reader *r, tide_pickle *p, unsigned key, const uint8_t **at,
		      struct event *e)
{
	uint64_t x;
	tide_pv v;
	switch (key) {
	case K_action:
		v = read_memo(p, at);
		e->have |= TIDE_EVENT_ACTION;
		e->e.action = (uint8_t)tide__pv_payload(v);
		return tide__pv_tag(v) == TIDE_PV_KEY && tide__pv_payload(v) < TIDE_SNAP_UNKNOWN;
	case K_addr:
		e->have |= TIDE_EVENT_ADDR;
		return read_int(at, &e->e.addr);
	case K_device_free:
		return read_int(at, &e->e.addr);
	case K_size:
		e->have |= TIDE_EVENT_SIZE;
		return read_int(at, &e->e.size);
	case K_stream:
		return read_int(at, &x) && tide__snap_get_stream(r, (int64_t)x, &e->e.stream);
	case K_time_us:
		if (!read_int(at, &x))
			return false;
		e->e.time_us = (int64_t)x;
		return true;
	case K_frames:
		return read_frames(p, at, &e->e.stack);
	case K_compile_context:
		return read_no_context(p, at);
	case K_user_metadata:
		return read_empty(r, p, at);
	case K_pool_id:
		return read_default_pool(p, at);
	default:
		return false;
	}
}

static bool read_items(tide_snap_reader *r, tide_pickle *p, const uint8_t **at, struct event *e)
{
	const uint8_t *end = p->data + p->n;
	if (r->shape_gen != p->gen) { /* memo entries were replaced */
		r->shape_gen = p->gen;
		r->n_shape = 0;
		r->empty = TIDE_PV_NONE;
	}
	for (size_t i = 0; i < TIDE_SNAP_SHAPE && end - *at >= NEAR_END; i++) {
		if (**at == 'u') {
			++*at;
			return e->have & TIDE_EVENT_ACTION && tide__snap_event_sane(&e->e, e->have);
		}
		unsigned key = read_key(r, p, at, i);
		if (key == K_N || !read_item(r, p, key, at, e))
			return false;
	}
	return false;
}

const uint8_t *tide__snap_read_flat_event(void *user, tide_pickle *p, const uint8_t *at,
					  tide_pv *made)
{
	tide_snap_reader *r = user;
	struct event e; /* its extras stay unset: an event that has some is left to the machine */
	e.e = (tide_snap_event){ .time_us = TIDE_SNAP_NO_TIME };
	e.have = 0;
	const uint8_t *op = at - 1;
	size_t top = p->top_memo, n_memo = p->n_memo;
	if (p->data + p->n - at < NEAR_END || !tide__pickle_read_memo(p, &at, TIDE_PV_NONE, op))
		return NULL;
	bool memoized = p->top_memo > top;
	if (*at == '(' && (at++, read_items(r, p, &at, &e))) {
		*made = push(r, &e);
		/* its entry comes before those of its values; none has read it */
		if (*made && memoized && !tide__pickle_pack(p, *made, &p->memo[top]))
			return NULL;
		if (*made)
			return at;
	}
	p->top_memo = top; /* undo */
	p->n_memo = n_memo;
	return NULL;
}
