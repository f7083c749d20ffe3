// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._reports: every report of tidemark/analyze.h as dicts and lists.
 *
 *     find("peak", [trace capsule], {"group_by": "op"}, Error) -> dict
 *     text("phases", [trace capsule], {"tracker": True}, Error) -> str
 *
 * Both return NotImplemented for a report or an option that the library does not have.
 *
 * It is a separate module, loaded by the first report. A report is computed without the GIL, converted to
 * Python objects and freed in one call, so nothing outlives its trace. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <tidemark/analyze.h>

#include "report/registry.h"
#include "reserved.h"
#include "roles.h"

/* ---- options ---- */

typedef enum kind {
	TEXT,
	FLAG,
	SIZE,
	BYTES,
	TEXTS,
	NUMBERS,
	OF_TEXT /* changes only the text: accepted, without effect on figures */
} kind;

struct field {
	const char *name;
	kind kind;
	size_t at; /* in the options struct */
	size_t n;  /* TEXTS, NUMBERS: where the count is */
};

/* A union of all options structs: each report uses one. */
union options {
};

struct call {
	const tide_report_type *described; /* or else: */
	const struct report *type;
	tide_pair *pairs; /* owned; texts of `keep` */
	size_t n_pairs;
	union options o;
	uint64_t *sizes;	   /* predict: owned */
	const tide_trace **traces; /* owned; borrowed traces */
	size_t n;
	PyObject *keep; /* owned list: objects that hold the texts above */
	void **arrays;	/* owned: arrays of TEXTS and NUMBERS */
	size_t n_arrays;
	tide_report *report;
	const tide_node *root; /* of the report */
	char *text;	       /* owned */
	size_t n_text;
	tide_error err;
	tide_code rc;
};

struct report {
	const char *name;
	struct field fields[16];
	tide_code (*find)(struct call *c);
	size_t size;
	union options defaults;
	bool many; /* takes any number of traces */
};

#define F(st, member, kind_)                            \
	{                                               \
#member, kind_, offsetof(st, member), 0 \
	}

/* clang-format off */
static const struct report reports[] = {
};
/* clang-format on */

static const struct report *report_named(const char *name)
{
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
		if (!strcmp(reports[i].name, name))
			return &reports[i];
	return NULL;
}

/* Returns the text of str(value), which the call keeps alive; NULL with an exception. */
static const char *text_of(struct call *c, PyObject *value)
{
	PyObject *s = PyObject_Str(value), *bytes = s ? PyUnicode_AsUTF8String(s) : NULL;
	Py_XDECREF(s);
	const char *text = bytes && !PyList_Append(c->keep, bytes) ? PyBytes_AsString(bytes) : NULL;
	Py_XDECREF(bytes);
	return text;
}

static void *array_of(struct call *c, Py_ssize_t n, size_t size)
{
	void **v = realloc(c->arrays, (c->n_arrays + 1) * sizeof *v);
	if (v)
		c->arrays = v;
	void *array = v ? calloc((size_t)n + 1, size) : NULL;
	if (array)
		c->arrays[c->n_arrays++] = array;
	else
		PyErr_NoMemory();
	return array;
}

/* Stores a list, a tuple or one value. */
static int take_list(struct call *c, const struct field *f, PyObject *value, char *o)
{
	bool list = PyList_Check(value) || PyTuple_Check(value);
	Py_ssize_t n = list ? PySequence_Size(value) : 1;
	void *v = array_of(c, n, f->kind == TEXTS ? sizeof(char *) : sizeof(uint64_t));
	for (Py_ssize_t i = 0; v && i < n; i++) {
		PyObject *one = list ? PySequence_GetItem(value, i) : Py_NewRef(value);
		if (one && f->kind == TEXTS)
			((const char **)v)[i] = text_of(c, one);
		else if (one)
			((uint64_t *)v)[i] = PyLong_AsUnsignedLongLong(one);
		Py_XDECREF(one);
		if (PyErr_Occurred())
			return -1;
	}
	if (!v)
		return -1;
	size_t count = (size_t)n;
	memcpy(o + f->at, &v, sizeof v);
	memcpy(o + f->n, &count, sizeof count);
	return 0;
}

static int take_bytes(struct call *c, PyObject *value, uint64_t *out)
{
	int64_t v = 0;
	if (PyLong_Check(value)) {
		*out = PyLong_AsUnsignedLongLong(value);
		return PyErr_Occurred() ? -1 : 0;
	}
	const char *text = text_of(c, value);
	if (!text)
		return -1;
	if (!tide__parse_bytes(text, &v))
		return PyErr_Format(PyExc_ValueError, "'%s' is not a size such as 40GiB", text), -1;
	*out = (uint64_t)v;
	return 0;
}

