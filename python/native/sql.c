// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._sql: queries over traces.
 *
 *     run([trace capsule], "select ...", seconds, Error) -> result capsule
 *     columns(result) -> ["name", ...]     rows(result) -> [(...), ...]
 *     stream(result) -> capsule "arrow_array_stream", a copy of the rows in one batch
 *
 * A query runs without the GIL; Ctrl-C ends it. A separate module, because it needs SQLite. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"
#include "base/utf8.h"
#include "sql/sql.h"

/* ---- a result ---- */

/* Shared by the capsule and by streams, which any thread may release. */
struct held {
	_Atomic(size_t) refs;
	tide_sql_result *r;
};

static void drop(struct held *h)
{
	if (atomic_fetch_sub(&h->refs, 1) > 1)
		return;
	tide__sql_result_free(h->r);
	free(h);
}

static void drop_capsule(PyObject *capsule)
{
	drop(PyCapsule_GetPointer(capsule, "tide_sql_result"));
}

static struct held *held_of(PyObject *capsule)
{
	return PyCapsule_GetPointer(capsule, "tide_sql_result");
}

/* ---- running ---- */

struct call {
	tide_report_traces in;
	const char *query;
	tide_sql_limits limits;
	tide_sql_result *r;
	tide_error err;
	tide_code rc;
	volatile int stop;
	atomic_bool done;
};

static void *run_call(void *user)
{
	struct call *c = user;
	tide_sql *s;
	const char *rest;
	c->rc = tide__sql_open(&c->in, &s, &c->err);
	if (c->rc == TIDE_OK) {
		c->rc = tide__sql_run(s, c->query, &c->limits, &rest, &c->r, &c->err);
		tide__sql_close(s);
	}
	atomic_store(&c->done, true);
	return NULL;
}

/* Runs it in a thread of its own, so that this one sees signals. Returns -1 with an exception. */
static int run_and_watch(struct call *c)
{
	const struct timespec wait = { .tv_nsec = 2000000 };
	pthread_t thread;
	int rc = 0;
	if (pthread_create(&thread, NULL, run_call, c))
		return PyErr_NoMemory(), -1;
	for (int i = 0; !atomic_load(&c->done); i++) {
		Py_BEGIN_ALLOW_THREADS nanosleep(&wait, NULL);
		Py_END_ALLOW_THREADS if (i % 16 == 0 && !c->stop && PyErr_CheckSignals())
		{
			c->stop = 1;
			rc = -1;
		}
	}
	Py_BEGIN_ALLOW_THREADS pthread_join(thread, NULL);
	Py_END_ALLOW_THREADS return rc;
}

static PyObject *answer(struct call *c, PyObject *error)
{
	if (c->rc != TIDE_OK)
		return PyErr_Format(error, "%s", c->err.text);
	if (!c->r)
		return PyErr_Format(error, "the query is empty");
	struct held *h = malloc(sizeof *h);
	PyObject *out = h ? PyCapsule_New(h, "tide_sql_result", drop_capsule) : NULL;
	if (!out) {
		free(h);
		tide__sql_result_free(c->r);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	atomic_init(&h->refs, 1);
	h->r = c->r;
	return out;
}

static PyObject *run(PyObject *self, PyObject *args)
{
	PyObject *traces, *error;
	double seconds;
	struct call c = { .err = { .offset = TIDE_NO_OFFSET } };
	if (!PyArg_ParseTuple(args, "O!sdO", &PyList_Type, &traces, &c.query, &seconds, &error))
		return NULL;
	size_t n = (size_t)PyList_Size(traces);
	const tide_model **models = calloc(n + 1, sizeof *models);
	for (size_t i = 0; models && i < n; i++)
		if (!(models[i] = PyCapsule_GetPointer(PyList_GetItem(traces, (Py_ssize_t)i),
						       "tide_model"))) {
			free(models);
			return NULL;
		}
	if (!models)
		return PyErr_NoMemory();
	c.in = (tide_report_traces){ .models = models, .n = n };
	c.limits = (tide_sql_limits){ .ms = (int64_t)(seconds * 1000), .stop = &c.stop };
	int rc = run_and_watch(&c);
	free(models);
	if (rc) {
		tide__sql_result_free(c.r);
		return NULL;
	}
	return answer(&c, error);
}

/* ---- as Python objects ---- */

static PyObject *text_of(const char *s, size_t n)
{
	char *text = malloc(2 * n + 1);
	if (!text)
		return PyErr_NoMemory();
	PyObject *out = PyUnicode_FromStringAndSize(text, (Py_ssize_t)tide__utf8_clean(s, n, text));
	free(text);
	return out;
}

static PyObject *columns(PyObject *self, PyObject *result)
{
	struct held *h = held_of(result);
	PyObject *out = h ? PyList_New(0) : NULL;
	for (size_t k = 0; out && k < tide__sql_columns(h->r); k++) {
		const char *key = tide__sql_column(h->r, k)->key;
		PyObject *name = text_of(key, strlen(key));
		if (!name || PyList_Append(out, name))
			Py_CLEAR(out);
		Py_XDECREF(name);
	}
	return out;
}

static PyObject *value_of(const tide_sql_result *r, size_t row, size_t column)
{
	char buf[40];
	tide_sql_cell c = tide__sql_cell(r, row, column, buf);
	if (c.type == TIDE_SQL_TEXT)
		return text_of(c.text, c.n);
	if (c.type == TIDE_SQL_REAL)
		return PyFloat_FromDouble(c.d);
	if (c.type == TIDE_SQL_INT)
		return PyLong_FromLongLong(c.i);
	Py_RETURN_NONE;
}

static PyObject *rows(PyObject *self, PyObject *result)
{
	struct held *h = held_of(result);
	PyObject *out = h ? PyList_New((Py_ssize_t)tide__sql_rows(h->r)) : NULL;
	for (size_t i = 0; out && i < tide__sql_rows(h->r); i++) {
		PyObject *row = PyTuple_New((Py_ssize_t)tide__sql_columns(h->r));
		for (size_t k = 0; row && k < tide__sql_columns(h->r); k++) {
			PyObject *v = value_of(h->r, i, k);
			if (!v || PyTuple_SetItem(row, (Py_ssize_t)k, v))
				Py_CLEAR(row);
		}
		if (!row || PyList_SetItem(out, (Py_ssize_t)i, row))
			Py_CLEAR(out);
	}
	return out;
}

/* ---- as an Arrow stream ---- */

struct source {
	struct held *held;
	bool done;
};

static void schema_release(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++) {
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
		free(s->children[i]);
	}
	free(s->children);
	free(s->private_data);
	s->release = NULL;
}

