// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Gives Python the settings of `tidemark config show` as values. */

#include "config/config.h"
#include "native.h"

static PyObject *value_of(tide_config_key k, const tide_config_value *v)
{
	switch (tide__config_kind(k)) {
	case TIDE_CONFIG_SECONDS:
		return PyFloat_FromDouble(v->number);
	case TIDE_CONFIG_WORDS:
	case TIDE_CONFIG_PATH:
		return PyUnicode_DecodeFSDefault(v->text);
	default:
		return v->known ? PyBool_FromLong(v->flag) : Py_NewRef(Py_None);
	}
}

static PyObject *where_of(const tide_config *c, tide_config_key k)
{
	const tide_config_value *v = &c->v[k];
	if (v->from == TIDE_FROM_FILE)
		return PyUnicode_FromFormat("%s:%u", c->file, v->line);
	if (v->from == TIDE_FROM_ENV)
		return PyUnicode_FromFormat("$%s", tide__config_env(k));
	return PyUnicode_FromString(tide__config_from_text(v->from));
}

/* Returns {key: (value, its source)}. */
static PyObject *dict_of(const tide_config *c)
{
	PyObject *out = PyDict_New();
	for (unsigned k = 0; out && k < TIDE_CONFIG_N; k++) {
		PyObject *value = value_of((tide_config_key)k, &c->v[k]);
		PyObject *where = value ? where_of(c, (tide_config_key)k) : NULL;
		PyObject *pair = where ? PyTuple_Pack(2, value, where) : NULL;
		if (!pair || PyDict_SetItemString(out, tide__config_name((tide_config_key)k), pair))
			Py_CLEAR(out);
		Py_XDECREF(pair);
		Py_XDECREF(where);
		Py_XDECREF(value);
	}
	return out;
}

PyObject *tide__config(PyObject *self, PyObject *args)
{
	static tide_config c; /* static: tens of kilobytes; the GIL protects it */
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const char *file = NULL, *backend = NULL;
	if (!PyArg_ParseTuple(args, "|zz", &file, &backend))
		return NULL;
	if (tide__config_load(file, backend, &c, &err) != TIDE_OK)
		return tide__raise(c.in_file ? c.file : NULL, &err);
	return dict_of(&c);
}
