// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The two shapes a snapshot is full of, decoded whole.
 *
 * Runs. A stack is a list of memo reads, 5 bytes a frame, and nine tenths of a snapshot are such
 * lists. A list that was met before, byte for byte, is the same list: its bytes are looked up as a
 * whole and never decoded again. Programs repeat themselves, so the run that came next last time is
 * tried first; then a hash table. Entries are void once a memo entry was replaced (`gen`).
 *
 * Flat dicts. An event is `} memo ( key value key value ... u` with keywords as keys and plain
 * values. It is read in one go, without the machine's stack. Anything unexpected undoes the memo
 * entries made on the way and leaves the dict to the machine. */
#include "import/torchsnap/pickle_vm.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* ---- memo opcodes ---- */

/* An optional memo opcode at *at: *index = the entry it sets, UINT64_MAX if there is none. False if
 * the entry would not be the next one: then it could not be undone. */
static bool memo_op(const tide_pickle *p, const uint8_t **at, uint64_t *index)
{
	*index = p->top_memo;
	switch (**at) {
	case 0x94: /* MEMOIZE */
		*at += 1;
		return p->n_memo == p->top_memo;
	case 'q': /* BINPUT */
		*at += 2;
		return (*at)[-1] == p->top_memo;
	case 'r': /* LONG_BINPUT */
		*at += 5;
		return tide__pickle_le32(*at - 4) == p->top_memo;
	default:
		*index = UINT64_MAX;
		return true;
	}
}

static bool put(tide_pickle *p, uint64_t index, tide_pv v, const uint8_t *at)
{
	if (index == UINT64_MAX)
		return true;
	if (index < p->top_memo) { /* reserved by a dict that is complete now */
		p->memo[index] = v;
		return true;
	}
	return tide__pickle_memo_put(p, index, v, at);
}

/* ---- runs ---- */

/* The end of a sequence of memo reads that starts at `at`, or a place near the input's end; and a
 * hash of it, taken on the way (of most of its bytes: a match is compared in full). */
static const uint8_t *run_end(const uint8_t *at, const uint8_t *end, uint64_t *hash)
{
	const uint64_t mask = 0x0000ff00000000ff, gets = 0x00006a000000006a; /* j....j.. */
	uint64_t h = 0, x;
	while (end - at >= 20) {
		memcpy(&x, at, 8);
		if ((x & mask) == gets) {
			at += 10;
		} else if (*at == 'j') {
			at += 5;
		} else if (*at == 'h') {
			x &= 0xffff;
			at += 2;
		} else {
			break;
		}
		h = (h << 7 | h >> 57) + x;
	}
	*hash = tide__mix(h);
	return at;
}

/* Read the memo entries of a run into the space above the stack and make a list of them. */
static tide_pv make_run(tide_pickle *p, const uint8_t *at, const uint8_t *end)
{
	size_t base = p->sp, n = 0;
	for (; at < end; n++) {
		bool wide = *at == 'j';
		uint64_t index = wide ? tide__pickle_le32(at + 1) : at[1];
		at += wide ? 5 : 2;
		if (index >= p->top_memo ||
		    !tide__pickle_grow(p, &p->stack, &p->cap, base + n, sizeof *p->stack))
			return TIDE_PV_NONE;
		tide_pv v = tide__pickle_settle(p, p->memo[index]);
		if (tide__pv_tag(v) != TIDE_PV_MADE)
			return TIDE_PV_NONE;
		p->stack[base + n] = v;
	}
	if (!n || n % 1000 == 0) /* picklers write lists in batches of 1000: more may follow */
		return TIDE_PV_NONE;
	return p->client->make_list(p->client->user, p, TIDE_PV_NONE, p->stack + base, n);
}

static bool run_is(const tide_pickle *p, const struct run *r, const uint8_t *at, size_t room)
{
	return r->len && r->len <= room && r->gen == p->gen &&
	       !memcmp(p->run_bytes + r->off, at, r->len);
}

static bool runs_init(tide_pickle *p)
{
	if (p->runs)
		return true;
	p->runs = tide__calloc(RUN_SLOTS, sizeof *p->runs);
	p->run_bytes = tide__alloc(RUN_BYTES, 1);
	return (p->runs && p->run_bytes) || tide__pickle_nomem(p);
}

/* The made value of the run [at, end), where *end is the APPENDS that ends it. */
static tide_pv find_run(tide_pickle *p, const uint8_t *at, const uint8_t *end, uint64_t hash)
{
	size_t len = (size_t)(end - at) + 1;
	uint32_t i = (uint32_t)hash & (RUN_SLOTS - 1);
	for (; p->runs[i].len; i = (i + 1) & (RUN_SLOTS - 1))
		if (p->runs[i].hash == hash && p->runs[i].len == len &&
		    run_is(p, &p->runs[i], at, len)) {
			p->runs[p->last_run].next = i;
			p->last_run = i;
			return p->runs[i].made;
		}
	tide_pv made = make_run(p, at, end);
	if (made && p->n_runs < RUN_SLOTS / 2 && len <= RUN_BYTES - p->n_run_bytes) {
		p->runs[i] = (struct run){ hash, (uint32_t)p->n_run_bytes, (uint32_t)len, p->gen, i,
					   made };
		memcpy(p->run_bytes + p->n_run_bytes, at, len);
		p->n_run_bytes += len;
		p->n_runs++;
		p->runs[p->last_run].next = i;
		p->last_run = i;
	}
	return made;
}