static int schema_one(struct ArrowSchema *s, const char *format, const char *name)
{
	char *copy = malloc(2 * strlen(name) + 1);
	if (!copy)
		return ENOMEM;
	copy[tide__utf8_clean(name, strlen(name), copy)] = 0;
	*s = (struct ArrowSchema){ .format = format,
				   .name = copy,
				   .flags = 2, /* nullable */
				   .release = schema_release,
				   .private_data = copy };
	return 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	const tide_sql_result *r = ((struct source *)stream->private_data)->held->r;
	size_t n = tide__sql_columns(r);
	int rc = schema_one(out, "+s", "");
	if (!rc && !(out->children = calloc(n + 1, sizeof *out->children)))
		rc = ENOMEM;
	for (size_t k = 0; !rc && k < n; k++) {
		const tide_member *m = tide__sql_column(r, k);
		struct ArrowSchema *c = calloc(1, sizeof *c);
		rc = c ? schema_one(c,
				    m->kind == TIDE_KIND_PLAIN	? "l"
				    : m->kind == TIDE_KIND_REAL ? "g"
								: "U",
				    m->key)
		       : ENOMEM;
		if (rc)
			free(c);
		else
			out->children[out->n_children++] = c;
	}
	if (rc && out->release)
		schema_release(out);
	return rc;
}

struct column {
	void *owned[3]; /* validity, values or offsets, texts */
	const void *buffers[3];
};

static void array_release(struct ArrowArray *a)
{
	struct column *c = a->private_data;
	for (int64_t i = 0; i < a->n_children; i++) {
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
		free(a->children[i]);
	}
	free(a->children);
	for (size_t i = 0; i < 3; i++)
		free(c->owned[i]);
	free(c);
	a->release = NULL;
}

/* Begins an array of so many buffers. The first has a bit for each known row. */
static struct column *array_begin(struct ArrowArray *a, size_t rows, int buffers)
{
	struct column *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	*a = (struct ArrowArray){ .length = (int64_t)rows,
				  .n_buffers = buffers,
				  .buffers = c->buffers,
				  .release = array_release,
				  .private_data = c };
	return c;
}

/* Returns the bytes of a column's texts, and fills offsets. */
static size_t measure(const tide_sql_result *r, size_t k, int64_t *offsets)
{
	char buf[40];
	size_t total = 0, i = 0;
	for (; i < tide__sql_rows(r); i++) {
		tide_sql_cell c = tide__sql_cell(r, i, k, buf);
		offsets[i] = (int64_t)total;
		total += c.type == TIDE_SQL_TEXT ? 2 * c.n : 0;
	}
	offsets[i] = (int64_t)total;
	return total;
}

