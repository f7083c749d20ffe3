// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Gives Python the functions of record.h. Each converts its arguments and makes one call.
 *
 * Event functions raise exceptions only for arguments of the wrong type; without a recording they do
 * nothing. Start and stop release the GIL. */
#include "native.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tidemark/detail/quick.h>

/* Under `tidemark run` the first event of a process, from PyTorch or from here, begins its recording by a
 * function of the preloaded library. `seen` is true after that; the GIL protects it. */
static bool seen;

static __attribute__((noinline, cold)) void first(void)
{
	void (*begin)(void);
	seen = true;
	*(void **)&begin =
		getenv("TIDEMARK_RECORD") ? dlsym(RTLD_DEFAULT, "tide_torch_begin") : NULL;
	if (begin)
		begin();
}

static inline void comes(void)
{
	if (!seen)
		first();
}

/* ---- arguments ---- */

static int u64(PyObject *o, uint64_t *out)
{
	*out = PyLong_AsUnsignedLongLong(o);
	return *out == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

/* Returns a copy of a text that plain_text refuses: characters that UTF-8 cannot encode (invalid bytes of
 * a file name) become escapes, and NUL becomes U+2400. NULL if memory ran out. PyMem_Free it. */
static char *odd_text(PyObject *o)
{
	PyObject *bytes = PyUnicode_AsEncodedString(o, "utf-8", "backslashreplace");
	char *text = NULL, *copy = NULL;
	Py_ssize_t n = 0;
	if (bytes && PyBytes_AsStringAndSize(bytes, &text, &n) == 0)
		copy = PyMem_Malloc((size_t)n * 3 + 1);
	char *p = copy;
	for (Py_ssize_t i = 0; copy && i <= n; i++)
		if (text[i] || i == n)
			*p++ = text[i];
		else
			p = (char *)memcpy(p, "\xe2\x90\x80", 3) + 3; /* U+2400 */
	Py_XDECREF(bytes);
	PyErr_Clear();
	return copy;
}

/* Returns the text in UTF-8, borrowed from `o`; NULL if it needs odd_text. */
static const char *plain_text(PyObject *o)
{
	Py_ssize_t n;
	const char *text = PyUnicode_AsUTF8AndSize(o, &n);
	if (!text)
		PyErr_Clear();
	return text && !memchr(text, 0, (size_t)n) ? text : NULL;
}

/* Converts a name, which is a text or an id from intern(). */
static int name_of(PyObject *o, tide_name *out)
{
	if (PyUnicode_Check(o)) {
		const char *text = plain_text(o);
		char *odd = text ? NULL : odd_text(o);
		*out = text || odd ? tide_intern(text ? text : odd) : 0;
		PyMem_Free(odd);
		return 0;
	}
	uint64_t id;
	if (u64(o, &id))
		return -1;
	*out = id <= UINT32_MAX ? (tide_name)id : 0;
	return 0;
}

static int count_of(const char *what, Py_ssize_t n, Py_ssize_t least, Py_ssize_t most)
{
	if (n >= least && n <= most)
		return 0;
	PyErr_Format(PyExc_TypeError, "%s takes %zd to %zd arguments, not %zd", what, least, most,
		     n);
	return -1;
}

/* ---- start and stop ---- */

static PyObject *path_now(PyObject *self, PyObject *none)
{
	char into[4096 + 32];
	return PyUnicode_DecodeFSDefaultAndSize(into,
						(Py_ssize_t)tide_recording_path(into, sizeof into));
}

static PyObject *start(PyObject *self, PyObject *args, PyObject *kw)
{
	static char *words[] = {
		"path",	    "ring_bytes", "max_ring_bytes", "full_wait_us", "follow_fork",
		"as_child", NULL
	};
	tide_options opt = TIDE_OPTIONS_INIT;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	PyObject *path;
	int follow = 1, child = 0;
	unsigned wait = 0;
	Py_ssize_t ring = 0, most = 0;
	if (!PyArg_ParseTupleAndKeywords(args, kw, "O&|$nnIpp", words, PyUnicode_FSConverter, &path,
					 &ring, &most, &wait, &follow, &child))
		return NULL;
	if (ring < 0 || most < 0) {
		Py_DECREF(path);
		PyErr_SetString(PyExc_ValueError, "a number of bytes must not be negative");
		return NULL;
	}
	opt.ring_bytes = (size_t)ring;
	opt.max_ring_bytes = (size_t)most;
	opt.full_wait_us = wait;
	opt.follow_fork = follow;
	opt.as_child = child;
	const char *name = PyBytes_AsString(path);
	tide_code rc;
	Py_BEGIN_ALLOW_THREADS rc = tide_start(name, &opt, &err);
	Py_END_ALLOW_THREADS Py_DECREF(path);
	if (rc != TIDE_OK)
		return tide__raise(NULL, &err); /* the text contains the path */
	return path_now(NULL, NULL);
}

static PyObject *stop(PyObject *self, PyObject *none)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_code rc;
	Py_BEGIN_ALLOW_THREADS rc = tide_stop(&err);
	Py_END_ALLOW_THREADS return rc == TIDE_OK ? Py_NewRef(Py_None) : tide__raise(NULL, &err);
}

