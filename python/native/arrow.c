// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A table as an Arrow stream, by the C data interface: columns are read in place.
 *
 * The stream has one batch. Numeric columns are the model's own memory. A text column consists of its ids
 * as dictionary indices (also in place) and one dictionary of all texts, which is the only copy (invalid
 * UTF-8 becomes U+FFFD). Enumerations are encoded the same way, with a dictionary of their names. Ids of
 * other tables stay numbers; the first row of those tables has id 1. Everything that the consumer keeps
 * holds the trace open; it may be released from any thread, without the GIL. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "model/model.h"
#include "model/strings.h"
#include "analyze/memory/roles.h"
#include "model/kind_names.h"
#include "arrow.h"
#include "native.h"

struct source {
	tide_shared *shared;
	tide_table_view table;
	bool done;
};

static bool is_text(const tide_column_view *c)
{
	return c->type == TIDE_TYPE_ID && !strcmp(c->refers, "strings");
}

/* ---- schema ---- */

static void schema_release(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++) {
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
		free(s->children[i]);
	}
	if (s->dictionary) {
		if (s->dictionary->release)
			s->dictionary->release(s->dictionary);
		free(s->dictionary);
	}
	free(s->children);
	tide__shared_drop(
		s->private_data); /* names are static in the library: nothing else to free */
	s->release = NULL;
}

static void schema_plain(struct ArrowSchema *s, const char *format, const char *name)
{
	*s = (struct ArrowSchema){ .format = format, .name = name, .release = schema_release };
}

static const char *const formats[] = {
	[TIDE_TYPE_U8] = "C",  [TIDE_TYPE_U16] = "S", [TIDE_TYPE_U32] = "I", [TIDE_TYPE_U64] = "L",
	[TIDE_TYPE_I64] = "l", [TIDE_TYPE_F64] = "g", [TIDE_TYPE_ID] = "I",
};

static int schema_column(struct ArrowSchema *s, const char *table, const tide_column_view *c)
{
	schema_plain(s, formats[c->type], c->name);
	if (!is_text(c) && !tide__kind_names_of(table, c->name))
		return 0;
	s->dictionary = calloc(1, sizeof *s->dictionary);
	if (!s->dictionary)
		return ENOMEM;
	schema_plain(s->dictionary, "U", "");
	return 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	struct source *x = stream->private_data;
	tide_column_view c;
	schema_plain(out, "+s", "");
	out->children = calloc(x->table.columns + 1, sizeof *out->children);
	int rc = out->children ? 0 : ENOMEM;
	for (size_t i = 0; !rc && i < x->table.columns; i++) {
		tide_trace_column_at(x->shared->trace, x->table.name, i, &c);
		out->children[i] = calloc(1, sizeof **out->children);
		if (!out->children[i]) {
			rc = ENOMEM;
			break;
		}
		out->n_children++;
		rc = schema_column(out->children[i], x->table.name, &c);
	}
	if (rc)
		schema_release(out);
	return rc;
}

/* ---- arrays ---- */

struct held {
	tide_shared *shared; /* keeps the columns alive */
	void *owned[2];	     /* a dictionary's offsets and bytes */
	const void *buffers[3];
};

static void array_release(struct ArrowArray *a)
{
	struct held *h = a->private_data;
	for (int64_t i = 0; i < a->n_children; i++) {
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
		free(a->children[i]);
	}
	if (a->dictionary) {
		if (a->dictionary->release)
			a->dictionary->release(a->dictionary);
		free(a->dictionary);
	}
	free(a->children);
	tide__shared_drop(h->shared);
	free(h->owned[0]);
	free(h->owned[1]);
	free(h);
	a->release = NULL;
}

static struct held *array_begin(struct ArrowArray *a, tide_shared *s, size_t length, int buffers)
{
	struct held *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->shared = tide__shared_keep(s);
	*a = (struct ArrowArray){ .length = (int64_t)length,
				  .n_buffers = buffers,
				  .buffers = h->buffers,
				  .release = array_release,
				  .private_data = h };
	return h;
}

/* Writes a text as valid UTF-8 and returns its bytes; only counts if `out` is NULL. */
static size_t clean(const char *s, size_t n, char *out)
{
	size_t put = 0;
	for (size_t i = 0; i < n;) {
		size_t len = tide__utf8_len(s + i, n - i);
		const char *from = len ? s + i : "\xef\xbf\xbd";
		size_t bytes = len ? len : 3;
		if (out)
			memcpy(out + put, from, bytes);
		put += bytes;
		i += len ? len : 1;
	}
	return put;
}

/* The texts for the indices of a column: the trace's texts, or the names of an enumeration. */
struct meaning {
	const tide_trace *trace;
	tide_kind_names words; /* NULL: the trace's texts */
	size_t known;	       /* number of values that have a name */
	size_t count;
	char unknown[32]; /* text for a value without a name; consumers require distinct texts */
};

static const char *meaning_at(struct meaning *m, size_t i, size_t *n)
{
	if (!m->words)
		return tide_trace_text(m->trace, (uint32_t)i, n);
	const char *text = m->unknown;
	if (i < m->known)
		text = m->words((unsigned)i);
	else
		snprintf(m->unknown, sizeof m->unknown, "unknown (%zu)", i);
	*n = strlen(text);
	return text;
}

