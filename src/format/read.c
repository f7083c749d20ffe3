// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Walks chunks. Uses pread instead of a mapping: if the file shrinks (its writer frees
 * preallocated space on close), that is an error here and not a SIGBUS; the copy costs about 1
 * ns per event. */
#include "format/read.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "format/resync.h"
#include "format/schema.h"
#include "format/varint.h"

enum {
	KEPT = 64, /* expanded packed chunks that are kept: the rings use the same few repeatedly */
	KEPT_BYTES = 64 << 20, /* their total bytes, unless a single one is larger */
	HEAD_SEARCH =
		64 << 10, /* a file without its magic is a recording if a chunk begins in these
		           * bytes */
	AGAIN = 16,	  /* times the limit of expanded bytes: at most this much is expanded
			   * repeatedly */
};

struct outer {	       /* a packed chunk, expanded */
	uint64_t at;   /* 0 = none: no chunk begins there */
	uint64_t used; /* time of last use, to choose which one to drop */
	tide_payload bytes;
};

struct tide_reader {
	int fd;
	tide_reader_state state;
	tide_file_head head;
	uint64_t size; /* bytes of the file as last seen */
	uint64_t at;   /* the next chunk's head */
	tide_payload stored;
	tide_payload ahead; /* stored bytes of the chunk that next() verified last ... */
	uint64_t ahead_at;  /* ... and its place; UINT64_MAX = none */
	ZSTD_DCtx *zstd;
	struct outer kept[KEPT];
	uint64_t turn;
	uint64_t outer_at; /* the packed chunk being walked, 0 = none, and the next chunk in it */
	size_t inner;
	uint64_t expanded, max_expanded;
	uint64_t opened; /* bytes of packed chunks expanded, including repeated expansions */
	tide_head_state head_state;
	tide_file_gaps gaps;
	uint64_t found_for, found; /* damage at found_for: the next valid chunk is at `found` */
	uint64_t budget;	   /* bytes that the search may still read */
};

/* Returns the type of a chunk as text. */
static const char *chunk_text(unsigned type)
{
	static const char *const texts[] = {
#define X(name, number, text) [number] = text,
		TIDE_CHUNKS(X)
#undef X
	};
	return type < sizeof texts / sizeof *texts && texts[type] ? texts[type] : "unknown";
}

uint64_t tide__chunk_checksum(const tide_chunk_head *h, const void *stored)
{
	uint64_t seed = XXH3_64bits(h, offsetof(tide_chunk_head, checksum));
	return XXH3_64bits_withSeed(stored, h->stored, seed);
}

/* Reserves n bytes and the padding, which is zeroed. Returns false if memory ran out. */
static bool make_room(tide_payload *p, size_t n)
{
	if (n > SIZE_MAX - TIDE_PAD)
		return false;
	if (n + TIDE_PAD > p->cap) {
		tide__free(p->bytes);
		p->cap = 0;
		p->bytes = tide__alloc(n + TIDE_PAD, 1);
		if (!p->bytes)
			return false;
		p->cap = n + TIDE_PAD;
	}
	memset(p->bytes + n, 0, TIDE_PAD);
	p->n = n;
	return true;
}

void tide__payload_free(tide_payload *p)
{
	tide__free(p->bytes);
	*p = (tide_payload){ 0 };
}

/* Reads exactly n bytes at `at`. */
static tide_code read_at(tide_reader *r, void *buf, size_t n, uint64_t at, tide_error *err)
{
	size_t have;
	if (!tide__input_read_at(r->fd, buf, n, at, &have))
		return tide__fail_errno(err, "cannot read");
	if (have < n)
		return tide__fail(err, TIDE_ETRUNC, at + have, "the file ends inside a chunk");
	return TIDE_OK;
}

static tide_code look_again(tide_reader *r, tide_error *err)
{
	struct stat st;
	if (fstat(r->fd, &st))
		return tide__fail_errno(err, "cannot read");
	r->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	return TIDE_OK;
}

