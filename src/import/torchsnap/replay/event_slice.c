// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The slice decoder: the form `} memo ( key value ... u`, keys and keywords as memo reads. The
 * code is straight-line on purpose: most of a snapshot's load time is spent here. */
#include "import/torchsnap/replay/event_slice.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "import/torchsnap/pickle/memo_run.h"

enum {
	NEAR_END = 512,	  /* no event has more bytes, except for its stack */
	MOST_READS = 999, /* picklers write lists in batches of 1000: a longer list may continue */
	SLOTS = TIDE_RUNS * 2, /* 2^16 */
	MEMOIZE = 0x94,
	FRAME = 0x95,
};

struct tide_run_slot {
	uint64_t hash;
	uint32_t run; /* + 1; 0 = free */
};

/* ---- words ---- */

static size_t word_slot(const tide_view *v, uint32_t index)
{
	size_t i = (index * 0x9e3779b1u) >> 24;
	while (v->words[i].packed && v->words[i].index != index)
		i = (i + 1) % TIDE_VIEW_WORDS;
	return i;
}

bool tide__view_add(tide_view *v, uint32_t index, uint32_t packed)
{
	if (v->n_words >= TIDE_VIEW_WORDS / 2)
		return false;
	size_t i = word_slot(v, index);
	v->n_words += !v->words[i].packed;
	v->words[i].index = index;
	v->words[i].packed = packed;
	return true;
}

/* Reads a memo read: the byte after it and its index; NULL for anything else. */
static inline const uint8_t *read_get(const uint8_t *p, uint32_t *index)
{
	if (*p == 'j') {
		*index = tide__pickle_le32(p + 1);
		return p + 5;
	}
	*index = p[1];
	return *p == 'h' ? p + 2 : NULL;
}

/* Does the same for a word; *packed is its value. */
static inline const uint8_t *read_word(const tide_view *v, const uint8_t *p, uint32_t *packed)
{
	uint32_t index;
	p = read_get(p, &index);
	*packed = p ? v->words[word_slot(v, index)].packed : 0;
	return *packed ? p : NULL;
}

static inline bool is_word(uint32_t packed, unsigned key)
{
	return packed == (uint32_t)tide__pv(TIDE_PV_KEY, key);
}

/* ---- runs ---- */

bool tide__decoder_init(tide_decoder *d, const uint8_t *data, size_t n)
{
	*d = (tide_decoder){ .data = data, .n = n };
	d->cap_bytes = n / 16 < (16u << 20) ? n / 16 : 16u << 20;
	d->runs = tide__alloc(TIDE_RUNS, sizeof *d->runs);
	d->slots = tide__calloc(SLOTS, sizeof *d->slots);
	d->bytes = tide__alloc(d->cap_bytes + 1, 1);
	d->after = tide__calloc(TIDE_RUNS, sizeof *d->after);
	d->heads = tide__calloc(SLOTS, sizeof *d->heads);
	return d->runs && d->slots && d->bytes && d->after && d->heads;
}

void tide__decoder_free(tide_decoder *d)
{
	tide__free(d->runs);
	tide__free(d->slots);
	tide__free(d->bytes);
	tide__free(d->after);
	tide__free(d->heads);
	*d = (tide_decoder){ 0 };
}

/* Returns the APPENDS that ends a sequence of memo reads; NULL if something else does. */
static const uint8_t *run_end(const uint8_t *at, const uint8_t *end, uint64_t *hash)
{
	uint64_t n;
	at = tide__memo_run_end(at, end, hash, &n);
	return *at == 'e' && n && n <= MOST_READS ? at : NULL;
}

static uint16_t *expected(const tide_decoder *d)
{
	return &d->after[(d->last[0] * 0x9e37u + d->last[1]) % TIDE_RUNS];
}

static void remember(tide_decoder *d, uint32_t run)
{
	*expected(d) = (uint16_t)run;
	d->last[0] = d->last[1];
	d->last[1] = run;
}

/* Handles an unexpected run: finds it or adds it. */
static const uint8_t *other_run(tide_decoder *d, const uint8_t *p, uint32_t *run)
{
	uint64_t hash;
	const uint8_t *last = run_end(p, d->data + d->n, &hash);
	if (!last)
		return NULL;
	uint32_t len = (uint32_t)(last - p) + 1;
	size_t i = hash % SLOTS;
	for (; d->slots[i].run; i = (i + 1) % SLOTS) {
		*run = d->slots[i].run - 1;
		if (d->slots[i].hash == hash && d->runs[*run].len == len &&
		    !memcmp(d->bytes + d->runs[*run].at, p, len)) {
			remember(d, *run);
			return last + 1;
		}
	}
	if (d->n_runs >= TIDE_RUNS - 1 || len > d->cap_bytes - d->n_bytes)
		return NULL; /* too many different runs: not the usual form */
	*run = (uint32_t)d->n_runs++;
	d->runs[*run] =
		(tide_event_slice_run){ (uint64_t)(p - d->data), len, (uint32_t)d->n_bytes };
	d->slots[i] = (struct tide_run_slot){ hash, *run + 1 };
	memcpy(d->bytes + d->n_bytes, p, len);
	d->n_bytes += len;
	remember(d, *run);
	return last + 1;
}

