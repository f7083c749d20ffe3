// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A report within a limit. Its rows are in order already: those that matter come first. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/internal.h"

enum { LEFT = 24, PATH_TEXT = 96, LEAST_TEXT = 40 };

struct left {
	char path[PATH_TEXT];
	size_t first, shown, of;
};

struct writer {
	tide_json j;
	mcp_shape shape;
	struct left left[LEFT];
	size_t n_left;
	uint64_t cut; /* texts */
	bool begun[LEFT];
};

/* ---- values ---- */

/* Returns a place at or before `at` where a character of UTF-8 begins. */
static size_t at_character(const char *text, size_t at)
{
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* Writes both ends of a long text, and how long it is. */
static void put_text(struct writer *w, const char *text, size_t n)
{
	char buf[1024];
	size_t keep = w->shape.texts;
	if (!keep || n <= keep + 16 || keep > sizeof buf - 40) {
		tide__json_strn(&w->j, text, n);
		return;
	}
	size_t head = at_character(text, keep / 2), tail = at_character(text, n - keep / 2);
	int k = snprintf(buf, sizeof buf, "%.*s ...(%zu bytes)... %.*s", (int)head, text, n,
			 (int)(n - tail), text + tail);
	tide__json_strn(&w->j, buf, (size_t)k < sizeof buf ? (size_t)k : sizeof buf - 1);
	w->cut++;
}

static void put_node(struct writer *w, const tide_node *v, unsigned depth, const char *path);

/* Notes rows that are not shown, once for each table. */
static void note(struct writer *w, const char *path, size_t first, size_t shown, size_t of)
{
	for (size_t i = 0; i < w->n_left; i++)
		if (!strcmp(w->left[i].path, path)) { /* a table inside rows */
			w->left[i].shown += shown;
			w->left[i].of += of;
			return;
		}
	if (w->n_left == LEFT)
		return;
	struct left *l = &w->left[w->n_left++];
	*l = (struct left){ .first = first, .shown = shown, .of = of };
	snprintf(l->path, sizeof l->path, "%s", path);
}

static void put_array(struct writer *w, const tide_node *v, unsigned depth, const char *path)
{
	size_t n = tide_node_count(v), first = depth == 1 ? w->shape.offset : 0;
	size_t rows = depth == 1 ? w->shape.rows : w->shape.nested;
	if (depth == 1 && w->shape.only && strcmp(w->shape.only, path) != 0)
		rows = 0;
	first = first < n ? first : n;
	size_t shown = n - first < rows ? n - first : rows;
	tide__json_array(&w->j);
	for (size_t i = first; i < first + shown; i++)
		put_node(w, tide_node_at(v, i), depth + 1, path);
	tide__json_array_end(&w->j);
	if (shown < n)
		note(w, path, first, shown, n);
}

static void put_members(struct writer *w, const tide_node *v, unsigned depth, const char *path)
{
	char name[PATH_TEXT];
	for (size_t i = 0; i < tide_node_count(v); i++) {
		const char *key = tide_node_key(v, i);
		snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", key);
		tide__json_key(&w->j, key);
		put_node(w, tide_node_at(v, i), depth + 1, name);
	}
}

static void put_node(struct writer *w, const tide_node *v, unsigned depth, const char *path)
{
	size_t n;
	const char *text;
	switch (tide_node_type(v)) {
	case TIDE_NODE_OBJECT:
		tide__json_object(&w->j);
		put_members(w, v, depth, path);
		tide__json_object_end(&w->j);
		break;
	case TIDE_NODE_ARRAY:
		put_array(w, v, depth, path);
		break;
	case TIDE_NODE_TEXT:
		text = tide_node_text(v, &n);
		put_text(w, text, n);
		break;
	case TIDE_NODE_INT:
		tide__json_int(&w->j, tide_node_int(v, 0));
		break;
	case TIDE_NODE_UINT:
		tide__json_uint(&w->j, tide_node_uint(v, 0));
		break;
	case TIDE_NODE_REAL:
		tide__json_double(&w->j, tide_node_real(v, 0));
		break;
	case TIDE_NODE_BOOL:
		tide__json_bool(&w->j, tide_node_bool(v, false));
		break;
	default:
		tide__json_null(&w->j);
		break;
	}
}

/* ---- rows that are left out ---- */

static void put_left(struct writer *w)
{
	if (w->n_left) {
		tide__json_kobject(&w->j, "left_out");
		for (size_t i = 0; i < w->n_left; i++) {
			const struct left *l = &w->left[i];
			char text[96];
			if (l->shown)
				snprintf(text, sizeof text, "%zu of %zu rows; shown: %zu from %zu",
					 l->of - l->shown, l->of, l->shown, l->first);
			else
				snprintf(text, sizeof text, "all %zu rows", l->of);
			tide__json_kstr(&w->j, l->path, text);
		}
		tide__json_object_end(&w->j);
	}
	if (w->cut)
		tide__json_kuint(&w->j, "texts_shortened", w->cut);
}

/* ---- definitions ---- */

static void put_meanings(struct writer *w, const tide_node *root, const tide_member *list,
			 const char *path, size_t *room)
{
	char name[PATH_TEXT];
	for (const tide_member *m = list; m && m->key; m++) {
		const tide_node *v = root ? tide_node_get(root, m->key) : NULL;
		bool table = m->kind == TIDE_KIND_TABLE;
		bool empty = table && (!tide_node_count(v) ||
				       (w->shape.only && strcmp(w->shape.only, m->key) != 0));
		if (root && (!v || empty || tide_node_type(v) == TIDE_NODE_NULL))
			continue;
		size_t n = snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", m->key) +
			   (m->meaning ? strlen(m->meaning) : 0) + 6;
		if (!m->meaning || n > *room)
			continue;
		*room -= n;
		tide__json_kstr(&w->j, name, m->meaning);
		if (table && root)
			put_meanings(w, NULL, m->members, m->key, room);
	}
}

/* ---- the document ---- */

static bool write_once(const tide_report_type *type, const tide_node *root, const char *file,
		       struct writer *w, mcp_answer *out)
{
	FILE *f = open_memstream(&out->text, &out->n);
	size_t room = MCP_MEANINGS;
	if (!f)
		return false;
	tide__json_begin(&w->j, f, false);
	tide__json_object(&w->j);
	put_members(w, root, 0, "");
	tide__json_kstr(&w->j, "file", file);
	put_left(w);
	if (w->shape.meanings) {
		tide__json_kobject(&w->j, "definitions");
		put_meanings(w, root, type->members, "", &room);
		tide__json_object_end(&w->j);
	}
	tide__json_object_end(&w->j);
	bool ok = tide__json_end(&w->j);
	return !fclose(f) && ok && out->text;
}

/* Makes the next answer smaller. Returns false if it cannot be. */
static bool shrink(mcp_shape *s)
{
	bool can =
		s->rows > 1 || s->nested > 0 || s->meanings || !s->texts || s->texts > LEAST_TEXT;
	if (s->rows > 1 || s->nested) {
		s->rows = s->rows > 1 ? s->rows / 2 : s->rows;
		s->nested = s->nested / 2;
	} else if (s->meanings) {
		s->meanings = false;
	} else if (!s->texts || s->texts > LEAST_TEXT) {
		s->texts = s->texts > 2 * LEAST_TEXT ? s->texts / 2 : LEAST_TEXT;
	} else if (s->rows) {
		s->rows = 0;
		can = true;
	}
	return can;
}

tide_code tide__mcp_write_report(const tide_report_type *type, const tide_node *root,
				 const char *file, mcp_shape shape, mcp_answer *out)
{
	struct writer *w = tide__alloc(1, sizeof *w);
	bool ok = w != NULL;
	for (bool more = ok; more;) {
		*w = (struct writer){ .shape = shape };
		free(out->text);
		*out = (mcp_answer){ .document = true };
		ok = write_once(type, root, file, w, out);
		more = ok && out->n > MCP_ANSWER && shrink(&shape);
	}
	tide__free(w);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}
