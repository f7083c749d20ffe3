// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the references of an object: by tp_traverse, by the memory of an array, by a resolver. */
#include "graph.h"

#define MOST_BYTES ((size_t)1 << 48) // larger than an address space

/* The content of __array_struct__: version 2 of NumPy's array interface, a stable layout. */
struct array_interface {
	int two, nd;
	char typekind;
	int itemsize, flags;
	Py_ssize_t *shape, *strides;
	void *data;
};

static int push_object(struct graph *g, PyObject *o)
{
	uint32_t at;
	if (graph_node(g, o, &at))
		return -1;
	return at == NOTHING ? 0 : graph_push(&g->stack, at);
}

/* ---- tp_traverse ---- */

/* Makes the node at once if its type is known. Others are collected in `found`, since no Python code may run inside tp_traverse. */
static int found(PyObject *o, void *graph)
{
	struct graph *g = graph;
	if (graph_knows(g, o))
		return push_object(g, o);
	if (g->n_found == g->found_room) {
		PyObject **more = graph_grown(g->found, &g->found_room, sizeof *g->found);
		if (!more)
			return -1;
		g->found = more;
	}
	Py_INCREF(o);
	g->found[g->n_found++] = o;
	return 0;
}

/* Adds the keys, because dict's tp_traverse leaves out strings. */
static int find_keys(struct graph *g, PyObject *dict)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	while (PyDict_Next(dict, &at, &key, &value))
		if (found(key, g))
			return -1;
	return 0;
}

static int push_traversed(struct graph *g, PyObject *o, traverseproc traverse)
{
	int bad = traverse(o, found, g) || (PyDict_Check(o) && find_keys(g, o));
	for (size_t i = 0; i < g->n_found; i++) {
		bad = bad || push_object(g, g->found[i]);
		Py_DECREF(g->found[i]);
	}
	g->n_found = 0;
	return bad ? -1 : 0;
}

/* Adds one (address, bytes, device). */
static int push_told(struct graph *g, PyObject *item, PyObject *type)
{
	size_t address = PyLong_AsSize_t(PyTuple_GetItem(item, 0)), bytes = 0;
	PyObject *device = PyTuple_GetItem(item, 2);
	if (!PyErr_Occurred())
		bytes = PyLong_AsSize_t(PyTuple_GetItem(item, 1));
	if (PyErr_Occurred() || bytes > MOST_BYTES || !PyUnicode_Check(device))
		return graph_problem(g, type, "bytes of its buffer are not plausible");
	return graph_push_buffer(g, (void *)address, bytes, device);
}

/* Adds the objects and buffers of a list that Python code returned for `o`. */
static int push_list(struct graph *g, PyObject *o, PyObject *list)
{
	int bad = 0;
	Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
	for (Py_ssize_t i = 0; i < n && !bad; i++) {
		PyObject *item = PyList_GetItem(list, i);
		int buffer = Py_IS_TYPE(item, &PyTuple_Type) && PyTuple_Size(item) == 3;
		bad = buffer ? push_told(g, item, (PyObject *)Py_TYPE(o)) : push_object(g, item);
	}
	return bad;
}

/* ---- arrays ---- */

/* Adds the objects in an array that owns its memory, or whose base is unknown. */
static int push_array_items(struct graph *g, uint32_t at)
{
	PyObject *array = g->nodes[at].key;
	if (g->memory_only)
		return 0;
	PyObject *kinds = PyImport_ImportModule("tidemark.objects._kinds");
	PyObject *list = kinds ? PyObject_CallMethod(kinds, "items_of", "O", array) : NULL;
	int bad = list ? push_list(g, array, list)
		       : graph_problem(g, (PyObject *)Py_TYPE(array), "its items cannot be read");
	Py_XDECREF(list);
	Py_XDECREF(kinds);
	return bad;
}

/* Adds the buffer of an array, and the objects in it. */
static int push_array_buffer(struct graph *g, uint32_t at, const struct ndarray *a)
{
	if (graph_push_buffer(g, a->data, a->bytes, graph_names.cpu))
		return -1;
	return a->objects ? push_array_items(g, at) : 0;
}

/* Returns a new reference to the base that owns the memory, NULL if the array owns it. */
static PyObject *base_of(PyObject *array)
{
	PyObject *base = PyObject_GetAttr(array, graph_names.base);
	if (base == Py_None)
		Py_CLEAR(base);
	return base;
}

/* Returns whether the base's own node counts the bytes: an array, a resolved object, or an object that includes them in __sizeof__. */
static int base_has_bytes(struct graph *g, PyObject *base)
{
	uint32_t shape;
	if (PyBytes_Check(base) || PyByteArray_Check(base) || PyMemoryView_Check(base))
		return 1;
	if (graph_shape(g, (PyObject *)Py_TYPE(base), &shape))
		return -1;
	enum kind kind = g->shapes[shape].kind;
	if (kind == NDARRAY || kind == FAST_NDARRAY || kind == RESOLVED)
		return 1;
	PyObject *name = PyObject_CallFunctionObjArgs(graph_names.type_name,
						      (PyObject *)Py_TYPE(base), NULL);
	int yes = name && PyUnicode_CompareWithASCIIString(name, "array") == 0; // array.array
	Py_XDECREF(name);
	PyErr_Clear();
	return yes;
}

/* Subtracts the elements from an array's __sizeof__: they are counted in the buffer. */
static void take_elements(struct node *n, size_t elements)
{
	if (n->child == FRESH && elements <= n->bytes)
		n->bytes -= elements;
}