static uint64_t find_chunk(tide_reader *r, uint64_t from)
{
	return tide__find_chunk(r->fd, from, r->size, &r->budget);
}

/* Handles a head with a wrong checksum: replaces it if a valid chunk follows. */
static tide_code mend_head(tide_reader *r, tide_error *err)
{
	tide_file_head *h = &r->head;
	bool ours = !memcmp(h->magic, TIDE_FILE_MAGIC, sizeof h->magic);
	if (tide__head_repair(h) >= 0) {
		r->head_state = TIDE_HEAD_REPAIRED;
		return TIDE_OK;
	}
	uint64_t at = find_chunk(r, 1);
	if (!at || (!ours && at > HEAD_SEARCH))
		return ours ? tide__fail(err, TIDE_ECORRUPT, offsetof(tide_file_head, checksum),
					 "the head's checksum does not match")
			    : tide__fail(err, TIDE_EFORMAT, 0, "not a .tide file");
	*h = (tide_file_head){ .major = TIDE_FORMAT_MAJOR,
			       .minor = TIDE_FORMAT_MINOR,
			       .head_size = (uint32_t)(at < UINT32_MAX ? at : UINT32_MAX) };
	memcpy(h->magic, TIDE_FILE_MAGIC, sizeof h->magic);
	if (h->head_size < sizeof *h)
		h->head_size = sizeof *h;
	r->head_state = TIDE_HEAD_LOST;
	return TIDE_OK;
}

static tide_code check_head(tide_reader *r, tide_error *err)
{
	tide_file_head *h = &r->head;
	size_t n = r->size < sizeof *h ? (size_t)r->size : sizeof *h;
	tide_code rc = read_at(r, h, n, 0, err);
	if (rc)
		return rc;
	bool ours = n >= sizeof h->magic && !memcmp(h->magic, TIDE_FILE_MAGIC, sizeof h->magic);
	if (n < sizeof *h)
		return ours ? tide__fail(err, TIDE_ETRUNC, r->size, "the file ends inside its head")
			    : tide__fail(err, TIDE_EFORMAT, 0, "not a .tide file");
	if (!ours || h->checksum != XXH3_64bits(h, offsetof(tide_file_head, checksum)))
		if ((rc = mend_head(r, err)))
			return rc;
	if (h->major != TIDE_FORMAT_MAJOR)
		return tide__fail(err, TIDE_EFORMAT, offsetof(tide_file_head, major),
				  "format version %u.%u; this program reads %u", h->major, h->minor,
				  TIDE_FORMAT_MAJOR);
	if (h->head_size < sizeof *h)
		return tide__fail(err, TIDE_ECORRUPT, offsetof(tide_file_head, head_size),
				  "head of %u bytes is too small", h->head_size);
	r->at = h->head_size;
	return TIDE_OK;
}

/* Uses the first calibration point of a chunk as the head's. Returns false if it has none. */
static bool start_of(const tide_payload *p, tide_file_head *h)
{
	tide_schema own;
	tide_field f[TIDE_FIELDS_MAX];
	tide__schema_own(&own);
	if (!p->n || p->bytes[0] != TIDE_REC_TICK ||
	    !tide__fields_read(&own.types[TIDE_REC_TICK], 0, p->bytes + 1, p->bytes + p->n, f))
		return false;
	h->start_ticks = f[0].num;
	h->start_mono_raw = (int64_t)f[1].num;
	h->start_real = (int64_t)f[2].num;
	h->clock = f[0].num == f[1].num ? TIDE_CLOCK_NS : TIDE_CLOCK_TSC;
	return true;
}

/* Sets the clock of a lost head from the first calibration point; without one, time counts from the
 * first event. */
