// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/schema.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "report/registry.h"

enum { MOST_OBJECTS = 96, NAME = 120 };

/* An object of the document: each has one entry, also where it occurs twice or in itself. */
struct object {
	const tide_member *list;
	const tide_report_type *type; /* of a whole document; else NULL */
	char name[NAME];
};

struct schema {
	struct object v[MOST_OBJECTS];
	size_t n;
};

/* ---- objects ---- */

/* Appends a key to a name: "Peak" and "on_chip" are "PeakOnChip". */
static void add_name(char *name, const char *key)
{
	size_t n = strlen(name);
	bool up = true;
	for (; *key && n + 1 < NAME; key++) {
		if (isalnum((unsigned char)*key))
			name[n++] = (char)(up ? toupper((unsigned char)*key) : *key);
		up = !isalnum((unsigned char)*key);
	}
	name[n] = 0;
}

static const struct object *find_object(const struct schema *s, const tide_member *list)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].list == list)
			return &s->v[i];
	return NULL;
}

static bool has_members(const tide_member *m)
{
	return m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_TABLE;
}

/* Returns what the values of a list or a map are; NULL: anything. */
static const tide_member *values_of(const tide_member *m)
{
	return m->kind == TIDE_KIND_LIST || m->kind == TIDE_KIND_MAP ? m->members : NULL;
}

static void add_document(struct schema *s, const tide_report_type *type)
{
	if (!type || find_object(s, type->members) || s->n == MOST_OBJECTS)
		return;
	struct object *o = &s->v[s->n++];
	*o = (struct object){ .list = type->members, .type = type };
	add_name(o->name, type->name);
}

static void add_object(struct schema *s, const struct object *parent, const tide_member *m)
{
	const char *key = m->key;
	while (values_of(m))
		m = values_of(m);
	if (m->kind == TIDE_KIND_REPORT) {
		add_document(s, tide__report_named(m->words));
		return;
	}
	if (!has_members(m) || !m->members || find_object(s, m->members) || s->n == MOST_OBJECTS)
		return;
	struct object *o = &s->v[s->n++];
	*o = (struct object){ .list = m->members };
	snprintf(o->name, sizeof o->name, "%s", parent->name);
	add_name(o->name, key);
}

static void find_objects(struct schema *s, const tide_report_type *type)
{
	s->n = 0;
	add_document(s, type);
	for (size_t i = 0; i < s->n; i++)
		for (const tide_member *m = s->v[i].list; m && m->key; m++)
			add_object(s, &s->v[i], m);
}

/* ---- types ---- */

static const char *const type_names[] = {
	[TIDE_TYPE_STRING] = "string", [TIDE_TYPE_UINT] = "integer", [TIDE_TYPE_INT] = "integer",
	[TIDE_TYPE_REAL] = "number",   [TIDE_TYPE_BOOL] = "boolean", [TIDE_TYPE_OBJECT] = "object",
	[TIDE_TYPE_ARRAY] = "array",   [TIDE_TYPE_ANY] = "",	     [TIDE_TYPE_NONE] = "",
};

static void put_words(tide_json *j, const char *words, bool null)
{
	tide__json_karray(j, "enum");
	for (const char *w = words; *w;) {
		size_t n = strcspn(w, ",");
		tide__json_strn(j, w, n);
		w += n + (w[n] == ',');
	}
	if (null)
		tide__json_null(j);
	tide__json_array_end(j);
}

static void put_type(tide_json *j, const char *name, bool null)
{
	if (!null) {
		tide__json_kstr(j, "type", name);
		return;
	}
	tide__json_karray(j, "type");
	tide__json_str(j, name);
	tide__json_str(j, "null");
	tide__json_array_end(j);
}

static void put_ref(const struct schema *s, const tide_member *list, tide_json *j)
{
	const struct object *o = list ? find_object(s, list) : NULL;
	char ref[NAME + 16];
	if (o) {
		snprintf(ref, sizeof ref, "#/$defs/%s", o->name);
		tide__json_kstr(j, "$ref", ref);
	} else {
		tide__json_kstr(j, "type", "object");
	}
}

