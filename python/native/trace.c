// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Trace: a trace of any format, its tables by name. Read-only; any thread may use it. */
#include <pthread.h>
#include <stdlib.h>

#include "native.h"

#ifndef PyBUF_READ
#define PyBUF_READ 0x100 /* part of the stable ABI, left out of its headers before 3.11 */
#endif

typedef struct trace {
	PyObject_HEAD tide_shared *shared;
} trace;

tide_shared *tide__shared_keep(tide_shared *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void tide__shared_drop(tide_shared *s)
{
	if (s && atomic_fetch_sub(&s->refs, 1) == 1) {
		tide_trace_close(s->trace);
		free(s);
	}
}

static const tide_trace *of(PyObject *self)
{
	return ((trace *)self)->shared->trace;
}

/* ---- opening ---- */

static void forget(void *t)
{
	tide_trace_close(*(tide_trace **)t);
}

/* Opens a trace without the GIL. Python may end a thread that takes it back (reports.c). */
static tide_code open_aside(const char *path, tide_trace **t, tide_error *err)
{
	tide_code rc;
	pthread_cleanup_push(forget, t);
	Py_BEGIN_ALLOW_THREADS rc = tide_trace_open(path, t, err);
	Py_END_ALLOW_THREADS pthread_cleanup_pop(0);
	return rc;
}

static tide_shared *load(const char *path)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_trace *t = NULL;
	if (open_aside(path, &t, &err) != TIDE_OK) {
		tide__raise(path, &err);
		return NULL;
	}
	tide_shared *s = malloc(sizeof *s);
	if (!s) {
		tide_trace_close(t);
		PyErr_NoMemory();
		return NULL;
	}
	*s = (tide_shared){ 1, t };
	return s;
}

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
	PyObject *path;
	allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
		return NULL;
	tide_shared *s = load(PyBytes_AsString(path));
	Py_DECREF(path);
	if (!s)
		return NULL;
	trace *self = (trace *)make(type, 0);
	if (!self) {
		tide__shared_drop(s);
		return NULL;
	}
	self->shared = s;
	return (PyObject *)self;
}

static void trace_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc give = (freefunc)PyType_GetSlot(type, Py_tp_free);
	tide__shared_drop(((trace *)self)->shared);
	give(self);
	Py_DECREF(type);
}

/* ---- contents ---- */

static PyObject *format(PyObject *self, void *none)
{
	return PyUnicode_FromString(tide_trace_format(of(self)));
}

static PyObject *end(PyObject *self, void *none)
{
	return PyLong_FromLongLong(tide_trace_end(of(self)));
}

static PyObject *wall(PyObject *self, void *none)
{
	int64_t ns;
	if (!tide_trace_wall(of(self), &ns))
		Py_RETURN_NONE;
	return PyLong_FromLongLong(ns);
}

static PyObject *tables(PyObject *self, PyObject *none)
{
	PyObject *out = PyDict_New();
	tide_table_view v;
	for (size_t i = 0; out && tide_trace_table_at(of(self), i, &v); i++) {
		PyObject *rows = PyLong_FromSize_t(v.rows - v.first);
		if (!rows || PyDict_SetItemString(out, v.name, rows))
			Py_CLEAR(out);
		Py_XDECREF(rows);
	}
	return out;
}

static PyObject *text_of(const tide_trace *t, uint32_t id)
{
	size_t n;
	const char *s = tide_trace_text(t, id, &n);
	return PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, "replace");
}

static PyObject *text(PyObject *self, PyObject *id)
{
	unsigned long i = PyLong_AsUnsignedLong(id);
	if (i == (unsigned long)-1 && PyErr_Occurred())
		return NULL;
	return text_of(of(self), i <= UINT32_MAX ? (uint32_t)i : 0);
}

static PyObject *cell(const tide_trace *t, const tide_column_view *c, size_t row)
{
	const char *p = (const char *)c->data + row * c->size;
	switch (c->type) {
	case TIDE_TYPE_U8:
		return PyLong_FromUnsignedLong(*(const uint8_t *)(const void *)p);
	case TIDE_TYPE_U16:
		return PyLong_FromUnsignedLong(*(const uint16_t *)(const void *)p);
	case TIDE_TYPE_U64:
		return PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)p);
	case TIDE_TYPE_I64:
		return PyLong_FromLongLong(*(const int64_t *)(const void *)p);
	case TIDE_TYPE_F64:
		return PyFloat_FromDouble(*(const double *)(const void *)p);
	case TIDE_TYPE_ID:
		if (!strcmp(c->refers, "strings"))
			return text_of(t, *(const uint32_t *)(const void *)p);
		/* fallthrough */
	default:
		return PyLong_FromUnsignedLong(*(const uint32_t *)(const void *)p);
	}
}

