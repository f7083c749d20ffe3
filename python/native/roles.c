// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Gives Python the roles of allocations as `peak --group-by role` finds them (analyze/memory/roles.h). */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>

#include "analyze/memory/roles.h"
#include "roles.h"

PyObject *tide__py_roles(PyObject *self, PyObject *trace)
{
	const tide_model *m = PyCapsule_GetPointer(trace, "tide_model");
	tide_roles r = { 0 };
	if (!m)
		return NULL;
	PyThreadState *state = PyEval_SaveThread();
	tide_code rc = tide__find_roles(m, &r);
	PyEval_RestoreThread(state);
	if (rc != TIDE_OK)
		return PyErr_NoMemory();
	PyObject *out = Py_BuildValue("(y#y#)", (char *)r.role, (Py_ssize_t)m->allocs.n,
				      (char *)r.rule, (Py_ssize_t)m->allocs.n);
	tide__roles_free(&r);
	return out;
}
