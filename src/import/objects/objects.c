// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See objects.h. Members are found by tables; unknown ones are skipped, missing ones are 0 or
 * empty. */
#include "import/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/node.h"
#include "import/json/text.h"
#include "import/source.h"

enum { MOST_BYTES = 256 << 20, MOST_ROWS = 100000, MOST_SNAPSHOTS = 10000, MOST_OWNERS = 64 };

struct reader {
	jsonr json;
	size_t base; /* offset in the file of the text that json opened */
	tide_error *err;
	tide_code rc;
};

static bool fail(struct reader *r, tide_code code, const char *at, const char *what)
{
	if (r->rc == TIDE_OK)
		r->rc = tide__fail(r->err, code, r->base + tide__jsonr_offset(&r->json, at), "%s",
				   what);
	return false;
}

static bool nomem(struct reader *r)
{
	if (r->rc == TIDE_OK)
		r->rc = tide__nomem(r->err);
	return false;
}

/* Returns whether a walk reached its end without damage. */
static bool ended(struct reader *r, const jsonr_nodes *w)
{
	return w->bad ? fail(r, TIDE_ECORRUPT, w->at, "damaged JSON") : r->rc == TIDE_OK;
}

/* Returns a copy of a text with its escapes decoded; of any other value, as written. */
static char *text_of(struct reader *r, jsonr_node v)
{
	char *out = tide__alloc(v.n + 1, 1);
	if (!out) {
		nomem(r);
		return NULL;
	}
	size_t n = v.type == '"' ? tide__jsonr_unescape(v.at, v.n, out) : v.n;
	if (v.type != '"' && v.n)
		memcpy(out, v.at, v.n);
	out[n] = 0;
	for (size_t i = 0; i < n; i++) /* a NUL would truncate it */
		out[i] = out[i] ? out[i] : ' ';
	return out;
}

static bool number(struct reader *r, jsonr_node v, uint64_t *out)
{
	int64_t n;
	if (!tide__jsonr_parse_number(v, 1, &n) || n < 0)
		return fail(r, TIDE_ECORRUPT, v.at, "a figure is not a whole number from 0 on");
	*out = (uint64_t)n;
	return true;
}

/* ---- rows ---- */

static const struct table {
	const char *key, *name, *type, *count, *bytes;
} tables[TIDE_OBJECTS_N] = {
	[TIDE_OBJECTS_TYPES] = { "types", "type", "module", "objects", "bytes" },
	[TIDE_OBJECTS_OWNERS] = { "owners", "name", "type", "", "exclusive_bytes" },
	[TIDE_OBJECTS_MODULES] = { "modules", "module", "", "variables", "exclusive_bytes" },
	[TIDE_OBJECTS_SHARED] = { "shared", "what", "", "owner_count", "bytes" },
	[TIDE_OBJECTS_DUPLICATES] = { "duplicates", "value", "type", "count", "bytes" },
	[TIDE_OBJECTS_BUFFERS] = { "buffers", "device", "", "buffers", "bytes" },
};

static bool set_text(struct reader *r, jsonr_node v, char **out)
{
	tide__free(*out); /* a member that occurs twice */
	return (*out = text_of(r, v)) != NULL;
}

static bool read_owners(struct reader *r, jsonr_node list, tide_objects_row *row)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	if (row->owners)
		return true;
	row->owners = tide__calloc(MOST_OWNERS, sizeof *row->owners);
	if (!row->owners)
		return nomem(r);
	while (row->n_owners < MOST_OWNERS && tide__jsonr_next_node(&w, &key, &v)) {
		if (!(row->owners[row->n_owners] = text_of(r, v)))
			return false;
		row->n_owners++;
	}
	return ended(r, &w);
}

static bool read_member(struct reader *r, const struct table *t, jsonr_node key, jsonr_node v,
			tide_objects_row *row)
{
	if (tide__jsonr_is(key, t->name))
		return set_text(r, v, &row->name);
	if (tide__jsonr_is(key, t->type))
		return set_text(r, v, &row->type);
	if (tide__jsonr_is(key, t->count))
		return number(r, v, &row->count);
	if (tide__jsonr_is(key, t->bytes))
		return number(r, v, &row->bytes);
	if (tide__jsonr_is(key, "shared_bytes"))
		return number(r, v, &row->shared);
	if (tide__jsonr_is(key, "owners"))
		return read_owners(r, v, row);
	if (tide__jsonr_is(key, "own"))
		row->own = v.type == 't';
	return true;
}

static bool read_row(struct reader *r, const struct table *t, jsonr_node o, tide_objects_row *row)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(o);
	if (o.type != '{')
		return fail(r, TIDE_ECORRUPT, o.at, "a row is not an object");
	while (tide__jsonr_next_node(&w, &key, &v))
		if (!read_member(r, t, key, v, row))
			return false;
	if (!row->name && !(row->name = tide__strndup("", 0)))
		return nomem(r);
	return ended(r, &w);
}