/* Checks whether this run begins at p. */
static inline const uint8_t *try_run(tide_decoder *d, const uint8_t *p, uint32_t run)
{
	if (run >= d->n_runs)
		return NULL;
	const tide_event_slice_run *r = &d->runs[run];
	if (r->len > (size_t)(d->data + d->n - p) || memcmp(d->bytes + r->at, p, r->len) != 0)
		return NULL;
	remember(d, run);
	return p + r->len;
}

/* Finds the run whose memo reads begin at p; returns the byte after its APPENDS. Programs repeat
 * themselves: the run that followed the last two before is tried first, then the one with the
 * same beginning. */
static inline const uint8_t *read_run(tide_decoder *d, const uint8_t *p, uint32_t *run)
{
	*run = *expected(d);
	const uint8_t *after = try_run(d, p, *run);
	if (after || d->data + d->n - p < NEAR_END)
		return after ? after : other_run(d, p, run);
	uint64_t h = (tide__load8(p) ^ tide__load8(p + 8) * 31 ^ tide__load8(p + 16) * 961) *
		     0x9e3779b97f4a7c15u;
	uint16_t *head = &d->heads[h >> 48];
	*run = *head;
	after = try_run(d, p, *run);
	if (!after && (after = other_run(d, p, run)))
		*head = (uint16_t)*run;
	return after;
}

/* ---- values ---- */

static inline const uint8_t *read_int(const uint8_t *p, uint64_t *out)
{
	uint64_t x = tide__load8(p + 2);
	unsigned n;
	switch (*p) {
	case 0x8a: /* LONG1 */
		n = p[1];
		if (n > 8 || !n)
			return NULL;
		*out = (uint64_t)((int64_t)(x << (64 - 8 * n)) >> (64 - 8 * n));
		return p + 2 + n;
	case 'J': /* BININT */
		*out = (uint64_t)(int64_t)(int32_t)tide__pickle_le32(p + 1);
		return p + 5;
	case 'M': /* BININT2 */
		*out = p[1] | (uint64_t)p[2] << 8;
		return p + 3;
	case 'K': /* BININT1 */
		*out = p[1];
		return p + 2;
	default:
		return NULL;
	}
}

static inline const uint8_t *memoize(tide_event_slice *s, const uint8_t *p, uint32_t packed)
{
	if (*p != MEMOIZE)
		return p;
	s->memo[s->n_memo++] = packed; /* space is reserved */
	return p + 1;
}

static uint32_t packed_made(unsigned kind, uint32_t id)
{
	return id << 4 | (PACK_MADE + kind - 1);
}

static inline const uint8_t *read_frames(tide_decoder *d, tide_event_slice *s, const uint8_t *p,
					 uint32_t *stack)
{
	if (*p != ']') {
		p = read_get(p, stack);
		if (*stack & (uint32_t)TIDE_STRETCH_MEMO)
			return NULL;
		*stack |= (uint32_t)TIDE_STRETCH_MEMO;
		return p;
	}
	uint32_t run, *entry = &s->memo[s->n_memo];
	p = memoize(s, p + 1, packed_made(MADE_STACK, 0));
	*stack = 0;
	if (*p != '(')
		return p;
	bool memoized = entry < &s->memo[s->n_memo];
	p = read_run(d, p + 1, &run);
	if (!p)
		return NULL;
	*stack = run + 1;
	if (memoized)
		*entry = packed_made(MADE_STACK, run + 1);
	return p;
}

/* Reads an absent context, metadata or pool; the decoder handles all others. */
static inline const uint8_t *read_no_context(tide_decoder *d, tide_event_slice *s, const uint8_t *p)
{
	const uint64_t text = 0x412f4e038c; /* SHORT_BINUNICODE 3 N/A */
	uint32_t packed;
	if ((tide__load8(p) & 0xffffffffff) == text)
		return memoize(s, p + 5, (uint32_t)tide__pv(TIDE_PV_KEY, K_no_context));
	p = read_word(&d->view, p, &packed);
	return is_word(packed, K_no_context) ? p : NULL;
}

static inline const uint8_t *read_default_pool(tide_decoder *d, tide_event_slice *s,
					       const uint8_t *p)
{
	uint32_t packed;
	if ((tide__load8(p) & 0xffffffffff) == 0x86004b004b) /* BININT1 0 BININT1 0 TUPLE2 */
		return memoize(s, p + 5, (uint32_t)tide__pv(TIDE_PV_PAIR, 0));
	p = read_word(&d->view, p, &packed);
	return packed == (uint32_t)tide__pv(TIDE_PV_PAIR, 0) ? p : NULL;
}

static inline bool find_stream(const tide_view *v, int64_t number, uint16_t *stream)
{
	for (size_t i = 0; i < v->n_streams; i++)
		if (v->streams[i] == number) {
			*stream = (uint16_t)i;
			return true;
		}
	return false;
}

/* ---- events ---- */

