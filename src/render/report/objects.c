// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See objects.h. Each table is one grid, so text and JSON have the same rows. */
#include "render/report/objects.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_OWNERS = 3 }; /* names in a cell */

/* ---- tables ---- */

static const tide_member text_member = TIDE_MEMBER("", TEXT, "a text");
static const tide_member type_cols[] = {
	TIDE_COLUMN("type", "Type", TEXT, 0, "the type"),
	TIDE_MEMBER_MAYBE("module", TEXT, "module that defines it"),
	TIDE_COLUMN("objects", "Objects", COUNT, 0, "its live objects"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "their bytes, buffers included"),
	{ 0 },
};
static const tide_member owner_cols[] = {
	TIDE_COLUMN("name", "Owner", TEXT, 0, "the variable"),
	{ "type", "Type", TIDE_KIND_TEXT, 2, TIDE_MAY_BE_NULL, .meaning = "type of its value" },
	TIDE_COLUMN("exclusive_bytes", "Own alone", BYTES, 0, "bytes that nothing else reaches"),
	TIDE_COLUMN("shared_bytes", "Shared", BYTES, 0, "bytes that others reach, too"),
	{ 0 },
};
static const tide_member module_cols[] = {
	TIDE_COLUMN("module", "Module", TEXT, 0, "the module"),
	TIDE_MEMBER("own", BOOL, "it is of the program"),
	{ "variables", "Variables", TIDE_KIND_COUNT, 1, .meaning = "its variables" },
	TIDE_COLUMN("exclusive_bytes", "Own alone", BYTES, 0, "bytes that nothing else reaches"),
	TIDE_COLUMN("shared_bytes", "Shared", BYTES, 0, "bytes that others reach, too"),
	{ 0 },
};
static const tide_member shared_cols[] = {
	TIDE_COLUMN("what", "What", TEXT, 0, "a type, or buffer on DEVICE"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "its bytes"),
	TIDE_COLUMN("owner_count", "Owners", COUNT, 0, "number of owners"),
	{ "owners", "Owned by", TIDE_KIND_LIST, 1, .meaning = "those that are known",
	  .members = &text_member },
	{ 0 },
};
static const tide_member duplicate_cols[] = {
	TIDE_COLUMN("value", "Value", TEXT, 0, "the value, shortened"),
	{ "type", "Type", TIDE_KIND_TEXT, 1, TIDE_MAY_BE_NULL, .meaning = "its type" },
	TIDE_COLUMN("count", "Copies", COUNT, 0, "equal objects"),
	TIDE_COLUMN("bytes", "To save", BYTES, 0, "bytes of all copies but one"),
	{ 0 },
};
static const tide_member buffer_cols[] = {
	TIDE_COLUMN("device", "Device", TEXT, 0, "the device"),
	TIDE_COLUMN("buffers", "Buffers", COUNT, 0, "buffers on it"),
	TIDE_COLUMN("bytes", "Bytes", BYTES, 0, "their bytes"),
	{ 0 },
};

/* The order of tables, in text and JSON. */
static const struct table {
	const char *key, *title, *none;
	const tide_member *cols;
	size_t n;
	tide_objects_table table;
} tables[] = {
#define COLS(c) c, sizeof c / sizeof *c - 1
	{ "owners", "By owner", "The program has no variables.", COLS(owner_cols),
	  TIDE_OBJECTS_OWNERS },
	{ "shared", "Shared by 2 or more owners", "Nothing is shared.", COLS(shared_cols),
	  TIDE_OBJECTS_SHARED },
	{ "duplicates", "Equal but separate", "No equal objects that are separate.",
	  COLS(duplicate_cols), TIDE_OBJECTS_DUPLICATES },
	{ "types", "By type", NULL, COLS(type_cols), TIDE_OBJECTS_TYPES },
	{ "modules", "By module", NULL, COLS(module_cols), TIDE_OBJECTS_MODULES },
	{ "buffers", "Buffers by device", NULL, COLS(buffer_cols), TIDE_OBJECTS_BUFFERS },
};

static void cell_text(tide_grid *g, const char *s)
{
	s ? tide__grid_text(g, s) : tide__grid_none(g);
}

/* Writes the first few names; JSON has all known ones. */
static void cell_owners(tide_grid *g, const tide_objects_row *r)
{
	size_t shown = r->n_owners < MOST_OWNERS ? r->n_owners : MOST_OWNERS, room = 8, at = 0;
	for (size_t i = 0; i < shown; i++)
		room += strlen(r->owners[i]) + 2;
	char *text = tide__alloc(room, 1);
	for (size_t i = 0; text && i < shown; i++)
		at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : "", r->owners[i]);
	if (text && r->count > shown)
		at += (size_t)snprintf(text + at, room - at, ", ...");
	if (text)
		tide__grid_textn(g, text, at);
	else
		tide__grid_none(g);
	tide__free(text);
}