static PyObject *recording(PyObject *self, PyObject *none)
{
	return PyBool_FromLong(tide_recording());
}

static PyObject *ready(PyObject *self, PyObject *none)
{
	comes();
	return PyBool_FromLong(tide_recording());
}

static PyObject *removed(PyObject *self, PyObject *none)
{
	return PyBool_FromLong(tide_recording_removed());
}

static PyObject *stats(PyObject *self, PyObject *none)
{
	tide_stats s;
	tide_stats_get(&s);
	return Py_BuildValue("{sKsKsKsKsKsKsIsI}", "events", s.events, "lost_full", s.lost_full,
			     "lost_signal", s.lost_signal, "lost_other", s.lost_other, "written",
			     s.written, "memory", s.memory, "threads", s.threads, "rings", s.rings);
}

/* ---- names, ops ---- */

static PyObject *intern(PyObject *self, PyObject *text)
{
	tide_name id;
	return name_of(text, &id) ? NULL : PyLong_FromUnsignedLong(id);
}

static PyObject *op_begin(PyObject *self, PyObject *const *a, Py_ssize_t n)
{
	tide_name name;
	uint64_t arg = 0;
	if (count_of("op_begin", n, 1, 2) || name_of(a[0], &name) || (n > 1 && u64(a[1], &arg)))
		return NULL;
	comes();
	return PyLong_FromUnsignedLong(n > 1 ? tide_op_begin_arg(name, arg) : tide_op_begin(name));
}

static PyObject *op_end(PyObject *self, PyObject *token)
{
	uint64_t op;
	if (u64(token, &op))
		return NULL;
	tide_op_end((tide_op)op);
	Py_RETURN_NONE;
}

static PyObject *depth(PyObject *self, PyObject *none)
{
	return PyLong_FromUnsignedLong(tide__depth());
}

