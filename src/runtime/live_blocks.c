// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/live_blocks.h"

#include <string.h>
#include <sys/mman.h>

#include "format/device_log.h"
#include "format/encode.h"
#include "format/tide.h"

enum { /* kind of an entry; entries of different kinds never match */
       BLOCK,
       FREED, /* no slots, only the time */
       SEGMENT,
       LABEL,
       NOTE,
       DEVICE_BLOCK,
       DEVICE_OWN,
       DEVICE_POOL,
};
enum { FIRST_ENTRIES = 1 << 12, FIRST_SLOTS = 1 << 13, LOG_SLOTS = 1 + 4096 / 32 };

struct entry {
	uint64_t addr;	/* 0 and kind 0: free place */
	uint64_t ticks; /* of the event */
	uint32_t key;	/* kind + 1, pool << 8 */
	uint32_t slot;	/* index of the event's first slot */
	uint32_t n;	/* slots; FREED: 0 */
	uint32_t pad;
};

static struct {
	struct entry *at;
	size_t mask, n;
	tide_ring_slot *slots; /* slots in order of arrival; those of removed entries are garbage */
	size_t n_slots, cap_slots, live_slots;
	uint64_t lost, since;
	tide_ring_slot *out; /* of tide__carry_all */
	size_t out_bytes;
} carry;

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

void tide__carry_reset(void)
{
	unmap(carry.at, (carry.mask + 1) * sizeof *carry.at);
	unmap(carry.slots, carry.cap_slots * sizeof *carry.slots);
	unmap(carry.out, carry.out_bytes);
	memset(&carry, 0, sizeof carry);
}

/* ---- entries ------------------------------------------------------------------------------- */

