// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Computes live bytes and allocations of each device after given numbers of memory events, in one pass
 * without the GIL. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"

typedef struct total {
	uint64_t bytes, count;
} total;

typedef struct source {
	const uint8_t *kind;
	const uint32_t *row, *pool,
		*device; /* columns of the tables memory_events, allocs, pools */
	const uint64_t *size;
	size_t events, devices;
} source;

static const void *data_of(const tide_trace *t, const char *table, const char *name, size_t *rows)
{
	tide_column_view c;
	if (tide_trace_column(t, table, name, &c) != TIDE_OK)
		return NULL;
	*rows = c.rows;
	return c.data;
}

static bool source_of(const tide_trace *t, source *s)
{
	size_t n;
	s->kind = data_of(t, "memory_events", "kind", &s->events);
	s->row = data_of(t, "memory_events", "row", &s->events);
	s->pool = data_of(t, "allocs", "pool", &n);
	s->size = data_of(t, "allocs", "size", &n);
	s->device = data_of(t, "pools", "device", &n);
	return data_of(t, "devices", "index", &s->devices) && s->pool && s->size && s->device;
}

/* Writes, for each number of memory events in at[n] (ascending), the totals of every device to `out`. */
static void count(const source *s, const size_t *at, size_t n, total *out)
{
	total *now = out;
	for (size_t i = 0, done = 0; i < n; i++, now += s->devices) {
		if (i)
			memcpy(now, now - s->devices, s->devices * sizeof *now);
		for (; done < at[i] && done < s->events; done++) {
			if (s->kind[done] > 1)
				continue;
			uint32_t alloc = s->row[done];
			total *d = &now[s->device[s->pool[alloc]]];
			d->bytes += s->kind[done] ? 0 - s->size[alloc] : s->size[alloc];
			d->count += s->kind[done] ? UINT64_MAX : 1;
		}
	}
}

static PyObject *dict_of(const total *d, size_t devices)
{
	PyObject *out = PyDict_New();
	for (size_t i = 0; out && i < devices; i++) {
		if (!d[i].count && !d[i].bytes)
			continue;
		PyObject *key = PyLong_FromSize_t(i);
		PyObject *value = Py_BuildValue("KK", (unsigned long long)d[i].bytes,
						(unsigned long long)d[i].count);
		if (!key || !value || PyDict_SetItem(out, key, value))
			Py_CLEAR(out);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return out;
}

static int read_positions(PyObject *list, size_t *at, Py_ssize_t n)
{
	for (Py_ssize_t i = 0; i < n; i++) {
		at[i] = PyLong_AsSize_t(PyList_GetItem(list, i));
		if (PyErr_Occurred())
			return -1;
		if (i && at[i] < at[i - 1]) {
			PyErr_SetString(PyExc_ValueError, "positions must be in order");
			return -1;
		}
	}
	return 0;
}

static PyObject *list_of(const total *all, Py_ssize_t n, size_t devices)
{
	PyObject *out = PyList_New(n);
	for (Py_ssize_t i = 0; out && i < n; i++) {
		PyObject *d = dict_of(all + (size_t)i * devices, devices);
		if (!d || PyList_SetItem(out, i, d))
			Py_CLEAR(out);
	}
	return out;
}

struct sums {
	size_t *at;
	total *all;
};

static void forget(void *sums)
{
	free(((struct sums *)sums)->at);
	free(((struct sums *)sums)->all);
}

/* Counts without the GIL. Python may end a thread that takes it back (reports.c). */
static void count_aside(const source *s, struct sums *to, size_t n)
{
	pthread_cleanup_push(forget, to);
	Py_BEGIN_ALLOW_THREADS count(s, to->at, n, to->all);
	Py_END_ALLOW_THREADS pthread_cleanup_pop(0);
}

PyObject *tide__totals(const tide_trace *t, PyObject *positions)
{
	source s;
	if (!PyList_Check(positions))
		return PyErr_Format(PyExc_TypeError, "positions must be a list");
	if (!source_of(t, &s))
		return PyErr_Format(PyExc_KeyError, "memory_events");
	Py_ssize_t n = PyList_Size(positions);
	struct sums to = { calloc((size_t)n + 1, sizeof *to.at),
			   calloc((size_t)n * s.devices + 1, sizeof *to.all) };
	PyObject *out = NULL;
	if (!to.at || !to.all) {
		PyErr_NoMemory();
	} else if (!read_positions(positions, to.at, n)) {
		count_aside(&s, &to, (size_t)n);
		out = list_of(to.all, n, s.devices);
	}
	forget(&to);
	return out;
}
