// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The object graph below some owners: each object and each buffer is one node, also if it is
 * shared.
 *
 * graph.c has the tables, graph_expand.c finds the references of an object, ndarray.c reads NumPy's
 * arrays.
 *
 * Edges come from tp_traverse, from the base of an ndarray, and from resolvers written in Python. The stack is explicit, so depth
 * costs memory only. Every object of the graph is held (one reference) until graph_free: code that
 * runs during a walk cannot free a node, and afterwards all reference counts are unchanged.
 *
 * All functions need the GIL. Those that return int return -1 with a Python exception set. */
#ifndef TIDEMARK_GRAPH_H
#define TIDEMARK_GRAPH_H
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>
#include <stdint.h>

#include "ndarray.h"

#define NOBODY UINT32_MAX	// node.owner: no owner has reached it yet
#define SHARED (UINT32_MAX - 1) // node.owner: two or more owners reach it
#define RANKED        \
	(UINT32_MAX - \
	 65) // node.owner RANKED + i: the same, and it is number i of the largest (i < 64)
#define OUTSIDE (RANKED - 1) // node.owner: not counted and not followed
#define FRESH	UINT32_MAX   // node.child
#define NOTHING UINT32_MAX // no node: a singleton, a class, or an object of a type that is left out

/* IGNORED: classes and singletons. NDARRAY: read through attributes. FAST_NDARRAY: numpy.ndarray itself, read in place. */
enum kind { PLAIN, IGNORED, LEFT_OUT, NDARRAY, FAST_NDARRAY, RESOLVED, BUFFER };

/* One type of the graph, or one device that has buffers. */
struct shape {
	PyObject *type;	    // held; of a buffer the name of its device
	PyObject *resolver; // held; RESOLVED only
	traverseproc traverse;
	Py_ssize_t basic; // tp_basicsize
	Py_ssize_t fixed; // bytes of every instance; -1: ask each, -2: ask the first
	enum kind kind;
	size_t count, bytes;
};

struct node {
	void *key; // the object, or the address of a buffer
	size_t bytes;
	uint32_t shape; // index into shapes
	uint32_t owner; // index of the only owner that reaches it, NOBODY or SHARED
	uint32_t seen;	// number of the walk that came here last
	uint32_t
		child; // of an ndarray: index + 1 of the only node it refers to, 0: not known, FRESH: elements are in bytes
};

struct stack {
	uint32_t *at;
	size_t n, room;
};

#define TYPE_CACHE 64
#define DTYPES	   8

struct graph {
	struct node *nodes;
	struct shape *shapes;
	uint64_t *
		slots; // hash table of nodes: index + 1 below, upper half of the hash above; 0 is free
	uint32_t *shape_slots; // hash table of shapes: index + 1, 0 is free
	size_t n, room, n_slots, n_shapes, shapes_room, n_shape_slots;
	struct {
		PyObject *type;
		uint32_t shape;
	} types[TYPE_CACHE];	     // the shapes of types, found without probing
	struct dtype dtypes[DTYPES]; // of arrays seen last
	PyObject **found; // children of the object that is expanded whose types are new, each held
	size_t n_found, found_room;
	struct stack stack;
	uint32_t walks;
	int memory_only; // of arrays and resolved objects only the memory counts, not attributes and objects in arrays
	size_t left_out;
	PyObject *classify, *problems;
};

/* Objects that every walk needs, made once by graph_setup. */
extern struct graph_names {
	PyObject *getsizeof, *plain_sizeof;
	PyObject *type_name,
		*type_basic; // return name and basic size of a type without running code of a metaclass
	PyObject *base, *array_struct, *cpu, *sizeof_name, *itemsize; // texts
} graph_names;
int graph_setup(void);

/* `classify(type)` returns None (plain), False (leave objects of it out), "ndarray", or a resolver: resolver(object) returns a
 * list whose items are objects to follow or tuples (address, bytes, device) for buffers. */
int graph_init(struct graph *g, PyObject *classify);
void graph_free(struct graph *g);

/* Sets *at to the node of `o`, made if it is new, or to NOTHING. */
int graph_node(struct graph *g, PyObject *o, uint32_t *at);
/* Pushes the nodes that `at` refers to. */
int graph_expand(struct graph *g, uint32_t at);
/* Pushes the memory of an array or of a resolved object alone: bases and buffers, whose bytes may not be known yet. */
int graph_expand_outside(struct graph *g, uint32_t at);
/* Finds how many bytes the node itself has (not of a FAST_NDARRAY, which graph_expand measures). A
 * __sizeof__ that fails or is impossible becomes a problem, and the type's basic size is used. */
int graph_measure(struct graph *g, uint32_t at);
int graph_push(struct stack *s, uint32_t at);

/* ---- between graph.c and graph_expand.c ---- */

/* Returns whether the node of `o` can be found without running Python: its type is known. */
int graph_knows(const struct graph *g, PyObject *o);
int graph_shape(struct graph *g, PyObject *type, uint32_t *shape);
/* Pushes the node of a buffer, made if it is new; one of 0 bytes is none. */
int graph_push_buffer(struct graph *g, void *address, size_t bytes, PyObject *device);
/* Converts the current exception, if any, of any class, to a problem: code of a measured object
 * raised it. MemoryError stays, and so does an exception from a signal handler
 * (tidemark.objects._guard detects those): then -1 is returned. */
int graph_problem(struct graph *g, PyObject *type, const char *what);
void *graph_grown(void *old, size_t *room, size_t size);
#endif