static bool read_table(struct reader *r, const struct table *t, jsonr_node list,
		       tide_objects_rows *to)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	if (list.type != '[')
		return fail(r, TIDE_ECORRUPT, list.at, "a table is not an array");
	while (tide__jsonr_next_node(&w, &key, &v)) {
		if (to->n == MOST_ROWS)
			return fail(r, TIDE_ELIMIT, v.at, "a table has more than 100,000 rows");
		if (!TIDE_ROOM(to->v, to->cap, to->n + 1))
			return nomem(r);
		to->v[to->n] = (tide_objects_row){ 0 };
		if (!read_row(r, t, v, &to->v[to->n++]))
			return false;
	}
	return ended(r, &w);
}

static bool read_texts(struct reader *r, jsonr_node list, tide_objects_texts *to)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (to->n < MOST_ROWS && tide__jsonr_next_node(&w, &key, &v)) {
		if (!TIDE_ROOM(to->v, to->cap, to->n + 1))
			return nomem(r);
		if (!(to->v[to->n] = text_of(r, v)))
			return false;
		to->n++;
	}
	return ended(r, &w);
}

/* ---- snapshots ---- */

static const struct {
	const char *key;
	size_t at;
} figures[] = {
	{ "objects", offsetof(tide_objects_snapshot, objects) },
	{ "total_bytes", offsetof(tide_objects_snapshot, total) },
	{ "variable_bytes", offsetof(tide_objects_snapshot, variables) },
	{ "other_bytes", offsetof(tide_objects_snapshot, other) },
	{ "shared_bytes", offsetof(tide_objects_snapshot, shared) },
	{ "duplicate_bytes", offsetof(tide_objects_snapshot, duplicate) },
	{ "duplicates_skipped", offsetof(tide_objects_snapshot, skipped) },
};

static bool read_counts(struct reader *r, jsonr_node rows, tide_objects_snapshot *s)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(rows);
	while (tide__jsonr_next_node(&w, &key, &v))
		for (size_t i = 0; i < TIDE_OBJECTS_N; i++)
			if (tide__jsonr_is(key, tables[i].key) && !number(r, v, &s->table[i].all))
				return false;
	return ended(r, &w);
}

static bool read_part(struct reader *r, jsonr_node key, jsonr_node v, tide_objects_snapshot *s)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		if (tide__jsonr_is(key, figures[i].key))
			return number(r, v, (uint64_t *)((char *)s + figures[i].at));
	for (size_t i = 0; i < TIDE_OBJECTS_N; i++)
		if (tide__jsonr_is(key, tables[i].key))
			return read_table(r, &tables[i], v, &s->table[i]);
	if (tide__jsonr_is(key, "at"))
		return set_text(r, v, &s->at);
	if (tide__jsonr_is(key, "rows"))
		return read_counts(r, v, s);
	if (tide__jsonr_is(key, "recommendations"))
		return read_texts(r, v, &s->recommendations);
	return tide__jsonr_is(key, "problems") ? read_texts(r, v, &s->problems) : true;
}

static bool read_snapshot(struct reader *r, jsonr_node o, tide_objects_snapshot *s)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(o);
	if (o.type != '{')
		return fail(r, TIDE_ECORRUPT, o.at, "a snapshot is not an object");
	while (tide__jsonr_next_node(&w, &key, &v))
		if (!read_part(r, key, v, s))
			return false;
	for (size_t i = 0; i < TIDE_OBJECTS_N; i++)
		if (s->table[i].all < s->table[i].n)
			s->table[i].all = s->table[i].n;
	if (!s->at && !(s->at = tide__strndup("end", 3)))
		return nomem(r);
	return ended(r, &w);
}

static bool add_snapshot(struct reader *r, jsonr_node v, tide_objects *o)
{
	if (o->n == MOST_SNAPSHOTS)
		return fail(r, TIDE_ELIMIT, v.at, "more than 10,000 snapshots");
	if (!TIDE_ROOM(o->v, o->cap, o->n + 1))
		return nomem(r);
	o->v[o->n] = (tide_objects_snapshot){ 0 };
	return read_snapshot(r, v, &o->v[o->n++]);
}

static bool read_snapshots(struct reader *r, jsonr_node list, tide_objects *o)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (tide__jsonr_next_node(&w, &key, &v))
		if (!add_snapshot(r, v, o))
			return false;
	return ended(r, &w);
}

/* ---- the document ---- */

