// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decodes lists of memo reads as a whole.
 *
 * A stack is a list of memo reads, 5 bytes per frame, and 90 % of a snapshot are such lists. A list
 * with the same bytes as an earlier one is the same list: its bytes are looked up as a whole and
 * never decoded again. Programs repeat themselves, so the run that last followed the previous two
 * is tried first, then a hash table. Entries become invalid when a memo entry is replaced
 * (`gen`). */
#include "import/torchsnap/pickle/pickle_vm.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "import/torchsnap/pickle/memo_run.h"

/* ---- memo opcodes ---- */

bool tide__pickle_read_memo(tide_pickle *p, const uint8_t **at, tide_pv v, const uint8_t *op)
{
	uint64_t index;
	switch (**at) {
	case 0x94: /* MEMOIZE */
		index = p->n_memo;
		*at += 1;
		break;
	case 'q': /* BINPUT */
		index = (*at)[1];
		*at += 2;
		break;
	case 'r': /* LONG_BINPUT */
		index = tide__pickle_le32(*at + 1);
		*at += 5;
		break;
	default:
		return true;
	}
	if (index != p->top_memo || p->n_memo != p->top_memo)
		return false; /* not the next entry: setting it could not be undone */
	if (index >= p->cap_memo)
		return tide__pickle_memo_put(p, index, v, op);
	p->top_memo++;
	p->n_memo++;
	return tide__pickle_pack(p, v, &p->memo[index]);
}

bool tide__pickle_read_empty(tide_pickle *p, const uint8_t **at, tide_pv v, tide_pv *out)
{
	const uint8_t *op = *at;
	++*at;
	*out = v;
	return !p->rc && tide__pickle_read_memo(p, at, v, op) && **at != '(';
}

/* ---- runs ---- */

/* Reads the memo entries of a run into the space above the stack and makes a list of them. */
static tide_pv make_run(tide_pickle *p, const uint8_t *at, const uint8_t *end)
{
	size_t base = p->sp, n = 0;
	for (; at < end; n++) {
		bool wide = *at == 'j';
		uint64_t index = wide ? tide__pickle_le32(at + 1) : at[1];
		at += wide ? 5 : 2;
		if (!tide__pickle_grow(p, &p->stack, &p->cap, base + n, sizeof *p->stack))
			return TIDE_PV_NONE;
		tide_pv v = tide__pickle_settle(p, tide__pickle_memo_get(p, index));
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
	p->cap_run_bytes = p->n < RUN_BYTES ? p->n : RUN_BYTES; /* a run is a part of the input */
	p->run_bytes = tide__alloc(p->cap_run_bytes, 1);
	p->run_after = tide__calloc(RUN_SLOTS, sizeof *p->run_after);
	return (p->runs && p->run_bytes && p->run_after) || tide__pickle_nomem(p);
}

/* Returns the run that followed the last two runs when they last occurred in this order. */
static uint16_t *expected(const tide_pickle *p)
{
	uint32_t i = (p->last_runs[0] * 0x9e37u + p->last_runs[1]) & (RUN_SLOTS - 1);
	return &p->run_after[i];
}

static void remember(tide_pickle *p, uint32_t slot)
{
	*expected(p) = (uint16_t)slot;
	p->last_runs[0] = p->last_runs[1];
	p->last_runs[1] = slot;
}

/* Returns the made value of the run [at, end), where *end is the APPENDS that ends it. */
static tide_pv find_run(tide_pickle *p, const uint8_t *at, const uint8_t *end, uint64_t hash)
{
	size_t len = (size_t)(end - at) + 1;
	uint32_t i = (uint32_t)hash & (RUN_SLOTS - 1);
	for (; p->runs[i].len; i = (i + 1) & (RUN_SLOTS - 1))
		if (p->runs[i].hash == hash && p->runs[i].len == len &&
		    run_is(p, &p->runs[i], at, len)) {
			remember(p, i);
			return p->runs[i].made;
		}
	tide_pv made = make_run(p, at, end);
	if (made && p->n_runs < RUN_SLOTS / 2 && len <= p->cap_run_bytes - p->n_run_bytes) {
		p->runs[i] =
			(struct run){ hash, (uint32_t)p->n_run_bytes, (uint32_t)len, p->gen, made };
		memcpy(p->run_bytes + p->n_run_bytes, at, len);
		p->n_run_bytes += len;
		p->n_runs++;
		remember(p, i);
	}
	return made;
}

tide_pv tide__pickle_run_made(tide_pickle *p, const uint8_t *at, const uint8_t *last)
{
	uint64_t hash;
	if (!runs_init(p) ||
	    tide__memo_run_end(at, p->data + p->n, &hash, &(uint64_t){ 0 }) != last || at == last)
		return TIDE_PV_NONE;
	return find_run(p, at, last, hash);
}

const uint8_t *tide__pickle_run(tide_pickle *p, const uint8_t *at, tide_pv *made)
{
	const uint8_t *end = p->data + p->n, *op = at - 1, *memo = at;
	if (end - at < 32 || !runs_init(p))
		return NULL;
	at += *at == 0x94 ? 1 : *at == 'q' ? 2 : *at == 'r' ? 5 : 0;
	if (*at++ != '(')
		return NULL;
	const struct run *guess = &p->runs[*expected(p)];
	if (run_is(p, guess, at, (size_t)(end - at))) {
		remember(p, (uint32_t)(guess - p->runs));
		*made = guess->made;
		at += guess->len;
	} else {
		uint64_t hash;
		const uint8_t *last = tide__memo_run_end(at, end, &hash, &(uint64_t){ 0 });
		if (*last != 'e' || last == at)
			return NULL;
		*made = find_run(p, at, last, hash);
		at = last + 1;
	}
	return *made && tide__pickle_read_memo(p, &memo, *made, op) ? at : NULL;
}

void tide__pickle_fast_free(tide_pickle *p)
{
	tide__free(p->runs);
	tide__free(p->run_bytes);
	tide__free(p->run_after);
	p->runs = NULL;
	p->run_bytes = NULL;
	p->run_after = NULL;
}