const uint8_t *tide__pickle_run(tide_pickle *p, const uint8_t *at, tide_pv *made)
{
	const uint8_t *end = p->data + p->n, *op = at - 1;
	uint64_t index;
	if (end - at < 32 || !memo_op(p, &at, &index) || *at++ != '(' || !runs_init(p))
		return NULL;
	const struct run *guess = &p->runs[p->runs[p->last_run].next];
	if (run_is(p, guess, at, (size_t)(end - at))) {
		p->last_run = (uint32_t)(guess - p->runs);
		*made = guess->made;
		at += guess->len;
	} else {
		uint64_t hash;
		const uint8_t *last = run_end(at, end, &hash);
		if (*last != 'e' || last == at)
			return NULL;
		*made = find_run(p, at, last, hash);
		at = last + 1;
	}
	return *made && put(p, index, *made, op) ? at : NULL;
}

/* ---- flat dicts ---- */

enum { FLAT = 32 }; /* most values of a flat dict */

/* A plain value at *at, which moves past it. NONE: something else. `key` is what it belongs to. */
static tide_pv plain(tide_pickle *p, const uint8_t **pos, const uint8_t *end, tide_pv key)
{
	const uint8_t *op = *pos, *at = op + 1;
	tide_pv v = TIDE_PV_NONE;
	uint64_t index;
	switch (*op) {
	case 'h':
		v = *at < p->top_memo ? p->memo[*at] : TIDE_PV_NONE;
		at += 1;
		break;
	case 'j':
		index = tide__pickle_le32(at);
		v = index < p->top_memo ? p->memo[index] : TIDE_PV_NONE;
		at += 4;
		break;
	case 'K':
		if (at[1] == 'K' && at[3] == 0x86) { /* a pair: TUPLE2 of two small numbers */
			v = tide__pv(TIDE_PV_PAIR, (uint64_t)at[0] << 30 | at[2]);
			at += 4;
			goto memo;
		}
		v = tide__pv(TIDE_PV_INT, *at++);
		break;
	case 'M':
		v = tide__pv(TIDE_PV_INT, tide__pickle_le(at, 2));
		at += 2;
		break;
	case 'J':
		v = tide__pv(TIDE_PV_INT, (uint64_t)(int64_t)(int32_t)tide__pickle_le32(at));
		at += 4;
		break;
	case 0x8a: /* LONG1; a snapshot's are 6 to 8 bytes */
		if (*at > 8)
			return TIDE_PV_NONE;
		v = tide__pickle_long(p, at + 1, *at, op);
		at += 1 + *at;
		break;
	case 0x8c: /* SHORT_BINUNICODE */
		if (*at > 24)
			return TIDE_PV_NONE;
		v = tide__pickle_word(p, at + 1, *at, op);
		at += 1 + *at;
		goto memo;
	case ']': {
		const uint8_t *after = tide__pickle_run(p, at, &v);
		if (after) {
			*pos = after;
			return v;
		}
		if (p->rc || p->client->failed)
			return TIDE_PV_NONE;
		if (!memo_op(p, &at, &index) || *at == '(')
			return TIDE_PV_NONE;
		v = p->client->make_list(p->client->user, p, key, NULL, 0);
		if (!v || !put(p, index, v, op))
			return TIDE_PV_NONE;
		break;
	}
	default:
		return TIDE_PV_NONE;
	}
	*pos = at;
	(void)end;
	return tide__pickle_settle(p, v);
memo:
	if (!memo_op(p, &at, &index) || !put(p, index, v, op))
		return TIDE_PV_NONE;
	*pos = at;
	return v;
}

/* Key and value pairs up to SETITEMS; their number, 0 if it is not a flat dict. */
static size_t pairs(tide_pickle *p, const uint8_t **pos, tide_pv *items)
{
	const uint8_t *at = *pos, *end = p->data + p->n;
	size_t n = 0;
	while (n < FLAT &&
	       end - at >= 64) { /* no plain value is longer, runs look after themselves */
		if (*at == 'u') {
			*pos = at + 1;
			return n;
		}
		if (*at != 'h' && *at != 'j')
			return 0;
		items[n] = plain(p, &at, end, TIDE_PV_NONE);
		if (tide__pv_tag(items[n]) != TIDE_PV_KEY || end - at < 64)
			return 0;
		items[n + 1] = plain(p, &at, end, items[n]);
		if (!items[n + 1])
			return 0;
		n += 2;
	}
	return 0;
}

const uint8_t *tide__pickle_flat(tide_pickle *p, const uint8_t *at, tide_pv *made)
{
	tide_pv items[FLAT];
	const uint8_t *op = at - 1;
	uint64_t index;
	size_t top = p->top_memo, n_memo = p->n_memo;
	if ((size_t)(p->data + p->n - at) < 64 || !memo_op(p, &at, &index) || *at++ != '(')
		return NULL;
	if (index !=
	    UINT64_MAX) { /* its entry comes before those of its values; none may read it */
		if (!tide__pickle_memo_put(p, index, TIDE_PV_NONE, op))
			return NULL;
	}
	size_t n = pairs(p, &at, items);
	*made = n && !p->rc ? p->client->make_dict(p->client->user, p, items, n) : TIDE_PV_NONE;
	if (*made && put(p, index, *made, op))
		return at;
	p->top_memo = top; /* as if nothing had happened */
	p->n_memo = n_memo;
	return NULL;
}

void tide__pickle_fast_free(tide_pickle *p)
{
	tide__free(p->runs);
	tide__free(p->run_bytes);
	p->runs = NULL;
	p->run_bytes = NULL;
}