static size_t highest(const uint8_t *v, size_t n)
{
	uint8_t most = 0;
	for (size_t i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	return most;
}

static struct meaning meaning_of(tide_shared *s, const tide_column_view *c, tide_kind_names words)
{
	const tide_model *m = (const tide_model *)s->trace;
	struct meaning d = { .trace = s->trace, .words = words };
	if (!words) {
		d.count = (size_t)tide__strings_count(m->strings) + 1;
		return d;
	}
	size_t most =
		c->data ? highest((const uint8_t *)c->data + c->first, c->rows - c->first) : 0;
	d.known = tide__kind_names_count(words);
	d.count = most < d.known ? d.known : most + 1;
	return d;
}

static int dictionary(struct ArrowArray *a, tide_shared *s, struct meaning *m)
{
	size_t n;
	struct held *h = array_begin(a, s, m->count, 3);
	int64_t *offsets = malloc((m->count + 1) * sizeof *offsets), total = 0;
	if (!h || !offsets) {
		free(offsets);
		if (h)
			array_release(a);
		return ENOMEM;
	}
	h->owned[0] = offsets;
	for (size_t i = 0; i < m->count; i++) {
		const char *text = meaning_at(m, i, &n);
		offsets[i] = total;
		total += (int64_t)clean(text, n, NULL);
	}
	offsets[m->count] = total;
	char *bytes = h->owned[1] = malloc(total ? (size_t)total : 1);
	if (!bytes) {
		array_release(a);
		return ENOMEM;
	}
	for (size_t i = 0; i < m->count; i++) {
		const char *text = meaning_at(m, i, &n);
		clean(text, n, bytes + offsets[i]);
	}
	h->buffers[1] = offsets;
	h->buffers[2] = bytes;
	return 0;
}

/* Returns roles as in `peak --group-by role`, including inferred ones. NULL if memory ran out. */
static void *roles_of(const tide_shared *s, const tide_column_view *c)
{
	tide_roles r;
	uint8_t *out = NULL;
	if (tide__find_roles((const tide_model *)s->trace, &r) == TIDE_OK &&
	    (out = malloc(c->rows + 1)))
		memcpy(out, r.role, c->rows);
	tide__roles_free(&r);
	return out;
}

static int array_column(struct ArrowArray *a, tide_shared *s, const char *table,
			const tide_column_view *c)
{
	struct held *h = array_begin(a, s, c->rows - c->first, 2);
	const char *data = c->data;
	if (!h)
		return ENOMEM;
	if (!strcmp(table, "allocs") && !strcmp(c->name, "role") && c->size == 1)
		data = h->owned[0] = roles_of(s, c);
	if (!data && c->data) {
		array_release(a);
		return ENOMEM;
	}
	h->buffers[1] = data ? data + c->first * c->size : NULL;
	tide_kind_names words = tide__kind_names_of(table, c->name);
	if (!is_text(c) && !words)
		return 0;
	struct meaning m = meaning_of(s, c, words);
	struct ArrowArray *d = calloc(1, sizeof *d);
	int rc = d ? dictionary(d, s, &m) : ENOMEM;
	if (rc) {
		free(d);
		array_release(a);
		return rc;
	}
	a->dictionary = d;
	return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct source *x = stream->private_data;
	tide_column_view c;
	memset(out, 0, sizeof *out);
	if (x->done)
		return 0;
	if (!array_begin(out, x->shared, x->table.rows - x->table.first, 1))
		return ENOMEM;
	out->children = calloc(x->table.columns + 1, sizeof *out->children);
	int rc = out->children ? 0 : ENOMEM;
	for (size_t i = 0; !rc && i < x->table.columns; i++) {
		struct ArrowArray *child = calloc(1, sizeof *child);
		tide_trace_column_at(x->shared->trace, x->table.name, i, &c);
		rc = child ? array_column(child, x->shared, x->table.name, &c) : ENOMEM;
		if (rc)
			free(child);
		else
			out->children[out->n_children++] = child;
	}
	if (rc)
		array_release(out);
	x->done = !rc;
	return rc;
}

/* ---- the stream ---- */

static const char *last_error(struct ArrowArrayStream *stream)
{
	return "out of memory";
}

static void stream_release(struct ArrowArrayStream *stream)
{
	struct source *x = stream->private_data;
	tide__shared_drop(x->shared);
	free(x);
	stream->release = NULL;
}

static void capsule_free(PyObject *capsule)
{
	struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, "arrow_array_stream");
	if (s && s->release)
		s->release(s);
	free(s);
}

PyObject *tide__arrow_stream(tide_shared *s, const char *table)
{
	struct source *x = calloc(1, sizeof *x);
	struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
	if (!x || !stream || tide_trace_table(s->trace, table, &x->table) != TIDE_OK) {
		PyErr_SetString(x && stream ? PyExc_KeyError : PyExc_MemoryError, table);
		free(x);
		free(stream);
		return NULL;
	}
	x->shared = tide__shared_keep(s);
	*stream = (struct ArrowArrayStream){ get_schema, get_next, last_error, stream_release, x };
	PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", capsule_free);
	if (!capsule) {
		stream_release(stream);
		free(stream);
	}
	return capsule;
}
