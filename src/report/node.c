// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An open container is the last element of its parent, so its address stays until it is closed. */
#include "report/node.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- building ---- */

static tide_node_kind kind_of(const tide_json_item *item)
{
	static const tide_node_kind kinds[] = {
		[TIDE_JSON_OPEN_OBJECT] = TIDE_NODE_OBJECT,
		[TIDE_JSON_OPEN_ARRAY] = TIDE_NODE_ARRAY,
		[TIDE_JSON_TEXT] = TIDE_NODE_TEXT,
		[TIDE_JSON_INT] = TIDE_NODE_INT,
		[TIDE_JSON_UINT] = TIDE_NODE_UINT,
		[TIDE_JSON_REAL] = TIDE_NODE_REAL,
		[TIDE_JSON_BOOL] = TIDE_NODE_BOOL,
		[TIDE_JSON_NULL] = TIDE_NODE_NULL,
	};
	return kinds[item->kind];
}

/* Returns a place for the next value: the root, or one more element of the innermost open
 * container. */
static tide_node *place(tide_node_builder *b)
{
	if (!b->n)
		return b->has_root ? NULL : (b->has_root = true, &b->root);
	tide_node *in = b->open[b->n - 1];
	if (!TIDE_ROOM(in->v, in->cap, in->n + 1))
		return NULL;
	return &in->v[in->n++];
}

/* Returns a copy in valid UTF-8. */
static char *clean(const char *s, size_t n, size_t *out)
{
	char *text = tide__alloc(2 * n + 1, 1);
	*out = text ? tide__utf8_clean(s, n, text) : 0;
	if (text)
		text[*out] = 0;
	return text;
}

static bool push(tide_node_builder *b, tide_node *v)
{
	if (!TIDE_ROOM(b->open, b->cap, b->n + 1))
		return false;
	b->open[b->n++] = v;
	return true;
}

bool tide__node_put(void *builder, const tide_json_item *item)
{
	tide_node_builder *b = builder;
	size_t n;
	if (item->kind == TIDE_JSON_CLOSE)
		return b->n && b->n--;
	if (item->kind == TIDE_JSON_KEY)
		return (b->key = clean(item->text, item->n, &n)) != NULL;
	tide_node *v = place(b);
	if (!v)
		return false;
	*v = (tide_node){ .kind = kind_of(item), .key = b->key };
	b->key = NULL;
	if (v->kind == TIDE_NODE_TEXT)
		return (v->text = clean(item->text, item->n, &v->n_text)) != NULL;
	if (v->kind == TIDE_NODE_ARRAY || v->kind == TIDE_NODE_OBJECT)
		return push(b, v);
	if (v->kind == TIDE_NODE_REAL)
		v->d = item->d;
	else if (v->kind == TIDE_NODE_INT)
		v->i = item->i;
	else
		v->u = item->u;
	return true;
}

/* Frees a node. It does not recurse over siblings; the depth is that of a report. */
static void clear(tide_node *v)
{
	tide__free(v->key);
	if (v->kind == TIDE_NODE_TEXT)
		tide__free(v->text);
	if (v->kind != TIDE_NODE_ARRAY && v->kind != TIDE_NODE_OBJECT)
		return;
	for (size_t i = 0; i < v->n; i++)
		clear(&v->v[i]);
	tide__free(v->v);
}

tide_node *tide__node_finish(tide_node_builder *b, bool ok)
{
	tide_node *root = ok && b->has_root && !b->n ? tide__alloc(1, sizeof *root) : NULL;
	if (root)
		*root = b->root;
	else if (b->has_root)
		clear(&b->root);
	tide__free(b->open);
	tide__free(b->key);
	*b = (tide_node_builder){ 0 };
	return root;
}

void tide__node_free(tide_node *v)
{
	if (v)
		clear(v);
	tide__free(v);
}

/* ---- reading ---- */

tide_node_kind tide_node_type(const tide_node *v)
{
	return v ? v->kind : TIDE_NODE_NULL;
}

size_t tide_node_count(const tide_node *v)
{
	tide_node_kind k = tide_node_type(v);
	return k == TIDE_NODE_ARRAY || k == TIDE_NODE_OBJECT ? v->n : 0;
}

const tide_node *tide_node_at(const tide_node *v, size_t i)
{
	return i < tide_node_count(v) ? &v->v[i] : NULL;
}

const char *tide_node_key(const tide_node *v, size_t i)
{
	return tide_node_type(v) == TIDE_NODE_OBJECT && i < v->n ? v->v[i].key : NULL;
}

const tide_node *tide_node_get(const tide_node *v, const char *key)
{
	for (size_t i = 0; tide_node_type(v) == TIDE_NODE_OBJECT && i < v->n; i++)
		if (!strcmp(v->v[i].key, key))
			return &v->v[i];
	return NULL;
}

int64_t tide_node_int(const tide_node *v, int64_t otherwise)
{
	tide_node_kind k = tide_node_type(v);
	return k == TIDE_NODE_INT			  ? v->i
	       : k == TIDE_NODE_UINT && v->u <= INT64_MAX ? (int64_t)v->u
							  : otherwise;
}

uint64_t tide_node_uint(const tide_node *v, uint64_t otherwise)
{
	return tide_node_type(v) == TIDE_NODE_UINT ? v->u : otherwise;
}

double tide_node_real(const tide_node *v, double otherwise)
{
	tide_node_kind k = tide_node_type(v);
	return k == TIDE_NODE_REAL   ? v->d
	       : k == TIDE_NODE_INT  ? (double)v->i
	       : k == TIDE_NODE_UINT ? (double)v->u
				     : otherwise;
}

bool tide_node_bool(const tide_node *v, bool otherwise)
{
	return tide_node_type(v) == TIDE_NODE_BOOL ? v->u != 0 : otherwise;
}

const char *tide_node_text(const tide_node *v, size_t *n)
{
	bool is = tide_node_type(v) == TIDE_NODE_TEXT;
	if (n)
		*n = is ? v->n_text : 0;
	return is ? v->text : NULL;
}
