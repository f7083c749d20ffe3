// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PROBLEMS 100
#define KNOWN	      256
#define MOST_BYTES    ((size_t)1 << 48) // more than an address space holds: __sizeof__ lies

/* What __array_struct__ holds: version 2 of NumPy's array interface, a stable layout. */
struct array_interface {
	int two, nd;
	char typekind;
	int itemsize, flags;
	Py_ssize_t *shape, *strides;
	void *data;
};

static size_t hash(const void *key)
{
	uint64_t x = (uint64_t)(uintptr_t)key >> 3;
	return (size_t)((x * 0x9e3779b97f4a7c15u) >> 20);
}

static void *grown(void *old, size_t *room, size_t size)
{
	size_t more = *room ? *room + *room / 2 : 64;
	void *new = more < UINT32_MAX ? realloc(old, more * size) : NULL;
	if (new)
		*room = more;
	else
		PyErr_NoMemory();
	return new;
}

int graph_push(struct stack *s, uint32_t at)
{
	if (s->n == s->room) {
		uint32_t *more = grown(s->at, &s->room, sizeof *s->at);
		if (!more)
			return -1;
		s->at = more;
	}
	s->at[s->n++] = at;
	return 0;
}

/* ---- tables ---- */

static int more_slots(uint32_t **slots, size_t *n)
{
	size_t more = *n ? *n * 2 : 64;
	uint32_t *new = calloc(more, sizeof *new);
	if (!new) {
		PyErr_NoMemory();
		return -1;
	}
	free(*slots);
	*slots = new;
	*n = more;
	return 0;
}

static int room_for_node(struct graph *g)
{
	if (g->n == g->room) {
		struct node *more = grown(g->nodes, &g->room, sizeof *g->nodes);
		if (!more)
			return -1;
		g->nodes = more;
	}
	if (g->n * 2 < g->n_slots)
		return 0;
	if (more_slots(&g->slots, &g->n_slots))
		return -1;
	for (size_t i = 0; i < g->n; i++) {
		size_t at = hash(g->nodes[i].key) & (g->n_slots - 1);
		while (g->slots[at])
			at = (at + 1) & (g->n_slots - 1);
		g->slots[at] = (uint32_t)i + 1;
	}
	return 0;
}

/* The node of a key; `buffer` is the shape of a buffer, or NOTHING for an object. */
static uint32_t *slot_of(struct graph *g, const void *key, uint32_t buffer)
{
	for (size_t at = hash(key) & (g->n_slots - 1);; at = (at + 1) & (g->n_slots - 1)) {
		if (!g->slots[at])
			return &g->slots[at];
		const struct node *n = &g->nodes[g->slots[at] - 1];
		uint32_t is = g->shapes[n->shape].kind == BUFFER ? n->shape : NOTHING;
		if (n->key == key && is == buffer)
			return &g->slots[at];
	}
}

static int add_node(struct graph *g, void *key, uint32_t shape, uint32_t *slot)
{
	g->nodes[g->n] = (struct node){ .key = key, .shape = shape, .owner = NOBODY };
	*slot = (uint32_t)++g->n;
	return 0;
}

static int add_shape(struct graph *g, PyObject *type)
{
	if (g->n_shapes == g->shapes_room) {
		struct shape *more = grown(g->shapes, &g->shapes_room, sizeof *g->shapes);
		if (!more)
			return -1;
		g->shapes = more;
	}
	Py_INCREF(type);
	g->shapes[g->n_shapes++] = (struct shape){ .type = type, .fixed = -1 };
	return 0;
}

/* Whether every instance has the same size: no items, and object.__sizeof__. */
static int is_fixed(struct graph *g, PyObject *type)
{
	PyObject *method = PyObject_GetAttr(type, g->sizeof_name);
	PyObject *item = method == g->plain_sizeof ? PyObject_GetAttr(type, g->itemsize) : NULL;
	int yes = method && item && method == g->plain_sizeof && PyLong_Check(item) &&
		  PyLong_AsLong(item) == 0;
	Py_XDECREF(method);
	Py_XDECREF(item);
	PyErr_Clear();
	return yes;
}

static Py_ssize_t basic_size(PyObject *type)
{
	PyObject *n = PyObject_GetAttrString(type, "__basicsize__");
	Py_ssize_t bytes = n ? PyLong_AsSsize_t(n) : 0;
	Py_XDECREF(n);
	PyErr_Clear();
	return bytes > 0 ? bytes : 0;
}

