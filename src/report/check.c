// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/grid.h"
#include "report/registry.h"

static const char *const item_names[] = {
	[TIDE_JSON_OPEN_OBJECT] = "an object", [TIDE_JSON_OPEN_ARRAY] = "an array",
	[TIDE_JSON_TEXT] = "a text",	       [TIDE_JSON_INT] = "a negative integer",
	[TIDE_JSON_UINT] = "an integer",       [TIDE_JSON_REAL] = "a real number",
	[TIDE_JSON_BOOL] = "true or false",    [TIDE_JSON_NULL] = "null",
};

/* For each type, the items that it may be, as a set of bits. */
static const unsigned fits[] = {
	[TIDE_TYPE_STRING] = 1u << TIDE_JSON_TEXT,
	[TIDE_TYPE_UINT] = 1u << TIDE_JSON_UINT,
	[TIDE_TYPE_INT] = 1u << TIDE_JSON_UINT | 1u << TIDE_JSON_INT,
	[TIDE_TYPE_REAL] = 1u << TIDE_JSON_UINT | 1u << TIDE_JSON_INT | 1u << TIDE_JSON_REAL,
	[TIDE_TYPE_BOOL] = 1u << TIDE_JSON_BOOL,
	[TIDE_TYPE_OBJECT] = 1u << TIDE_JSON_OPEN_OBJECT,
	[TIDE_TYPE_ARRAY] = 1u << TIDE_JSON_OPEN_ARRAY,
	[TIDE_TYPE_ANY] = ~0u,
	[TIDE_TYPE_NONE] = 0,
};

/* ---- messages ---- */

/* Writes "groups[3].bytes" for the value that is written now. */
static void write_path(const tide_check *c, char *buf, size_t n)
{
	*buf = 0;
	for (size_t i = 0; i < c->n; i++) {
		const tide_check_level *l = &c->open[i];
		size_t used = strlen(buf);
		if (!l->list)
			snprintf(buf + used, n - used, "[%zu]", l->at);
		else
			snprintf(buf + used, n - used, "%s%s", used ? "." : "",
				 l->key ? l->key->key : "?");
	}
}

static bool fault(tide_check *c, const char *what, const char *more, size_t n)
{
	char path[200];
	write_path(c, path, sizeof path);
	snprintf(c->text, sizeof c->text, "%s: %s%.*s", path, what, (int)(n < 99 ? n : 99), more);
	return false;
}

/* ---- values ---- */

static bool is_word(const char *words, const char *text, size_t n)
{
	for (const char *w = words; *w;) {
		size_t k = strcspn(w, ",");
		if (k == n && !memcmp(w, text, n))
			return true;
		w += k + (w[k] == ',');
	}
	return false;
}

/* Returns the description of the value that is written now; NULL: it is not described. */
static const tide_member *expected(const tide_check *c)
{
	if (!c->n)
		return &c->root;
	const tide_check_level *l = &c->open[c->n - 1];
	return !l->checked ? NULL : l->list ? l->key : &l->each;
}

/* An axis of ops has no durations. */
static bool may_be_null(const tide_member *m)
{
	return (m->may & TIDE_MAY_BE_NULL) ||
	       (tide__fmt_by_ops() && (m->kind == TIDE_KIND_NS || m->kind == TIDE_KIND_DELTA_NS));
}

static bool check_value(tide_check *c, const tide_member *m, const tide_json_item *item)
{
	char what[120];
	if (!m || (item->kind == TIDE_JSON_NULL && may_be_null(m)))
		return true;
	if (!(fits[tide__kind_type(m->kind)] >> item->kind & 1)) {
		snprintf(what, sizeof what, "%s where this is described: ", item_names[item->kind]);
		return fault(c, what, tide__kind_name(m->kind), SIZE_MAX);
	}
	if (m->kind == TIDE_KIND_WORD && !is_word(m->words, item->text, item->n))
		return fault(c, "not a word of its list: ", item->text, item->n);
	return true;
}

static void count(tide_check *c)
{
	if (c->n)
		c->open[c->n - 1].at++;
}

/* ---- containers ---- */

static const tide_member head[] = {
	TIDE_MEMBER("report", TEXT, "name of the report"),
	TIDE_MEMBER("version", COUNT, "of the document"),
	{ 0 },
};