static size_t place(uint64_t addr, uint32_t key)
{
	return (size_t)((addr ^ (uint64_t)key << 40) * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
	       carry.mask;
}

static struct entry *find(uint64_t addr, uint32_t key)
{
	if (!carry.at)
		return NULL;
	for (size_t i = place(addr, key); carry.at[i].key; i = (i + 1) & carry.mask)
		if (carry.at[i].addr == addr && carry.at[i].key == key)
			return &carry.at[i];
	return NULL;
}

static bool grow(void)
{
	struct entry *old = carry.at;
	size_t slots = old ? (carry.mask + 1) * 2 : FIRST_ENTRIES, had = old ? carry.mask + 1 : 0;
	struct entry *more = map(slots * sizeof *more);
	if (!more)
		return false;
	carry.at = more;
	carry.mask = slots - 1;
	for (size_t k = 0; k < had; k++) {
		if (!old[k].key)
			continue;
		size_t i = place(old[k].addr, old[k].key);
		while (more[i].key)
			i = (i + 1) & carry.mask;
		more[i] = old[k];
	}
	unmap(old, had * sizeof *old);
	return true;
}

/* Removes an entry and closes the gap: later entries that belong before it move up. */
static void drop(struct entry *e)
{
	size_t i = (size_t)(e - carry.at);
	carry.live_slots -= e->n;
	carry.n--;
	for (size_t k = (i + 1) & carry.mask; carry.at[k].key; k = (k + 1) & carry.mask) {
		size_t want = place(carry.at[k].addr, carry.at[k].key);
		if (((k - want) & carry.mask) >= ((k - i) & carry.mask)) {
			carry.at[i] = carry.at[k];
			i = k;
		}
	}
	memset(&carry.at[i], 0, sizeof carry.at[i]);
}

/* Drops frees that are so old that every ring has been read since. */
static void drop_freed(uint64_t since)
{
	for (size_t i = 0; carry.at && i <= carry.mask;)
		if (carry.at[i].key && !carry.at[i].n && carry.at[i].ticks < since)
			drop(&carry.at[i]); /* another one may have moved here */
		else
			i++;
}

static struct entry *add(uint64_t addr, uint32_t key)
{
	if (carry.at && (carry.n + 1) * 2 > carry.mask)
		drop_freed(carry.since);
	if ((!carry.at || (carry.n + 1) * 4 > carry.mask) && !grow())
		return NULL;
	size_t i = place(addr, key);
	while (carry.at[i].key)
		i = (i + 1) & carry.mask;
	carry.n++;
	carry.at[i] = (struct entry){ .addr = addr, .key = key };
	return &carry.at[i];
}

static uint32_t key_of(unsigned kind, uint32_t head)
{
	return kind + 1 + (head & 0xfff00);
}

/* ---- slots --------------------------------------------------------------------------------- */

/* Makes space for n more slots: removes garbage, then doubles the buffer. */
static bool make_room(size_t n)
{
	if (carry.n_slots + n <= carry.cap_slots)
		return true;
	size_t cap = carry.cap_slots ? carry.cap_slots : FIRST_SLOTS;
	while (carry.live_slots + n > cap / 2)
		cap *= 2;
	tide_ring_slot *to = map(cap * sizeof *to);
	if (!to || cap > UINT32_MAX)
		return unmap(to, cap * sizeof *to), false;
	size_t used = 0;
	for (size_t i = 0; carry.at && i <= carry.mask; i++) {
		struct entry *e = &carry.at[i];
		if (!e->key || !e->n)
			continue;
		memcpy(&to[used], &carry.slots[e->slot], e->n * sizeof *to);
		e->slot = (uint32_t)used;
		used += e->n;
	}
	unmap(carry.slots, carry.cap_slots * sizeof *carry.slots);
	carry.slots = to;
	carry.cap_slots = cap;
	carry.n_slots = used;
	return true;
}

/* Adds an event of n slots, starting at slot q of a ring. */
static void append(uint64_t addr, uint32_t key, const tide_ring_slot *slots, uint64_t mask,
		   uint64_t q, uint32_t n)
{
	struct entry *e;
	if (!make_room(n) || !(e = add(addr, key))) {
		carry.lost++;
		return;
	}
	e->ticks = slots[q & mask].ticks;
	e->slot = (uint32_t)carry.n_slots;
	e->n = n;
	for (uint32_t i = 0; i < n; i++)
		carry.slots[carry.n_slots + i] = slots[(q + i) & mask];
	carry.slots[e->slot].head &= 0xfffff; /* no op is open here */
	carry.n_slots += n;
	carry.live_slots += n;
}

/* Adds an event, replacing an older one with the same key. */
static void keep(uint64_t addr, uint32_t key, const tide_ring_slot *slots, uint64_t mask,
		 uint64_t q, uint32_t n)
{
	struct entry *e = find(addr, key);
	if (e && e->ticks > slots[q & mask].ticks)
		return;
	if (e)
		drop(e);
	append(addr, key, slots, mask, q, n);
}

static void forget(uint64_t addr, uint32_t key, uint64_t ticks)
{
	struct entry *e = find(addr, key);
	if (e && e->ticks <= ticks)
		drop(e);
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* Rings are drained one after the other, so one thread's frees may come before another's
 * allocations, and the same address several times. After all rings were drained, the last event of
 * an address decides: its last allocation and its last free are kept, and the block is live if the
 * allocation is later. */
static void block_taken(uint32_t head, const tide_ring_slot *slots, uint64_t mask, uint64_t q,
			uint32_t n)
{
	const tide_ring_slot *s = &slots[q & mask];
	const struct entry *freed = find(s->addr, key_of(FREED, head));
	if (!freed || freed->ticks <= s->ticks)
		keep(s->addr, key_of(BLOCK, head), slots, mask, q, n);
}

static void block_given(uint64_t addr, uint32_t head, uint64_t ticks, bool several)
{
	struct entry *e;
	forget(addr, key_of(BLOCK, head), ticks);
	forget(addr, key_of(LABEL, head), ticks);
	if (!several)
		return;
	e = find(addr, key_of(FREED, head));
	if (!e)
		e = add(addr, key_of(FREED, head));
	if (e && e->ticks < ticks)
		e->ticks = ticks;
}

/* ---- device memory ------------------------------------------------------------------------- */

static void keep_record(uint64_t addr, unsigned kind, const tide_device_rec *r, uint64_t ticks,
			size_t fields)
{
	tide_device_log l = { .n = 0 };
	tide_ring_slot s[LOG_SLOTS];
	if (!tide__device_log_put(&l, r->kind, r->t, r->v, fields))
		return;
	memset(s, 0, sizeof s);
	s[0] = (tide_ring_slot){ .ticks = ticks, .addr = l.n, .head = TIDE_REC_DEVICE_LOG };
	memcpy(&s[1], l.bytes, l.n);
	keep(addr, kind + 1, s, UINT64_MAX, 0, 1 + (uint32_t)((l.n + 31) / 32));
}

static void follow_device(const tide_ring_slot *slots, uint64_t mask, uint64_t q)
{
	uint8_t bytes[4096];
	const tide_ring_slot *s = &slots[q & mask];
	size_t n = (size_t)s->addr, at = 0;
	int64_t t = 0;
	tide_device_rec r;
	for (size_t done = 0; done < n; done += 32)
		memcpy(bytes + done, &slots[(q + 1 + done / 32) & mask],
		       n - done < 32 ? n - done : 32);
	while (tide__device_log_next(bytes, n, &at, &t, &r)) {
		if (r.kind == TIDE_DEVICE_REC_ALLOC)
			keep_record(r.v[2], DEVICE_BLOCK, &r, s->ticks, 7);
		else if (r.kind == TIDE_DEVICE_REC_FREE)
			forget(r.v[2], DEVICE_BLOCK + 1, s->ticks);
		else if (r.kind == TIDE_DEVICE_REC_OWN)
			keep_record(r.v[0], DEVICE_OWN, &r, s->ticks, 2);
		else if (r.kind == TIDE_DEVICE_REC_POOL)
			keep_record(r.v[2], DEVICE_POOL, &r, s->ticks, 5);
	}
}

/* ---- following ----------------------------------------------------------------------------- */

void tide__carry_follow(const tide_ring_slot *slots, uint64_t mask, uint64_t from, uint64_t to,
			bool several, uint64_t since)
{
	carry.since = since;
	for (uint64_t q = from; q < to;) {
		const tide_ring_slot *s = &slots[q & mask];
		uint64_t more = tide__slot_more(s);
		if (more >= to - q) { /* invalid: it is not written either */
			q++;
			continue;
		}
		uint32_t n = (uint32_t)more + 1;
		switch (s->head & 0xff) {
		case TIDE_REC_ALLOC:
		case TIDE_REC_ALLOC_STACK:
		case TIDE_REC_ALLOC_FULL:
			block_taken(s->head, slots, mask, q, n);
			break;
		case TIDE_REC_FREE:
			block_given(s->addr, s->head, s->ticks, several);
			break;
		case TIDE_REC_SEG_ALLOC:
			keep(s->addr, key_of(SEGMENT, s->head), slots, mask, q, n);
			break;
		case TIDE_REC_SEG_FREE:
			forget(s->addr, key_of(SEGMENT, s->head), s->ticks);
			break;
		case TIDE_REC_TENSOR:
			keep(s->addr, key_of(LABEL, s->head), slots, mask, q, n);
			break;
		case TIDE_REC_ANNOTATE:
			keep(s->stack, key_of(NOTE, 0), slots, mask, q, n);
			break;
		case TIDE_REC_DEVICE_LOG:
			follow_device(slots, mask, q);
			break;
		default:
			break;
		}
		q += n;
	}
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Orders by time; a label has at least its block's time and follows it. */
static bool before(const struct entry *a, const struct entry *b)
{
	return a->ticks != b->ticks ? a->ticks < b->ticks : (a->key & 0xff) < (b->key & 0xff);
}

/* Heap sort: qsort may call malloc, which this thread must not. */
static void sift(struct entry *v, size_t i, size_t n)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && before(&v[child], &v[child + 1]))
			child++;
		if (!before(&v[i], &v[child]))
			return;
		struct entry t = v[i];
		v[i] = v[child];
		v[child] = t;
	}
}