/* What classify said of a type, kept between walks. A weak reference tells a type from a later one at the same address. */
static struct known {
	PyObject *type, *alive, *classify, *answer; // the first one is not held
	Py_ssize_t basic;
} known[KNOWN];

static struct known *known_of(PyObject *type)
{
	return &known[hash(type) % KNOWN];
}

static void remember(struct graph *g, const struct shape *s, PyObject *answer)
{
	struct known *k = known_of(s->type), old = *k;
	PyObject *alive = PyWeakref_NewRef(s->type, NULL);
	if (!alive) {
		PyErr_Clear();
		return;
	}
	Py_INCREF(g->classify);
	Py_INCREF(answer);
	*k = (struct known){ .type = s->type,
			     .alive = alive,
			     .classify = g->classify,
			     .answer = answer,
			     .basic = s->basic };
	Py_XDECREF(old.alive);
	Py_XDECREF(old.classify);
	Py_XDECREF(old.answer);
}

/* What classify says, a new reference. */
static PyObject *answer_for(struct graph *g, struct shape *s)
{
	const struct known *k = known_of(s->type);
	if (k->type == s->type && k->classify == g->classify &&
	    PyWeakref_GetObject(k->alive) == s->type) {
		s->basic = k->basic;
		Py_INCREF(k->answer);
		return k->answer;
	}
	PyObject *answer = PyObject_CallFunctionObjArgs(g->classify, s->type, NULL);
	if (answer) {
		s->basic = basic_size(s->type);
		remember(g, s, answer);
	}
	return answer;
}

static int classify(struct graph *g, struct shape *s)
{
	PyObject *answer = answer_for(g, s);
	if (!answer)
		return -1;
	PyTypeObject *type = (PyTypeObject *)s->type;
	s->kind = answer == Py_None	    ? PLAIN
		  : answer == Py_False	    ? LEFT_OUT
		  : PyUnicode_Check(answer) ? NDARRAY
					    : RESOLVED;
	if (s->kind == RESOLVED) {
		Py_INCREF(answer);
		s->resolver = answer;
	}
	Py_DECREF(answer);
	if (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)
		s->traverse = (traverseproc)PyType_GetSlot(type, Py_tp_traverse);
	PyErr_Clear(); // before 3.10 PyType_GetSlot refused static types
	s->fixed = s->kind != NDARRAY && is_fixed(g, s->type) ? -2 : -1;
	return 0;
}

static void fill_shape_slots(struct graph *g)
{
	for (size_t i = 0; i < g->n_shapes; i++) {
		size_t at = hash(g->shapes[i].type) & (g->n_shape_slots - 1);
		while (g->shape_slots[at])
			at = (at + 1) & (g->n_shape_slots - 1);
		g->shape_slots[at] = (uint32_t)i + 1;
	}
}

static int shape_of(struct graph *g, PyObject *type, uint32_t *shape)
{
	size_t mask = g->n_shape_slots - 1, at = hash(type) & mask;
	for (; g->shape_slots[at]; at = (at + 1) & mask)
		if (g->shapes[g->shape_slots[at] - 1].type == type) {
			*shape = g->shape_slots[at] - 1;
			return 0;
		}
	if (add_shape(g, type))
		return -1;
	*shape = (uint32_t)g->n_shapes - 1;
	g->shape_slots[at] = (uint32_t)g->n_shapes;
	if (g->n_shapes * 2 >= g->n_shape_slots) {
		if (more_slots(&g->shape_slots, &g->n_shape_slots))
			return -1;
		fill_shape_slots(g);
	}
	struct shape mine =
		g->shapes
			[*shape]; // classify runs Python, and may not keep a pointer into the table
	int bad = classify(g, &mine);
	g->shapes[*shape] = mine;
	return bad;
}

static int shape_of_device(struct graph *g, PyObject *device, uint32_t *shape)
{
	for (uint32_t i = 0; i < g->n_shapes; i++)
		if (g->shapes[i].type == device) {
			*shape = i;
			return 0;
		}
	for (uint32_t i = 0; i < g->n_shapes; i++)
		if (g->shapes[i].kind == BUFFER &&
		    PyUnicode_Compare(g->shapes[i].type, device) == 0) {
			*shape = i;
			return 0;
		}
	if (add_shape(g, device))
		return -1;
	*shape = (uint32_t)g->n_shapes - 1;
	g->shapes[*shape].kind = BUFFER;
	return 0;
}