static void lost_clock(tide_reader *r)
{
	tide_chunk c;
	tide_payload p = { 0 };
	bool known = false, events = false;
	r->head.clock = TIDE_CLOCK_TSC;
	while (!known && !tide__reader_next(r, &c, NULL) && c.head.type) {
		if (c.head.type == TIDE_CHUNK_EVENTS && !events) {
			r->head.start_ticks = c.head.ticks;
			events = true;
		}
		if (c.head.type == TIDE_CHUNK_CLOCK && !tide__reader_read_payload(r, &c, &p, NULL))
			known = start_of(&p, &r->head);
	}
	tide__payload_free(&p);
	r->at = r->head.head_size;
	r->state = TIDE_READER_OPEN;
	r->outer_at = r->expanded = r->opened = 0;
	r->gaps = (tide_file_gaps){ 0 };
}

tide_code tide__reader_open(const char *path, tide_reader **out, tide_error *err)
{
	tide_code rc;
	*out = NULL;
	tide_reader *r = tide__calloc(1, sizeof *r);
	if (!r)
		return tide__nomem(err);
	r->ahead_at = UINT64_MAX;
	r->fd = tide__input_open(path, 0);
	if (r->fd < 0) {
		rc = tide__fail_errno(err, "cannot open");
		goto fail;
	}
	if ((rc = look_again(r, err)))
		goto fail;
	r->budget = 16 * r->size + (64 << 20);
	if ((rc = check_head(r, err)))
		goto fail;
	if (r->head_state == TIDE_HEAD_LOST)
		lost_clock(r);
	*out = r;
	return TIDE_OK;
fail:
	tide__reader_close(r);
	return rc;
}

void tide__reader_close(tide_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	tide__payload_free(&r->stored);
	tide__payload_free(&r->ahead);
	ZSTD_freeDCtx(r->zstd);
	for (size_t i = 0; i < KEPT; i++)
		tide__payload_free(&r->kept[i].bytes);
	tide__free(r);
}

const tide_file_head *tide__reader_head(const tide_reader *r)
{
	return &r->head;
}

tide_reader_state tide__reader_state(const tide_reader *r)
{
	return r->state;
}

tide_head_state tide__reader_head_state(const tide_reader *r)
{
	return r->head_state;
}

const tide_file_gaps *tide__reader_gaps(const tide_reader *r)
{
	return &r->gaps;
}

bool tide__reader_schema_lost(const tide_reader *r)
{
	return (r->gaps.n && r->head.minor <= TIDE_FORMAT_MINOR) || r->head_state == TIDE_HEAD_LOST;
}

void tide__file_gaps_text(const tide_file_gaps *g, char *out, size_t n)
{
	snprintf(out, n, "%s", g->why.text);
	size_t used = strlen(out);
	if (g->n > 1)
		snprintf(out + used, n - used, "; the first of %llu places",
			 (unsigned long long)g->n);
}

const char *tide__head_damage(tide_head_state s)
{
	static const char *const texts[] = {
		[TIDE_HEAD_REPAIRED] = "a wrong byte of the file's head was corrected with its "
				       "checksum",
		[TIDE_HEAD_LOST] = "the file's head is damaged: the process, the ring file and the "
				   "time before the first clock record are unknown",
	};
	return texts[s];
}

uint64_t tide__reader_size(const tide_reader *r)
{
	return r->size;
}

uint64_t tide__reader_at(const tide_reader *r)
{
	return r->at;
}

/* Handles a position where a chunk could begin but has none, or only part of its head. */
static tide_code at_edge(tide_reader *r, tide_chunk *c, tide_error *err)
{
	size_t n = r->at < r->size ? (size_t)(r->size - r->at) : 0;
	tide_code rc = read_at(r, &c->head, n, r->at, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (!((const uint8_t *)&c->head)[i])
			continue;
		memset(&c->head, 0, sizeof c->head);
		return tide__fail(err, TIDE_ETRUNC, r->size, "the file ends inside a chunk's head");
	}
	r->state = TIDE_READER_EDGE;
	memset(&c->head, 0, sizeof c->head);
	return TIDE_OK;
}