static PyObject *end_above(PyObject *self, PyObject *depth)
{
	uint64_t n;
	if (u64(depth, &n))
		return NULL;
	tide__end_above(n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
	Py_RETURN_NONE;
}

/* ---- memory ---- */

static PyObject *device(PyObject *self, PyObject *args)
{
	int kind, index;
	const char *name = NULL;
	unsigned long long capacity = 0;
	if (!PyArg_ParseTuple(args, "ii|zK", &kind, &index, &name, &capacity))
		return NULL;
	return PyLong_FromUnsignedLong(tide_device_open(kind, index, name, capacity));
}

static PyObject *pool(PyObject *self, PyObject *args)
{
	int kind;
	unsigned short dev;
	const char *name = NULL;
	unsigned long long capacity = 0;
	if (!PyArg_ParseTuple(args, "Hi|zK", &dev, &kind, &name, &capacity))
		return NULL;
	return PyLong_FromUnsignedLong(tide_pool_open(dev, kind, name, capacity));
}

static PyObject *alloc(PyObject *self, PyObject *const *a, Py_ssize_t n)
{
	uint64_t v[4] = { 0 };
	if (count_of("alloc", n, 3, 4))
		return NULL;
	for (Py_ssize_t i = 0; i < n; i++)
		if (u64(a[i], &v[i]))
			return NULL;
	comes();
	tide_alloc((tide_pool)v[0], v[1], v[2], (tide_stream)v[3]);
	Py_RETURN_NONE;
}

/* An allocation that the program made before it was recorded: its stack says so, and readers make a
 * flag of it (docs/formats/tide.md). */
static PyObject *alloc_before(PyObject *self, PyObject *const *a, Py_ssize_t n)
{
	uint64_t v[3];
	if (count_of("alloc_before", n, 3, 3))
		return NULL;
	for (Py_ssize_t i = 0; i < n; i++)
		if (u64(a[i], &v[i]))
			return NULL;
	comes();
	tide_stack from = tide_stack_push(0, tide_intern(TIDE_BEFORE_RECORDING), 0, 0);
	tide_alloc_full((tide_pool)v[0], v[1], v[2], 0, from, v[2]);
	Py_RETURN_NONE;
}

static PyObject *free_(PyObject *self, PyObject *const *a, Py_ssize_t n)
{
	uint64_t in, addr;
	if (count_of("free", n, 2, 2) || u64(a[0], &in) || u64(a[1], &addr))
		return NULL;
	tide_free((tide_pool)in, addr);
	Py_RETURN_NONE;
}

static int dims_of(PyObject *shape, uint64_t *dims, uint8_t *ndim)
{
	Py_ssize_t n = PySequence_Size(shape);
	if (n < 0)
		return -1;
	*ndim = 0;
	for (Py_ssize_t i = 0; i < n && i < 16; i++) {
		PyObject *o = PySequence_GetItem(shape, i);
		int bad = !o || u64(o, &dims[i]);
		Py_XDECREF(o);
		if (bad)
			return -1;
		*ndim = (uint8_t)(i + 1);
	}
	return 0;
}

static PyObject *tensor(PyObject *self, PyObject *args, PyObject *kw)
{
	static char *words[] = { "pool",	  "addr", "shape",  "dtype", "role",
				 "requires_grad", "name", "offset", NULL };
	tide_tensor_info info = { .requires_grad = 2 };
	uint64_t dims[16];
	unsigned short in;
	unsigned long long addr;
	long long offset = -1;
	PyObject *shape = NULL, *name = NULL;
	if (!PyArg_ParseTupleAndKeywords(args, kw, "HK|ObbbOL", words, &in, &addr, &shape,
					 &info.dtype, &info.role, &info.requires_grad, &name,
					 &offset))
		return NULL;
	if (shape && shape != Py_None && dims_of(shape, dims, &info.ndim))
		return NULL;
	if (name && name != Py_None && name_of(name, &info.name))
		return NULL;
	info.shape = dims;
	if (offset < 0)
		tide_tensor(in, addr, &info);
	else
		tide_tensor_view(in, addr, (uint64_t)offset, &info);
	Py_RETURN_NONE;
}

/* ---- marks and counters ---- */

static PyObject *mark(PyObject *self, PyObject *args)
{
	int kind;
	PyObject *text;
	long long value = 0;
	tide_name name;
	if (!PyArg_ParseTuple(args, "iO|L", &kind, &text, &value) || name_of(text, &name))
		return NULL;
	comes();
	tide_mark(kind, name, value);
	Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *args)
{
	PyObject *text;
	double value;
	tide_name name;
	if (!PyArg_ParseTuple(args, "Od", &text, &value) || name_of(text, &name))
		return NULL;
	comes();
	tide_counter(name, value);
	Py_RETURN_NONE;
}

static PyObject *annotate(PyObject *self, PyObject *args)
{
	PyObject *key, *note;
	tide_name name;
	if (!PyArg_ParseTuple(args, "OU", &key, &note) || name_of(key, &name))
		return NULL;
	const char *text = plain_text(note);
	char *odd = text ? NULL : odd_text(note);
	comes();
	if (text || odd)
		tide_annotate(name, text ? text : odd);
	PyMem_Free(odd);
	Py_RETURN_NONE;
}

/* ---- the table ---- */

#define CALL(f) ((PyCFunction)(void (*)(void))(f))
PyMethodDef tide__recorder_methods[] = {
	{ "start", CALL(start), METH_VARARGS | METH_KEYWORDS,
	  "start(path, *, ring_bytes=0, max_ring_bytes=0, full_wait_us=0, follow_fork=True, "
	  "as_child=False)" },
	{ "stop", stop, METH_NOARGS, "Stop and complete the file; not recording is fine." },
	{ "path", path_now, METH_NOARGS,
	  "The file of the recording in progress, or of the last one; '' = none yet." },
	{ "recording", recording, METH_NOARGS, "Recording at this moment?" },
	{ "ready", ready, METH_NOARGS,
	  "The same, where an event is about to come: `tidemark run` begins with the first." },
	{ "removed", removed, METH_NOARGS, "Is the file of the recording in progress gone?" },
	{ "stats", stats, METH_NOARGS, "The recorder's own numbers." },
	{ "intern", intern, METH_O, "Id of a text: cheaper than the text in later calls." },
	{ "op_begin", CALL(op_begin), METH_FASTCALL, "op_begin(name, arg=0) -> token" },
	{ "op_end", op_end, METH_O, "op_end(token)" },
	{ "depth", depth, METH_NOARGS, "Ops that are open on this thread." },
	{ "end_above", end_above, METH_O, "end_above(depth): ops end until so many are open." },
	{ "device", device, METH_VARARGS, "device(kind, index, name=None, capacity=0) -> id" },
	{ "pool", pool, METH_VARARGS, "pool(device, kind, name=None, capacity=0) -> id" },
	{ "alloc", CALL(alloc), METH_FASTCALL, "alloc(pool, addr, size, stream=0)" },
	{ "alloc_before", CALL(alloc_before), METH_FASTCALL,
	  "alloc_before(pool, addr, size): it existed before the recording" },
	{ "free", CALL(free_), METH_FASTCALL, "free(pool, addr)" },
	{ "tensor", CALL(tensor), METH_VARARGS | METH_KEYWORDS,
	  "tensor(pool, addr, shape=None, dtype=0, role=0, requires_grad=2, name=None, offset=-1)" },
	{ "mark", mark, METH_VARARGS, "mark(kind, name, value=0)" },
	{ "counter", counter, METH_VARARGS, "counter(name, value)" },
	{ "annotate", annotate, METH_VARARGS, "annotate(key, text)" },
	{ "config", tide__config, METH_VARARGS,
	  "config(file=None, backend=None) -> {key: (value, where it comes from)}" },
	{ "instances", tide__instances, METH_O,
	  "instances(type) -> objects of the type that the garbage collector knows" },
	{ "snapshots_every", tide__snapshots_every, METH_VARARGS,
	  "snapshots_every(seconds): checkpoints from a native thread; 0 stops" },
	{ NULL },
};