int graph_node(struct graph *g, PyObject *o, uint32_t *at)
{
	uint32_t shape;
	*at = NOTHING;
	if (o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis ||
	    o == Py_NotImplemented || PyType_Check(o))
		return 0;
	if (room_for_node(g))
		return -1;
	uint32_t *slot = slot_of(g, o, NOTHING);
	if (*slot) {
		*at = *slot - 1;
		return 0;
	}
	if (shape_of(g, (PyObject *)Py_TYPE(o), &shape))
		return -1;
	if (g->shapes[shape].kind == LEFT_OUT) {
		g->left_out++;
		return 0;
	}
	Py_INCREF(o);
	*at = (uint32_t)g->n;
	return add_node(g, o, shape, slot);
}

static int push_object(struct graph *g, PyObject *o)
{
	uint32_t at;
	if (graph_node(g, o, &at))
		return -1;
	return at == NOTHING ? 0 : graph_push(&g->stack, at);
}

static int push_buffer(struct graph *g, void *address, size_t bytes, PyObject *device)
{
	uint32_t shape;
	if (!bytes)
		return 0;
	if (shape_of_device(g, device, &shape) || room_for_node(g))
		return -1;
	uint32_t *slot = slot_of(g, address, shape);
	if (!*slot)
		add_node(g, address, shape, slot);
	struct node *n = &g->nodes[*slot - 1];
	n->bytes = n->bytes < bytes ? bytes : n->bytes; // part of it may have come first
	return graph_push(&g->stack, *slot - 1);
}

/* ---- what an object refers to ---- */

static int found(PyObject *o, void *graph)
{
	struct graph *g = graph;
	if (g->n_found == g->found_room) {
		PyObject **more = grown(g->found, &g->found_room, sizeof *g->found);
		if (!more)
			return -1;
		g->found = more;
	}
	Py_INCREF(o);
	g->found[g->n_found++] = o;
	return 0;
}

/* Keys too: dict's tp_traverse leaves out strings. */
static int find_keys(struct graph *g, PyObject *dict)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	while (PyDict_Next(dict, &at, &key, &value))
		if (found(key, g))
			return -1;
	return 0;
}

/* Gathers first and makes nodes afterwards: no Python code may run inside tp_traverse. */
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

static int push_items(struct graph *g, PyObject *list)
{
	Py_ssize_t n = PyList_Size(list);
	for (Py_ssize_t i = 0; i < n; i++)
		if (push_object(g, PyList_GetItem(list, i)))
			return -1;
	return 0;
}

/* An exception that is none of the user's business becomes a problem; others (KeyboardInterrupt) stay. */
static int problem(struct graph *g, PyObject *type, const char *what)
{
	PyObject *kind = NULL, *value = NULL, *traceback = NULL;
	if (PyErr_Occurred()) {
		if (!PyErr_ExceptionMatches(PyExc_Exception) ||
		    PyErr_ExceptionMatches(PyExc_MemoryError))
			return -1;
		PyErr_Fetch(&kind, &value, &traceback);
		PyErr_NormalizeException(&kind, &value, &traceback);
	}
	PyObject *name = PyObject_GetAttrString(type, "__name__");
	PyObject *text = !name	 ? NULL
			 : value ? PyUnicode_FromFormat("%U: %s: %R", name, what, value)
				 : PyUnicode_FromFormat("%U: %s", name, what);
	if (!text) { // __repr__ of the exception fails too
		PyErr_Clear();
		text = PyUnicode_FromFormat("%s", what);
	}
	int bad = !text;
	if (text && PyList_Size(g->problems) < MOST_PROBLEMS) {
		int there = PySequence_Contains(g->problems, text);
		bad = there < 0 || (!there && PyList_Append(g->problems, text));
	}
	Py_XDECREF(text);
	Py_XDECREF(name);
	Py_XDECREF(kind);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	return bad ? -1 : 0;
}

static int push_object_items(struct graph *g, PyObject *array)
{
	PyObject *flat = PyObject_CallMethod(array, "ravel", NULL);
	PyObject *list = flat ? PyObject_CallMethod(flat, "tolist", NULL) : NULL;
	int bad = !list ? problem(g, (PyObject *)Py_TYPE(array), "its items cannot be read")
		  : PyList_Check(list) ? push_items(g, list)
				       : 0;
	Py_XDECREF(list);
	Py_XDECREF(flat);
	return bad;
}