static tide_code check_chunk(const tide_reader *r, const tide_chunk *c, tide_error *err)
{
	const tide_chunk_head *h = &c->head;
	if (h->magic != TIDE_CHUNK_MAGIC)
		return tide__fail(err, TIDE_ECORRUPT, c->at, "no chunk begins here");
	if (!tide__chunk_plausible(h))
		return tide__fail(err, TIDE_ECORRUPT, c->at, "a chunk's head is damaged");
	if (h->stored > r->size - c->at - sizeof *h)
		return tide__fail(err, TIDE_ETRUNC, r->size,
				  "the file ends inside the %s chunk at byte %llu",
				  chunk_text(h->type), (unsigned long long)c->at);
	return TIDE_OK;
}

static tide_code read_plain(tide_reader *r, tide_chunk *c, tide_error *err)
{
	c->at = r->at;
	r->ahead_at = UINT64_MAX;
	if (r->at > r->size || r->size - r->at < sizeof c->head)
		return at_edge(r, c, err);
	tide_code rc = read_at(r, &c->head, sizeof c->head, r->at, err);
	if (rc)
		return rc;
	if (c->head.magic == 0) {
		r->state = TIDE_READER_EDGE;
		memset(&c->head, 0, sizeof c->head);
		return TIDE_OK;
	}
	if ((rc = check_chunk(r, c, err))) {
		if (rc != TIDE_ETRUNC)
			c->head.type = 0;
		return rc;
	}
	if (!make_room(&r->ahead, c->head.stored))
		return tide__nomem(err);
	if ((rc = read_at(r, r->ahead.bytes, c->head.stored, c->at + sizeof c->head, err)))
		return rc;
	if (tide__chunk_checksum(&c->head, r->ahead.bytes) != c->head.checksum) {
		c->head.type = 0;
		return tide__fail(err, TIDE_ECORRUPT, c->at, "a chunk's checksum does not match");
	}
	r->ahead_at = c->at;
	r->at = c->at + sizeof c->head + c->head.stored;
	r->state = c->head.type == TIDE_CHUNK_END ? TIDE_READER_CLOSED : TIDE_READER_OPEN;
	return TIDE_OK;
}

