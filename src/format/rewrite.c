// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One walk over the input's chunks into a sink. The sink either writes them as they are or collects
 * a mebibyte of them into a packed chunk: compressing whole chunks keeps one decoder and lets a
 * packed file be turned back into the original bytes. */
#include "format/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/encode.h"
#include "format/ring_ends.h"
#include "format/decode.h"
#include "format/read.h"
#include "format/newfile.h"
#include "format/recording_owner.h"

enum { GROUP = 1 << 20, LEVEL = 3, LEVEL_MAX = 19 };

struct sink {
	int fd;
	uint64_t written;
	bool pack;
	int level;
	ZSTD_CCtx *zstd;
	uint8_t *group; /* chunks waiting to be packed */
	size_t n_group, cap_group;
	uint8_t *out; /* a packed chunk */
	size_t cap_out;
};

struct walk {
	const tide_rewrite_from *from;
	tide_reader *reader;
	tide_schema schema;
	bool has_schema;
	tide_ring_ends ends;
	tide_tail tail;
	tide_payload buf;
	struct sink sink;
	tide_rewrite *w;
	uint64_t rings;
	tide_map lost_rows; /* ring -> index + 1 in lost */
	uint64_t *lost;
	size_t n_lost, cap_lost;
	uint64_t total; /* events that the END chunk counts, if the input is damaged */
};

/* ---- output ---- */