static size_t array_bytes(const struct array_interface *a)
{
	size_t bytes = (size_t)a->itemsize;
	for (int i = 0; i < a->nd; i++)
		if (__builtin_mul_overflow(bytes, (size_t)a->shape[i], &bytes))
			return 0;
	return bytes;
}

/* The base that has the memory, NULL if the array has it itself. A new reference. */
static PyObject *base_of(struct graph *g, PyObject *array)
{
	PyObject *base = PyObject_GetAttr(array, g->base);
	if (base == Py_None)
		Py_CLEAR(base);
	return base;
}

/* Whether the base's own node has the bytes: an array, something resolved, or an object that counts them in __sizeof__. */
static int base_has_bytes(struct graph *g, PyObject *base)
{
	uint32_t shape;
	if (PyBytes_Check(base) || PyByteArray_Check(base) || PyMemoryView_Check(base))
		return 1;
	if (shape_of(g, (PyObject *)Py_TYPE(base), &shape))
		return -1;
	if (g->shapes[shape].kind == NDARRAY || g->shapes[shape].kind == RESOLVED)
		return 1;
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(base), "__name__");
	int yes = name && PyUnicode_CompareWithASCIIString(name, "array") == 0; // array.array
	Py_XDECREF(name);
	PyErr_Clear();
	return yes;
}

/* __sizeof__ of an array that owns its elements has them; they are the buffer's. */
static void take_elements(struct node *n, size_t elements)
{
	if (n->child == FRESH && elements <= n->bytes)
		n->bytes -= elements;
}

static int push_array_memory(struct graph *g, uint32_t at, const struct array_interface *a)
{
	PyObject *array = g->nodes[at].key;
	PyObject *base = base_of(g, array);
	if (!base && PyErr_Occurred())
		return problem(g, (PyObject *)Py_TYPE(array), "its base cannot be read");
	if (!base)
		take_elements(&g->nodes[at], array_bytes(a));
	int has = base ? base_has_bytes(g, base) : 0;
	int bad = has < 0 || (base && push_object(g, base));
	if (!bad && !has) {
		bad = push_buffer(g, a->data, array_bytes(a), g->cpu);
		if (!bad && a->typekind == 'O')
			bad = push_object_items(g, array);
	}
	Py_XDECREF(base);
	return bad ? -1 : 0;
}

static int push_array(struct graph *g, uint32_t at)
{
	PyObject *array = g->nodes[at].key;
	PyObject *capsule = PyObject_GetAttr(array, g->array_struct);
	const struct array_interface *a = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
	int bad = a && a->two == 2 ? push_array_memory(g, at, a)
				   : problem(g, (PyObject *)Py_TYPE(array),
					     "__array_struct__ cannot be read");
	Py_XDECREF(capsule);
	return bad;
}

/* An array that has no attributes of its own mostly leads to one node, which is remembered. */
static int expand_array(struct graph *g, uint32_t at, int plain)
{
	uint32_t child = g->nodes[at].child;
	if (child && child != FRESH)
		return graph_push(&g->stack, child - 1);
	size_t before = g->stack.n;
	if (push_array(g, at))
		return -1;
	g->nodes[at].child = plain && g->stack.n == before + 1 ? g->stack.at[before] + 1 : 0;
	return 0;
}

/* One (address, bytes, device) of a resolver. */
static int push_told(struct graph *g, PyObject *item, PyObject *type)
{
	size_t address = PyLong_AsSize_t(PyTuple_GetItem(item, 0)), bytes = 0;
	PyObject *device = PyTuple_GetItem(item, 2);
	if (!PyErr_Occurred())
		bytes = PyLong_AsSize_t(PyTuple_GetItem(item, 1));
	if (PyErr_Occurred() || bytes > MOST_BYTES || !PyUnicode_Check(device))
		return problem(g, type, "bytes of its buffer are not plausible");
	return push_buffer(g, (void *)address, bytes, device);
}

static int push_resolved(struct graph *g, PyObject *o, PyObject *resolver)
{
	PyObject *type = (PyObject *)Py_TYPE(o),
		 *list = PyObject_CallFunctionObjArgs(resolver, o, NULL);
	if (!list)
		return problem(g, type, "its buffers cannot be found");
	int bad = 0;
	Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
	for (Py_ssize_t i = 0; i < n && !bad; i++) {
		PyObject *item = PyList_GetItem(list, i);
		int buffer = Py_IS_TYPE(item, &PyTuple_Type) && PyTuple_Size(item) == 3;
		bad = buffer ? push_told(g, item, type) : push_object(g, item);
	}
	Py_DECREF(list);
	return bad;
}