static tide_code expand(tide_reader *r, const tide_chunk *c, tide_payload *out, tide_error *err)
{
	if (!r->zstd && !(r->zstd = ZSTD_createDCtx()))
		return tide__nomem(err);
	if (!make_room(out, c->head.raw))
		return tide__nomem(err);
	size_t n = ZSTD_decompressDCtx(r->zstd, out->bytes, c->head.raw, r->stored.bytes,
				       c->head.stored);
	if (ZSTD_isError(n) || n != c->head.raw)
		return tide__fail(err, TIDE_ECORRUPT, c->at, "a chunk does not decompress: %s",
				  ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong size");
	return TIDE_OK;
}

/* Gets the stored bytes in *out: kept from next(), or read again. */
static tide_code stored_bytes(tide_reader *r, const tide_chunk *c, tide_payload *out,
			      tide_error *err)
{
	if (r->ahead_at == c->at) {
		tide_payload t = *out;
		*out = r->ahead;
		r->ahead = t;
		r->ahead_at = UINT64_MAX;
		return TIDE_OK;
	}
	if (!make_room(out, c->head.stored))
		return tide__nomem(err);
	tide_code rc = read_at(r, out->bytes, c->head.stored, c->at + sizeof c->head, err);
	if (rc)
		return rc;
	if (tide__chunk_checksum(&c->head, out->bytes) != c->head.checksum)
		return tide__fail(err, TIDE_ECORRUPT, c->at, "a chunk's checksum does not match");
	return TIDE_OK;
}

/* ---- packed chunks ---- */

/* Returns a place for `more` bytes: the oldest are dropped until they fit. */
static struct outer *make_place(tide_reader *r, size_t more)
{
	for (;;) {
		struct outer *old = NULL, *none = NULL;
		size_t bytes = 0;
		for (size_t i = 0; i < KEPT; i++) {
			struct outer *o = &r->kept[i];
			bytes += o->bytes.n;
			if (!o->used)
				none = o;
			else if (!old || o->used < old->used)
				old = o;
		}
		if (!old || (none && bytes + more <= KEPT_BYTES))
			return none;
		tide__payload_free(&old->bytes);
		*old = (struct outer){ 0 };
	}
}

static tide_code plain_payload(tide_reader *r, const tide_chunk *c, tide_payload *out,
			       tide_error *err)
{
	if (!(c->head.flags & TIDE_CHUNK_ZSTD))
		return stored_bytes(r, c, out, err);
	tide_code rc = stored_bytes(r, c, &r->stored, err);
	return rc ? rc : expand(r, c, out, err);
}

/* Gets the packed chunk at `at`, expanded; valid until the next call. */
static tide_code open_outer(tide_reader *r, uint64_t at, struct outer **out, tide_error *err)
{
	r->turn++;
	for (size_t i = 0; i < KEPT; i++) {
		if (r->kept[i].at != at)
			continue;
		r->kept[i].used = r->turn;
		*out = &r->kept[i];
		return TIDE_OK;
	}
	tide_chunk c = { .at = at };
	tide_code rc = read_at(r, &c.head, sizeof c.head, at, err);
	if (rc || (rc = check_chunk(r, &c, err)))
		return rc;
	r->opened += c.head.raw;
	if (r->max_expanded && r->opened / AGAIN > r->max_expanded)
		return tide__fail(err, TIDE_ELIMIT, at,
				  "packed chunks are nested so that reading them would not end");
	struct outer *o = make_place(r, c.head.raw);
	o->at = 0;
	if ((rc = plain_payload(r, &c, &o->bytes, err)))
		return rc;
	o->at = at;
	o->used = r->turn;
	*out = o;
	return TIDE_OK;
}

/* Returns true if the chunk at `inner` of the bytes is complete and valid. */
static bool inner_chunk(const tide_payload *b, size_t inner, tide_chunk *c)
{
	const tide_chunk_head *h = &c->head;
	if (inner > b->n || b->n - inner < sizeof *h)
		return false;
	memcpy(&c->head, b->bytes + inner, sizeof *h);
	return h->magic == TIDE_CHUNK_MAGIC && h->type && h->type != TIDE_CHUNK_PACKED &&
	       !h->flags && h->stored == h->raw && h->stored <= b->n - inner - sizeof *h &&
	       tide__chunk_checksum(h, b->bytes + inner + sizeof *h) == h->checksum;
}

static tide_code next_inner(tide_reader *r, tide_chunk *c, tide_error *err)
{
	struct outer *o = NULL;
	tide_code rc = open_outer(r, r->outer_at, &o, err);
	if (rc)
		return rc;
	c->at = r->outer_at;
	if (!inner_chunk(&o->bytes, r->inner, c)) {
		c->head.type = 0;
		return tide__fail(err, TIDE_ECORRUPT, c->at,
				  "a chunk inside a packed one is damaged");
	}
	c->inner = (uint32_t)r->inner + 1;
	r->inner += sizeof c->head + c->head.stored;
	if (r->inner == o->bytes.n)
		r->outer_at = 0;
	if (c->head.type == TIDE_CHUNK_END)
		r->state = TIDE_READER_CLOSED;
	return TIDE_OK;
}

static tide_code read_chunk(tide_reader *r, tide_chunk *c, tide_error *err)
{
	for (;;) {
		tide_code rc = read_plain(r, c, err);
		if (rc)
			return rc;
		if (c->head.flags & TIDE_CHUNK_ZSTD)
			r->expanded += c->head.raw;
		if (r->max_expanded && r->expanded > r->max_expanded)
			return tide__fail(err, TIDE_ELIMIT, c->at,
					  "the file expands to more than %llu bytes",
					  (unsigned long long)r->max_expanded);
		if (c->head.type != TIDE_CHUNK_PACKED)
			return TIDE_OK;
		if (!c->head.raw)
			continue;
		r->outer_at = c->at;
		r->inner = 0;
		memset(c, 0, sizeof *c);
		return next_inner(r, c, err);
	}
}

void tide__reader_set_limit(tide_reader *r, uint64_t max_expanded)
{
	r->max_expanded = max_expanded;
}

static void add_gap(tide_reader *r, uint64_t from, uint64_t to, const tide_error *why)
{
	if (!r->gaps.n++) {
		r->gaps.why = *why;
		r->gaps.why.code = TIDE_ECORRUPT;
		r->gaps.why.offset = from;
	}
	r->gaps.bytes += to - from;
}

void tide__reader_count_unusable(tide_reader *r, const tide_chunk *c, const tide_error *why)
{
	add_gap(r, c->at, c->at + sizeof c->head + c->head.stored, why);
	r->gaps.why.offset = r->gaps.n == 1 ? why->offset : r->gaps.why.offset;
}

/* Advances to the next valid chunk. Returns false if there is none. Once a chunk is found behind
 * it, the damaged place is read again: the writer of a live recording may have completed it
 * meanwhile. */
static bool skip_damage(tide_reader *r, const tide_error *why)
{
	if (r->outer_at) { /* inside a packed chunk, and r->at is behind it */
		add_gap(r, r->outer_at, r->at, why);
		r->outer_at = 0;
		return true;
	}
	if (r->found_for != r->at) {
		r->found = find_chunk(r, r->at + 1);
		r->found_for = r->found ? r->at : 0;
		return r->found;
	}
	add_gap(r, r->at, r->found, why);
	r->at = r->found;
	r->found_for = 0;
	return true;
}

static bool is_damage(tide_code rc)
{
	return rc == TIDE_ETRUNC || rc == TIDE_ECORRUPT;
}

tide_code tide__reader_next(tide_reader *r, tide_chunk *c, tide_error *err)
{
	tide_error e = { .offset = TIDE_NO_OFFSET };
	memset(c, 0, sizeof *c);
	if (r->state == TIDE_READER_CLOSED) {
		c->at = r->at;
		return TIDE_OK;
	}
	tide_code rc = look_again(r, &e);
	if (rc)
		goto out;
	do {
		memset(c, 0, sizeof *c);
		rc = r->outer_at ? next_inner(r, c, &e) : read_chunk(r, c, &e);
		if (!rc && !c->head.type && r->at < r->size)
			tide__fail(&e, TIDE_ECORRUPT, r->at, "a hole where a chunk should be");
		else if (!is_damage(rc))
			break;
	} while (skip_damage(r, &e));
out:
	if (rc) {
		r->state = TIDE_READER_DAMAGED;
		if (err)
			*err = e;
	}
	return rc;
}

static tide_code inner_payload(tide_reader *r, const tide_chunk *c, tide_payload *out,
			       tide_error *err)
{
	struct outer *o = NULL;
	tide_chunk same = { 0 };
	tide_code rc = open_outer(r, c->at, &o, err);
	if (rc)
		return rc;
	if (!inner_chunk(&o->bytes, c->inner - 1, &same) || same.head.stored != c->head.stored)
		return tide__fail(err, TIDE_ECORRUPT, c->at,
				  "a packed chunk changed while it was read");
	if (!make_room(out, c->head.stored))
		return tide__nomem(err);
	memcpy(out->bytes, o->bytes.bytes + (c->inner - 1) + sizeof c->head, c->head.stored);
	return TIDE_OK;
}

tide_code tide__reader_read_payload(tide_reader *r, const tide_chunk *c, tide_payload *out,
				    tide_error *err)
{
	if (c->memory) {
		if (!make_room(out, c->head.stored))
			return tide__nomem(err);
		memcpy(out->bytes, c->memory, c->head.stored);
		return TIDE_OK;
	}
	return c->inner ? inner_payload(r, c, out, err) : plain_payload(r, c, out, err);
}

tide_code tide__reader_salvage(tide_reader *r, const tide_chunk *c, tide_payload *out,
			       tide_error *err)
{
	uint64_t from = c->at + sizeof c->head;
	size_t n = from < r->size ? (size_t)(r->size - from) : 0;
	if (n > c->head.stored)
		n = c->head.stored;
	if (!make_room(out, n))
		return tide__nomem(err);
	return read_at(r, out->bytes, n, from, err);
}
