// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/defs.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/guard.h"
#include "runtime/limits.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_TAG = TIDE_REC_NAME, KINDS = TIDE_REC_THREAD - TIDE_REC_NAME };

struct entry {		       /* of the hash table; offset 0 = free */
	uint32_t hash, offset; /* of the record in `text`, + 1 */
};

struct pointer_table { /* open addressing, never more than half full */
	size_t mask, used;
	struct {
		_Atomic(const char *) text;
		_Atomic uint32_t id;
	} at[];
};

static uint8_t *text; /* text_max bytes of address space */
static size_t text_max;
static _Atomic uint64_t used; /* bytes of it that count */
static uint32_t count[KINDS]; /* ids given, by tag - FIRST_TAG */
static struct entry *entries;
static size_t entry_mask, n_entries;
static _Atomic(struct pointer_table *) pointers;
static size_t pointer_bytes;

static const uint8_t *skip_v(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; p && p < end && shift < 64; shift += 7) {
		uint8_t b = *p++;
		*v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return p;
	}
	return NULL;
}

static const uint8_t *skip_all(const uint8_t *p, const uint8_t *end, uint64_t n)
{
	for (uint64_t v; p && n; n--)
		p = skip_v(p, end, &v);
	return p;
}

static const char *wire_of(uint8_t tag)
{
	switch (tag) {
#define R(name, number, txt, wire, fields) \
	case number:                       \
		return wire;
		TIDE_RECORDS(R)
#undef R
	}
	return NULL;
}

size_t tide__def_size(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *start = p;
	const char *wire = p < end ? wire_of(*p++) : NULL;
	if (!wire)
		return 0;
	for (; *wire; wire++) {
		uint64_t v;
		p = skip_v(p, end, &v);
		if (!p)
			return 0;
		if (*wire != 's' && *wire != 'a')
			continue;
		if (v > (uint64_t)(end - p)) /* an element takes a byte or more */
			return 0;
		p = *wire == 's' ? p + v : skip_all(p, end, v);
		if (!p)
			return 0;
	}
	return (size_t)(p - start);
}

/* ---- the hash table ------------------------------------------------------------------------ */

static uint32_t hash_of(uint32_t tag, const void *head, size_t n_head, const void *tail,
			size_t n_tail)
{
	uint64_t h = XXH3_64bits_withSeed(head, n_head, tag);
	if (n_tail)
		h = XXH3_64bits_withSeed(tail, n_tail, h);
	return (uint32_t)(h ^ h >> 32);
}

/* Gets the record at `offset`: its fields after the id, their length, and the id. */
static const uint8_t *fields_of(uint32_t offset, size_t *n, uint32_t *id)
{
	const uint8_t *p = text + offset,
		      *end = text + atomic_load_explicit(&used, memory_order_relaxed);
	size_t size = tide__def_size(p, end);
	uint64_t v = 0;
	const uint8_t *fields = skip_v(p + 1, end, &v);
	*id = (uint32_t)v;
	*n = size - (size_t)(fields - p);
	return fields;
}

static bool same(uint32_t offset, uint32_t tag, const void *head, size_t n_head, const void *tail,
		 size_t n_tail, uint32_t *id)
{
	if (text[offset] != tag)
		return false;
	size_t n;
	const uint8_t *f = fields_of(offset, &n, id);
	return n == n_head + n_tail && !memcmp(f, head, n_head) &&
	       (!n_tail || !memcmp(f + n_head, tail, n_tail));
}

static void put_entry(struct entry *table, size_t mask, uint32_t hash, uint32_t offset)
{
	size_t i = hash & mask;
	while (table[i].offset)
		i = (i + 1) & mask;
	table[i] = (struct entry){ hash, offset + 1 };
}

