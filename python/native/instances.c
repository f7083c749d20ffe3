// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Returns the objects of a type that the garbage collector tracks.
 *
 * gc.get_objects() called from Python keeps a reference to every object in a list while other threads
 * run. A thread that is building a tuple then finds a second reference to it and raises SystemError in
 * unrelated code. Here the GIL is held from the first reference to the last, and no Python code runs
 * in between. */
#include "native.h"

static int pick(PyObject *all, PyTypeObject *type, PyObject *out)
{
	for (Py_ssize_t i = 0, n = PyList_Size(all); i < n; i++) {
		PyObject *o = PyList_GetItem(all, i);
		if (PyType_IsSubtype(Py_TYPE(o), type) && PyList_Append(out, o))
			return -1;
	}
	return 0;
}

PyObject *tide__instances(PyObject *self, PyObject *type)
{
	if (!PyType_Check(type))
		return PyErr_Format(PyExc_TypeError, "a type");
	PyObject *gc = PyImport_ImportModule("gc");
	PyObject *get = gc ? PyObject_GetAttrString(gc, "get_objects") : NULL;
	PyObject *out =
		PyList_New(0); /* made before get_objects(): creating a list may collect garbage */
	PyObject *all = get && out ? PyObject_CallObject(get, NULL) : NULL;
	if (!all || pick(all, (PyTypeObject *)type, out))
		Py_CLEAR(out);
	Py_XDECREF(all);
	Py_XDECREF(get);
	Py_XDECREF(gc);
	return out;
}
