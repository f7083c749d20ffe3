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

struct call {
	const tide_report_type *type;
	tide_pair *pairs; /* owned; texts of `keep` */
	size_t n_pairs;
	uint64_t *sizes;	   /* predict: owned */
	const tide_trace **traces; /* owned; borrowed traces */
	size_t n;
	PyObject *keep; /* owned list: objects that hold the texts above */
	tide_report *report;
	const tide_node *root; /* of the report */
	char *text;	       /* owned */
	size_t n_text;
	tide_error err;
	tide_code rc;
};

/* ---- options: names and texts ---- */

/* Returns the text of str(value), which the call keeps alive; NULL with an exception. */
static const char *text_of(struct call *c, PyObject *value)
{
	PyObject *s = PyObject_Str(value), *bytes = s ? PyUnicode_AsUTF8String(s) : NULL;
	Py_XDECREF(s);
	const char *text = bytes && !PyList_Append(c->keep, bytes) ? PyBytes_AsString(bytes) : NULL;
	Py_XDECREF(bytes);
	return text;
}

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
		if (value == Py_None)
			continue;
		const char *name = text_of(c, key);
		bool list = PyList_Check(value) || PyTuple_Check(value);
		rc = !name ? -1 : tide__report_option(c->type, name) ? 0 : 1;
		if (!rc && !list)
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
	const tide_report_traces in = { .models = (const tide_model *const *)c->traces,
					.n = c->n,
					.sizes = c->sizes };
	return tide__report_find_pairs(c->type, &in, c->pairs, c->n_pairs, &c->report, &c->err);
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
	c.type = tide__report_named(name);
	if (!c.type || !PyList_Check(traces) || !PyDict_Check(options))
		return Py_NewRef(Py_NotImplemented);
	c.keep = PyList_New(0);
	int known = c.keep ? take_pairs(&c, options) : -1;
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