/* Grows the table so that one more entry keeps it at most half full. */
static bool grow(void)
{
	if (entries && (n_entries + 1) * 2 <= entry_mask + 1)
		return true;
	size_t n = entries ? (entry_mask + 1) * 2 : 1024;
	struct entry *bigger = tide__pages_map(n * sizeof *bigger);
	if (!bigger)
		return false;
	for (size_t i = 0; entries && i <= entry_mask; i++)
		if (entries[i].offset)
			put_entry(bigger, n - 1, entries[i].hash, entries[i].offset - 1);
	if (entries)
		munmap(entries, (entry_mask + 1) * sizeof *entries);
	entries = bigger;
	entry_mask = n - 1;
	return true;
}

/* ---- defining ------------------------------------------------------------------------------ */

static bool open_text(void)
{
	if (text)
		return true;
	uint64_t room = tide__limit_share();
	size_t n = room < TIDE_DEFS_MAX ? (size_t)room : TIDE_DEFS_MAX;
	void *p = n ? mmap(NULL, n, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		    : MAP_FAILED;
	if (p == MAP_FAILED)
		return false;
	text_max = n;
	text = p;
	return true;
}

/* Appends the record to `text` and to the log. Returns 0 if there is no space. */
static uint32_t append(uint32_t tag, uint32_t id, const void *head, size_t n_head, const void *tail,
		       size_t n_tail, tide_ring_file *log)
{
	uint64_t at = atomic_load_explicit(&used, memory_order_relaxed);
	size_t most = 1 + 5 + n_head + n_tail;
	if (most > text_max - at || (log && !tide__log_reserve(log, most)))
		return 0;
	uint8_t *p = text + at;
	*p++ = (uint8_t)tag;
	p = tide__put_v(p, id);
	memcpy(p, head, n_head);
	p += n_head;
	if (n_tail)
		memcpy(p, tail, n_tail);
	p += n_tail;
	if (log)
		tide__log_append(log, text + at, (size_t)(p - (text + at)));
	atomic_store_explicit(&used, (uint64_t)(p - text), memory_order_release);
	return id;
}

uint32_t tide__define(uint32_t tag, const void *head, size_t n_head, const void *tail,
		      size_t n_tail, uint32_t max, tide_ring_file *log)
{
	if (!open_text() || !grow())
		return 0;
	uint32_t hash = hash_of(tag, head, n_head, tail, n_tail), id;
	for (size_t i = hash & entry_mask; entries[i].offset; i = (i + 1) & entry_mask)
		if (entries[i].hash == hash &&
		    same(entries[i].offset - 1, tag, head, n_head, tail, n_tail, &id))
			return id;
	uint32_t *n = &count[tag - FIRST_TAG],
		 at = (uint32_t)atomic_load_explicit(&used, memory_order_relaxed);
	if (*n >= max || !append(tag, *n + 1, head, n_head, tail, n_tail, log))
		return 0;
	put_entry(entries, entry_mask, hash, at);
	n_entries++;
	return ++*n;
}

uint32_t tide__define_stacks(uint32_t parent, const uint32_t *frames, size_t n, tide_ring_file *log)
{
	uint8_t fields[(TIDE_STACKS_MAX + 2) * 5];
	uint32_t *last = &count[TIDE_REC_STACK - FIRST_TAG], first = *last + 1;
	if (n > TIDE_STACKS_MAX || *last >= UINT32_MAX - 1 - n || !open_text())
		return 0;
	uint8_t *p = tide__put_v(fields, parent);
	p = tide__put_v(p, n);
	for (size_t i = 0; i < n; i++)
		p = tide__put_v(p, frames[i]);
	if (!append(TIDE_REC_STACKS, first, fields, (size_t)(p - fields), NULL, 0, log))
		return 0;
	*last += (uint32_t)n;
	return first;
}

bool tide__defs_replay(tide_ring_file *log)
{
	size_t n = (size_t)atomic_load_explicit(&used, memory_order_relaxed);
	if (!n)
		return true;
	if (!tide__log_reserve(log, n))
		return false;
	tide__log_append(log, text, n);
	return true;
}

void tide__defs_rebuild(void)
{
	entries = NULL;
	entry_mask = n_entries = 0;
	memset(count, 0, sizeof count);
	uint64_t end = text ? atomic_load_explicit(&used, memory_order_relaxed) : 0;
	bool room = true; /* without it equal definitions only get new ids */
	for (uint64_t at = 0; at < end;) {
		size_t n;
		uint32_t id, tag = text[at];
		const uint8_t *f = fields_of((uint32_t)at, &n, &id);
		/* Texts were hashed in two parts: the length, then the bytes. */
		uint64_t len;
		const uint8_t *cut = tag == TIDE_REC_NAME ? skip_v(f, f + n, &len) : f + n;
		size_t n_head = (size_t)(cut - f);
		if (tag == TIDE_REC_STACKS) {	      /* these are never looked up */
			cut = skip_v(f, f + n, &len); /* parent */
			skip_v(cut, f + n, &len);
			count[TIDE_REC_STACK - FIRST_TAG] = id + (uint32_t)len - 1;
			at = (uint64_t)(f + n - text);
			continue;
		}
		room = room && grow();
		if (room) {
			put_entry(entries, entry_mask, hash_of(tag, f, n_head, cut, n - n_head),
				  (uint32_t)at);
			n_entries++;
		}
		count[tag - FIRST_TAG] = id;
		at = (uint64_t)(f + n - text);
	}
}

size_t tide__defs_memory(void)
{
	return (size_t)atomic_load_explicit(&used, memory_order_relaxed) +
	       (entries ? (entry_mask + 1) * sizeof *entries : 0) + pointer_bytes;
}

/* ---- static names -------------------------------------------------------------------------- */

static inline size_t pointer_hash(const char *p)
{
	return (size_t)(((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

uint32_t tide__static_find(const char *p)
{
	struct pointer_table *t = atomic_load_explicit(&pointers, memory_order_acquire);
	if (!t)
		return 0;
	for (size_t i = pointer_hash(p) & t->mask;; i = (i + 1) & t->mask) {
		const char *have = atomic_load_explicit(&t->at[i].text, memory_order_acquire);
		if (have == p)
			return atomic_load_explicit(&t->at[i].id, memory_order_relaxed);
		if (!have)
			return 0;
	}
}

static void put_pointer(struct pointer_table *t, const char *p, uint32_t id)
{
	size_t i = pointer_hash(p) & t->mask;
	const char *have;
	while ((have = atomic_load_explicit(&t->at[i].text, memory_order_relaxed)) && have != p)
		i = (i + 1) & t->mask;
	if (have)
		return;
	atomic_store_explicit(&t->at[i].id, id, memory_order_relaxed);
	atomic_store_explicit(&t->at[i].text, p, memory_order_release);
	t->used++;
}

/* Makes a table of twice the size. The old one is not freed: threads may be reading it. */
static struct pointer_table *grow_pointers(struct pointer_table *t)
{
	size_t n = t ? (t->mask + 1) * 2 : 1024, bytes = sizeof *t + n * sizeof t->at[0];
	struct pointer_table *bigger = tide__pages_map(bytes);
	if (!bigger)
		return NULL;
	pointer_bytes += bytes;
	bigger->mask = n - 1;
	for (size_t i = 0; t && i <= t->mask; i++) {
		const char *p = atomic_load_explicit(&t->at[i].text, memory_order_relaxed);
		if (p)
			put_pointer(bigger, p,
				    atomic_load_explicit(&t->at[i].id, memory_order_relaxed));
	}
	return bigger;
}

void tide__static_add(const char *p, uint32_t id)
{
	struct pointer_table *t = atomic_load_explicit(&pointers, memory_order_relaxed);
	if (!t || (t->used + 1) * 2 > t->mask + 1) {
		t = grow_pointers(t);
		if (!t)
			return;
		atomic_store_explicit(&pointers, t, memory_order_release);
	}
	put_pointer(t, p, id);
}