static int push_array_memory(struct graph *g, uint32_t at, const struct ndarray *a)
{
	PyObject *array = g->nodes[at].key;
	PyObject *base = base_of(array);
	if (!base && PyErr_Occurred())
		return graph_problem(g, (PyObject *)Py_TYPE(array), "its base cannot be read");
	if (!base)
		take_elements(&g->nodes[at], a->bytes);
	int has = base ? base_has_bytes(g, base) : 0;
	int bad = has < 0 || (base && push_object(g, base));
	if (!bad && !has)
		bad = push_array_buffer(g, at, a);
	Py_XDECREF(base);
	return bad ? -1 : 0;
}

/* Sets *yes if the elements hold references. */
static int ask_objects(struct graph *g, PyObject *array, int *yes)
{
	PyObject *dtype = PyObject_GetAttrString(array, "dtype");
	PyObject *answer = dtype ? PyObject_GetAttrString(dtype, "hasobject") : NULL;
	*yes = answer ? PyObject_IsTrue(answer) : -1;
	Py_XDECREF(answer);
	Py_XDECREF(dtype);
	if (*yes >= 0)
		return 0;
	*yes = 0;
	return graph_problem(g, (PyObject *)Py_TYPE(array), "its dtype cannot be read");
}

static int push_interface(struct graph *g, uint32_t at, const struct array_interface *i)
{
	struct ndarray a = { .data = i->data };
	a.bytes = ndarray_span(&a.data, (size_t)i->itemsize, i->nd, i->shape, i->strides);
	return ask_objects(g, g->nodes[at].key, &a.objects) || push_array_memory(g, at, &a) ? -1
											    : 0;
}

static int push_array(struct graph *g, uint32_t at)
{
	PyObject *array = g->nodes[at].key;
	PyObject *capsule = PyObject_GetAttr(array, graph_names.array_struct);
	const struct array_interface *i = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
	int bad = i && i->two == 2 ? push_interface(g, at, i)
				   : graph_problem(g, (PyObject *)Py_TYPE(array),
						   "__array_struct__ cannot be read");
	Py_XDECREF(capsule);
	return bad;
}

/* Handles numpy.ndarray itself: looks up no attribute and runs no Python code unless the array holds objects. */
static int push_fast_array(struct graph *g, uint32_t at)
{
	PyObject *array = g->nodes[at].key, *base;
	struct ndarray a;
	if (ndarray_read(array, g->dtypes, DTYPES, &a))
		return graph_problem(g, (PyObject *)Py_TYPE(array), "its dtype cannot be read");
	g->nodes[at].bytes = a.header;
	base = a.base;
	if (!base)
		return push_array_buffer(g, at, &a);
	Py_INCREF(base);
	int has = base_has_bytes(g, base);
	int bad = has < 0 || push_object(g, base);
	if (!bad && !has)
		bad = push_array_buffer(g, at, &a);
	Py_DECREF(base);
	return bad ? -1 : 0;
}

/* Expands an array. A `plain` one, without attributes of its own, usually leads to a single node, which is cached. */
static int expand_array(struct graph *g, uint32_t at, int plain)
{
	uint32_t child = g->nodes[at].child;
	if (child && child != FRESH)
		return graph_push(&g->stack, child - 1);
	size_t before = g->stack.n;
	int fast = g->shapes[g->nodes[at].shape].kind == FAST_NDARRAY;
	if (fast ? push_fast_array(g, at) : push_array(g, at))
		return -1;
	g->nodes[at].child = plain && g->stack.n == before + 1 ? g->stack.at[before] + 1 : 0;
	return 0;
}

static int push_resolved(struct graph *g, PyObject *o, PyObject *resolver)
{
	PyObject *list = PyObject_CallFunctionObjArgs(resolver, o, NULL);
	if (!list)
		return graph_problem(g, (PyObject *)Py_TYPE(o), "its buffers cannot be found");
	int bad = push_list(g, o, list);
	Py_DECREF(list);
	return bad;
}

/* Expands a node as an array or by its resolver. */
static int expand_memory(struct graph *g, uint32_t at)
{
	struct shape s = g->shapes[g->nodes[at].shape];
	if (s.kind == NDARRAY || s.kind == FAST_NDARRAY)
		return expand_array(g, at, !s.traverse);
	return s.kind == RESOLVED ? push_resolved(g, g->nodes[at].key, s.resolver) : 0;
}

/* The memory of numpy.ndarray itself. Of a buffer only the address is needed: its bytes are not counted. */
static int push_address(struct graph *g, uint32_t at)
{
	PyObject *base;
	void *data = ndarray_memory(g->nodes[at].key, &base);
	if (base && push_object(g, base))
		return -1;
	return graph_push_buffer(g, data, 1, graph_names.cpu);
}

int graph_expand_outside(struct graph *g, uint32_t at)
{
	return g->shapes[g->nodes[at].shape].kind == FAST_NDARRAY ? push_address(g, at)
								  : expand_memory(g, at);
}

int graph_expand(struct graph *g, uint32_t at)
{
	const struct shape *s = &g->shapes[g->nodes[at].shape];
	traverseproc traverse = g->memory_only && s->kind != PLAIN ? NULL : s->traverse;
	if (traverse && push_traversed(g, g->nodes[at].key, traverse))
		return -1;
	return expand_memory(g, at);
}