static tide_code write_all(struct sink *s, const void *p, size_t n, tide_error *err)
{
	size_t done = 0;
	while (done < n) {
		ssize_t got = write(s->fd, (const char *)p + done, n - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tide__fail_errno(err, "cannot write");
		done += (size_t)got;
	}
	s->written += n;
	return TIDE_OK;
}

/* Writes the collected chunks as one packed chunk. */
static tide_code flush_group(struct sink *s, tide_error *err)
{
	tide_chunk_head h = { .type = TIDE_CHUNK_PACKED, .flags = TIDE_CHUNK_ZSTD };
	if (!s->n_group)
		return TIDE_OK;
	if (!TIDE_ROOM(s->out, s->cap_out, sizeof h + ZSTD_compressBound(s->n_group)))
		return tide__nomem(err);
	size_t n = ZSTD_compressCCtx(s->zstd, s->out + sizeof h, s->cap_out - sizeof h, s->group,
				     s->n_group, s->level);
	if (ZSTD_isError(n))
		return tide__fail(err, TIDE_ENOMEM, TIDE_NO_OFFSET, "zstd: %s",
				  ZSTD_getErrorName(n));
	h.magic = TIDE_CHUNK_MAGIC;
	h.stored = (uint32_t)n;
	h.raw = (uint32_t)s->n_group;
	h.checksum = tide__chunk_checksum(&h, s->out + sizeof h);
	memcpy(s->out, &h, sizeof h);
	s->n_group = 0;
	return write_all(s, s->out, sizeof h + n, err);
}

/* Writes one chunk with its checksum and an uncompressed payload. */
static tide_code put_chunk(struct sink *s, const tide_chunk_head *h, const void *payload,
			   tide_error *err)
{
	size_t n = sizeof *h + h->stored;
	tide_code rc;
	if (!s->pack) {
		rc = write_all(s, h, sizeof *h, err);
		return rc ? rc : write_all(s, payload, h->stored, err);
	}
	if (n > TIDE_CHUNK_RAW_MAX) { /* too large for a packed chunk */
		rc = flush_group(s, err);
		if (!rc)
			rc = write_all(s, h, sizeof *h, err);
		return rc ? rc : write_all(s, payload, h->stored, err);
	}
	if (s->n_group && s->n_group + n > GROUP && (rc = flush_group(s, err)))
		return rc;
	if (!TIDE_ROOM(s->group, s->cap_group, s->n_group + n))
		return tide__nomem(err);
	memcpy(s->group + s->n_group, h, sizeof *h);
	memcpy(s->group + s->n_group + sizeof *h, payload, h->stored);
	s->n_group += n;
	return TIDE_OK;
}

static tide_code put_records(struct sink *s, unsigned type, uint32_t count, const uint8_t *p,
			     size_t n, tide_error *err)
{
	tide_chunk_head h = { .type = (uint16_t)type, .count = count };
	tide__chunk_seal(&h, p, (uint32_t)n);
	return put_chunk(s, &h, p, err);
}

/* ---- input ---- */

static uint64_t count_events(const struct walk *k, const tide_chunk *c)
{
	tide_cursor cur;
	tide_event ev[128];
	uint64_t events = 0;
	size_t n;
	tide__cursor_start(&cur, &k->schema, k->buf.bytes, k->buf.n, c->head.ticks);
	while ((n = tide__events_decode(&cur, ev, 128)) > 0)
		for (size_t i = 0; i < n; i++)
			events += ev[i].tag != TIDE_REC_LANE && ev[i].tag != TIDE_REC_DEPTH;
	return events;
}

/* Keeps the losses per ring; counts are cumulative, so the last one is used. */
static bool count_losses(struct walk *k)
{
	const tide_record_type *t = &k->schema.types[TIDE_REC_LOST];
	const uint8_t *p = k->buf.bytes, *end = p + k->buf.n;
	tide_field f[TIDE_FIELDS_MAX];
	while (p < end && *p == TIDE_REC_LOST && t->known &&
	       (p = tide__fields_read(t, 0, p + 1, end, f))) {
		uint32_t at = tide__map_get(&k->lost_rows, f[0].num);
		if (!at) {
			if (!TIDE_ROOM(k->lost, k->cap_lost, k->n_lost + 1))
				return false;
			at = (uint32_t)++k->n_lost;
			if (!tide__map_put(&k->lost_rows, f[0].num, at))
				return false;
		}
		k->lost[at - 1] = f[1].num + f[2].num + f[3].num;
	}
	return true;
}

static bool is_damage(tide_code rc)
{
	return rc == TIDE_ETRUNC || rc == TIDE_ECORRUPT;
}

/* Returns true if damage was found so far. */
static bool has_gaps(const struct walk *k)
{
	return tide__reader_gaps(k->reader)->n ||
	       tide__reader_head_state(k->reader) != TIDE_HEAD_SOUND;
}

/* The END chunk of a damaged file is written again; its total shows how many events are missing. */
static void read_total(struct walk *k)
{
	const tide_record_type *t = &k->schema.types[TIDE_REC_TOTAL];
	tide_field f[TIDE_FIELDS_MAX];
	if (k->buf.n && k->buf.bytes[0] == TIDE_REC_TOTAL && t->known &&
	    tide__fields_read(t, 0, k->buf.bytes + 1, k->buf.bytes + k->buf.n, f))
		k->total = f[0].num;
}

/* Writes the caller's records. */
static tide_code pass_more(struct walk *k, tide_error *err)
{
	const tide_rewrite_from *f = k->from;
	if (!f->n_more)
		return TIDE_OK;
	return put_records(&k->sink, TIDE_CHUNK_FACTS, f->count_more, f->more, f->n_more, err);
}

/* Copies one chunk, from the file or the tail, with its payload in k->buf. */
static tide_code pass(struct walk *k, const tide_chunk *c, tide_error *err)
{
	tide_chunk_head h = c->head;
	tide_code rc = TIDE_OK;
	if (h.type == TIDE_CHUNK_SCHEMA && !k->has_schema) {
		rc = tide__schema_read(&k->schema, k->buf.bytes, k->buf.n, c->at, err);
		k->has_schema = !rc;
	}
	if (h.type == TIDE_CHUNK_END && has_gaps(k)) {
		read_total(k);
		return TIDE_OK;
	}
	if (h.type == TIDE_CHUNK_EVENTS)
		k->w->events += count_events(k, c);
	if (rc || (h.type == TIDE_CHUNK_LOSS && !count_losses(k)) ||
	    !tide__ring_ends_add(&k->ends, c))
		return rc ? rc : tide__nomem(err);
	if (h.type == TIDE_CHUNK_END && (rc = pass_more(k, err)))
		return rc;
	if (h.flags & TIDE_CHUNK_ZSTD) { /* restore the uncompressed chunk */
		h.flags = 0;
		tide__chunk_seal(&h, k->buf.bytes, (uint32_t)k->buf.n);
	}
	if (k->from->edit && (rc = k->from->edit(k->from->user, &k->schema, &h, k->buf.bytes, err)))
		return rc;
	return h.type ? put_chunk(&k->sink, &h, k->buf.bytes, err) : TIDE_OK;
}

/* Writes this version's schema in place of the lost one. */
static tide_code own_schema(struct walk *k, const tide_chunk *c, tide_error *err)
{
	uint8_t buf[TIDE_SCHEMA_MAX];
	uint32_t count;
	if (!tide__reader_schema_lost(k->reader))
		return tide__fail(err, TIDE_ECORRUPT, c->at, "the first chunk is not a schema");
	tide__schema_own(&k->schema);
	k->has_schema = true;
	size_t n = tide__encode_schema(buf, &count);
	return put_records(&k->sink, TIDE_CHUNK_SCHEMA, count, buf, n, err);
}

static tide_code take(struct walk *k, const tide_chunk *c, tide_error *err)
{
	tide_code rc = TIDE_OK;
	if (!k->has_schema && c->head.type != TIDE_CHUNK_SCHEMA)
		rc = own_schema(k, c, err);
	if (!rc)
		rc = tide__reader_read_payload(k->reader, c, &k->buf, err);
	return rc ? rc : pass(k, c, err);
}

static tide_code walk_file(struct walk *k, tide_chunk *c, tide_error *err)
{
	tide_code rc;
	while ((rc = tide__reader_next(k->reader, c, err)) == TIDE_OK && c->head.type) {
		tide_error e = { .offset = TIDE_NO_OFFSET };
		if (is_damage(rc = take(k, c, &e))) { /* only this chunk is lost */
			tide__reader_count_unusable(k->reader, c, &e);
		} else if (rc) {
			if (err)
				*err = e;
			return rc;
		}
	}
	return rc;
}

static tide_code pass_tail(struct walk *k, tide_error *err)
{
	tide_chunk c;
	tide_code rc;
	for (size_t at = 0; (at = tide__tail_read_chunk(&k->tail, at, &c)), c.head.type;)
		if ((rc = tide__reader_read_payload(k->reader, &c, &k->buf, err)) ||
		    (rc = pass(k, &c, err)))
			return rc;
	k->w->recovered = k->tail.events;
	return TIDE_OK;
}

/* Writes the complete records of an events chunk that is truncated by the file's end as a separate
 * chunk. */
static tide_code pass_cut(struct walk *k, tide_chunk *c, tide_error *err)
{
	tide_cursor cur;
	tide_event ev[128];
	if (c->head.type != TIDE_CHUNK_EVENTS || c->head.flags || c->inner)
		return TIDE_OK;
	tide_code rc = tide__reader_salvage(k->reader, c, &k->buf, err);
	if (rc)
		return rc;
	tide__cursor_start(&cur, &k->schema, k->buf.bytes, k->buf.n, c->head.ticks);
	while (tide__events_decode(&cur, ev, 128) > 0)
		continue;
	k->buf.n = (size_t)(cur.at - cur.start);
	c->head.count = (uint32_t)cur.records;
	tide__chunk_seal(&c->head, k->buf.bytes, (uint32_t)k->buf.n);
	return k->buf.n ? pass(k, c, err) : TIDE_OK;
}

static uint8_t *put_fact(uint8_t *p, const char *key, uint64_t number)
{
	*p++ = TIDE_REC_FACT_NUM;
	p = tide__put_s(p, key, strlen(key));
	return tide__put_z(p, (int64_t)number);
}

static uint8_t *put_text(uint8_t *p, const char *key, const char *text)
{
	*p++ = TIDE_REC_FACT_TEXT;
	p = tide__put_s(p, key, strlen(key));
	return tide__put_s(p, text, strlen(text));
}

/* Returns true if the file's end was truncated and the ring file had the rest. */
static bool made_whole(const struct walk *k)
{
	return k->tail.found && !k->tail.missing && !k->tail.bad && !k->tail.log_gap;
}

/* Writes facts about unreadable parts into the new file. */
static tide_code pass_damage(struct walk *k, tide_error *err)
{
	const tide_error *d = &k->w->damage, *ends = &k->from->ends;
	uint8_t buf[2048], *p = buf;
	uint32_t n = 0;
	if (d->code) {
		p = put_fact(p, d->code == TIDE_ETRUNC ? "loss.truncated_at" : "loss.corrupt_at",
			     d->offset);
		p = put_text(p, "loss.damage", d->text);
		n += 2;
	}
	const char *head = tide__head_damage(k->w->head);
	if (head) {
		p = put_text(p, "loss.head", head);
		n++;
	}
	if (k->w->gaps.n) {
		char text[320];
		tide__file_gaps_text(&k->w->gaps, text, sizeof text);
		p = put_text(p, "loss.gap_damage", text);
		p = put_fact(p, "loss.gap_at", k->w->gaps.why.offset);
		n += 2;
	}
	if (ends->code && !made_whole(k)) {
		p = put_fact(p, "loss.compressed_at", ends->offset);
		p = put_text(p, "loss.compressed_input", ends->text);
		n += 2;
	}
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = { { "loss.gaps", k->w->gaps.n },
		       { "loss.gap_bytes", k->w->gaps.bytes },
		       { "loss.missing_events",
			 k->total > k->w->events ? k->total - k->w->events : 0 },
		       { "loss.ring_slots", k->tail.missing },
		       { "loss.ring_damage", k->tail.bad },
		       { "loss.definitions_bytes", k->tail.log_gap },
		       { "loss.not_closed", k->w->cut_short && !k->tail.found && !d->code } };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (counts[i].n) {
			p = put_fact(p, counts[i].key, counts[i].n);
			n++;
		}
	}
	p = put_fact(p, "recovered.events", k->w->recovered);
	return put_records(&k->sink, TIDE_CHUNK_FACTS, n + 1, buf, (size_t)(p - buf), err);
}

