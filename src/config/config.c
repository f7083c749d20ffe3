// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Values of settings and the source of each; one table lists the keys. */
#include "config/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/nearest.h"
#include "config/toml.h"

static const struct {
	const char *key, *def;
	tide_config_kind kind;
} keys[] = {
#define X(key, flag, kind, def, help) { #key, def, TIDE_CONFIG_##kind },
	TIDE_CONFIG_KEYS(X)
#undef X
};

const char *tide__config_name(tide_config_key k)
{
	return keys[k].key;
}

tide_config_kind tide__config_kind(tide_config_key k)
{
	return keys[k].kind;
}

const char *tide__config_from_text(tide_config_from f)
{
	static const char *const texts[] = { "default", "file", "environment", "flag" };
	return texts[f];
}

static const char *name_at(const void *user, size_t i)
{
	return i < TIDE_CONFIG_N ? keys[i].key : "name";
}

/* ---- one value ---- */

static bool bool_of(const char *text, bool *out)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0" };
	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i]))
			return *out = true, true;
		if (!strcasecmp(text, no[i]))
			return *out = false, true;
	}
	return false;
}

static void put_bool(tide_config_value *v, bool flag)
{
	v->known = true;
	v->flag = flag;
	snprintf(v->text, sizeof v->text, "%s", flag ? "true" : "false");
}

static bool good_seconds(double s)
{
	return s == 0 || (s >= 0.001 && s <= 1e7);
}

tide_code tide__config_set(tide_config *c, tide_config_key k, const char *text,
			   tide_config_from from, const char *who, tide_error *err)
{
	tide_config_value *v = &c->v[k];
	const char *wants = NULL;
	bool flag;
	v->from = from;
	v->known = true;
	switch (keys[k].kind) {
	case TIDE_CONFIG_AUTO:
		if (!strcasecmp(text, "auto")) {
			v->known = v->flag = false;
			snprintf(v->text, sizeof v->text, "auto");
			return TIDE_OK;
		}
		/* fallthrough */
	case TIDE_CONFIG_BOOL:
		if (bool_of(text, &flag))
			put_bool(v, flag);
		else
			wants = keys[k].kind == TIDE_CONFIG_AUTO ? "true, false or auto"
								 : "true or false";
		break;
	case TIDE_CONFIG_SECONDS:
		if (!tide__toml_parse_number(text, &v->number) || !good_seconds(v->number))
			wants = "seconds, 0 or 0.001 to 10000000";
		else
			snprintf(v->text, sizeof v->text, "%s", text);
		break;
	case TIDE_CONFIG_WORDS:
		if (strlen(text) >= 64)
			wants = "at most 63 characters";
		else
			snprintf(v->text, sizeof v->text, "%s", text);
		break;
	case TIDE_CONFIG_PATH:
		if (!*text || strlen(text) >= sizeof v->text)
			wants = "a folder";
		else
			snprintf(v->text, sizeof v->text, "%s", text);
		break;
	}
	return wants ? tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s needs %s, not '%.60s'", who,
				  wants, text)
		     : TIDE_OK;
}

void tide__config_set_defaults(tide_config *c)
{
	memset(c, 0, sizeof *c);
	for (unsigned k = 0; k < TIDE_CONFIG_N; k++)
		(void)tide__config_set(c, (tide_config_key)k, keys[k].def, TIDE_FROM_DEFAULT, "",
				       NULL);
}

/* ---- the file ---- */

static tide_code wants(const tide_toml_item *i, const char *what, tide_error *err)
{
	static const char *const kinds[] = { "the text", "the number", "the switch", "the value" };
	return tide__fail(err, TIDE_EFORMAT, i->at, "line %u: %s needs %s, not %s %.40s", i->line,
			  i->key, what, kinds[i->type], i->text);
}

static tide_code put_path(tide_config_value *v, const char *folder, const tide_toml_item *i,
			  tide_error *err)
{
	bool whole = i->text[0] == '/' || !*folder;
	if (!*i->text)
		return tide__fail(err, TIDE_EFORMAT, i->at, "line %u: %s is empty", i->line,
				  i->key);
	if (strlen(folder) + strlen(i->text) + 2 > sizeof v->text)
		return tide__fail(err, TIDE_EFORMAT, i->at, "line %u: %s is too long", i->line,
				  i->key);
	snprintf(v->text, sizeof v->text, "%s%s%s", whole ? "" : folder, whole ? "" : "/", i->text);
	return TIDE_OK;
}

static tide_code from_item(tide_config *c, tide_config_key k, const char *folder,
			   const tide_toml_item *i, tide_error *err)
{
	tide_config_value *v = &c->v[k];
	switch (keys[k].kind) {
	case TIDE_CONFIG_AUTO:
	case TIDE_CONFIG_BOOL:
		if (i->type != TIDE_TOML_BOOL)
			return wants(i, "true or false", err);
		put_bool(v, i->flag);
		break;
	case TIDE_CONFIG_SECONDS:
		if (i->type != TIDE_TOML_NUMBER || !good_seconds(i->number))
			return wants(i, "seconds, 0 or 0.001 to 10000000", err);
		v->number = i->number;
		snprintf(v->text, sizeof v->text, "%s", i->text);
		break;
	case TIDE_CONFIG_WORDS:
		if (i->type != TIDE_TOML_STRING || strlen(i->text) >= 64)
			return wants(i, "a text in quotes, of at most 63 characters", err);
		snprintf(v->text, sizeof v->text, "%s", i->text);
		break;
	case TIDE_CONFIG_PATH:
		if (i->type != TIDE_TOML_STRING)
			return wants(i, "a folder in quotes", err);
		tide_code rc = put_path(v, folder, i, err);
		if (rc != TIDE_OK)
			return rc;
		break;
	}
	v->from = TIDE_FROM_FILE;
	v->line = i->line;
	return TIDE_OK;
}