int graph_expand(struct graph *g, uint32_t at)
{
	struct shape s = g->shapes[g->nodes[at].shape];
	PyObject *o = g->nodes[at].key;
	if (s.kind == BUFFER)
		return 0;
	if (s.traverse && push_traversed(g, o, s.traverse))
		return -1;
	if (s.kind == NDARRAY)
		return expand_array(g, at, !s.traverse);
	return s.kind == RESOLVED ? push_resolved(g, o, s.resolver) : 0;
}

/* ---- sizes ---- */

static int asked_size(struct graph *g, PyObject *o, Py_ssize_t basic, size_t *bytes)
{
	PyObject *n = PyObject_CallFunctionObjArgs(g->getsizeof, o, NULL);
	Py_ssize_t size = n ? PyLong_AsSsize_t(n) : -1;
	Py_XDECREF(n);
	int lies = size < basic &&
		   PyType_GetFlags(Py_TYPE(o)) &
			   Py_TPFLAGS_HEAPTYPE; // a compact str is below its basic size
	int plausible = size >= 0 && !lies && (size_t)size <= MOST_BYTES;
	*bytes = (size_t)(plausible ? size : basic);
	if (plausible)
		return 0;
	return problem(g, (PyObject *)Py_TYPE(o),
		       size < 0 ? "__sizeof__ failed, basic size taken"
				: "__sizeof__ is not plausible, basic size taken");
}

int graph_measure(struct graph *g, uint32_t at)
{
	uint32_t shape = g->nodes[at].shape;
	PyObject *o = g->nodes[at].key;
	size_t bytes = g->nodes[at].bytes;
	if (g->shapes[shape].kind != BUFFER) {
		if (g->shapes[shape].fixed >= 0)
			bytes = (size_t)g->shapes[shape].fixed;
		else if (asked_size(g, o, g->shapes[shape].basic, &bytes))
			return -1;
		if (g->shapes[shape].fixed == -2)
			g->shapes[shape].fixed = (Py_ssize_t)bytes;
		if (g->shapes[shape].kind == NDARRAY)
			g->nodes[at].child = FRESH;
	}
	g->nodes[at].bytes = bytes;
	return 0;
}

/* ---- life ---- */

int graph_init(struct graph *g, PyObject *classify)
{
	memset(g, 0, sizeof *g);
	PyObject *sys = PyImport_ImportModule("sys");
	g->getsizeof = sys ? PyObject_GetAttrString(sys, "getsizeof") : NULL;
	Py_XDECREF(sys);
	g->plain_sizeof = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__sizeof__");
	g->problems = PyList_New(0);
	Py_INCREF(classify);
	g->classify = classify;
	g->base = PyUnicode_InternFromString("base");
	g->array_struct = PyUnicode_InternFromString("__array_struct__");
	g->cpu = PyUnicode_InternFromString("cpu");
	g->sizeof_name = PyUnicode_InternFromString("__sizeof__");
	g->itemsize = PyUnicode_InternFromString("__itemsize__");
	if (!g->getsizeof || !g->plain_sizeof || !g->problems || !g->sizeof_name || !g->itemsize ||
	    !g->base || !g->array_struct || !g->cpu)
		return -1;
	return more_slots(&g->shape_slots, &g->n_shape_slots);
}

void graph_free(struct graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->shapes[g->nodes[i].shape].kind != BUFFER)
			Py_DECREF((PyObject *)g->nodes[i].key);
	for (size_t i = 0; i < g->n_shapes; i++) {
		Py_DECREF(g->shapes[i].type);
		Py_XDECREF(g->shapes[i].resolver);
	}
	free(g->nodes);
	free(g->shapes);
	free(g->slots);
	free(g->shape_slots);
	free(g->found);
	free(g->stack.at);
	Py_XDECREF(g->classify);
	Py_XDECREF(g->getsizeof);
	Py_XDECREF(g->plain_sizeof);
	Py_XDECREF(g->problems);
	Py_XDECREF(g->base);
	Py_XDECREF(g->array_struct);
	Py_XDECREF(g->cpu);
	Py_XDECREF(g->sizeof_name);
	Py_XDECREF(g->itemsize);
}