/* Describes the object that begins now. */
static void open_object(tide_check_level *l, const tide_member *m)
{
	static const tide_member none[1];
	const tide_report_type *other =
		m->kind == TIDE_KIND_REPORT ? tide__report_named(m->words) : NULL;
	l->list = other ? other->members : m->members ? m->members : none;
	l->headed = m->kind == TIDE_KIND_REPORT;
}

static bool open_container(tide_check *c, const tide_json_item *item)
{
	static const tide_member any = { .key = "",
					 .kind = TIDE_KIND_ANY,
					 .may = TIDE_MAY_BE_NULL };
	const tide_member *m = expected(c);
	if (!check_value(c, m, item))
		return false;
	if (c->n == TIDE_CHECK_DEPTH)
		return fault(c, "nested too deep", "", 0);
	tide_check_level *l = &c->open[c->n++];
	*l = (tide_check_level){ .checked = m && m->kind != TIDE_KIND_ANY };
	if (!l->checked)
		return true;
	if (m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_REPORT)
		open_object(l, m);
	else if (m->kind == TIDE_KIND_TABLE)
		l->each =
			(tide_member){ .key = "", .kind = TIDE_KIND_OBJECT, .members = m->members };
	else
		l->each = m->members ? *m->members : any;
	return true;
}

static bool close_container(tide_check *c)
{
	if (!c->n)
		return false;
	tide_check_level *l = &c->open[c->n - 1];
	for (size_t i = 0; l->list && l->list[i].key; i++)
		if (!l->seen[i] && !(l->list[i].may & TIDE_MAY_BE_ABSENT)) {
			l->key = &l->list[i];
			return fault(c, "missing", "", 0);
		}
	c->n--;
	count(c);
	return true;
}

static bool take_key(tide_check *c, const tide_json_item *item)
{
	tide_check_level *l = &c->open[c->n - 1];
	if (!l->list)
		return true;
	if (l->headed && (l->key = tide__member_find(head, item->text, item->n)))
		return true;
	l->key = tide__member_find(l->list, item->text, item->n);
	if (!l->key)
		return fault(c, "not described: ", item->text, item->n);
	size_t i = (size_t)(l->key - l->list);
	if (i >= TIDE_CHECK_MEMBERS)
		return fault(c, "too many members", "", 0);
	if (l->seen[i])
		return fault(c, "written twice", "", 0);
	return l->seen[i] = true;
}

/* ---- the sink ---- */

void tide__check_begin(tide_check *c, const tide_member *members)
{
	c->root = (tide_member){ .key = "", .kind = TIDE_KIND_OBJECT, .members = members };
	c->n = 0;
	*c->text = 0;
}

void tide__check_begin_document(tide_check *c, const tide_report_type *type)
{
	tide__check_begin(c, type->members);
	c->root.kind = TIDE_KIND_REPORT;
	c->root.words = type->name;
}

bool tide__check_put(void *user, const tide_json_item *item)
{
	tide_check *c = user;
	if (*c->text)
		return false;
	switch (item->kind) {
	case TIDE_JSON_OPEN_OBJECT:
	case TIDE_JSON_OPEN_ARRAY:
		return open_container(c, item);
	case TIDE_JSON_CLOSE:
		return close_container(c);
	case TIDE_JSON_KEY:
		return take_key(c, item);
	default:
		if (!check_value(c, expected(c), item))
			return false;
		count(c);
		return true;
	}
}

char *tide__report_check(const tide_report_type *type, void *result)
{
	tide_check *c = tide__alloc(1, sizeof *c);
	tide_json j;
	char *text = NULL;
	if (!c)
		return NULL;
	tide__check_begin(c, type->members);
	tide__json_begin_sink(&j, tide__check_put, c);
	tide__json_object(&j);
	bool whole = type->json(result, &j) == TIDE_OK; /* else memory ran out */
	tide__json_object_end(&j);
	tide__json_end(&j);
	if (whole && *c->text && (text = tide__alloc(sizeof c->text, 1)))
		memcpy(text, c->text, sizeof c->text);
	tide__free(c);
	return text;
}

tide_code tide__report_verify(const tide_report_type *type, void *result, tide_error *err)
{
	char *fault = getenv("TIDEMARK_TEST_REPORTS") ? tide__report_check(type, result) : NULL;
	if (!fault)
		return TIDE_OK;
	tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s is not as described: %.180s", type->name,
		   fault);
	tide__free(fault);
	return TIDE_EUSAGE;
}
