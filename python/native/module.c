// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The module: its exception, its constants, its parts. */
#include "native.h"

static PyObject *error_type;

/* Raises an error with its code and the byte offset (or None) as attributes. Its text may contain invalid
 * UTF-8 of a file's name or end in the middle of a character; FromFormat accepts both. */
PyObject *tide__raise(const char *path, const tide_error *err)
{
	const char *text = *err->text ? err->text : tide_code_text(err->code);
	PyObject *message = path ? PyUnicode_FromFormat("%s: %s", path, text)
				 : PyUnicode_FromFormat("%s", text);
	PyObject *e = message ? PyObject_CallFunctionObjArgs(error_type, message, NULL) : NULL;
	PyObject *code = PyLong_FromLong((long)err->code);
	PyObject *offset = err->offset == TIDE_NO_OFFSET ? Py_NewRef(Py_None)
							 : PyLong_FromUnsignedLongLong(err->offset);
	if (e && code && offset && !PyObject_SetAttrString(e, "code", code) &&
	    !PyObject_SetAttrString(e, "offset", offset))
		PyErr_SetObject(error_type, e);
	Py_XDECREF(e);
	Py_XDECREF(message);
	Py_XDECREF(code);
	Py_XDECREF(offset);
	return NULL;
}

static const struct {
	const char *name;
	int value;
} constants[] = {
	{ "HOST", TIDE_DEVICE_HOST },	   { "CUDA", TIDE_DEVICE_CUDA },
	{ "HIP", TIDE_DEVICE_HIP },	   { "MPS", TIDE_DEVICE_MPS },
	{ "XPU", TIDE_DEVICE_XPU },	   { "MTIA", TIDE_DEVICE_MTIA },
	{ "OTHER", TIDE_DEVICE_OTHER },	   { "DRAM", TIDE_POOL_DRAM },
	{ "HEAP", TIDE_POOL_HEAP },	   { "PINNED", TIDE_POOL_PINNED },
	{ "PRIVATE", TIDE_POOL_PRIVATE },  { "PHASE", TIDE_PHASE },
	{ "CHECKPOINT", TIDE_CHECKPOINT }, { "STEP", TIDE_STEP },
};

static int fill(PyObject *m)
{
	error_type = PyErr_NewExceptionWithDoc("tidemark.Error",
					       "What went wrong, in one line; code: a number of "
					       "error.h, offset: the byte or None.",
					       PyExc_Exception, NULL);
	if (!error_type || PyModule_AddObjectRef(m, "Error", error_type))
		return -1;
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		if (PyModule_AddIntConstant(m, constants[i].name, constants[i].value))
			return -1;
	return tide__trace_register(m);
}

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "tidemark._native",
	.m_doc = "The recorder and the tables of a trace.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
	definition.m_methods = tide__recorder_methods;
	PyObject *m = PyModule_Create(&definition);
	if (m && fill(m)) {
		Py_DECREF(m);
		return NULL;
	}
	return m;
}