enum {
	FOREIGN = TIDE_CONFIG_N + 1,
	SURE = 6 /* letters of a misspelt key; shorter ones, and beginnings, may be another program's */
};

/* Finds the key an item sets; TIDE_CONFIG_N = name, FOREIGN = another program's. An error for
 * anything else. */
static tide_code key_of(const tide_toml_item *i, bool foreign, size_t *k, tide_error *err)
{
	for (*k = 0; *k <= TIDE_CONFIG_N; ++*k)
		if (!strcmp(i->key, name_at(NULL, *k)))
			return TIDE_OK;
	const char *near = tide__nearest(i->key, name_at, NULL, TIDE_CONFIG_N + 1);
	if (foreign && (!near || strlen(i->key) < SURE || !strncmp(near, i->key, strlen(i->key))))
		return TIDE_OK; /* *k is FOREIGN */
	return tide__fail(err, TIDE_EFORMAT, i->start, "line %u: unknown key '%.40s'%s%s%s",
			  i->line, i->key, near ? " (did you mean " : "", near ? near : "",
			  near ? "?)" : "");
}

static tide_code open_table(const tide_toml_item *i, tide_error *err)
{
	if (i->what == TIDE_TOML_TABLES && !strcmp(i->key, "backend"))
		return TIDE_OK;
	if (!strcmp(i->key, "backend"))
		return tide__fail(err, TIDE_EFORMAT, i->start,
				  "line %u: write [[backend]], with two brackets", i->line);
	return tide__fail(err, TIDE_EFORMAT, i->start,
			  "line %u: unknown table '%.40s' (settings are in [[backend]])", i->line,
			  i->key);
}

/* State while reading one [[backend]] table. */
struct table {
	bool open, taken; /* this table is the selected one; c has its values */
	unsigned line, seen[TIDE_CONFIG_N + 1];
	char name[TIDE_CONFIG_TEXT];
	tide_config c;
};

struct reader {
	tide_config *out;
	const char *folder, *backend; /* backend NULL = the first */
	bool foreign;
	struct table t;
	bool found;
	tide_error *err;
};

/* Ends a table; keeps it if it is the selected one. */
static void close_table(struct reader *r)
{
	struct table *t = &r->t;
	if (!t->open || r->found || (r->backend && strcmp(r->backend, t->name)))
		return;
	r->found = true;
	memcpy(r->out->v, t->c.v, sizeof t->c.v);
	snprintf(r->out->backend, sizeof r->out->backend, "%s", t->name);
}

static tide_code item(struct reader *r, const tide_toml_item *i)
{
	struct table *t = &r->t;
	tide_code rc;
	size_t k;
	if (i->what != TIDE_TOML_VALUE) {
		rc = open_table(i, r->err);
		if (rc != TIDE_OK && !r->foreign)
			return rc;
		close_table(r);
		t->open = false;
		if (rc != TIDE_OK)
			return TIDE_OK;
		memset(t, 0, sizeof *t);
		tide__config_set_defaults(&t->c);
		t->open = true;
		return TIDE_OK;
	}
	if (r->foreign && !t->open)
		return TIDE_OK;
	rc = key_of(i, r->foreign, &k, r->err);
	if (rc != TIDE_OK || k == FOREIGN)
		return rc;
	if (!t->open)
		return tide__fail(r->err, TIDE_EFORMAT, i->start,
				  "line %u: %s is before the first [[backend]]", i->line, i->key);
	if (t->seen[k])
		return tide__fail(r->err, TIDE_EFORMAT, i->start,
				  "line %u: %s is set on line %u already", i->line, i->key,
				  t->seen[k]);
	t->seen[k] = i->line;
	if (k < TIDE_CONFIG_N)
		return from_item(&t->c, (tide_config_key)k, r->folder, i, r->err);
	if (i->type != TIDE_TOML_STRING || !*i->text)
		return r->foreign ? TIDE_OK : wants(i, "a text in quotes", r->err);
	snprintf(t->name, sizeof t->name, "%s", i->text);
	return TIDE_OK;
}

bool tide__config_is_foreign(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, "tidemark.toml") != 0;
}

tide_code tide__config_parse(const char *text, size_t n, const char *folder, bool foreign,
			     const char *backend, tide_config *c, tide_error *err)
{
	static _Thread_local struct reader r; /* tens of kilobytes: not on a stack */
	static _Thread_local tide_toml_item i;
	tide_toml t = { .text = text, .n = n, .foreign = foreign };
	tide_code rc;
	memset(&r, 0, sizeof r);
	r.foreign = foreign;
	r.out = c;
	r.folder = folder;
	r.backend = backend;
	r.err = err;
	while ((rc = tide__toml_next(&t, &i, err)) == TIDE_OK && i.what != TIDE_TOML_END)
		if ((rc = item(&r, &i)) != TIDE_OK)
			return rc;
	if (rc != TIDE_OK)
		return rc;
	close_table(&r);
	if (backend && !r.found)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "no [[backend]] has name = \"%.60s\"", backend);
	return TIDE_OK;
}
