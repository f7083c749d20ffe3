// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a model's tables. A column is divided into pieces of 1 MiB, each a zstd frame, so a reader
 * needs 1 MiB in addition to the table. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <zstd.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/encode.h"
#include "import/tide/tables.h"
#include "model/kind_names.h"
#include "model/strings.h"

enum { PIECE = 1 << 20, HEADER = 256, LEVEL = 3 };

typedef struct sink {
	FILE *out;
	ZSTD_CCtx *zstd;
	uint8_t *raw, *packed; /* owned: a payload and its frame */
	size_t n, room;	       /* bytes of raw, of packed */
	uint64_t tables;       /* chunks written */
	tide_error *err;
} sink;

static tide_code put(sink *s, const void *p, size_t n)
{
	return fwrite(p, 1, n, s->out) == n ? TIDE_OK : tide__fail_errno(s->err, "cannot write");
}

static tide_code put_plain(sink *s, unsigned type, uint32_t count, const uint8_t *p, size_t n)
{
	tide_chunk_head h = { .type = (uint16_t)type, .count = count };
	tide__chunk_seal(&h, p, (uint32_t)n);
	tide_code rc = put(s, &h, sizeof h);
	return rc ? rc : put(s, p, n);
}

/* Writes the content of s->raw as one TABLE chunk. */
static tide_code flush(sink *s)
{
	tide_chunk_head h = { .magic = TIDE_CHUNK_MAGIC,
			      .type = TIDE_CHUNK_TABLE,
			      .flags = TIDE_CHUNK_ZSTD,
			      .raw = (uint32_t)s->n,
			      .count = 1 };
	size_t n = ZSTD_compressCCtx(s->zstd, s->packed, s->room, s->raw, s->n, LEVEL);
	if (ZSTD_isError(n))
		return tide__nomem(s->err);
	h.stored = (uint32_t)n;
	h.checksum = tide__chunk_checksum(&h, s->packed);
	s->tables++;
	tide_code rc = put(s, &h, sizeof h);
	return rc ? rc : put(s, s->packed, n);
}

/* Writes the front of a payload: table, column, bytes of an element, number of the first one. */
static void begin(sink *s, const char *table, const char *column, unsigned size, uint64_t first)
{
	uint8_t *p = tide__put_s(s->raw, table, strlen(table));
	p = tide__put_s(p, column, strlen(column));
	p = tide__put_v(p, size);
	s->n = (size_t)(tide__put_v(p, first) - s->raw);
}

static tide_code column(sink *s, const char *table, const char *name, unsigned size,
			const void *data, size_t n)
{
	tide_code rc = TIDE_OK;
	for (size_t at = 0; rc == TIDE_OK && at < n;) {
		size_t k = PIECE / size < n - at ? PIECE / size : n - at;
		begin(s, table, name, size, at);
		memcpy(s->raw + s->n, (const char *)data + at * size, k * size);
		s->n += k * size;
		at += k;
		rc = flush(s);
	}
	return rc;
}

static tide_code table(sink *s, const void *t, const tide_table_desc *d)
{
	size_t n;
	tide_code rc = TIDE_OK;
	memcpy(&n, t, sizeof n);
	for (size_t i = 0; rc == TIDE_OK && i < d->n_columns; i++) {
		const tide_column *c = &d->columns[i];
		const void *data;
		memcpy(&data, (const char *)t + c->at, sizeof data);
		rc = column(s, tide__stored_name(d->name, NULL),
			    tide__stored_name(d->name, c->name), c->size, data, n);
	}
	return rc;
}