/* Returns the column as a list, with row 0 (none): an id of another column is an index into it. */
static PyObject *column(PyObject *self, PyObject *args)
{
	const char *table, *name;
	tide_column_view c;
	if (!PyArg_ParseTuple(args, "ss", &table, &name))
		return NULL;
	if (tide_trace_column(of(self), table, name, &c) != TIDE_OK)
		return PyErr_Format(PyExc_KeyError, "%s.%s", table, name);
	PyObject *out = PyList_New((Py_ssize_t)c.rows);
	for (size_t i = 0; out && i < c.rows; i++) {
		PyObject *v = cell(of(self), &c, i);
		if (!v || PyList_SetItem(out, (Py_ssize_t)i, v))
			Py_CLEAR(out);
	}
	return out;
}

/* Returns the column in place as a memoryview. It is not a copy and does not keep the trace open. */
static PyObject *view(PyObject *self, PyObject *args)
{
	static const char *const formats[] = { "B", "H", "I", "Q", "q", "d", "I" };
	static char none;
	const char *table, *name;
	tide_column_view c;
	if (!PyArg_ParseTuple(args, "ss", &table, &name))
		return NULL;
	if (tide_trace_column(of(self), table, name, &c) != TIDE_OK)
		return PyErr_Format(PyExc_KeyError, "%s.%s", table, name);
	size_t n = c.rows * c.size;
	char *at = n ? (char *)(uintptr_t)c.data : &none; /* read-only: PyBUF_READ */
	PyObject *bytes = PyMemoryView_FromMemory(at, (Py_ssize_t)n, PyBUF_READ);
	PyObject *out = bytes ? PyObject_CallMethod(bytes, "cast", "s", formats[c.type]) : NULL;
	Py_XDECREF(bytes);
	return out;
}

static PyObject *dims(PyObject *self, PyObject *args)
{
	unsigned long long first, count;
	size_t n;
	const uint64_t *all = tide_trace_dims(of(self), &n);
	if (!PyArg_ParseTuple(args, "KK", &first, &count))
		return NULL;
	if (first > n || count > n - first)
		return PyErr_Format(PyExc_IndexError, "no such dimensions");
	PyObject *out = PyList_New((Py_ssize_t)count);
	for (size_t i = 0; out && i < count; i++) {
		PyObject *v = PyLong_FromUnsignedLongLong(all[first + i]);
		if (!v || PyList_SetItem(out, (Py_ssize_t)i, v))
			Py_CLEAR(out);
	}
	return out;
}

static PyObject *arrow(PyObject *self, PyObject *name)
{
	const char *table = PyUnicode_AsUTF8AndSize(name, NULL);
	return table ? tide__arrow_stream(((trace *)self)->shared, table) : NULL;
}

static PyObject *totals(PyObject *self, PyObject *positions)
{
	return tide__totals(of(self), positions);
}

static void drop_capsule(PyObject *capsule)
{
	tide__shared_drop(PyCapsule_GetContext(capsule));
}

/* Returns the model for tidemark._reports as a capsule, which keeps it alive. */
static PyObject *model(PyObject *self, PyObject *none)
{
	tide_shared *s = ((trace *)self)->shared;
	PyObject *out = PyCapsule_New(s->trace, "tide_model", NULL);
	if (out && (PyCapsule_SetContext(out, tide__shared_keep(s)) ||
		    PyCapsule_SetDestructor(out, drop_capsule))) {
		tide__shared_drop(s);
		Py_CLEAR(out);
	}
	return out;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
	{ "tables", tables, METH_NOARGS, "Rows of each table, by its name." },
	{ "text", text, METH_O, "Text of an id." },
	{ "column", column, METH_VARARGS, "column(table, name) -> list, the none row included" },
	{ "view", view, METH_VARARGS,
	  "view(table, name) -> memoryview of the column in place; good while the Trace lives" },
	{ "dims", dims, METH_VARARGS, "dims(first, count) -> dimensions of a tensor" },
	{ "totals", totals, METH_O,
	  "totals([positions, ...]) -> [{row of a device: (bytes, allocations)}, ...] alive then" },
	{ "model", model, METH_NOARGS, "capsule for tidemark._reports" },
	{ "arrow", arrow, METH_O, "arrow(table) -> capsule arrow_array_stream" },
	{ NULL },
};
static PyGetSetDef getters[] = {
	{ "format", format, NULL, "the format it was read from" },
	{ "end", end, NULL, "the last moment it covers, ns" },
	{ "wall", wall, NULL, "Unix time of its start in ns, or None" },
	{ NULL },
};
static PyType_Slot slots[] = {
	{ Py_tp_new, (void *)(uintptr_t)trace_new },
	{ Py_tp_dealloc, (void *)(uintptr_t)trace_free },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, getters },
	{ Py_tp_doc, (void *)(uintptr_t) "Trace(path): a trace of any format." },
	{ 0, NULL },
};
static PyType_Spec spec = { "tidemark._native.Trace", sizeof(trace), 0, Py_TPFLAGS_DEFAULT, slots };

int tide__trace_register(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int rc = type ? PyModule_AddObjectRef(module, "Trace", type) : -1;
	Py_XDECREF(type);
	return rc;
}
