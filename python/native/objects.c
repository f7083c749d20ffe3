// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._objects: what owners (any objects) cost in memory, alone and together.
 *
 * Pass 1 walks from each owner in turn and marks every node with the only owner that reaches it, or SHARED. A node is expanded at
 * most twice. Pass 2 adds up, per owner, its own nodes and the shared ones it reaches; owners that enter the shared part at the same
 * nodes (arrays with one unit) take the sum from a memo. */
#include "graph.h"

#include <stdlib.h>

#define MEMOS	      1024
#define MEMO_ENTRIES  4
#define SIGNALS_EVERY 65536

struct memo {
	uint32_t entry[MEMO_ENTRIES];
	size_t n, bytes;
};

struct walk {
	struct graph g;
	uint32_t *roots;
	size_t n_roots, n_shared, shared_bytes, steps;
	struct stack entries; // shared nodes that the owner reaches first
	struct memo *memos;
	PyObject *exclusive, *reachable; // lists of int, one per owner
	size_t duplicated;
};

static int next(struct walk *w, uint32_t *at)
{
	if (++w->steps % SIGNALS_EVERY == 0 && PyErr_CheckSignals())
		return -1;
	*at = w->g.stack.at[--w->g.stack.n];
	return 0;
}

/* ---- pass 1 ---- */

static int mark(struct walk *w, uint32_t owner)
{
	uint32_t at;
	if (graph_push(&w->g.stack, w->roots[owner]))
		return -1;
	while (w->g.stack.n) {
		if (next(w, &at))
			return -1;
		uint32_t was = w->g.nodes[at].owner;
		if (was == owner || was == SHARED)
			continue;
		w->g.nodes[at].owner = was == NOBODY ? owner : SHARED;
		if ((was == NOBODY && graph_measure(&w->g, at)) || graph_expand(&w->g, at))
			return -1;
	}
	return 0;
}

static void add_up(struct walk *w)
{
	for (size_t i = 0; i < w->g.n; i++) {
		const struct node *n = &w->g.nodes[i];
		if (n->owner == NOBODY)
			continue;
		w->g.shapes[n->shape].count++;
		w->g.shapes[n->shape].bytes += n->bytes;
		if (n->owner == SHARED) {
			w->n_shared++;
			w->shared_bytes += n->bytes;
		}
	}
}

/* ---- pass 2 ---- */

static size_t total(const struct walk *w)
{
	size_t bytes = 0;
	for (size_t i = 0; i < w->g.n_shapes; i++)
		bytes += w->g.shapes[i].bytes;
	return bytes;
}

static int walk_shared(struct walk *w, size_t *bytes)
{
	uint32_t at, walk = ++w->g.walks;
	*bytes = 0;
	for (size_t i = 0; i < w->entries.n; i++)
		if (graph_push(&w->g.stack, w->entries.at[i]))
			return -1;
	while (w->g.stack.n) {
		if (next(w, &at))
			return -1;
		if (w->g.nodes[at].seen == walk)
			continue;
		w->g.nodes[at].seen = walk;
		*bytes += w->g.nodes[at].bytes;
		if (graph_expand(&w->g, at))
			return -1;
	}
	return 0;
}

