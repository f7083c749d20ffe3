// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of record types, read from a file and compared with our own. Everything that is not on
 * the fast path of events decodes its records through tide__fields_read. */
#include "format/schema.h"

#include <string.h>

#include "base/error.h"
#include "format/varint.h"

struct known {
	uint8_t tag;
	const char *text, *wire, *fields;
};

static const struct known knowns[] = {
#define R(name, tag, text, wire, fields) { tag, text, wire, fields },
	TIDE_RECORDS(R)
#undef R
};
enum { N_KNOWN = sizeof knowns / sizeof *knowns };

static const struct known *find(unsigned tag)
{
	for (size_t i = 0; i < N_KNOWN; i++)
		if (knowns[i].tag == tag)
			return &knowns[i];
	return NULL;
}

const char *tide__record_text(unsigned tag)
{
	const struct known *k = find(tag);
	return k ? k->text : NULL;
}

static bool set_type(tide_record_type *t, const char *wire, size_t n, const char *names,
		     size_t n_names)
{
	size_t commas = 0;
	if (n == 0 || n > TIDE_FIELDS_MAX)
		return false;
	memset(t, 0, sizeof *t);
	t->n = (uint8_t)n;
	for (size_t i = 0; i < n; i++) {
		if (!wire[i] || !strchr("vzsdatxpq", wire[i]))
			return false;
		if (strchr("txpq", wire[i]) && memchr(wire, wire[i], i))
			return false; /* at most one of each, so that the state is one value each */
		t->wire[i] = wire[i];
	}
	for (size_t i = 0; i < n_names; i++)
		commas += names[i] == ',';
	return commas + 1 == n; /* as many names as fields */
}

void tide__schema_own(tide_schema *s)
{
	memset(s, 0, sizeof *s);
	s->plain = true;
	for (size_t i = 0; i < N_KNOWN; i++) {
		const struct known *k = &knowns[i];
		tide_record_type *t = &s->types[k->tag];
		set_type(t, k->wire, strlen(k->wire), k->fields, strlen(k->fields));
		t->known = t->n;
	}
}

/* Returns true if the file's type begins with our fields: same wire types and names. */
static bool begins_alike(const struct known *k, const char *wire, size_t nw, const char *names,
			 size_t nn)
{
	size_t kw = strlen(k->wire), kn = strlen(k->fields);
	return nw >= kw && nn >= kn && !memcmp(wire, k->wire, kw) &&
	       !memcmp(names, k->fields, kn) && (nn == kn || names[kn] == ',');
}

struct text {
	const char *s;
	size_t n;
};

static const uint8_t *read_text(const uint8_t *p, const uint8_t *end, struct text *t)
{
	bool bad = false;
	uint64_t n;
	if (p >= end)
		return NULL;
	p = tide__varint(p, &n, &bad);
	if (bad || p > end || n > (uint64_t)(end - p))
		return NULL;
	t->s = (const char *)p;
	t->n = (size_t)n;
	return p + n;
}

tide_code tide__schema_read(tide_schema *s, const uint8_t *p, size_t n, uint64_t at,
			    tide_error *err)
{
	const uint8_t *start = p, *end = p + n;
	memset(s, 0, sizeof *s);
	s->plain = true;
	while (p < end) {
		uint64_t here = at + (uint64_t)(p - start);
		struct text text, wire, names;
		unsigned tag = *p++;
		if (!(p = read_text(p, end, &text)) || !(p = read_text(p, end, &wire)) ||
		    !(p = read_text(p, end, &names)) || !tag || tag >= TIDE_TAGS ||
		    !set_type(&s->types[tag], wire.s, wire.n, names.s, names.n))
			return tide__fail(err, TIDE_ECORRUPT, here, "malformed schema entry");
		const struct known *k = find(tag);
		if (!k)
			continue;
		if (!begins_alike(k, wire.s, wire.n, names.s, names.n))
			return tide__fail(
				err, TIDE_EFORMAT, here,
				"record type %u (%s) has a layout this version does not know", tag,
				k->text);
		s->types[tag].known = (uint8_t)strlen(k->wire);
		s->plain &= s->types[tag].known == s->types[tag].n;
	}
	return TIDE_OK;
}

static const uint8_t *read_array(const uint8_t *p, const uint8_t *end, uint64_t n)
{
	bool bad = false;
	for (uint64_t i = 0, v; i < n; i++) {
		p = tide__varint(p, &v, &bad);
		if (bad || p > end)
			return NULL;
	}
	return p;
}

/* Reads one field that is present. Returns NULL if it is malformed. */
static const uint8_t *read_field(char wire, unsigned flags, const uint8_t *p, const uint8_t *end,
				 tide_field *f)
{
	bool bad = false;
	if (wire == 'd') {
		memcpy(&f->num, p, 8);
		return p + 8;
	}
	if (wire == 'x' && flags & TIDE_TAG_RECENT) {
		f->num = *p;
		return p + 1;
	}
	p = tide__varint(p, &f->num, &bad);
	if (bad || p > end)
		return NULL;
	if (wire == 'z' || wire == 'x')
		f->num = (uint64_t)tide__unzigzag(f->num);
	if (wire != 's' && wire != 'a')
		return p;
	f->bytes = p;
	if (f->num > (uint64_t)(end - p)) /* a varint takes a byte or more */
		return NULL;
	return wire == 's' ? p + f->num : read_array(p, end, f->num);
}

const uint8_t *tide__fields_read(const tide_record_type *t, unsigned flags, const uint8_t *p,
				 const uint8_t *end, tide_field *f)
{
	for (size_t i = 0; i < t->n; i++) {
		f[i] = (tide_field){ 0 };
		if ((t->wire[i] == 'p' || t->wire[i] == 'q') && !(flags & TIDE_TAG_POOL))
			continue;
		if (p >= end)
			return NULL;
		p = read_field(t->wire[i], flags, p, end, &f[i]);
		if (!p || p > end)
			return NULL;
	}
	return p;
}