/* Returns the members of an object; NULL if they are not described. */
static const tide_member *object_of(const tide_member *m)
{
	const tide_report_type *type =
		m->kind == TIDE_KIND_REPORT ? tide__report_named(m->words) : NULL;
	return type ? type->members : m->members;
}

static void put_value(const struct schema *s, const tide_member *m, tide_json *j);

/* Writes the elements of an array or the values of a map. */
static void put_values(const struct schema *s, const tide_member *m, tide_json *j)
{
	tide__json_kobject(j, m->kind == TIDE_KIND_MAP ? "additionalProperties" : "items");
	if (m->kind == TIDE_KIND_TABLE)
		put_ref(s, m->members, j);
	else if (m->kind == TIDE_KIND_SIZES)
		tide__json_kstr(j, "type", "integer");
	else if (m->members)
		put_value(s, m->members, j);
	tide__json_object_end(j);
}

/* Writes the members of a schema: what the value may be. */
static void put_value(const struct schema *s, const tide_member *m, tide_json *j)
{
	tide_json_type type = tide__kind_type(m->kind);
	/* An axis of ops has no durations. */
	bool duration = m->kind == TIDE_KIND_NS || m->kind == TIDE_KIND_DELTA_NS;
	bool null = (m->may & TIDE_MAY_BE_NULL) || duration;
	bool object = m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_REPORT;
	if (object && null) {
		tide__json_karray(j, "anyOf");
		tide__json_object(j);
		put_ref(s, object_of(m), j);
		tide__json_object_end(j);
		tide__json_object(j);
		tide__json_kstr(j, "type", "null");
		tide__json_object_end(j);
		tide__json_array_end(j);
	} else if (object) {
		put_ref(s, object_of(m), j);
	} else if (*type_names[type]) {
		put_type(j, type_names[type], null);
	}
	if (type == TIDE_TYPE_UINT)
		tide__json_kint(j, "minimum", 0);
	if (m->kind == TIDE_KIND_WORD && m->words)
		put_words(j, m->words, null);
	if (type == TIDE_TYPE_ARRAY || m->kind == TIDE_KIND_MAP)
		put_values(s, m, j);
	if (m->meaning)
		tide__json_kstr(j, "description", m->meaning);
	tide__json_kstr(j, "x-kind", tide__kind_name(m->kind));
}

static bool in_json(const tide_member *m)
{
	return tide__kind_type(m->kind) != TIDE_TYPE_NONE;
}

static void put_head(const tide_report_type *type, tide_json *j)
{
	tide__json_kobject(j, "report");
	tide__json_kstr(j, "const", type->name);
	tide__json_kstr(j, "description", "name of the report");
	tide__json_object_end(j);
	tide__json_kobject(j, "version");
	tide__json_kint(j, "const", type->version);
	tide__json_kstr(j, "description", "of the document: grows when a member goes or changes");
	tide__json_object_end(j);
}

