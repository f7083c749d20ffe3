// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PROBLEMS 100
#define KNOWN	      1024
#define WAYS	      4
#define MAP_FROM      ((size_t)1 << 20)	 // tables of at least this many bytes are mapped
#define MAP_FIRST     ((size_t)16 << 20) // room of nodes that are mapped, at first
#define GC_HEAD	      16 // bytes before an object that the collector tracks; sys.getsizeof adds them
#define MOST_BYTES    ((size_t)1 << 48) // larger than an address space: __sizeof__ is wrong

struct graph_names graph_names;

static uint64_t mixed(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

static size_t hash(const void *key)
{
	return (size_t)mixed((uint64_t)(uintptr_t)key >> 4);
}

/* Keeps objects of one 512-byte block of memory adjacent in the table: objects made in sequence are usually walked in sequence. */
static uint64_t node_hash(const void *key)
{
	uint64_t x = (uint64_t)(uintptr_t)key;
	return mixed(x >> 9) << 5 | (x >> 4 & 31);
}

void *graph_grown(void *old, size_t *room, size_t size)
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
		uint32_t *more = graph_grown(s->at, &s->room, sizeof *s->at);
		if (!more)
			return -1;
		s->at = more;
	}
	s->at[s->n++] = at;
	return 0;
}

/* ---- memory of nodes and their slots ---- */

/* Small tables come from malloc. Large ones are mapped, in huge pages where the system has them: page faults of 4 KiB each were a
 * third of a walk's time, and malloc would keep some of the memory afterwards. */
static void *mapped(void *old, size_t had, size_t bytes)
{
	void *new = had >= MAP_FROM ? mremap(old, had, bytes, MREMAP_MAYMOVE)
				    : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		return NULL;
	(void)madvise(new, bytes, MADV_HUGEPAGE); // a failure costs time only
	if (old && had < MAP_FROM) {
		memcpy(new, old, had);
		free(old);
	}
	return new;
}

static void release(void *table, size_t bytes)
{
	if (bytes >= MAP_FROM)
		munmap(table, bytes);
	else
		free(table);
}

static int more_nodes(struct graph *g)
{
	size_t size = sizeof *g->nodes, more = g->room ? g->room + g->room / 2 : 64;
	if (more * size >= MAP_FROM && more * size < MAP_FIRST)
		more = MAP_FIRST / size; // memory that is not written costs nothing
	struct node *new = NULL;
	if (more < UINT32_MAX)
		new = more *size < MAP_FROM ? realloc(g->nodes, more * size)
					    : mapped(g->nodes, g->room * size, more * size);
	if (!new) {
		PyErr_NoMemory();
		return -1;
	}
	g->nodes = new;
	g->room = more;
	return 0;
}

