// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads with pread, block by block: one ring's waiting slots at a time are in memory, then only
 * what they encode to. The process may still be alive and recording; slots that it overwrites
 * meanwhile are detected by reading the ring's head again, and counted as missing. */
#include "format/rings_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "format/encode.h"
#include "format/rings.h"
#include "format/varint.h"

#define RING_MAX \
	((UINT64_C(1) << 30) / sizeof(tide_ring_slot)) /* slots: the recorder's own limit */
#define LOG_MAX (UINT64_C(1) << 32)		       /* bytes of definitions */
enum { DEFS_CHUNK = 1 << 20 };

struct rings {
	int fd;
	uint64_t size;
	tide_rings_head head;
	const tide_schema *schema;
	tide_ring_end (*ends)(void *user, uint32_t ring);
	void *user;
	tide_tail *tail;
	tide_payload log; /* definitions not in the file: stream bytes [log_at, log_at + log.n) */
	uint64_t log_at, log_end;
	uint32_t last_ring; /* number of the previous RING block */
	tide_payload loss;  /* LOST records */
	uint32_t n_loss;
};

/* ---- bytes ---- */

static bool append(tide_payload *p, const void *bytes, size_t n)
{
	if (!TIDE_ROOM(p->bytes, p->cap, p->n + n))
		return false;
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
	return true;
}

/* Reads up to n bytes at `at`. Returns how many there were. */
static size_t read_some(const struct rings *r, void *buf, size_t n, uint64_t at)
{
	size_t have;
	tide__input_read_at(r->fd, buf, n, at, &have);
	return have;
}

static bool add_chunk(struct rings *r, tide_chunk_head h, const void *payload, size_t n)
{
	tide__chunk_seal(&h, payload, (uint32_t)n);
	return append(&r->tail->bytes, &h, sizeof h) && append(&r->tail->bytes, payload, n);
}

/* ---- one ring ---- */

/* Copies slots [from, to) into a new array, slot q at index q & mask as in the ring. */
static tide_ring_slot *read_slots(const struct rings *r, uint64_t data, uint64_t slots,
				  uint64_t from, uint64_t to)
{
	tide_ring_slot *s = tide__calloc((size_t)slots, sizeof *s);
	if (!s)
		return NULL;
	while (from < to) {
		uint64_t i = from & (slots - 1), n = slots - i;
		if (n > to - from)
			n = to - from;
		read_some(r, s + i, (size_t)n * sizeof *s, data + i * sizeof *s);
		from += n;
	}
	return s;
}

static bool encode(struct rings *r, tide_encoder *e, const tide_ring_slot *s, uint64_t mask,
		   uint64_t to)
{
	uint8_t *out = tide__alloc(1, TIDE_EVENTS_CHUNK);
	bool ok = out;
	size_t n;
	while (ok && (n = tide__encode_events(e, s, mask, to, out)) > 0)
		ok = append(&r->tail->bytes, out, n);
	tide__free(out);
	return ok;
}

static bool add_loss(struct rings *r, uint64_t ring, uint64_t full, uint64_t sig, uint64_t other)
{
	uint8_t rec[64], *p = rec;
	if (!(full | sig | other))
		return true;
	*p++ = TIDE_REC_LOST;
	p = tide__put_v(p, ring);
	p = tide__put_v(p, full);
	p = tide__put_v(p, sig);
	p = tide__put_v(p, other);
	r->n_loss++;
	return append(&r->loss, rec, (size_t)(p - rec));
}

