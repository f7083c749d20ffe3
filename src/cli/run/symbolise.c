// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/symbolise.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/encode.h"
#include "format/read.h"
#include "format/rewrite.h"
#include "format/schema.h"

struct text {
	char *s; /* owned; NULL = none */
};
struct frame {
	uint64_t id, addr;
	uint32_t file; /* id of its name */
};
struct work {
	tide_schema schema;
	struct text *names; /* by id */
	size_t n_names, cap_names;
	struct frame *frames; /* native ones */
	size_t n_frames, cap_frames;
	bool done; /* it has SYMBOL records already */
	uint8_t *out;
	size_t n_out, cap_out;
	uint32_t count;
	uint64_t frame; /* the one that is looked up */
	bool nomem;
};

/* ---- reading definitions ---- */

static bool keep_name(struct work *w, const tide_field *f)
{
	size_t id = (size_t)f[0].num, n = (size_t)f[1].num;
	if (id >= UINT32_MAX || !TIDE_ROOM(w->names, w->cap_names, id + 1))
		return false;
	while (w->n_names <= id)
		w->names[w->n_names++] = (struct text){ NULL };
	char *s = tide__alloc(n + 1, 1);
	if (!s)
		return false;
	memcpy(s, f[1].bytes, n);
	s[n] = 0;
	tide__free(w->names[id].s);
	w->names[id].s = s;
	return true;
}

static const char *name(const struct work *w, uint64_t id)
{
	return id < w->n_names && w->names[id].s ? w->names[id].s : "";
}

/* A native frame is function "0xADDRESS" of a file with a path. */
static bool keep_frame(struct work *w, const tide_field *f)
{
	const char *function = name(w, f[1].num), *file = name(w, f[2].num);
	char *end;
	if (strncmp(function, "0x", 2) != 0 || file[0] != '/' || f[3].num)
		return true;
	uint64_t addr = strtoull(function, &end, 16);
	if (*end)
		return true;
	if (!TIDE_ROOM(w->frames, w->cap_frames, w->n_frames + 1))
		return false;
	w->frames[w->n_frames++] = (struct frame){ f[0].num, addr, (uint32_t)f[2].num };
	return true;
}

static bool read_records(struct work *w, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	tide_field f[TIDE_FIELDS_MAX];
	while (p < end) {
		unsigned tag = *p;
		const tide_record_type *t = tag < TIDE_TAGS ? &w->schema.types[tag] : NULL;
		p = t && t->n ? tide__fields_read(t, 0, p + 1, end, f) : NULL;
		if (!p)
			return true; /* damaged: everything before it was read */
		w->done |= tag == TIDE_REC_SYMBOL;
		if ((tag == TIDE_REC_NAME && !keep_name(w, f)) ||
		    (tag == TIDE_REC_FRAME && !keep_frame(w, f)))
			return false;
	}
	return true;
}

static tide_code read_file(struct work *w, const char *path, tide_error *err)
{
	tide_reader *r = NULL;
	tide_chunk c;
	tide_payload bytes = { 0 };
	tide_code rc = tide__reader_open(path, &r, err);
	while (!rc && !(rc = tide__reader_next(r, &c, err)) && c.head.type) {
		if (c.head.type == TIDE_CHUNK_EVENTS)
			continue;
		rc = tide__reader_read_payload(r, &c, &bytes, err);
		if (!rc && c.head.type == TIDE_CHUNK_SCHEMA)
			rc = tide__schema_read(&w->schema, bytes.bytes, bytes.n, c.at, err);
		else if (!rc && !read_records(w, bytes.bytes, bytes.n))
			rc = tide__nomem(err);
	}
	tide__payload_free(&bytes);
	tide__reader_close(r);
	return rc;
}

/* ---- writing symbols ---- */

static void put(void *user, const char *function, const char *file, uint32_t line)
{
	struct work *w = user;
	size_t a = strnlen(function, 4096), b = strnlen(file, 4096);
	if (w->nomem || !TIDE_ROOM(w->out, w->cap_out, w->n_out + a + b + 64)) {
		w->nomem = true;
		return;
	}
	uint8_t *p = w->out + w->n_out;
	*p++ = TIDE_REC_SYMBOL;
	p = tide__put_v(p, w->frame);
	p = tide__put_s(p, function, a);
	p = tide__put_s(p, file, b);
	p = tide__put_v(p, line);
	w->n_out = (size_t)(p - w->out);
	w->count++;
}

static int by_file(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void close_last(tide_objects *o)
{
	o->n--;
	tide__free(o->v[o->n].path);
	tide__native_close(o->v[o->n].object);
}

void tide__objects_close(tide_objects *o)
{
	while (o->n)
		close_last(o);
}

/* Returns the object of that path, opened if needed; borrowed until the next call. NULL if it cannot be
 * read. */
static tide_native *open_object(tide_objects *o, const char *path)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->v[i].path, path))
			return o->v[i].object;
	if (o->n == TIDE_OBJECTS_KEPT)
		close_last(o);
	char *copy = tide__alloc(strlen(path) + 1, 1);
	if (!copy)
		return NULL;
	o->v[o->n].path = strcpy(copy, path);
	return o->v[o->n++].object = tide__native_open(path);
}

/* Looks up all frames; those of a missing object keep their offset after the object's name. */
static void look_up(struct work *w, tide_objects *objects)
{
	tide_native *object = NULL;
	qsort(w->frames, w->n_frames, sizeof *w->frames, by_file);
	for (size_t i = 0; i < w->n_frames && !w->nomem; i++) {
		const struct frame *f = &w->frames[i];
		if (!i || f->file != w->frames[i - 1].file)
			object = open_object(objects, name(w, f->file));
		w->frame = f->id;
		if (object)
			tide__native_find(object, f->addr, put, w);
	}
}

static tide_code rewrite(struct work *w, const char *path, int level, tide_error *err)
{
	tide_rewrite made;
	tide_rewrite_from from = {
		.path = path, .more = w->out, .n_more = w->n_out, .count_more = w->count
	};
	return tide__rewrite(&from, path, level, &made, err);
}

const char *tide__unnamed_advice(void)
{
	return "functions stay addresses: this build has no libdw; `tidemark pack --names` of a "
	       "build with libdw names them";
}

tide_code tide__symbolise(const char *path, int level, tide_objects *objects, tide_error *err)
{
	struct work w = { 0 };
	tide_code rc = read_file(&w, path, err);
	if (!rc && w.n_frames && !w.done) {
		objects->unnamed |= !tide__native_available();
		look_up(&w, objects);
		rc = w.nomem ? tide__nomem(err) : rewrite(&w, path, level, err);
	}
	for (size_t i = 0; i < w.n_names; i++)
		tide__free(w.names[i].s);
	tide__free(w.names);
	tide__free(w.frames);
	tide__free(w.out);
	return rc;
}
