// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "ndarray.h"

/* The beginning of an array object. */
struct fields {
	PyObject ob_base;
	void *data;
	int nd;
	Py_ssize_t *dimensions, *strides;
	PyObject *base, *descr;
	int flags;
};

static struct {
	PyObject *type; // the type that was checked; a strong reference
	int good;
	size_t basic;
} checked;

static long long number_of(PyObject *o, const char *name)
{
	PyObject *n = PyObject_GetAttrString(o, name);
	long long v = n ? PyLong_AsLongLong(n) : -1;
	Py_XDECREF(n);
	return v;
}

static int read_dtype(PyObject *descr, struct dtype *d)
{
	PyObject *objects = PyObject_GetAttrString(descr, "hasobject");
	long long size = number_of(descr, "itemsize");
	int yes = objects ? PyObject_IsTrue(objects) : -1;
	Py_XDECREF(objects);
	if (size < 0 || yes < 0 || PyErr_Occurred())
		return -1;
	Py_INCREF(descr);
	Py_XDECREF(d->descr);
	*d = (struct dtype){ .descr = descr, .itemsize = (size_t)size, .objects = yes };
	return 0;
}

void *ndarray_memory(PyObject *array, PyObject **base)
{
	const struct fields *f = (const struct fields *)array;
	*base = f->base;
	return f->data;
}

size_t ndarray_span(void **data, size_t itemsize, int nd, const Py_ssize_t *shape,
		    const Py_ssize_t *strides)
{
	size_t all = itemsize, before = 0, span = itemsize;
	for (int i = 0; i < nd; i++) {
		size_t far, step = (size_t)(strides[i] < 0 ? -strides[i] : strides[i]);
		if (shape[i] <= 0)
			return 0;
		if (__builtin_mul_overflow(all, (size_t)shape[i], &all))
			all = SIZE_MAX;
		if (__builtin_mul_overflow(step, (size_t)shape[i] - 1, &far) ||
		    __builtin_add_overflow(span, far, &span))
			return 0;
		before += strides[i] < 0 ? far : 0;
	}
	*data = (char *)*data - before;
	return all < span ? all : span;
}

int ndarray_read(PyObject *array, struct dtype *known, size_t n, struct ndarray *a)
{
	const struct fields *f = (const struct fields *)array;
	struct dtype *d = &known[((uintptr_t)f->descr >> 5) % n];
	if (d->descr != f->descr && read_dtype(f->descr, d))
		return -1;
	void *data = f->data;
	size_t bytes = ndarray_span(&data, d->itemsize, f->nd, f->dimensions, f->strides);
	*a = (struct ndarray){ .data = data,
			       .bytes = bytes,
			       .header = checked.basic + 2 * sizeof(Py_ssize_t) * (size_t)f->nd,
			       .base = f->base,
			       .objects = d->objects };
	return 0;
}

/* ---- the check ---- */

static int same_memory(PyObject *array, const struct ndarray *a)
{
	PyObject *place = PyObject_GetAttrString(array, "ctypes");
	long long data = place ? number_of(place, "data") : -1;
	Py_XDECREF(place);
	return !PyErr_Occurred() && (uintptr_t)data == (uintptr_t)a->data;
}

static int same_base(PyObject *array, const struct ndarray *a)
{
	PyObject *base = PyObject_GetAttrString(array, "base");
	int same = base == (a->base ? a->base : Py_None);
	Py_XDECREF(base);
	return same;
}

/* Returns whether an array's attributes have the values that are read in place. */
static int agrees(PyObject *array)
{
	struct dtype known = { 0 };
	struct ndarray a;
	const struct fields *f = (const struct fields *)array;
	PyObject *descr = PyObject_GetAttrString(array, "dtype");
	int good = descr && descr == f->descr && number_of(array, "ndim") == f->nd;
	good = good && !ndarray_read(array, &known, 1, &a);
	if (good) {
		PyObject *size = PyObject_CallMethod(array, "__sizeof__", NULL);
		size_t own = a.header + (a.base ? 0 : a.bytes);
		good = size && PyLong_AsSize_t(size) == own &&
		       (size_t)number_of(array, "nbytes") == a.bytes && same_memory(array, &a) &&
		       same_base(array, &a);
		Py_XDECREF(size);
	}
	Py_XDECREF(known.descr);
	Py_XDECREF(descr);
	return good && !PyErr_Occurred();
}

static int check(PyObject *type)
{
	checked.basic = (size_t)number_of(type, "__basicsize__");
	PyObject *own = PyObject_CallFunction(type, "(ii)s", 3, 5, "f4");
	PyObject *view = own ? PyObject_GetAttrString(own, "T") : NULL;
	PyObject *held = view ? PyObject_CallFunction(type, "(iii)s", 2, 1, 4, "O") : NULL;
	int good = held && checked.basic >= sizeof(struct fields) && agrees(own) && agrees(view) &&
		   agrees(held);
	Py_XDECREF(held);
	Py_XDECREF(view);
	Py_XDECREF(own);
	PyErr_Clear();
	return good;
}

int ndarray_readable(PyObject *type)
{
	if (checked.type == type)
		return checked.good;
	PyObject *name = PyObject_GetAttrString(type, "__qualname__");
	PyObject *module = PyObject_GetAttrString(type, "__module__");
	int mine = name && module && PyUnicode_Check(name) && PyUnicode_Check(module) &&
		   !PyUnicode_CompareWithASCIIString(name, "ndarray") &&
		   !PyUnicode_CompareWithASCIIString(module, "numpy") &&
		   !(PyType_GetFlags((PyTypeObject *)type) & Py_TPFLAGS_HEAPTYPE);
	Py_XDECREF(module);
	Py_XDECREF(name);
	PyErr_Clear();
	if (!mine || checked.type)
		return 0;
	Py_INCREF(type);
	checked.type = type;
	checked.good = check(type);
	return checked.good;
}