/* Takes the events of this ring that the writer had not yet written. */
static bool take_ring(struct rings *r, const tide_block_head *b, uint64_t at)
{
	tide_tail *t = r->tail;
	uint64_t slots = b->slots;
	if (b->ring <= r->last_ring || !slots || slots & (slots - 1) || slots > RING_MAX ||
	    slots > b->capacity / sizeof(tide_ring_slot)) {
		t->bad++;
		return true;
	}
	r->last_ring = b->ring; /* rings are numbered in the order of their blocks */
	tide_ring_end end = r->ends(r->user, b->ring);
	uint64_t from = end.next > b->tail ? end.next : b->tail, to = b->head;
	if (from > end.next && to >= end.next && to - end.next <= slots)
		from = end.next; /* written since the file was read, or lost there, but still in the
		                  * ring */
	if (!add_loss(r, b->ring, b->lost_full, b->lost_signal, b->lost_other))
		return false;
	if (from >= to && b->tail <= end.next)
		return true;
	if (from > to || to - from > slots) {
		t->bad++;
		return true;
	}
	tide_ring_slot *s = read_slots(r, at + sizeof *b, slots, from, to);
	if (!s)
		return false;
	tide_block_head now; /* count slots that were overwritten meanwhile */
	if (read_some(r, &now, sizeof now, at) == sizeof now && now.head > slots &&
	    now.head - slots > from && now.head - slots <= to)
		from = now.head - slots;
	t->missing += from - end.next;
	tide_encoder e = { .ring = b->ring,
			   .lane = end.lane,
			   .depth = end.depth,
			   .next = from,
			   .ticks = end.ticks };
	bool ok = encode(r, &e, s, slots - 1, to);
	t->events += e.events;
	t->bad += e.bad;
	tide__free(s);
	return ok;
}

/* ---- the definitions log ---- */

static bool take_log(struct rings *r, const tide_block_head *b, uint64_t at)
{
	uint64_t used = r->head.log_used, from = r->log_end, to = b->first + b->capacity;
	if (to < b->first || to <= from || b->first > used)
		return true; /* the file has it all */
	if (to > used)
		to = used;
	if (b->first > from) {
		r->tail->log_gap += b->first - from;
		return true; /* a gap: later ids would be out of order */
	}
	if (to <= from || to - r->log_at > LOG_MAX)
		return true;
	uint64_t n = to - from, skip = from - b->first;
	uint8_t *buf = tide__alloc((size_t)n, 1);
	if (!buf)
		return false;
	size_t got = read_some(r, buf, (size_t)n, at + sizeof *b + skip);
	bool ok = append(&r->log, buf, got);
	r->log_end += got;
	tide__free(buf);
	return ok;
}

/* Returns the length of the record at p, 0 if it is incomplete. */
static size_t record_size(const tide_schema *s, const uint8_t *p, const uint8_t *end)
{
	tide_field f[TIDE_FIELDS_MAX];
	const tide_record_type *t = p < end && *p < TIDE_TAGS ? &s->types[*p] : NULL;
	const uint8_t *next = t && t->n ? tide__fields_read(t, 0, p + 1, end, f) : NULL;
	return next ? (size_t)(next - p) : 0;
}

/* Adds the log as DEFS chunks, divided between records. */
static bool add_defs(struct rings *r)
{
	static const uint8_t zero[TIDE_PAD];
	size_t n = r->log.n;
	if (!append(&r->log, zero, sizeof zero))
		return false;
	const uint8_t *p = r->log.bytes, *end = p + n;
	uint64_t first = r->log_at;
	while (p < end) {
		const uint8_t *from = p;
		tide_chunk_head h = { .type = TIDE_CHUNK_DEFS, .first = first };
		for (size_t size;
		     p - from < DEFS_CHUNK && (size = record_size(r->schema, p, end)) != 0;
		     p += size)
			h.count++;
		if (p == from) { /* truncated or invalid */
			r->tail->log_gap += (uint64_t)(end - p);
			return true;
		}
		h.slots = (uint64_t)(p - from);
		first += h.slots;
		if (h.slots > TIDE_CHUNK_RAW_MAX || !add_chunk(r, h, from, (size_t)h.slots))
			return false;
	}
	return true;
}

/* ---- the file ---- */

typedef bool take_fn(struct rings *r, const tide_block_head *b, uint64_t at);