static bool read_document(struct reader *r, jsonr_node doc, tide_objects *o)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(doc);
	while (tide__jsonr_next_node(&w, &key, &v)) {
		bool good = true;
		if (tide__jsonr_is(key, "program"))
			good = set_text(r, v, &o->program);
		else if (tide__jsonr_is(key, "python"))
			good = set_text(r, v, &o->python);
		else if (tide__jsonr_is(key, "snapshots"))
			good = read_snapshots(r, v, o);
		if (!good)
			return false;
	}
	return ended(r, &w);
}

/* ---- names ---- */

static bool is_taken(const tide_objects *o, size_t before, const char *name)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(o->v[i].at, name))
			return true;
	return false;
}

/* Gives snapshot i a unique name: "mark" if it has none, and " #2", " #3" ... if it is taken. */
static bool name_snapshot(struct reader *r, tide_objects *o, size_t i)
{
	char *was = o->v[i].at;
	const char *stem = *was ? was : "mark";
	if (*was && !is_taken(o, i, was))
		return true;
	size_t room = strlen(stem) + 24;
	char *name = tide__alloc(room, 1);
	if (!name)
		return nomem(r);
	snprintf(name, room, "%s", stem);
	for (size_t k = 2; is_taken(o, i, name); k++)
		snprintf(name, room, "%s #%zu", stem, k);
	tide__free(was);
	o->v[i].at = name;
	return true;
}

/* ---- lines ---- */

/* Reads snapshots as the measured program appends them, one per line. The last line may be
 * truncated. */
static bool read_lines(struct reader *r, const char *text, size_t from, size_t n, tide_objects *o)
{
	jsonr_node v;
	const char *p = text + from, *end = text + n;
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		if (!stop) {
			o->cut = true;
			return true;
		}
		r->base = (size_t)(p - text);
		if (!tide__jsonr_open(&r->json, p, (size_t)(stop - p), &v)) {
			r->rc = r->json.why == JSONR_NOMEM ? tide__nomem(r->err)
							   : tide__fail(r->err, TIDE_ECORRUPT,
									r->base, "damaged JSON");
			return false;
		}
		if (!add_snapshot(r, v, o))
			return false;
		p = stop + 1;
	}
	return true;
}

static tide_code check_head(jsonr_node doc, tide_error *err)
{
	jsonr_node v;
	int64_t version = 0;
	if (!tide__jsonr_get(doc, "format", &v) || !tide__jsonr_is(v, "tidemark-objects"))
		return tide__fail(err, TIDE_EFORMAT, 0, "not a file of `tidemark objects`");
	if (!tide__jsonr_get(doc, "version", &v) || !tide__jsonr_parse_number(v, 1, &version) ||
	    version != 1)
		return tide__fail(err, TIDE_EFORMAT, 0,
				  "another version of the format; this Tidemark reads version 1");
	return TIDE_OK;
}

/* Parses a text that is one document, or a document on the first line and a snapshot on each
 * following line: *rest is where these begin. */
static bool first_value(struct reader *r, const char *text, size_t n, jsonr_node *doc, size_t *rest)
{
	*rest = n;
	if (tide__jsonr_open(&r->json, text, n, doc))
		return doc->type == '{';
	const char *stop = r->json.why == JSONR_NOMEM ? NULL : memchr(text, '\n', n);
	if (!stop || !tide__jsonr_open(&r->json, text, (size_t)(stop - text), doc))
		return false;
	*rest = (size_t)(stop - text) + 1;
	return doc->type == '{';
}

static tide_code read_text(struct reader *r, const char *text, size_t n, tide_objects *o,
			   tide_error *err)
{
	jsonr_node doc;
	size_t rest;
	if (!n)
		return tide__fail(err, TIDE_EFORMAT, 0, "the file is empty");
	if (!first_value(r, text, n, &doc, &rest))
		return r->json.why == JSONR_NOMEM ? tide__nomem(err)
						  : tide__fail(err, TIDE_EFORMAT, 0,
							       "not a JSON object, or truncated");
	tide_code rc = check_head(doc, err);
	if (rc != TIDE_OK)
		return rc;
	if (!read_document(r, doc, o) || !read_lines(r, text, rest, n, o))
		return r->rc;
	for (size_t i = 0; i < o->n; i++)
		if (!name_snapshot(r, o, i))
			return r->rc;
	if (!o->n)
		return tide__fail(err, TIDE_EFORMAT, 0,
				  o->cut ? "its only snapshot is truncated" : "no snapshot in it");
	return TIDE_OK;
}

tide_code tide__objects_read(const char *text, size_t n, tide_objects *o, tide_error *err)
{
	struct reader r = { .err = err };
	tide_code rc = read_text(&r, text, n, o, err);
	tide__jsonr_fini(&r.json);
	return rc;
}

tide_code tide__objects_load(const char *path, tide_objects *o, tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, 0, MOST_BYTES, 0, &in, err);
	if (rc == TIDE_OK)
		rc = tide__objects_read((const char *)in.data, in.n, o, err);
	tide__free(in.data);
	return rc;
}