static void sort(struct entry *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n);
	for (size_t end = n; end-- > 1;) {
		struct entry t = v[0];
		v[0] = v[end];
		v[end] = t;
		sift(v, 0, end);
	}
}

const tide_ring_slot *tide__carry_all(uint64_t since, size_t *n, uint64_t *lost)
{
	*n = 0;
	*lost = carry.lost;
	drop_freed(since);
	unmap(carry.out, carry.out_bytes);
	carry.out_bytes = (carry.live_slots + carry.n) * sizeof *carry.out;
	carry.out = carry.out_bytes ? map(carry.out_bytes) : NULL;
	size_t index_bytes = carry.n * sizeof(struct entry), k = 0;
	struct entry *sorted = carry.out ? map(index_bytes) : NULL;
	if (!sorted) {
		*lost += carry.n;
		return NULL;
	}
	for (size_t i = 0; i <= carry.mask; i++)
		if (carry.at[i].key)
			sorted[k++] = carry.at[i];
	sort(sorted, k);
	for (size_t i = 0; i < k; i++) {
		const struct entry *e = &sorted[i];
		if (!e->n) {
			carry.out[(*n)++] =
				(tide_ring_slot){ .ticks = e->ticks,
						  .addr = e->addr,
						  .head = TIDE_REC_FREE | (e->key & 0xfff00) };
			continue;
		}
		memcpy(&carry.out[*n], &carry.slots[e->slot], e->n * sizeof *carry.out);
		*n += e->n;
	}
	unmap(sorted, index_bytes);
	return carry.out;
}