static void cell(tide_grid *g, const tide_objects_row *r, const char *key, bool first)
{
	if (first)
		tide__grid_text(g, r->name);
	else if (!strcmp(key, "type") || !strcmp(key, "module"))
		cell_text(g, r->type);
	else if (!strcmp(key, "own"))
		tide__grid_int(g, r->own);
	else if (!strcmp(key, "shared_bytes"))
		tide__grid_uint(g, r->shared);
	else if (!strcmp(key, "owners"))
		cell_owners(g, r);
	else
		tide__grid_uint(g, strstr(key, "bytes") ? r->bytes : r->count);
}

static tide_grid *grid_of(const struct table *t, const tide_objects_rows *rows, size_t top)
{
	tide_grid *g = tide__grid_new(t->cols, t->n);
	for (size_t i = 0; g && i < rows->n && (!top || i < top); i++)
		for (size_t c = 0; c < t->n; c++)
			cell(g, &rows->v[i], t->cols[c].key, c == 0);
	return g;
}

/* ---- text ---- */

static void put_table(const struct table *t, const tide_objects_snapshot *s, size_t top,
		      const tide_out *to)
{
	const tide_objects_rows *rows = &s->table[t->table];
	size_t shown = top && top < rows->n ? top : rows->n;
	if (!rows->n && !t->none)
		return;
	fputc('\n', to->out);
	tide__write_heading(to, "%s", t->title);
	if (!rows->n) {
		fprintf(to->out, "  %s\n", t->none);
		return;
	}
	tide__grid_write(grid_of(t, rows, top), to, 2);
	if (rows->all > shown)
		fprintf(to->out, "  (%" PRIu64 " more)\n", rows->all - shown);
}

static void put_texts(const char *title, const tide_objects_texts *t, const tide_out *to)
{
	if (!t->n)
		return;
	fputc('\n', to->out);
	tide__write_heading(to, "%s", title);
	for (size_t i = 0; i < t->n; i++) {
		fputs("  ", to->out);
		tide__put_text(to, t->v[i]);
		fputc('\n', to->out);
	}
}

static void put_marks(const tide_objects *o, const tide_objects_snapshot *s, const tide_out *to)
{
	if (o->n < 2)
		return;
	fputs("Marks:", to->out);
	for (size_t i = 0; i < o->n; i++) {
		fputs(i ? ", " : " ", to->out);
		tide__put_text(to, o->v[i].at);
		if (&o->v[i] == s)
			fputs(" (shown)", to->out);
	}
	fputs("; --at NAME shows another one.\n", to->out);
}

void tide__objects_text(const tide_objects *o, const tide_objects_snapshot *s, size_t top,
			const tide_out *to)
{
	char all[32], named[32], other[32], shared[32], saved[32], n[32];
	tide__write_heading(to, "%s in %s live objects",
			    tide__fmt_bytes(all, sizeof all, (double)s->total),
			    tide__fmt_count(n, sizeof n, (int64_t)s->objects));
	tide__put_text(to, o->program ? o->program : "a program");
	fprintf(to->out, " at ");
	tide__put_text(to, s->at);
	fprintf(to->out,
		"\n%s reached from variables, %s of them by 2 owners or more; %s not reached\n",
		tide__fmt_bytes(named, sizeof named, (double)s->variables),
		tide__fmt_bytes(shared, sizeof shared, (double)s->shared),
		tide__fmt_bytes(other, sizeof other, (double)s->other));
	fprintf(to->out, "%s in equal objects that are separate\n",
		tide__fmt_bytes(saved, sizeof saved, (double)s->duplicate));
	if (s->skipped)
		fprintf(to->out, "%s in arrays were not compared\n",
			tide__fmt_bytes(saved, sizeof saved, (double)s->skipped));
	put_marks(o, s, to);
	if (o->cut)
		fputs("The last snapshot is cut off: the program ended while it was written.\n",
		      to->out);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		put_table(&tables[i], s, top, to);
	put_texts("Recommendations", &s->recommendations, to);
	put_texts("Problems", &s->problems, to);
}

/* ---- JSON ---- */

static void texts_json(tide_json *j, const char *key, const tide_objects_texts *t)
{
	tide__json_karray(j, key);
	for (size_t i = 0; i < t->n; i++)
		tide__json_str(j, t->v[i]);
	tide__json_array_end(j);
}

static void row_json(tide_json *j, const struct table *t, const tide_objects_row *r)
{
	tide__json_object(j);
	for (size_t c = 0; c < t->n; c++) {
		const char *key = t->cols[c].key;
		if (c == 0)
			tide__json_kstr(j, key, r->name);
		else if (!strcmp(key, "type") || !strcmp(key, "module"))
			tide__json_kstr(j, key, r->type);
		else if (!strcmp(key, "own"))
			tide__json_kbool(j, key, r->own);
		else if (!strcmp(key, "shared_bytes"))
			tide__json_kuint(j, key, r->shared);
		else if (!strcmp(key, "owners"))
			texts_json(j, key,
				   &(tide_objects_texts){ .v = r->owners, .n = r->n_owners });
		else
			tide__json_kuint(j, key, strstr(key, "bytes") ? r->bytes : r->count);
	}
	tide__json_object_end(j);
}

