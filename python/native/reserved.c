// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Gives Python the reserved bytes of every device over time, from the log that the program's own reports
 * use (analyze/live/reserved.h), so that both agree. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>

#include "analyze/live/reserved.h"
#include "reserved.h"

static PyObject *sources_of(const tide_reserved *r, size_t devices)
{
	PyObject *out = PyList_New((Py_ssize_t)devices);
	for (size_t d = 0; out && d < devices; d++) {
		PyObject *v = Py_BuildValue("z", tide__reserved_text(r->devices[d]));
		if (!v || PyList_SetItem(out, (Py_ssize_t)d, v))
			Py_CLEAR(out);
	}
	return out;
}

static PyObject *steps_of(const tide_reserved *r)
{
	PyObject *out = PyList_New((Py_ssize_t)r->n);
	for (size_t i = 0; out && i < r->n; i++) {
		const tide_reserved_step *k = &r->steps[i];
		PyObject *v = Py_BuildValue("(LIK)", (long long)k->t, (unsigned)k->device,
					    (unsigned long long)k->bytes);
		if (!v || PyList_SetItem(out, (Py_ssize_t)i, v))
			Py_CLEAR(out);
	}
	return out;
}

PyObject *tide__py_reserved(PyObject *self, PyObject *trace)
{
	const tide_model *m = PyCapsule_GetPointer(trace, "tide_model");
	tide_reserved r = { 0 };
	if (!m)
		return NULL;
	PyThreadState *state = PyEval_SaveThread();
	tide_code rc = tide__find_reserved(m, &r, NULL);
	PyEval_RestoreThread(state);
	if (rc != TIDE_OK)
		return PyErr_NoMemory();
	PyObject *sources = sources_of(&r, m->devices.n);
	PyObject *steps = sources ? steps_of(&r) : NULL;
	PyObject *out = steps ? PyTuple_Pack(2, sources, steps) : NULL;
	Py_XDECREF(sources);
	Py_XDECREF(steps);
	tide__reserved_free(&r);
	return out;
}