static void put_object(const struct schema *s, const struct object *o, tide_json *j)
{
	tide__json_kobject(j, o->name);
	tide__json_kstr(j, "type", "object");
	tide__json_karray(j, "required");
	if (o->type) {
		tide__json_str(j, "report");
		tide__json_str(j, "version");
	}
	for (const tide_member *m = o->list; m && m->key; m++)
		if (in_json(m) && !(m->may & TIDE_MAY_BE_ABSENT))
			tide__json_str(j, m->key);
	tide__json_array_end(j);
	tide__json_kobject(j, "properties");
	if (o->type)
		put_head(o->type, j);
	for (const tide_member *m = o->list; m && m->key; m++) {
		if (!in_json(m))
			continue;
		tide__json_kobject(j, m->key);
		put_value(s, m, j);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
	tide__json_object_end(j);
}

tide_code tide__schema_write(const tide_report_type *type, tide_json *j)
{
	struct schema *s = tide__alloc(1, sizeof *s);
	char text[NAME + 40];
	if (!s)
		return TIDE_ENOMEM;
	find_objects(s, type);
	tide__json_object(j);
	tide__json_kstr(j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	snprintf(text, sizeof text, "tidemark %s --json, version %d", type->name, type->version);
	tide__json_kstr(j, "title", text);
	tide__json_kstr(j, "description", type->summary);
	tide__json_kstr(j, "type", "object");
	snprintf(text, sizeof text, "#/$defs/%s", s->v[0].name);
	tide__json_kstr(j, "$ref", text);
	tide__json_kobject(j, "$defs");
	for (size_t i = 0; i < s->n; i++)
		put_object(s, &s->v[i], j);
	tide__json_object_end(j);
	tide__json_object_end(j);
	tide__free(s);
	return TIDE_OK;
}

/* ---- the description ---- */

static const char *kind_name(tide_opt_kind kind)
{
	switch (kind) {
	case TIDE_OPT_FLAG:
		return "flag";
	case TIDE_OPT_INT:
		return "integer";
	case TIDE_OPT_REAL:
	case TIDE_OPT_DECIMAL:
		return "number";
	case TIDE_OPT_RANGE:
		return "range";
	case TIDE_OPT_BYTES:
		return "bytes";
	case TIDE_OPT_ENUM:
		return "word";
	default:
		return "text";
	}
}

static void put_option(const tide_option *o, tide_json *j)
{
	char letter[2] = { o->letter, 0 };
	tide__json_object(j);
	tide__json_kstr(j, "name", o->name);
	tide__json_kstr(j, "letter", o->letter ? letter : NULL);
	tide__json_kstr(j, "kind", kind_name(o->kind));
	if (o->kind == TIDE_OPT_ENUM)
		put_words(j, o->arg, false);
	else
		tide__json_kstr(j, "argument", o->arg);
	tide__json_kstr(j, "help", o->help);
	tide__json_kstr(j, "default", o->def);
	tide__json_kbool(j, "many", o->many);
	if (o->kind == TIDE_OPT_INT) {
		tide__json_kint(j, "least", o->least);
		tide__json_kint_if(j, "most", o->most, o->most);
	}
	tide__json_kbool(j, "text_only", o->text_only);
	tide__json_kbool(j, "all_rows_in_documents", o->whole);
	tide__json_object_end(j);
}

tide_code tide__description_write(const tide_report_type *type, tide_json *j)
{
	static const char *const groups[TIDE_GROUPS] = {
		[TIDE_GROUP_MEMORY] = "memory", [TIDE_GROUP_TIME] = "time",
		[TIDE_GROUP_RANKS] = "ranks",	[TIDE_GROUP_COMPARE] = "compare",
		[TIDE_GROUP_FILES] = "files",
	};
	static const char *const inputs[] = {
		[TIDE_INPUT_TRACE] = "trace",
		[TIDE_INPUT_RANKS] = "ranks",
		[TIDE_INPUT_PAIR] = "pair",
		[TIDE_INPUT_SIZES] = "sizes",
	};
	tide__json_object(j);
	tide__json_kstr(j, "name", type->name);
	tide__json_kint(j, "version", type->version);
	tide__json_kstr(j, "group", groups[type->group]);
	tide__json_kstr(j, "summary", type->summary);
	tide__json_kstr(j, "help", type->help);
	tide__json_kstr(j, "input", inputs[type->input]);
	/* The server has read one trace, without raw rows. */
	tide__json_kbool(j, "served",
			 type->input <= TIDE_INPUT_RANKS && !(type->want & TIDE_WANT_RAW));
	tide__json_karray(j, "options");
	for (size_t i = 0; i < type->n_options; i++)
		put_option(&type->options[i], j);
	tide__json_array_end(j);
	tide__json_key(j, "schema");
	tide_code rc = tide__schema_write(type, j);
	tide__json_object_end(j);
	return rc;
}
