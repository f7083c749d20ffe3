// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._ask: commands of the program in this process, for those that are no report of the
 * library (tidemark._reports).
 *
 * A module of its own, loaded by the first such command: it brings the whole program along. A trace comes from tidemark._native as a capsule: both are built from
 * the same sources, and a model is plain memory. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>
#include <pthread.h>
#include <stdlib.h>

#include "cli/cli.h"

struct question {
	char **argv;
	int argc;
	tide_model *model;
	char *out, *errors;
	size_t n_out, n_errors;
	int rc;
};

static int answer(struct question *q)
{
	FILE *out = open_memstream(&q->out, &q->n_out);
	FILE *errors = open_memstream(&q->errors, &q->n_errors);
	if (out && errors)
		q->rc = tide__cli_ask(q->argc, q->argv, q->model, out, errors);
	int bad = !out || !errors;
	bad |= out && fclose(out);
	bad |= errors && fclose(errors);
	return bad;
}

static void forget(void *question)
{
	struct question *q = question;
	for (int i = 0; i < q->argc; i++)
		free(q->argv[i]);
	free(q->argv);
	free(q->out);
	free(q->errors);
}

/* The answer, without the GIL. Before 3.14 Python ends a daemon thread where it wants that back
 * once the program has ended, by pthread_exit: what it holds is given back on the way. */
static int answer_aside(struct question *q)
{
	int bad;
	pthread_cleanup_push(forget, q);
	Py_BEGIN_ALLOW_THREADS bad = answer(q);
	Py_END_ALLOW_THREADS pthread_cleanup_pop(0);
	return bad;
}

static int words_of(PyObject *list, struct question *q)
{
	Py_ssize_t n = PySequence_Size(list);
	q->argv = n >= 0 ? calloc((size_t)n + 1, sizeof *q->argv) : NULL;
	if (!q->argv)
		return -1;
	for (; q->argc < n; q->argc++) {
		PyObject *word = PySequence_GetItem(list, q->argc), *bytes = NULL;
		if (!word || !PyUnicode_FSConverter(word, &bytes)) {
			Py_XDECREF(word);
			return -1;
		}
		q->argv[q->argc] = strdup(PyBytes_AsString(bytes));
		Py_DECREF(word);
		Py_DECREF(bytes);
		if (!q->argv[q->argc])
			return -1;
	}
	return 0;
}

/* ask(words, trace capsule or None) -> (exit status, output, complaints) */
static PyObject *ask(PyObject *self, PyObject *args)
{
	struct question q = { 0 };
	PyObject *words, *trace, *out = NULL;
	int bad = 1;
	if (!PyArg_ParseTuple(args, "OO", &words, &trace))
		return NULL;
	if (trace != Py_None && !(q.model = PyCapsule_GetPointer(trace, "tide_model")))
		return NULL;
	if (!words_of(words, &q))
		bad = answer_aside(&q);
	if (!bad)
		out = Py_BuildValue("(iy#y#)", q.rc, q.out, (Py_ssize_t)q.n_out, q.errors,
				    (Py_ssize_t)q.n_errors);
	else if (!PyErr_Occurred())
		PyErr_NoMemory();
	forget(&q);
	return out;
}

static PyMethodDef methods[] = {
	{ "ask", ask, METH_VARARGS, "ask(words, trace) -> (status, output, complaints)" },
	{ NULL },
};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "tidemark._ask",
	.m_doc = "The program's analyses in this process.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__ask(void);
PyMODINIT_FUNC PyInit__ask(void)
{
	return PyModule_Create(&definition);
}
