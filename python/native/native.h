// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._native: the recorder and the tables of a trace, for Python.
 *
 * Stable ABI of CPython 3.10: one wheel serves every later version. No torch, no numpy. recorder.c
 * holds the functions over record.h, ticker.c the periodic checkpoints, config.c the settings,
 * trace.c the type over trace.h, arrow.c exports tables. */
#ifndef TIDE_PYTHON_NATIVE_H
#define TIDE_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>
#include <stdatomic.h>

#include <tidemark/tidemark.h>

/* A trace that Python objects and Arrow consumers share: the last one closes it, in any thread, with
 * or without the GIL. */
typedef struct tide_shared {
	_Atomic(size_t) refs;
	tide_trace *trace;
} tide_shared;
tide_shared *tide__shared_keep(tide_shared *s);
void tide__shared_drop(tide_shared *s);

/* A capsule "arrow_array_stream" of one table: one batch, columns in place, texts as a dictionary.
 * NULL with an exception set. */
PyObject *tide__arrow_stream(tide_shared *s, const char *table);

/* Returns, for each number of memory events in an ascending list, {row of a device: (live bytes, live allocations)}.
 * NULL with an exception set. */
PyObject *tide__totals(const tide_trace *t, PyObject *positions);

/* Raise tidemark.Error(text, code, offset); returns NULL. `path` may be NULL. */
PyObject *tide__raise(const char *path, const tide_error *err);

/* config(file=None, backend=None): the settings, {key: (value, where it comes from)}. */
PyObject *tide__config(PyObject *self, PyObject *args);

/* snapshots_every(seconds): a checkpoint snapshot_0001 ... every so often; 0 stops. */
PyObject *tide__snapshots_every(PyObject *self, PyObject *args);

/* instances(type): objects of the type, without releasing the GIL. */
PyObject *tide__instances(PyObject *self, PyObject *type);

extern PyMethodDef tide__recorder_methods[];
/* Adds Trace to the module. 0, or -1 with an exception set. */
int tide__trace_register(PyObject *module);

#endif