static int fill_texts(const tide_sql_result *r, size_t k, struct column *c)
{
	size_t n = tide__sql_rows(r), at = 0;
	char buf[40], *text;
	int64_t *offsets = c->owned[1] = malloc((n + 1) * sizeof *offsets);
	if (!offsets || !(text = c->owned[2] = malloc(measure(r, k, offsets) + 1)))
		return ENOMEM;
	for (size_t i = 0; i < n; i++) {
		tide_sql_cell v = tide__sql_cell(r, i, k, buf);
		offsets[i] = (int64_t)at;
		at += v.type == TIDE_SQL_TEXT ? tide__utf8_clean(v.text, v.n, text + at) : 0;
	}
	offsets[n] = (int64_t)at;
	return 0;
}

static int fill_numbers(const tide_sql_result *r, size_t k, struct column *c)
{
	size_t n = tide__sql_rows(r);
	char buf[40], *to = c->owned[1] = calloc(n + 1, 8);
	for (size_t i = 0; to && i < n; i++) {
		tide_sql_cell v = tide__sql_cell(r, i, k, buf);
		if (v.type == TIDE_SQL_REAL)
			memcpy(to + 8 * i, &v.d, 8);
		else
			memcpy(to + 8 * i, &v.i, 8);
	}
	return to ? 0 : ENOMEM;
}

static int array_column(const tide_sql_result *r, size_t k, struct ArrowArray *a)
{
	size_t n = tide__sql_rows(r);
	bool text = tide__sql_column(r, k)->kind == TIDE_KIND_TEXT;
	struct column *c = array_begin(a, n, text ? 3 : 2);
	uint8_t *known = c ? c->owned[0] = calloc(n / 8 + 1, 1) : NULL;
	char buf[40];
	int rc = known ? text ? fill_texts(r, k, c) : fill_numbers(r, k, c) : ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		bool is = tide__sql_cell(r, i, k, buf).type != TIDE_SQL_NULL;
		known[i / 8] |= (uint8_t)(is << i % 8);
		a->null_count += !is;
	}
	for (size_t i = 0; c && i < 3; i++)
		c->buffers[i] = c->owned[i];
	if (rc && c)
		array_release(a);
	return rc;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct source *x = stream->private_data;
	const tide_sql_result *r = x->held->r;
	size_t n = tide__sql_columns(r);
	memset(out, 0, sizeof *out);
	if (x->done)
		return 0;
	int rc = array_begin(out, tide__sql_rows(r), 1) ? 0 : ENOMEM;
	if (!rc && !(out->children = calloc(n + 1, sizeof *out->children)))
		rc = ENOMEM;
	for (size_t k = 0; !rc && k < n; k++) {
		struct ArrowArray *c = calloc(1, sizeof *c);
		rc = c ? array_column(r, k, c) : ENOMEM;
		if (rc)
			free(c);
		else
			out->children[out->n_children++] = c;
	}
	if (rc && out->release)
		array_release(out);
	x->done = !rc;
	return rc;
}

static const char *last_error(struct ArrowArrayStream *stream)
{
	return "out of memory";
}

static void stream_release(struct ArrowArrayStream *s)
{
	struct source *x = s->private_data;
	drop(x->held);
	free(x);
	s->release = NULL;
}

static void stream_free(PyObject *capsule)
{
	struct ArrowArrayStream *s = PyCapsule_GetPointer(capsule, "arrow_array_stream");
	if (s->release)
		s->release(s);
	free(s);
}

static PyObject *stream(PyObject *self, PyObject *result)
{
	struct held *h = held_of(result);
	struct source *x = h ? calloc(1, sizeof *x) : NULL;
	struct ArrowArrayStream *s = x ? calloc(1, sizeof *s) : NULL;
	if (!s) {
		free(x);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	atomic_fetch_add(&h->refs, 1);
	x->held = h;
	*s = (struct ArrowArrayStream){ get_schema, get_next, last_error, stream_release, x };
	PyObject *capsule = PyCapsule_New(s, "arrow_array_stream", stream_free);
	if (!capsule) {
		stream_release(s);
		free(s);
	}
	return capsule;
}

static PyMethodDef methods[] = { { "run", run, METH_VARARGS,
				   "the result of a query, as a capsule" },
				 { "columns", columns, METH_O, "names of the columns" },
				 { "rows", rows, METH_O, "rows as tuples" },
				 { "stream", stream, METH_O, "an Arrow stream" },
				 { 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, .m_name = "tidemark._sql",
				     .m_methods = methods };

PyMODINIT_FUNC PyInit__sql(void)
{
	return PyModule_Create(&module);
}