static int take(struct call *c, const struct field *f, PyObject *value)
{
	char *o = (char *)&c->o + f->at;
	switch (f->kind) {
	case TEXT: {
		const char *text = text_of(c, value);
		memcpy(o, &text, sizeof text);
		return text ? 0 : -1;
	}
	case FLAG:
		*(bool *)o = PyObject_IsTrue(value) == 1;
		break;
	case SIZE:
		*(size_t *)o = PyLong_AsSize_t(value);
		break;
	case OF_TEXT:
		break;
	case BYTES:
		return take_bytes(c, value, (uint64_t *)o);
	default:
		return take_list(c, f, value, (char *)&c->o);
	}
	return PyErr_Occurred() ? -1 : 0;
}

static const struct field *field_named(const struct report *r, const char *name)
{
	for (const struct field *f = r->fields; f < r->fields + 16 && f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

/* Returns 0, -1 with an exception, or 1 for an unknown option. */
static int take_options(struct call *c, PyObject *options)
{
	Py_ssize_t at = 0;
	PyObject *key, *value;
	c->o = c->type->defaults;
	while (PyDict_Next(options, &at, &key, &value)) {
		if (value == Py_None)
			continue;
		const char *name = text_of(c, key);
		if (!name)
			return -1;
		const struct field *f = field_named(c->type, name);
		if (!f)
			return 1;
		if (take(c, f, value))
			return -1;
	}
	return 0;
}

/* ---- options of described reports: texts ---- */

static int add_pair(struct call *c, const char *name, PyObject *value)
{
	tide_pair *v = realloc(c->pairs, (c->n_pairs + 1) * sizeof *v);
	if (!v)
		return PyErr_NoMemory(), -1;
	c->pairs = v;
	const char *text = value == Py_True    ? "true"
			   : value == Py_False ? "false"
					       : text_of(c, value);
	c->pairs[c->n_pairs++] = (tide_pair){ name, text };
	return text ? 0 : -1;
}

/* Returns 0, -1 with an exception, or 1 for an option that only the command has. */
static int take_pairs(struct call *c, PyObject *options)
{
	Py_ssize_t at = 0;
	PyObject *key, *value;
	int rc = 0;
	while (!rc && PyDict_Next(options, &at, &key, &value)) {
		const char *name = text_of(c, key);
		bool list = PyList_Check(value) || PyTuple_Check(value);
		rc = !name ? -1 : tide__report_option(c->described, name) ? 0 : 1;
		if (!rc && value != Py_None && !list)
			rc = add_pair(c, name, value);
		for (Py_ssize_t i = 0; !rc && list && i < PySequence_Size(value); i++) {
			PyObject *one = PySequence_GetItem(value, i);
			rc = one ? add_pair(c, name, one) : -1;
			Py_XDECREF(one);
		}
	}
	return rc;
}

/* ---- traces ---- */

/* Takes capsules, or for predict pairs of a size and a capsule. */
static int take_traces(struct call *c, PyObject *list)
{
	c->n = (size_t)PyList_Size(list);
	c->traces = calloc(c->n + 1, sizeof *c->traces);
	c->sizes = calloc(c->n + 1, sizeof *c->sizes);
	if (!c->traces || !c->sizes)
		return PyErr_NoMemory(), -1;
	for (size_t i = 0; i < c->n; i++) {
		PyObject *one = PyList_GetItem(list, (Py_ssize_t)i);
		if (PyTuple_Check(one)) {
			c->sizes[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(one, 0));
			one = PyTuple_GetItem(one, 1);
		}
		if (PyErr_Occurred() || !(c->traces[i] = PyCapsule_GetPointer(one, "tide_model")))
			return -1;
	}
	return 0;
}

/* ---- nodes ---- */

static PyObject *object_of(const tide_node *v);

static PyObject *dict_of(const tide_node *v)
{
	PyObject *out = PyDict_New();
	for (size_t i = 0; out && i < tide_node_count(v); i++) {
		PyObject *one = object_of(tide_node_at(v, i));
		if (!one || PyDict_SetItemString(out, tide_node_key(v, i), one))
			Py_CLEAR(out);
		Py_XDECREF(one);
	}
	return out;
}

static PyObject *list_of(const tide_node *v)
{
	PyObject *out = PyList_New((Py_ssize_t)tide_node_count(v));
	for (size_t i = 0; out && i < tide_node_count(v); i++) {
		PyObject *one = object_of(tide_node_at(v, i));
		if (!one || PyList_SetItem(out, (Py_ssize_t)i, one))
			Py_CLEAR(out);
	}
	return out;
}

static PyObject *object_of(const tide_node *v)
{
	const char *text;
	size_t n;
	if (Py_EnterRecursiveCall(" in a report"))
		return NULL;
	PyObject *out = NULL;
	switch (tide_node_type(v)) {
	case TIDE_NODE_NULL:
		out = Py_NewRef(Py_None);
		break;
	case TIDE_NODE_BOOL:
		out = PyBool_FromLong(tide_node_bool(v, false));
		break;
	case TIDE_NODE_INT:
		out = PyLong_FromLongLong(tide_node_int(v, 0));
		break;
	case TIDE_NODE_UINT:
		out = PyLong_FromUnsignedLongLong(tide_node_uint(v, 0));
		break;
	case TIDE_NODE_REAL:
		out = PyFloat_FromDouble(tide_node_real(v, 0));
		break;
	case TIDE_NODE_TEXT:
		text = tide_node_text(v, &n);
		out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
		break;
	case TIDE_NODE_ARRAY:
		out = list_of(v);
		break;
	case TIDE_NODE_OBJECT:
		out = dict_of(v);
		break;
	}
	Py_LeaveRecursiveCall();
	return out;
}

/* ---- the call ---- */

static void forget(void *call)
{
	struct call *c = call;
	tide_report_free(c->report);
	for (size_t i = 0; i < c->n_arrays; i++)
		free(c->arrays[i]);
	free(c->arrays);
	free(c->text);
	free(c->pairs);
	free(c->traces);
	free(c->sizes);
}

/* Writes the report as text. */
static tide_code print(struct call *c)
{
	FILE *out = open_memstream(&c->text, &c->n_text);
	if (!out)
		return TIDE_ENOMEM;
	tide_code rc = tide_report_print(c->report, out, NULL);
	return fclose(out) && rc == TIDE_OK ? TIDE_ENOMEM : rc;
}

static tide_code find_report(struct call *c)
{
	if (!c->described)
		return c->type->find(c);
	const tide_report_traces in = { .models = (const tide_model *const *)c->traces,
					.n = c->n,
					.sizes = c->sizes };
	return tide__report_find_pairs(c->described, &in, c->pairs, c->n_pairs, &c->report,
				       &c->err);
}

/* Finds a report without the GIL. Before 3.14, when a daemon thread takes the GIL back after the program
 * has ended, Python ends it by pthread_exit. The cleanup handler then frees the memory of the
 * call. */
static void find_aside(struct call *c, bool text)
{
	pthread_cleanup_push(forget, c);
	Py_BEGIN_ALLOW_THREADS c->rc = find_report(c);
	if (c->rc == TIDE_OK && text)
		c->rc = print(c);
	else if (c->rc == TIDE_OK && !(c->root = tide_report_root(c->report)))
		c->rc = TIDE_ENOMEM;
	Py_END_ALLOW_THREADS pthread_cleanup_pop(0);
}

static PyObject *answer(struct call *c, bool text, PyObject *error)
{
	find_aside(c, text);
	if (c->rc == TIDE_OK && text)
		return PyUnicode_DecodeUTF8(c->text, (Py_ssize_t)c->n_text, "replace");
	if (c->rc == TIDE_OK)
		return object_of(c->root);
	if (c->rc == TIDE_ENOMEM)
		return PyErr_NoMemory();
	const char *why = *c->err.text ? c->err.text : tide_code_text(c->rc);
	PyErr_Format(error, "tidemark: %s: %s", ((const tide_model *)c->traces[0])->path, why);
	return NULL;
}

/* (name, traces, options, error class) -> dict, str or NotImplemented */
static PyObject *find_as(PyObject *args, bool text)
{
	struct call c = { 0 };
	const char *name;
	PyObject *traces, *options, *error, *out = NULL;
	if (!PyArg_ParseTuple(args, "sOOO", &name, &traces, &options, &error))
		return NULL;
	c.described = tide__report_named(name);
	c.type = c.described ? NULL : report_named(name);
	if ((!c.described && !c.type) || !PyList_Check(traces) || !PyDict_Check(options))
		return Py_NewRef(Py_NotImplemented);
	c.keep = PyList_New(0);
	int known = !c.keep	  ? -1
		    : c.described ? take_pairs(&c, options)
				  : take_options(&c, options);
	if (known == 1)
		out = Py_NewRef(Py_NotImplemented);
	else if (!known && !take_traces(&c, traces))
		out = answer(&c, text, error);
	forget(&c);
	Py_XDECREF(c.keep);
	return out;
}

static PyObject *find(PyObject *self, PyObject *args)
{
	return find_as(args, false);
}

static PyObject *find_text(PyObject *self, PyObject *args)
{
	return find_as(args, true);
}

static PyMethodDef methods[] = {
	{ "text", find_text, METH_VARARGS,
	  "text(name, traces, options, error) -> the report as it is printed, or NotImplemented" },
	{ "find", find, METH_VARARGS,
	  "find(name, traces, options, error) -> the report as a dict, or NotImplemented" },
	{ "reserved", tide__py_reserved, METH_O,
	  "reserved(trace) -> ([source of a device's row], [(time, row, bytes from then on)])" },
	{ "roles", tide__py_roles, METH_O,
	  "roles(trace) -> (role, rule of roles.h) of every row of allocs, a byte each" },
	{ NULL },
};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "tidemark._reports",
	.m_doc = "Reports of the library as Python objects.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__reports(void);
PyMODINIT_FUNC PyInit__reports(void)
{
	return PyModule_Create(&definition);
}
