// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark._objects: the memory of owners (any objects), alone and together.
 *
 * Pass 1 walks from each owner in turn and marks every node with the only owner that reaches it, or SHARED. A node is expanded at
 * most twice. Pass 2 adds up, per owner, its own nodes and the shared ones it reaches; owners that enter the shared part at the same
 * nodes (arrays with one unit) take the sum from a memo. The largest shared nodes have a bit each,
 * so that pass 2 also finds their owners. */
#include "graph.h"

#include <stdlib.h>

#define MEMOS	      1024
#define MEMO_ENTRIES  4
#define SIGNALS_EVERY 65536
#define RANKS	      64 // number of shared nodes listed with their owners
#define NAMED	      16 // number of owners listed for each

struct memo {
	uint32_t entry[MEMO_ENTRIES];
	size_t n, bytes;
	uint64_t ranks;
};

struct rank {
	uint32_t node, owners[NAMED];
	size_t n_owners;
};

struct walk {
	struct graph g;
	uint32_t *roots;
	size_t n_roots, n_shared, shared_bytes, steps;
	struct stack entries; // shared nodes that the owner reaches first
	struct memo *memos;
	int64_t *exclusive, *reachable; // bytes of each owner
	struct rank *ranks;
	size_t n_ranks, duplicated;
	int met;	 // an owner reached a node that is OUTSIDE
	int memory_only; // as in struct graph
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
		w->met |= was == OUTSIDE;
		if (was == owner || was == SHARED || was == OUTSIDE)
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
		if (n->owner == NOBODY || n->owner == OUTSIDE)
			continue;
		w->g.shapes[n->shape].count++;
		w->g.shapes[n->shape].bytes += n->bytes;
		if (n->owner == SHARED) {
			w->n_shared++;
			w->shared_bytes += n->bytes;
		}
	}
}

/* Gives the largest shared nodes their bits. */
static void rank_shared(struct walk *w)
{
	for (size_t i = 0; i < w->g.n; i++) {
		const struct node *n = w->g.nodes;
		size_t at = w->n_ranks;
		if (n[i].owner != SHARED ||
		    (at == RANKS && n[i].bytes <= n[w->ranks[RANKS - 1].node].bytes))
			continue;
		at -= at == RANKS;
		for (; at && n[w->ranks[at - 1].node].bytes < n[i].bytes; at--)
			w->ranks[at] = w->ranks[at - 1];
		w->ranks[at] = (struct rank){ .node = (uint32_t)i };
		w->n_ranks += w->n_ranks < RANKS;
	}
	for (size_t i = 0; i < w->n_ranks; i++)
		w->g.nodes[w->ranks[i].node].owner = RANKED + (uint32_t)i;
}

/* ---- pass 2 ---- */

static size_t total(const struct walk *w)
{
	size_t bytes = 0;
	for (size_t i = 0; i < w->g.n_shapes; i++)
		bytes += w->g.shapes[i].bytes;
	return bytes;
}

static int walk_shared(struct walk *w, size_t *bytes, uint64_t *ranks)
{
	uint32_t at, walk = ++w->g.walks;
	*bytes = 0;
	*ranks = 0;
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
		if (w->g.nodes[at].owner != SHARED)
			*ranks |= (uint64_t)1 << (w->g.nodes[at].owner - RANKED);
		if (graph_expand(&w->g, at))
			return -1;
	}
	return 0;
}