static const uint8_t *learn_key(tide_view *v, const uint8_t *p, size_t i)
{
	uint32_t packed;
	const uint8_t *after = read_word(v, p, &packed);
	if (!after || (packed & 15) != TIDE_PV_KEY)
		return NULL;
	tide_snap_key *k = &v->shape[i];
	k->len = (uint8_t)(after - p);
	k->mask = (UINT64_C(1) << (8 * k->len)) - 1;
	k->want = tide__load8(p) & k->mask;
	k->key = (uint8_t)(packed >> 4);
	v->n_shape = i + 1;
	return after;
}

static inline const uint8_t *read_value(tide_decoder *d, tide_event_slice *s, unsigned key,
					const uint8_t *p, tide_snap_event *e, unsigned *have)
{
	uint64_t x;
	uint32_t packed;
	switch (key) {
	case K_action:
		p = read_word(&d->view, p, &packed);
		*have |= TIDE_EVENT_ACTION;
		e->action = (uint8_t)(packed >> 4);
		return (packed & 15) == TIDE_PV_KEY && packed >> 4 < TIDE_SNAP_UNKNOWN ? p : NULL;
	case K_addr:
		*have |= TIDE_EVENT_ADDR;
		return read_int(p, &e->addr);
	case K_size:
		*have |= TIDE_EVENT_SIZE;
		return read_int(p, &e->size);
	case K_stream:
		p = read_int(p, &x);
		return p && find_stream(&d->view, (int64_t)x, &e->stream) ? p : NULL;
	case K_time_us:
		p = read_int(p, &x);
		e->time_us = (int64_t)x;
		return p;
	case K_frames:
		return read_frames(d, s, p, &e->stack);
	case K_compile_context:
		return read_no_context(d, s, p);
	case K_user_metadata:
		p = read_word(&d->view, p, &packed);
		return (packed & 15) == TIDE_PV_TEXT ? p
						     : NULL; /* the view has only the empty text */
	case K_pool_id:
		return read_default_pool(d, s, p);
	default:
		return NULL;
	}
}

/* Reads the event whose dict begins at p; NULL if it is not of the usual form. */
static const uint8_t *read_event(tide_decoder *d, tide_event_slice *s, const uint8_t *p)
{
	const uint8_t *end = d->data + d->n;
	tide_snap_event e = { .time_us = TIDE_SNAP_NO_TIME };
	unsigned have = 0;
	if (p[1] != MEMOIZE || p[2] != '(')
		return NULL;
	s->memo[s->n_memo++] = packed_made(MADE_EVENT, (uint32_t)s->n);
	p += 3;
	for (size_t i = 0; i < TIDE_SNAP_SHAPE && end - p >= NEAR_END; i++) {
		if (*p == 'u') {
			if (!(have & TIDE_EVENT_ACTION) || !tide__snap_event_sane(&e, have))
				return NULL;
			e.extra = have & TIDE_EVENT_ADDR ? 0 : TIDE_SNAP_NO_ADDR;
			s->events[s->n++] = e;
			return p + 1;
		}
		const tide_snap_key *k = &d->view.shape[i];
		if (i < d->view.n_shape && (tide__load8(p) & k->mask) == k->want)
			p += k->len;
		else if (!(p = learn_key(&d->view, p, i)))
			return NULL;
		p = read_value(d, s, k->key, p, &e, &have);
		if (!p)
			return NULL;
	}
	return NULL;
}

/* ---- slices ---- */

static bool room(tide_event_slice *s)
{
	return TIDE_ROOM(s->events, s->cap, s->n + 1) &&
	       TIDE_ROOM(s->memo, s->cap_memo, s->n_memo + TIDE_SNAP_SHAPE + 1);
}

/* Returns true if a frame begins at p and the input holds all of it. */
static bool whole_frame(const tide_decoder *d, const uint8_t *p)
{
	return tide__load8(p + 1) <= (uint64_t)(d->data + d->n - p - 9);
}

bool tide__event_slice_read(tide_decoder *d, tide_event_slice *s, const uint8_t *stop)
{
	const uint8_t *p = s->from, *end = d->data + d->n;
	s->n = s->n_memo = s->appended = 0;
	s->appends = false;
	s->to = p;
	for (; p < stop && end - p >= NEAR_END; s->to = p) {
		if (*p == '}') {
			size_t n_memo = s->n_memo;
			if (!room(s))
				return false;
			__builtin_prefetch(p + 1024);
			__builtin_prefetch(p + 1088);
			__builtin_prefetch(p + 1152);
			__builtin_prefetch(p + 1216);
			p = read_event(d, s, p);
			if (!p) {
				s->n_memo = n_memo;
				return true;
			}
		} else if (p[0] == 'e' && p[1] == '(') {
			p += 2; /* a batch ends and the next begins: the list continues */
			s->appended = s->n;
			s->appends = true;
		} else if (*p == FRAME && whole_frame(d, p)) {
			p += 9;
		} else {
			return true;
		}
	}
	return true;
}

void tide__event_slice_free(tide_event_slice *s)
{
	tide__free(s->events);
	tide__free(s->memo);
	*s = (tide_event_slice){ 0 };
}