/* Writes texts in order of their ids; a text may be longer than a piece. */
static tide_code texts(sink *s, const tide_strings *all)
{
	uint32_t n = tide__strings_count(all);
	tide_code rc = TIDE_OK;
	for (uint32_t id = 1; rc == TIDE_OK && id <= n;) {
		begin(s, "strings", "text", 1, id - 1);
		size_t front = s->n;
		for (; id <= n; id++) {
			size_t k;
			const char *text = tide__strings_get(all, id, &k);
			if (s->n + k + 10 > PIECE && s->n > front)
				break;
			if (k > TIDE_CHUNK_RAW_MAX - HEADER)
				return tide__fail(s->err, TIDE_ELIMIT, TIDE_NO_OFFSET,
						  "a text of %zu bytes is too long for the file",
						  k);
			if (k + HEADER > PIECE) {
				size_t room = ZSTD_compressBound(k + 2 * HEADER);
				if (!TIDE_RESIZE(s->raw, k + 2 * HEADER) ||
				    (room > s->room && !TIDE_RESIZE(s->packed, room)))
					return tide__nomem(s->err);
				s->room = room > s->room ? room : s->room;
			}
			s->n = (size_t)(tide__put_s(s->raw + s->n, text, k) - s->raw);
		}
		rc = flush(s);
	}
	return rc;
}

static tide_code trace(sink *s, const tide_model *m)
{
	const int64_t of[] = { m->axis, m->t_end, m->wall0_ns, m->wall_known };
	const char *format = m->format ? m->format : "";
	tide_code rc = column(s, "trace", "numbers", 8, of, sizeof of / sizeof *of);
	return rc ? rc : column(s, "trace", "format", 1, format, strlen(format));
}

static tide_code front(sink *s, const tide_model *m)
{
	uint8_t schema[TIDE_SCHEMA_MAX];
	uint32_t count;
	tide_file_head h = { .major = TIDE_FORMAT_MAJOR,
			     .minor = TIDE_FORMAT_MINOR_TABLES,
			     .head_size = sizeof h,
			     .start_real = m->wall_known ? m->wall0_ns : 0,
			     .clock = TIDE_CLOCK_NS,
			     .flags = TIDE_FILE_TABLES };
	memcpy(h.magic, TIDE_FILE_MAGIC, sizeof h.magic);
	if (getrandom(h.recording, sizeof h.recording, 0) != sizeof h.recording)
		return tide__fail_errno(s->err, "no random number");
	h.checksum = tide__file_head_sum(&h);
	tide_code rc = put(s, &h, sizeof h);
	size_t n = tide__encode_schema(schema, &count);
	return rc ? rc : put_plain(s, TIDE_CHUNK_SCHEMA, count, schema, n);
}

/* The field of the number of events holds the number of TABLE chunks. */
static tide_code back(sink *s)
{
	uint8_t end[64], *p = end;
	*p++ = TIDE_REC_TOTAL;
	p = tide__put_v(p, s->tables);
	p = tide__put_v(p, 0);
	p = tide__put_v(p, 0);
	return put_plain(s, TIDE_CHUNK_END, 1, end, (size_t)(p - end));
}

static tide_code all(sink *s, const tide_model *m)
{
	tide_code rc = front(s, m);
	rc = rc ? rc : trace(s, m);
	rc = rc ? rc : texts(s, m->strings);
	rc = rc ? rc : column(s, "dims", "value", 8, m->dims, m->n_dims);
#define T(st, member, COLUMNS, none, doc) rc = rc ? rc : table(s, &m->member, &st##_desc);
	TIDE_TABLES(T)
#undef T
	return rc ? rc : back(s);
}

tide_code tide__tables_write(const tide_model *m, FILE *out, tide_error *err)
{
	sink s = { .out = out, .err = err, .room = ZSTD_compressBound(PIECE + 2 * HEADER) };
	s.raw = tide__alloc(PIECE + 2 * HEADER, 1);
	s.packed = tide__alloc(s.room, 1);
	s.zstd = ZSTD_createCCtx();
	tide_code rc = s.raw && s.packed && s.zstd ? all(&s, m) : tide__nomem(err);
	ZSTD_freeCCtx(s.zstd);
	tide__free(s.raw);
	tide__free(s.packed);
	return rc;
}