static tide_code pass_end(struct walk *k, tide_error *err)
{
	uint8_t buf[64], *p = buf;
	uint64_t lost = 0;
	for (size_t i = 0; i < k->n_lost; i++)
		lost += k->lost[i];
	*p++ = TIDE_REC_TOTAL;
	p = tide__put_v(p, k->w->events);
	p = tide__put_v(p, lost);
	p = tide__put_v(p, k->ends.n);
	return put_records(&k->sink, TIDE_CHUNK_END, 1, buf, (size_t)(p - buf), err);
}

/* Reads the tail in the ring file. A running writer may have moved events from there into the file
 * since that was read; if so, continues with the file. *closed: the writer closed the recording
 * meanwhile. */
static tide_code read_tail(struct walk *k, tide_chunk *cut, tide_error *damage, bool *closed,
			   tide_error *err)
{
	for (int i = 0;; i++) {
		uint64_t at = tide__reader_at(k->reader);
		tide_code rc = tide__ring_ends_read_tail(
			&k->ends, k->reader, &k->schema,
			k->from->rings ? k->from->rings : k->from->path, &k->tail, err);
		if (rc || (k->tail.found && !k->tail.missing) || i == TIDE_LIVE_TRIES)
			return rc;
		tide_error e = { 0 };
		rc = walk_file(k, cut, &e);
		if (rc && !is_damage(rc)) {
			if (err)
				*err = e;
			return rc;
		}
		*damage = e;
		if (tide__reader_at(k->reader) == at)
			return TIDE_OK;
		*closed = !rc && tide__reader_state(k->reader) == TIDE_READER_CLOSED;
		if (*closed)
			return TIDE_OK;
		tide__tail_free(&k->tail);
		k->tail = (tide_tail){ 0 };
	}
}