static int shared_part(struct walk *w, size_t *bytes, uint64_t *ranks)
{
	size_t n = w->entries.n, hash = 0;
	*bytes = 0;
	*ranks = 0;
	if (!n)
		return 0;
	if (n > MEMO_ENTRIES)
		return walk_shared(w, bytes, ranks);
	for (size_t i = 0; i < n; i++)
		hash = hash * 31 + w->entries.at[i];
	struct memo *m = &w->memos[hash % MEMOS];
	int same = m->n == n;
	for (size_t i = 0; same && i < n; i++)
		same = m->entry[i] == w->entries.at[i];
	if (same) {
		*bytes = m->bytes;
		*ranks = m->ranks;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		m->entry[i] = w->entries.at[i];
	m->n = 0; // empty until the sum is complete
	if (walk_shared(w, bytes, ranks))
		return -1;
	m->n = n;
	m->ranks = *ranks;
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

static void name_owner(struct walk *w, uint32_t owner, uint64_t ranks)
{
	for (; ranks; ranks &= ranks - 1) {
		struct rank *r = &w->ranks[__builtin_ctzll(ranks)];
		if (r->n_owners < NAMED)
			r->owners[r->n_owners] = owner;
		r->n_owners++;
	}
}

static int sum_owner(struct walk *w, uint32_t owner)
{
	size_t own = w->n_roots == 1 ? total(w) : 0, shared = 0;
	uint64_t ranks = 0;
	if (w->n_roots > 1 && w->roots[owner] != NOTHING &&
	    (own_part(w, owner, &own) || shared_part(w, &shared, &ranks)))
		return -1;
	name_owner(w, owner, ranks);
	w->duplicated += own + shared;
	w->exclusive[owner] = (int64_t)own;
	w->reachable[owner] = (int64_t)(own + shared);
	return 0;
}

/* ---- the result ---- */

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

static PyObject *owners_of(const struct rank *r)
{
	size_t n = r->n_owners < NAMED ? r->n_owners : NAMED;
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < n; i++) {
		PyObject *o = PyLong_FromSize_t(r->owners[i]);
		if (!o || PyList_Append(list, o))
			Py_CLEAR(list);
		Py_XDECREF(o);
	}
	return list;
}

/* Returns (type or device, bytes, owners, number of owners) for the largest shared nodes. */
static PyObject *shared_table(const struct walk *w)
{
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < w->n_ranks; i++) {
		const struct node *n = &w->g.nodes[w->ranks[i].node];
		PyObject *owners = owners_of(&w->ranks[i]);
		PyObject *row = owners ? Py_BuildValue("(OnOn)", w->g.shapes[n->shape].type,
						       (Py_ssize_t)n->bytes, owners,
						       (Py_ssize_t)w->ranks[i].n_owners)
				       : NULL;
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(owners);
		Py_XDECREF(row);
	}
	return list;
}

static PyObject *answer(struct walk *w)
{
	Py_ssize_t n = (Py_ssize_t)(w->n_roots * sizeof *w->exclusive);
	PyObject *types = table(w, 0), *devices = types ? table(w, 1) : NULL,
		 *shared = devices ? shared_table(w) : NULL, *all = NULL;
	if (shared)
		all = Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:y#,s:y#,s:O,s:O,s:O,s:O,s:n}", "nodes",
				    (Py_ssize_t)w->g.n, "shared_nodes", (Py_ssize_t)w->n_shared,
				    "shared_bytes", (Py_ssize_t)w->shared_bytes, "total",
				    (Py_ssize_t)total(w), "duplicated", (Py_ssize_t)w->duplicated,
				    "exclusive", (char *)w->exclusive, n, "reachable",
				    (char *)w->reachable, n, "types", types, "buffers", devices,
				    "shared", shared, "problems", w->g.problems, "left_out",
				    (Py_ssize_t)w->g.left_out);
	Py_XDECREF(types);
	Py_XDECREF(shared);
	Py_XDECREF(devices);
	return all;
}

static int take_roots(struct walk *w, PyObject *owners)
{
	w->n_roots = (size_t)PyList_Size(owners);
	w->roots = malloc((w->n_roots + 1) * sizeof *w->roots);
	if (!w->roots || w->n_roots >= RANKED / 2) {
		PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < w->n_roots; i++) {
		PyObject *owner = PyList_GetItem(
			owners, (Py_ssize_t)i); // NULL if classify has shortened the list
		if (!owner || graph_node(&w->g, owner, &w->roots[i]))
			return -1;
	}
	return 0;
}

/* Objects of the list are OUTSIDE, with the memory of those that are arrays. */
static int leave_outside(struct walk *w, PyObject *list)
{
	for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) {
		uint32_t at;
		PyObject *o = PyList_GetItem(list, i);
		if (!o || graph_node(&w->g, o, &at) ||
		    (at != NOTHING && graph_push(&w->g.stack, at)))
			return -1;
		while (w->g.stack.n) {
			if (next(w, &at))
				return -1;
			if (w->g.nodes[at].owner == OUTSIDE)
				continue;
			w->g.nodes[at].owner = OUTSIDE;
			if (graph_expand_outside(&w->g, at))
				return -1;
		}
	}
	return 0;
}

/* Pass 1: every node has its owner, or is SHARED. `outside` may be NULL. */
static int reach(struct walk *w, PyObject *owners, PyObject *classify, PyObject *outside)
{
	if (graph_init(&w->g, classify))
		return -1;
	w->g.memory_only = w->memory_only;
	if (take_roots(w, owners) || leave_outside(w, outside))
		return -1;
	for (size_t i = 0; i < w->n_roots; i++)
		if (w->roots[i] != NOTHING && mark(w, (uint32_t)i))
			return -1;
	add_up(w);
	return 0;
}