/* Visits every block of one type. */
static bool walk(struct rings *r, uint32_t type, take_fn *take)
{
	tide_block_head b;
	uint64_t at = r->head.head_size;
	while (at <= r->size && r->size - at >= sizeof b &&
	       read_some(r, &b, sizeof b, at) == sizeof b) {
		if (b.magic != TIDE_BLOCK_MAGIC || b.size < sizeof b || b.size > r->size - at ||
		    b.capacity > b.size - sizeof b)
			break;
		if (b.type == type && !take(r, &b, at))
			return false;
		at += b.size;
	}
	return true;
}

static bool is_ours(struct rings *r, const uint8_t recording[16])
{
	struct stat st;
	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode))
		return false;
	r->size = (uint64_t)st.st_size;
	return read_some(r, &r->head, sizeof r->head, 0) == sizeof r->head &&
	       !memcmp(r->head.magic, TIDE_RINGS_MAGIC, 8) && r->head.major == TIDE_FORMAT_MAJOR &&
	       r->head.head_size >= sizeof r->head && !memcmp(r->head.recording, recording, 16);
}

/* A definition is in the log before the first event that needs it is in its ring. So rings are
 * read first and the log, with its length read again, afterwards: even while recording
 * continues, every event read finds its definition. In the result the definitions come first. */
static bool take_defs(struct rings *r, const uint8_t recording[16])
{
	tide_payload events = r->tail->bytes;
	r->tail->bytes = (tide_payload){ 0 };
	bool ok = is_ours(r, recording) ? walk(r, TIDE_BLOCK_LOG, take_log) && add_defs(r) : true;
	ok = ok && (!events.n || append(&r->tail->bytes, events.bytes, events.n));
	tide__payload_free(&events);
	return ok;
}

static bool take_all(struct rings *r, const uint8_t recording[16])
{
	if (!walk(r, TIDE_BLOCK_RING, take_ring) || !take_defs(r, recording) ||
	    !add_loss(r, 0, 0, r->head.lost_signal, r->head.lost_other))
		return false;
	tide_chunk_head h = { .type = TIDE_CHUNK_LOSS, .count = r->n_loss };
	return !r->n_loss || add_chunk(r, h, r->loss.bytes, r->loss.n);
}

tide_code tide__rings_read_tail(const char *tide_path, const uint8_t recording[16],
				const tide_schema *schema,
				tide_ring_end (*ends)(void *user, uint32_t ring), void *user,
				uint64_t defs_end, tide_tail *tail, tide_error *err)
{
	size_t n = strlen(tide_path) + sizeof TIDE_RINGS_SUFFIX;
	struct rings r = { .schema = schema,
			   .ends = ends,
			   .user = user,
			   .tail = tail,
			   .log_at = defs_end,
			   .log_end = defs_end };
	memset(tail, 0, sizeof *tail);
	char *path = tide__alloc(n, 1);
	if (!path)
		return tide__nomem(err);
	snprintf(path, n, "%s%s", tide_path, TIDE_RINGS_SUFFIX);
	r.fd = tide__input_open(path, O_NONBLOCK);
	tide__free(path);
	if (r.fd < 0)
		return TIDE_OK;
	tail->found = is_ours(&r, recording);
	bool ok = !tail->found || take_all(&r, recording);
	tide__payload_free(&r.log);
	tide__payload_free(&r.loss);
	close(r.fd);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__tail_free(tide_tail *t)
{
	tide__payload_free(&t->bytes);
}

size_t tide__tail_read_chunk(const tide_tail *t, size_t at, tide_chunk *c)
{
	memset(c, 0, sizeof *c);
	if (at + sizeof c->head > t->bytes.n)
		return at;
	memcpy(&c->head, t->bytes.bytes + at, sizeof c->head);
	c->at = at;
	c->memory = t->bytes.bytes + at + sizeof c->head;
	return at + sizeof c->head + c->head.stored;
}