/* Adds the events in the ring file of a recording that was not closed; without one, those of the
 * truncated chunk. */
static tide_code rest_of(struct walk *k, tide_chunk *cut, tide_error *damage, bool *closed,
			 tide_error *err)
{
	tide_code rc = read_tail(k, cut, damage, closed, err);
	if (rc || *closed)
		return rc;
	k->w->damage = *damage;
	k->w->rings = k->tail.found;
	rc = k->tail.found ? pass_tail(k, err) : pass_cut(k, cut, err);
	if (!rc && made_whole(k))
		k->w->damage = (tide_error){ 0 };
	return rc;
}

/* Writes all events of the file and its ring file, and an END chunk. */
static tide_code walk_all(struct walk *k, tide_error *err)
{
	tide_chunk c = { 0 };
	tide_error e = { 0 };
	tide_code rc = walk_file(k, &c, &e);
	if ((rc && !is_damage(rc)) || !k->has_schema) {
		if (!rc)
			rc = tide__fail(&e, TIDE_ETRUNC, tide__reader_size(k->reader),
					"the recording is empty");
		if (err)
			*err = e;
		return rc;
	}
	k->w->gaps = *tide__reader_gaps(k->reader);
	k->w->head = tide__reader_head_state(k->reader);
	k->w->cut_short = rc || tide__reader_state(k->reader) != TIDE_READER_CLOSED;
	k->w->closed = !k->w->cut_short && !has_gaps(k);
	if (k->w->closed)
		return TIDE_OK;
	bool closed = false;
	if (k->w->cut_short && (rc = rest_of(k, &c, &e, &closed, err)))
		return rc;
	if (closed) {
		k->w->gaps = *tide__reader_gaps(k->reader);
		k->w->cut_short = false;
		k->w->closed = !has_gaps(k);
	}
	if (k->w->closed)
		return TIDE_OK;
	if ((rc = pass_damage(k, err)) || (rc = pass_more(k, err)))
		return rc;
	return pass_end(k, err);
}

/* ---- the files ---- */