static int sum(struct walk *w)
{
	w->exclusive = calloc(w->n_roots + 1, sizeof *w->exclusive);
	w->reachable = calloc(w->n_roots + 1, sizeof *w->reachable);
	w->ranks = calloc(RANKS, sizeof *w->ranks);
	w->memos = w->n_roots > 1 ? calloc(MEMOS, sizeof *w->memos) : NULL;
	if (!w->exclusive || !w->reachable || !w->ranks || (w->n_roots > 1 && !w->memos)) {
		PyErr_NoMemory();
		return -1;
	}
	rank_shared(w);
	for (size_t i = 0; i < w->n_roots; i++)
		if (sum_owner(w, (uint32_t)i))
			return -1;
	return 0;
}

static void finish(struct walk *w)
{
	PyObject *kind, *value, *traceback; // objects freed here may run code
	PyErr_Fetch(&kind, &value, &traceback);
	graph_free(&w->g);
	PyErr_Restore(kind, value, traceback);
	free(w->exclusive);
	free(w->reachable);
	free(w->roots);
	free(w->memos);
	free(w->ranks);
	free(w->entries.at);
}

/* ---- functions of the module ---- */

static PyObject *walk(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *owners, *classify, *all = NULL;
	struct walk w = { 0 };
	if (!PyArg_ParseTuple(args, "O!O|p:walk", &PyList_Type, &owners, &classify, &w.memory_only))
		return NULL;
	if (!reach(&w, owners, classify, NULL) && !sum(&w))
		all = answer(&w);
	finish(&w);
	return all;
}

static PyObject *total_of(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *owners, *classify, *outside, *bytes = NULL;
	if (!PyArg_ParseTuple(args, "O!OO!:total", &PyList_Type, &owners, &classify, &PyList_Type,
			      &outside))
		return NULL;
	struct walk w = { 0 };
	if (!reach(&w, owners, classify, outside))
		bytes = Py_BuildValue("(niO)", (Py_ssize_t)total(&w), w.met, w.g.problems);
	finish(&w);
	return bytes;
}

/* Sets wanted[i] for each shape whose type is in the list. Types are compared by identity: a metaclass may forbid hashing. */
static void find_wanted(const struct walk *w, PyObject *types, char *wanted)
{
	Py_ssize_t n = PyList_Size(types);
	for (size_t i = 0; i < w->g.n_shapes; i++)
		for (Py_ssize_t k = 0; k < n && !wanted[i]; k++)
			wanted[i] = w->g.shapes[i].kind != BUFFER &&
				    PyList_GetItem(types, k) == w->g.shapes[i].type;
}

static PyObject *listed(const struct walk *w, PyObject *types)
{
	char *wanted = calloc(w->g.n_shapes + 1, 1);
	PyObject *list = wanted ? PyList_New(0) : PyErr_NoMemory();
	if (list)
		find_wanted(w, types, wanted);
	for (size_t i = 0; list && i < w->g.n; i++)
		if (wanted[w->g.nodes[i].shape] && PyList_Append(list, w->g.nodes[i].key))
			Py_CLEAR(list);
	free(wanted);
	return list;
}

static PyObject *reached(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *owners, *classify, *types, *list = NULL;
	if (!PyArg_ParseTuple(args, "O!OO!:reached", &PyList_Type, &owners, &classify, &PyList_Type,
			      &types))
		return NULL;
	struct walk w = { 0 };
	if (!reach(&w, owners, classify, NULL))
		list = listed(&w, types);
	finish(&w);
	return list;
}

static PyMethodDef methods[] = {
	{ "walk", walk, METH_VARARGS,
	  "walk(owners, classify, memory_only=False): bytes of what the owners reach, each object and buffer once; of arrays on request their memory alone. A dict; see tidemark.objects." },
	{ "total", total_of, METH_VARARGS,
	  "total(owners, classify, outside): all bytes that the owners reach, each once, without the objects of the list `outside` and the memory of its arrays; 1 if they reach one of these; problems." },
	{ "reached", reached, METH_VARARGS,
	  "reached(owners, classify, types): the objects that the owners reach whose type is in the list." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, .m_name = "tidemark._objects",
				     .m_size = -1, .m_methods = methods };

PyMODINIT_FUNC PyInit__objects(void)
{
	return graph_setup() ? NULL : PyModule_Create(&module);
}