static const tide_member row_counts[] = {
	TIDE_MEMBER("owners", COUNT, "owners"),
	TIDE_MEMBER("shared", COUNT, "shared values"),
	TIDE_MEMBER("duplicates", COUNT, "values with copies"),
	TIDE_MEMBER("types", COUNT, "types"),
	TIDE_MEMBER("modules", COUNT, "modules"),
	TIDE_MEMBER("buffers", COUNT, "devices with buffers"),
	{ 0 },
};
const tide_member tide__objects_snapshot_members[] = {
	TIDE_MEMBER("at", TEXT, "name of the mark, or end"),
	TIDE_MEMBER("objects", COUNT, "live objects"),
	TIDE_MEMBER("total_bytes", BYTES, "their bytes, buffers included"),
	TIDE_MEMBER("variable_bytes", BYTES, "reached from variables"),
	TIDE_MEMBER("other_bytes", BYTES, "not reached"),
	TIDE_MEMBER("shared_bytes", BYTES, "reached by 2 owners or more"),
	TIDE_MEMBER("duplicate_bytes", BYTES, "in equal objects that are separate"),
	TIDE_MEMBER("duplicates_skipped", BYTES, "in arrays that were not compared"),
	TIDE_MEMBER_OF("rows", OBJECT, row_counts, "rows of each table before it was shortened"),
	TIDE_MEMBER_OF("owners", TABLE, owner_cols, "by owner; the program's own come first"),
	TIDE_MEMBER_OF("shared", TABLE, shared_cols, "shared by 2 owners or more"),
	TIDE_MEMBER_OF("duplicates", TABLE, duplicate_cols, "equal but separate"),
	TIDE_MEMBER_OF("types", TABLE, type_cols, "by type"),
	TIDE_MEMBER_OF("modules", TABLE, module_cols, "by module"),
	TIDE_MEMBER_OF("buffers", TABLE, buffer_cols, "buffers by device"),
	TIDE_MEMBER_OF("recommendations", LIST, &text_member, "what to do"),
	TIDE_MEMBER_OF("problems", LIST, &text_member, "types whose sizes are not plausible"),
	{ 0 },
};

void tide__objects_snapshot_json(const tide_objects_snapshot *s, size_t top, tide_json *j)
{
	size_t n = sizeof tables / sizeof *tables;
	tide__json_kstr(j, "at", s->at);
	tide__json_kuint(j, "objects", s->objects);
	tide__json_kuint(j, "total_bytes", s->total);
	tide__json_kuint(j, "variable_bytes", s->variables);
	tide__json_kuint(j, "other_bytes", s->other);
	tide__json_kuint(j, "shared_bytes", s->shared);
	tide__json_kuint(j, "duplicate_bytes", s->duplicate);
	tide__json_kuint(j, "duplicates_skipped", s->skipped);
	tide__json_kobject(j, "rows");
	for (size_t i = 0; i < n; i++)
		tide__json_kuint(j, tables[i].key, s->table[tables[i].table].all);
	tide__json_object_end(j);
	for (size_t i = 0; i < n; i++) {
		const tide_objects_rows *rows = &s->table[tables[i].table];
		tide__json_karray(j, tables[i].key);
		for (size_t k = 0; k < rows->n && (!top || k < top); k++)
			row_json(j, &tables[i], &rows->v[k]);
		tide__json_array_end(j);
	}
	texts_json(j, "recommendations", &s->recommendations);
	texts_json(j, "problems", &s->problems);
}

const tide_member tide__objects_members[] = {
	TIDE_MEMBER("format", TEXT, "tidemark-objects"),
	TIDE_MEMBER_MAYBE("program", TEXT, "the program"),
	TIDE_MEMBER_MAYBE("python", TEXT, "version of Python"),
	TIDE_MEMBER_OF("snapshots", TABLE, tide__objects_snapshot_members,
		       "in the order in which they were taken"),
	{ 0 },
};

void tide__objects_json(const tide_objects *o, size_t top, tide_json *j)
{
	tide__json_kstr(j, "format", "tidemark-objects");
	tide__json_kstr(j, "program", o->program);
	tide__json_kstr(j, "python", o->python);
	tide__json_karray(j, "snapshots");
	for (size_t i = 0; i < o->n; i++) {
		tide__json_object(j);
		tide__objects_snapshot_json(&o->v[i], top, j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

void tide__objects_write(const tide_objects *o, size_t top, tide_json *j)
{
	tide__json_object(j);
	tide__json_kuint(j, "version", 1);
	tide__objects_json(o, top, j);
	tide__json_object_end(j);
}