static tide_code put_head(struct walk *k, tide_error *err)
{
	tide_file_head h = *tide__reader_head(k->reader);
	h.head_size = sizeof h;
	if (k->from->edit)
		memset(h.reserved, 0, sizeof h.reserved);
	h.flags &= ~(uint32_t)TIDE_FILE_PACKED;
	h.flags |= k->sink.pack ? TIDE_FILE_PACKED : 0;
	h.flags |= k->w->closed ? 0 : TIDE_FILE_RECOVERED;
	h.checksum = tide__file_head_sum(&h);
	if (lseek(k->sink.fd, 0, SEEK_SET) < 0)
		return tide__fail_errno(err, "cannot write");
	return write_all(&k->sink, &h, sizeof h, err);
}

/* The head comes first but is known last: reserves its space, writes everything else, then the
 * head. */
static tide_code rewrite(struct walk *k, tide_error *err)
{
	tide_file_head none = { 0 };
	uint64_t stored = k->from->stored;
	tide_code rc = tide__reader_open(k->from->path, &k->reader, err);
	if (rc)
		return rc;
	uint64_t size = tide__reader_size(k->reader);
	k->w->bytes_in = stored ? stored : size;
	tide__reader_set_limit(k->reader,
			       (UINT64_C(256) << 20) + 256 * k->w->bytes_in + (stored ? size : 0));
	if (k->sink.pack && !(k->sink.zstd = ZSTD_createCCtx()))
		return tide__nomem(err);
	if ((rc = write_all(&k->sink, &none, sizeof none, err)) || (rc = walk_all(k, err)) ||
	    (rc = flush_group(&k->sink, err)))
		return rc;
	k->w->bytes_out = k->sink.written;
	return put_head(k, err);
}

static void free_walk(struct walk *k)
{
	tide__reader_close(k->reader);
	tide__ring_ends_free(&k->ends);
	tide__tail_free(&k->tail);
	tide__payload_free(&k->buf);
	tide__map_free(&k->lost_rows);
	tide__free(k->lost);
	tide__free(k->sink.group);
	tide__free(k->sink.out);
	ZSTD_freeCCtx(k->sink.zstd);
	tide__free(k);
}

/* `out` is the given name, `place` the file it refers to. */
static tide_code into(struct walk *k, const char *out, const char *place, tide_error *err)
{
	tide_newfile f;
	uint64_t pid = tide__written_by(out);
	struct stat st;
	if (pid) /* the writer would continue in an unnamed file */
		return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET,
				  "process %llu is recording into %s: write to another name",
				  (unsigned long long)pid, out);
	if (!stat(out, &st) && !S_ISREG(st.st_mode)) /* a folder, a pipe, /dev/null */
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				  "%s is not a regular file: a recording is not written over it",
				  out);
	tide_code rc = tide__newfile_open(&f, place, err);
	if (rc)
		return rc;
	k->sink.fd = f.fd;
	rc = rewrite(k, err);
	if (!rc)
		return tide__newfile_keep(&f, err);
	tide__newfile_drop(&f);
	return rc;
}

/* An expansion failure takes precedence over its effect on the recording. */
static tide_code tell_ends(const tide_rewrite_from *from, tide_code rc, tide_rewrite *w,
			   tide_error *err)
{
	if (!from->ends.code || (rc && !is_damage(rc) && rc != TIDE_EFORMAT))
		return rc;
	if (!rc) {
		w->damage = from->ends;
	} else {
		rc = from->ends.code;
		if (err)
			*err = from->ends;
	}
	return rc;
}

tide_code tide__rewrite(const tide_rewrite_from *from, const char *out, int level, tide_rewrite *w,
			tide_error *err)
{
	char real[PATH_MAX]; /* a link that leads to it stays a link */
	const char *place = realpath(out, real) ? real : out;
	memset(w, 0, sizeof *w);
	struct walk *k = tide__calloc(1, sizeof *k);
	if (!k)
		return tide__nomem(err);
	k->from = from;
	k->w = w;
	k->sink.pack = level >= 0;
	k->sink.level = level < 1 ? LEVEL : level > LEVEL_MAX ? LEVEL_MAX : level;
	tide_code rc = into(k, out, place, err);
	free_walk(k);
	return tell_ends(from, rc, w, err);
}

tide_code tide__recover(const char *in, const char *out, tide_rewrite *w, tide_error *err)
{
	return tide__rewrite(&(tide_rewrite_from){ .path = in }, out, -1, w, err);
}

tide_code tide__pack(const char *in, const char *out, int level, tide_rewrite *w, tide_error *err)
{
	return tide__rewrite(&(tide_rewrite_from){ .path = in }, out, level < 0 ? 0 : level, w,
			     err);
}
