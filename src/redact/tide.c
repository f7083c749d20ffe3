// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Every text of a record is a field of wire type s, which the file's own schema marks, also in
 * records of a later version. Texts keep their lengths, so they are changed where they are. */
#include "redact/redact.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "format/device_log.h"
#include "format/encode.h"
#include "format/schema.h"
#include "format/varint.h"
#include "redact/public.h"

/* Device records hold numbers; after the last complete one nothing is kept. */
static void keep_device_log(uint8_t *bytes, size_t n)
{
	size_t at = 0, sound = 0;
	int64_t t = 0;
	tide_device_rec rec;
	while (tide__device_log_next(bytes, n, &at, &t, &rec))
		sound = at;
	memset(bytes + sound, 0, n - sound);
}

static bool change_field(tide_redactor *r, unsigned tag, size_t i, tide_field *f, bool secret)
{
	char *s = (char *)(uintptr_t)f[i].bytes;
	if (tag == TIDE_REC_DEVICE_LOG && i == 1) {
		keep_device_log((uint8_t *)s, (size_t)f[i].num);
		return true;
	}
	return secret ? tide__redact_secret(r, s, (size_t)f[i].num)
		      : tide__redact_text(r, s, (size_t)f[i].num);
}

/* Changes the records of a payload; *n receives the bytes that could be read. */
static tide_code change_records(tide_redactor *r, const tide_schema *schema, bool events,
				uint8_t *p, size_t *n, uint32_t *count, tide_error *err)
{
	uint8_t *const start = p, *const end = p + *n;
	tide_field f[TIDE_FIELDS_MAX];
	*count = 0;
	while (p < end) {
		unsigned tag = events ? *p & TIDE_TAG_MASK : *p, flags = events ? *p & 0xc0u : 0;
		const tide_record_type *t = tag < TIDE_TAGS ? &schema->types[tag] : NULL;
		const uint8_t *next = t && t->n ? tide__fields_read(t, flags, p + 1, end, f) : NULL;
		if (!next)
			break;
		bool secret = tag == TIDE_REC_FACT_TEXT &&
			      tide__redact_names_secret((const char *)f[0].bytes, (size_t)f[0].num);
		for (size_t i = 0; i < t->n; i++)
			if (t->wire[i] == 's' && !change_field(r, tag, i, f, secret && i))
				return tide__nomem(err);
		p = start + (next - start);
		++*count;
	}
	*n = (size_t)(p - start);
	return TIDE_OK;
}

struct text {
	char *s;
	size_t n;
};

/* Reads a length and that many bytes; NULL if they are missing. */
static uint8_t *read_text(uint8_t *p, const uint8_t *end, struct text *t)
{
	bool bad = false;
	uint64_t n;
	if (p >= end)
		return NULL;
	const uint8_t *after = tide__varint(p, &n, &bad);
	if (bad || after > end || n > (uint64_t)(end - after))
		return NULL;
	t->s = (char *)p + (after - p);
	t->n = (size_t)n;
	return (uint8_t *)t->s + n;
}

/* Names of records and fields that this version does not know. */
static tide_code change_schema(tide_redactor *r, uint8_t *p, size_t n, tide_error *err)
{
	uint8_t *end = p + n;
	tide_schema own;
	tide__schema_own(&own);
	while (p && p < end) {
		struct text name, wire, fields;
		unsigned tag = *p++;
		if (!(p = read_text(p, end, &name)) || !(p = read_text(p, end, &wire)) ||
		    !(p = read_text(p, end, &fields)))
			break;
		bool known = tag < TIDE_TAGS && own.types[tag].n;
		size_t keep = 0, more = known ? own.types[tag].n : 0;
		for (; more && keep < fields.n; keep++)
			more -= fields.s[keep] == ',';
		const char *ours = known ? tide__record_text(tag) : NULL;
		bool same = ours && strlen(ours) == name.n && !memcmp(ours, name.s, name.n);
		if ((!same && !tide__redact_text(r, name.s, name.n)) ||
		    !tide__redact_text(r, fields.s + keep, fields.n - keep))
			return tide__nomem(err);
	}
	return TIDE_OK;
}

/* A piece of a column. Columns that this version does not know become zeros. */
static tide_code change_table(tide_redactor *r, uint8_t *p, size_t n, tide_error *err)
{
	uint8_t *end = p + n;
	struct text table, column, text;
	bool bad = false, ok = true;
	uint64_t size, first;
	if (!(p = read_text(p, end, &table)) || !(p = read_text(p, end, &column)))
		return TIDE_OK;
	bool known =
		tide__public_is_key(table.s, table.n) && tide__public_is_key(column.s, column.n);
	bool texts = table.n == 7 && !memcmp(table.s, "strings", 7);
	ok = tide__redact_text(r, table.s, table.n) && tide__redact_text(r, column.s, column.n);
	const uint8_t *at = p < end ? tide__varint(p, &size, &bad) : end;
	at = !bad && at < end ? tide__varint(at, &first, &bad) : end;
	p += bad || at > end ? end - p : at - p;
	if (!known)
		memset(p, 0, (size_t)(end - p));
	while (ok && texts && known && p && p < end)
		ok = (p = read_text(p, end, &text)) != NULL && tide__redact_text(r, text.s, text.n);
	return ok || !p ? TIDE_OK : tide__nomem(err);
}

tide_code tide__redact_chunk(void *user, const tide_schema *schema, tide_chunk_head *h,
			     uint8_t *payload, tide_error *err)
{
	tide_redactor *r = user;
	size_t n = h->stored;
	uint32_t count = h->count;
	tide_code rc = TIDE_OK;
	switch (h->type) {
	case TIDE_CHUNK_SCHEMA:
		rc = change_schema(r, payload, n, err);
		break;
	case TIDE_CHUNK_TABLE:
		rc = change_table(r, payload, n, err);
		break;
	case TIDE_CHUNK_DEFS:
	case TIDE_CHUNK_EVENTS:
	case TIDE_CHUNK_CLOCK:
	case TIDE_CHUNK_FACTS:
	case TIDE_CHUNK_LOSS:
	case TIDE_CHUNK_END:
		rc = change_records(r, schema, h->type == TIDE_CHUNK_EVENTS, payload, &n, &count,
				    err);
		break;
	default: /* of a later version: its content is unknown */
		n = 0;
		h->type = 0;
		break;
	}
	if (rc || !h->type)
		return rc;
	h->count = count;
	tide__chunk_seal(h, payload, (uint32_t)n);
	return TIDE_OK;
}