static int shared_part(struct walk *w, size_t *bytes)
{
	size_t n = w->entries.n, hash = 0;
	*bytes = 0;
	if (!n)
		return 0;
	if (n > MEMO_ENTRIES)
		return walk_shared(w, bytes);
	for (size_t i = 0; i < n; i++)
		hash = hash * 31 + w->entries.at[i];
	struct memo *m = &w->memos[hash % MEMOS];
	int same = m->n == n;
	for (size_t i = 0; same && i < n; i++)
		same = m->entry[i] == w->entries.at[i];
	if (same) {
		*bytes = m->bytes;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		m->entry[i] = w->entries.at[i];
	m->n = 0; // empty until the sum is there
	if (walk_shared(w, bytes))
		return -1;
	m->n = n;
	m->bytes = *bytes;
	return 0;
}

static int own_part(struct walk *w, uint32_t owner, size_t *bytes)
{
	uint32_t at, walk = ++w->g.walks;
	*bytes = 0;
	w->entries.n = 0;
	if (graph_push(&w->g.stack, w->roots[owner]))
		return -1;
	while (w->g.stack.n) {
		if (next(w, &at))
			return -1;
		if (w->g.nodes[at].seen == walk)
			continue;
		w->g.nodes[at].seen = walk;
		int own = w->g.nodes[at].owner == owner;
		*bytes += own ? w->g.nodes[at].bytes : 0;
		if (own ? graph_expand(&w->g, at) : graph_push(&w->entries, at))
			return -1;
	}
	return 0;
}

static int put(PyObject *list, size_t n)
{
	PyObject *o = PyLong_FromSize_t(n);
	int bad = !o || PyList_Append(list, o);
	Py_XDECREF(o);
	return bad;
}

static int sum_owner(struct walk *w, uint32_t owner)
{
	size_t own = w->n_roots == 1 ? total(w) : 0, shared = 0;
	if (w->n_roots > 1 && w->roots[owner] != NOTHING &&
	    (own_part(w, owner, &own) || shared_part(w, &shared)))
		return -1;
	w->duplicated += own + shared;
	return put(w->exclusive, own) || put(w->reachable, own + shared) ? -1 : 0;
}

/* ---- the answer ---- */

static PyObject *table(const struct walk *w, int buffers)
{
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < w->g.n_shapes; i++) {
		const struct shape *s = &w->g.shapes[i];
		if (!s->count || (s->kind == BUFFER) != buffers)
			continue;
		PyObject *row =
			Py_BuildValue("(Onn)", s->type, (Py_ssize_t)s->count, (Py_ssize_t)s->bytes);
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list;
}

static PyObject *answer(struct walk *w)
{
	PyObject *types = table(w, 0), *devices = types ? table(w, 1) : NULL, *all = NULL;
	if (devices)
		all = Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:O,s:O,s:O,s:O,s:O,s:n}", "nodes",
				    (Py_ssize_t)w->g.n, "shared_nodes", (Py_ssize_t)w->n_shared,
				    "shared_bytes", (Py_ssize_t)w->shared_bytes, "total",
				    (Py_ssize_t)total(w), "duplicated", (Py_ssize_t)w->duplicated,
				    "exclusive", w->exclusive, "reachable", w->reachable, "types",
				    types, "buffers", devices, "problems", w->g.problems,
				    "left_out", (Py_ssize_t)w->g.left_out);
	Py_XDECREF(types);
	Py_XDECREF(devices);
	return all;
}

static int take_roots(struct walk *w, PyObject *owners)
{
	w->n_roots = (size_t)PyList_Size(owners);
	w->roots = malloc((w->n_roots + 1) * sizeof *w->roots);
	w->memos = w->n_roots > 1 ? calloc(MEMOS, sizeof *w->memos) : NULL;
	if (!w->roots || (w->n_roots > 1 && !w->memos) || w->n_roots >= SHARED / 2) {
		PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < w->n_roots; i++) {
		PyObject *owner = PyList_GetItem(
			owners, (Py_ssize_t)i); // classify may have shortened the list
		if (!owner || graph_node(&w->g, owner, &w->roots[i]))
			return -1;
	}
	return 0;
}

static int run(struct walk *w, PyObject *owners, PyObject *classify)
{
	w->exclusive = PyList_New(0);
	w->reachable = PyList_New(0);
	if (graph_init(&w->g, classify) || !w->exclusive || !w->reachable || take_roots(w, owners))
		return -1;
	for (size_t i = 0; i < w->n_roots; i++)
		if (w->roots[i] != NOTHING && mark(w, (uint32_t)i))
			return -1;
	add_up(w);
	for (size_t i = 0; i < w->n_roots; i++)
		if (sum_owner(w, (uint32_t)i))
			return -1;
	return 0;
}

static PyObject *walk(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *owners, *classify, *all = NULL;
	if (!PyArg_ParseTuple(args, "O!O:walk", &PyList_Type, &owners, &classify))
		return NULL;
	struct walk w = { 0 };
	if (!run(&w, owners, classify))
		all = answer(&w);
	PyObject *kind, *value, *traceback; // objects freed here may run code
	PyErr_Fetch(&kind, &value, &traceback);
	graph_free(&w.g);
	PyErr_Restore(kind, value, traceback);
	Py_XDECREF(w.exclusive);
	Py_XDECREF(w.reachable);
	free(w.roots);
	free(w.memos);
	free(w.entries.at);
	return all;
}

static PyMethodDef methods[] = {
	{ "walk", walk, METH_VARARGS,
	  "walk(owners, classify): bytes of what the owners reach, each object and buffer once. A dict; see tidemark.objects." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, .m_name = "tidemark._objects",
				     .m_size = -1, .m_methods = methods };

PyMODINIT_FUNC PyInit__objects(void)
{
	return PyModule_Create(&module);
}