static int new_slots(struct graph *g, size_t n)
{
	size_t bytes = n * sizeof *g->slots;
	release(g->slots, g->n_slots * sizeof *g->slots);
	g->slots = bytes < MAP_FROM ? calloc(n, sizeof *g->slots) : mapped(NULL, 0, bytes);
	g->n_slots = g->slots ? n : 0;
	if (g->slots)
		return 0;
	PyErr_NoMemory();
	return -1;
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

/* Occupies a slot. The lower bits of the hash select its position; the upper half is stored in the slot. */
static void put_slot(struct graph *g, uint64_t h, size_t index)
{
	size_t mask = g->n_slots - 1, at = (size_t)h & mask;
	while (g->slots[at])
		at = (at + 1) & mask;
	g->slots[at] = (h & ~(uint64_t)UINT32_MAX) | (index + 1);
}

static int more_node_slots(struct graph *g)
{
	size_t more = !g->n_slots	     ? 64
		      : g->n_slots < 1 << 16 ? g->n_slots * 4
		      : g->n_slots < 1 << 20 ? 1 << 20
					     : g->n_slots * 2;
	if (new_slots(g, more))
		return -1;
	for (size_t i = 0; i < g->n; i++)
		put_slot(g, node_hash(g->nodes[i].key), i);
	return 0;
}

static int room_for_node(struct graph *g)
{
	if (g->n == g->room && more_nodes(g))
		return -1;
	return (g->n + 1) * 4 > g->n_slots * 3 ? more_node_slots(g) : 0;
}

/* Returns the node of a key, created if it is new. `buffer` is the shape of a buffer, or NOTHING
 * for an object. The caller has reserved space. */
static uint32_t node_of(struct graph *g, void *key, uint32_t shape, uint32_t buffer)
{
	uint64_t h = node_hash(key);
	size_t mask = g->n_slots - 1, at = (size_t)h & mask;
	for (; g->slots[at]; at = (at + 1) & mask) {
		if ((g->slots[at] ^ h) >> 32)
			continue;
		uint32_t i = (uint32_t)g->slots[at] - 1;
		const struct node *n = &g->nodes[i];
		uint32_t is = g->shapes[n->shape].kind == BUFFER ? n->shape : NOTHING;
		if (n->key == key && is == buffer)
			return i;
	}
	if (buffer == NOTHING)
		Py_INCREF((PyObject *)key);
	g->nodes[g->n] = (struct node){ .key = key, .shape = shape, .owner = NOBODY };
	g->slots[at] = (h & ~(uint64_t)UINT32_MAX) | (g->n + 1);
	return (uint32_t)g->n++;
}

static int add_shape(struct graph *g, PyObject *type)
{
	if (g->n_shapes == g->shapes_room) {
		struct shape *more = graph_grown(g->shapes, &g->shapes_room, sizeof *g->shapes);
		if (!more)
			return -1;
		g->shapes = more;
	}
	Py_INCREF(type);
	g->shapes[g->n_shapes++] = (struct shape){ .type = type, .fixed = -1 };
	return 0;
}

/* Returns whether every instance has the same size: no items, and object.__sizeof__. */
static int is_fixed(PyObject *type)
{
	PyObject *method = PyObject_GetAttr(type, graph_names.sizeof_name);
	PyObject *item = method == graph_names.plain_sizeof
				 ? PyObject_GetAttr(type, graph_names.itemsize)
				 : NULL;
	int yes = method && item && method == graph_names.plain_sizeof && PyLong_Check(item) &&
		  PyLong_AsLong(item) == 0;
	Py_XDECREF(method);
	Py_XDECREF(item);
	PyErr_Clear();
	return yes;
}

/* Returns whether __sizeof__ includes referenced objects, which the walk counts itself. pandas' does; those of objects with a resolver
 * may include their buffers. */
static int counts_contents(PyObject *type)
{
	PyObject *module = PyObject_GetAttrString(type, "__module__");
	PyObject *bytes = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8String(module) : NULL;
	const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
	int yes = text && !strncmp(text, "pandas", 6) && (!text[6] || text[6] == '.');
	Py_XDECREF(bytes);
	Py_XDECREF(module);
	PyErr_Clear();
	return yes;
}

static Py_ssize_t basic_size(PyObject *type)
{
	PyObject *n = PyObject_CallFunctionObjArgs(graph_names.type_basic, type, NULL);
	Py_ssize_t bytes = n ? PyLong_AsSsize_t(n) : 0;
	Py_XDECREF(n);
	PyErr_Clear();
	return bytes > 0 ? bytes : 0;
}

/* Cached properties of types, kept between walks. A weak reference distinguishes a type from a later one at the same address. */
static struct known {
	PyObject *type, *alive, *classify; // `type` is a borrowed reference
	struct shape shape;		   // its type is a borrowed reference
} known[KNOWN];

/* Returns the first of the WAYS adjacent places that a type may have. */
static struct known *known_of(PyObject *type)
{
	return &known[hash(type) % (KNOWN / WAYS) * WAYS];
}

static void remember(struct graph *g, const struct shape *s)
{
	static unsigned turn;
	struct known *k = known_of(s->type), *free = NULL;
	for (size_t i = 0; i < WAYS && !free; i++)
		if (!k[i].type || k[i].type == s->type)
			free = &k[i];
	k = free ? free : &k[turn++ % WAYS];
	struct known old = *k;
	PyObject *alive = PyWeakref_NewRef(s->type, NULL);
	if (!alive) {
		PyErr_Clear();
		return;
	}
	Py_INCREF(g->classify);
	Py_XINCREF(s->resolver);
	*k = (struct known){
		.type = s->type, .alive = alive, .classify = g->classify, .shape = *s
	};
	Py_XDECREF(old.alive);
	Py_XDECREF(old.classify);
	Py_XDECREF(old.shape.resolver);
}

static int recall(struct graph *g, struct shape *s)
{
	const struct known *k = known_of(s->type), *end = k + WAYS;
	while (k < end && k->type != s->type)
		k++;
	if (k == end || k->classify != g->classify || PyWeakref_GetObject(k->alive) != s->type)
		return 0;
	*s = k->shape;
	Py_XINCREF(s->resolver);
	return 1;
}

static enum kind kind_of(PyObject *type, PyObject *answer)
{
	if (answer == Py_None)
		return PLAIN;
	if (answer == Py_False)
		return LEFT_OUT;
	if (!PyUnicode_Check(answer))
		return RESOLVED;
	return ndarray_readable(type) ? FAST_NDARRAY : NDARRAY;
}

static int is_ignored(PyObject *type)
{
	return PyType_GetFlags((PyTypeObject *)type) & Py_TPFLAGS_TYPE_SUBCLASS ||
	       type == (PyObject *)Py_TYPE(Py_None) || type == (PyObject *)&PyBool_Type ||
	       type == (PyObject *)Py_TYPE(Py_Ellipsis) ||
	       type == (PyObject *)Py_TYPE(Py_NotImplemented);
}

static int ask(struct graph *g, struct shape *s)
{
	PyObject *answer = PyObject_CallFunctionObjArgs(g->classify, s->type, NULL);
	if (!answer)
		return -1;
	PyTypeObject *type = (PyTypeObject *)s->type;
	s->basic = basic_size(s->type);
	s->kind = kind_of(s->type, answer);
	if (s->kind == RESOLVED) {
		Py_INCREF(answer);
		s->resolver = answer;
	}
	Py_DECREF(answer);
	if (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)
		s->traverse = (traverseproc)PyType_GetSlot(type, Py_tp_traverse);
	PyErr_Clear(); // before 3.10 PyType_GetSlot refused static types
	s->fixed = (s->kind == PLAIN || s->kind == RESOLVED) && is_fixed(s->type) ? -2 : -1;
	if (s->fixed == -1 &&
	    (s->kind == RESOLVED || (s->kind == PLAIN && counts_contents(s->type))))
		s->fixed = s->basic + (s->traverse ? GC_HEAD : 0);
	return 0;
}

static int classify(struct graph *g, struct shape *s)
{
	if (recall(g, s))
		return 0;
	if (is_ignored(s->type))
		s->kind = IGNORED;
	else if (ask(g, s))
		return -1;
	remember(g, s);
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

static int new_shape(struct graph *g, PyObject *type, uint32_t *shape)
{
	if (add_shape(g, type))
		return -1;
	*shape = (uint32_t)g->n_shapes - 1;
	if (g->n_shapes * 2 >= g->n_shape_slots) {
		if (more_slots(&g->shape_slots, &g->n_shape_slots))
			return -1;
		fill_shape_slots(g);
	} else {
		size_t mask = g->n_shape_slots - 1, at = hash(type) & mask;
		while (g->shape_slots[at])
			at = (at + 1) & mask;
		g->shape_slots[at] = (uint32_t)g->n_shapes;
	}
	struct shape mine =
		g->shapes
			[*shape]; // a copy: classify runs Python code, which may reallocate the table
	int bad = classify(g, &mine);
	g->shapes[*shape] = mine;
	return bad;
}

int graph_shape(struct graph *g, PyObject *type, uint32_t *shape)
{
	size_t h = hash(type), mask = g->n_shape_slots - 1, at = h & mask, quick = h % TYPE_CACHE;
	if (g->types[quick].type == type) {
		*shape = g->types[quick].shape;
		return 0;
	}
	while (g->shape_slots[at] && g->shapes[g->shape_slots[at] - 1].type != type)
		at = (at + 1) & mask;
	if (g->shape_slots[at])
		*shape = g->shape_slots[at] - 1;
	else if (new_shape(g, type, shape))
		return -1;
	g->types[quick].type = type;
	g->types[quick].shape = *shape;
	return 0;
}

int graph_knows(const struct graph *g, PyObject *o)
{
	PyObject *type = (PyObject *)Py_TYPE(o);
	return g->types[hash(type) % TYPE_CACHE].type == type;
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
	if (graph_shape(g, (PyObject *)Py_TYPE(o), &shape))
		return -1;
	enum kind kind = g->shapes[shape].kind;
	if (kind == IGNORED || kind == LEFT_OUT) {
		g->left_out += kind == LEFT_OUT;
		return 0;
	}
	if (room_for_node(g))
		return -1;
	*at = node_of(g, o, shape, NOTHING);
	return 0;
}

int graph_push_buffer(struct graph *g, void *address, size_t bytes, PyObject *device)
{
	uint32_t shape, at;
	if (!bytes)
		return 0;
	if (shape_of_device(g, device, &shape) || room_for_node(g))
		return -1;
	at = node_of(g, address, shape, shape);
	struct node *n = &g->nodes[at];
	n->bytes = n->bytes < bytes ? bytes
				    : n->bytes; // a part of the buffer may have been found first
	return graph_push(&g->stack, at);
}

/* ---- problems ---- */

/* Returns 1 if the handler of a signal raised it, 0 if an object's code did, -1 if asking fails. */
static int is_signals(PyObject *exception)
{
	PyObject *guard = PyImport_ImportModule("tidemark.objects._guard");
	PyObject *answer = guard ? PyObject_CallMethod(guard, "is_signals", "O", exception) : NULL;
	int yes = answer ? PyObject_IsTrue(answer) : -1;
	Py_XDECREF(answer);
	Py_XDECREF(guard);
	return yes;
}

/* Moves the exception that is set to *value (NULL if there is none). Returns -1 if it must stay set. */
static int take_exception(PyObject **value)
{
	PyObject *kind = NULL, *traceback = NULL;
	*value = NULL;
	if (!PyErr_Occurred())
		return 0;
	if (PyErr_ExceptionMatches(PyExc_MemoryError))
		return -1;
	PyErr_Fetch(&kind, value, &traceback);
	PyErr_NormalizeException(&kind, value, &traceback);
	int stays = *value ? is_signals(*value) : 0;
	if (stays > 0) {
		PyErr_Restore(kind, *value, traceback);
		return -1;
	}
	Py_XDECREF(kind);
	Py_XDECREF(traceback);
	if (stays < 0)
		Py_CLEAR(*value);
	return stays;
}

static PyObject *problem_text(PyObject *type, const char *what, PyObject *exception)
{
	PyObject *name = PyObject_CallFunctionObjArgs(graph_names.type_name, type, NULL);
	PyObject *text = !name	     ? NULL
			 : exception ? PyUnicode_FromFormat("%U: %s: %R", name, what, exception)
				     : PyUnicode_FromFormat("%U: %s", name, what);
	Py_XDECREF(name);
	return text;
}

int graph_problem(struct graph *g, PyObject *type, const char *what)
{
	PyObject *exception, *second;
	if (take_exception(&exception))
		return -1;
	PyObject *text = problem_text(type, what, exception);
	Py_XDECREF(exception);
	if (!text) { // __repr__ of the exception fails too
		if (take_exception(&second))
			return -1;
		Py_XDECREF(second);
		text = PyUnicode_FromFormat("%s", what);
	}
	int bad = !text;
	if (text && PyList_Size(g->problems) < MOST_PROBLEMS) {
		int there = PySequence_Contains(g->problems, text);
		bad = there < 0 || (!there && PyList_Append(g->problems, text));
	}
	Py_XDECREF(text);
	return bad ? -1 : 0;
}

/* ---- sizes ---- */

static int asked_size(struct graph *g, PyObject *o, Py_ssize_t basic, size_t *bytes)
{
	PyObject *n = PyObject_CallFunctionObjArgs(graph_names.getsizeof, o, NULL);
	Py_ssize_t size = n ? PyLong_AsSsize_t(n) : -1;
	Py_XDECREF(n);
	int lies = size < basic &&
		   PyType_GetFlags(Py_TYPE(o)) &
			   Py_TPFLAGS_HEAPTYPE; // a compact str is below its basic size
	int plausible = size >= 0 && !lies && (size_t)size <= MOST_BYTES;
	*bytes = (size_t)(plausible ? size : basic);
	if (plausible)
		return 0;
	return graph_problem(g, (PyObject *)Py_TYPE(o),
			     size < 0 ? "__sizeof__ failed, basic size taken"
				      : "__sizeof__ is not plausible, basic size taken");
}

int graph_measure(struct graph *g, uint32_t at)
{
	uint32_t shape = g->nodes[at].shape;
	PyObject *o = g->nodes[at].key;
	size_t bytes = g->nodes[at].bytes;
	if (g->shapes[shape].kind != BUFFER && g->shapes[shape].kind != FAST_NDARRAY) {
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

/* ---- set-up and release ---- */

/* Returns type.__dict__[name].__get__ */
static PyObject *type_getter(const char *attribute)
{
	PyObject *space = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
	PyObject *name = space ? PyMapping_GetItemString(space, attribute) : NULL;
	PyObject *get = name ? PyObject_GetAttrString(name, "__get__") : NULL;
	Py_XDECREF(name);
	Py_XDECREF(space);
	return get;
}

int graph_setup(void)
{
	struct graph_names *n = &graph_names;
	PyObject *sys = PyImport_ImportModule("sys");
	n->getsizeof = sys ? PyObject_GetAttrString(sys, "getsizeof") : NULL;
	Py_XDECREF(sys);
	n->type_name = type_getter("__name__");
	n->type_basic = type_getter("__basicsize__");
	n->plain_sizeof = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__sizeof__");
	n->base = PyUnicode_InternFromString("base");
	n->array_struct = PyUnicode_InternFromString("__array_struct__");
	n->cpu = PyUnicode_InternFromString("cpu");
	n->sizeof_name = PyUnicode_InternFromString("__sizeof__");
	n->itemsize = PyUnicode_InternFromString("__itemsize__");
	return n->getsizeof && n->type_name && n->type_basic && n->plain_sizeof && n->base &&
			       n->array_struct && n->cpu && n->sizeof_name && n->itemsize
		       ? 0
		       : -1;
}

int graph_init(struct graph *g, PyObject *classify)
{
	memset(g, 0, sizeof *g);
	Py_INCREF(classify);
	g->classify = classify;
	g->problems = PyList_New(0);
	return !g->problems || more_slots(&g->shape_slots, &g->n_shape_slots) ? -1 : 0;
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
	for (size_t i = 0; i < DTYPES; i++)
		Py_XDECREF(g->dtypes[i].descr);
	release(g->nodes, g->room * sizeof *g->nodes);
	release(g->slots, g->n_slots * sizeof *g->slots);
	free(g->shapes);
	free(g->shape_slots);
	free(g->found);
	free(g->stack.at);
	Py_XDECREF(g->classify);
	Py_XDECREF(g->problems);
}
