// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The object graph below some owners: each object and each buffer is one node, however often it is shared.
 *
 * Edges come from tp_traverse, from the base of an ndarray, and from resolvers written in Python. The stack is explicit, so depth
 * costs memory only. Every object of the graph is held (one reference) until graph_free: code that runs during a walk cannot free
 * a node, and afterwards all reference counts are what they were.
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

#define NOBODY	UINT32_MAX	 // node.owner: no owner has reached it yet
#define SHARED	(UINT32_MAX - 1) // node.owner: two or more owners reach it
#define FRESH	UINT32_MAX	 // node.child
#define NOTHING UINT32_MAX	 // no node: a singleton, or an object of a type that is left out

enum kind { PLAIN, LEFT_OUT, NDARRAY, RESOLVED, BUFFER };

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
		child; // index + 1 of the only node that an ndarray refers to, 0: not known, FRESH: its elements are still in bytes
};

struct stack {
	uint32_t *at;
	size_t n, room;
};

struct graph {
	struct node *nodes;
	struct shape *shapes;
	uint32_t *slots, *shape_slots; // hash tables of indexes + 1, 0 is free
	size_t n, room, n_slots, n_shapes, shapes_room, n_shape_slots;
	PyObject **found; // children of the object that is expanded, each held
	size_t n_found, found_room;
	struct stack stack;
	uint32_t walks;
	size_t left_out;
	PyObject *classify, *getsizeof, *plain_sizeof, *problems;
	PyObject *base, *array_struct, *cpu, *sizeof_name, *itemsize; // names
};

/* `classify(type)` returns None (plain), False (leave objects of it out), "ndarray", or a resolver: resolver(object) returns a
 * list whose items are objects to follow or tuples (address, bytes, device) for buffers. */
int graph_init(struct graph *g, PyObject *classify);
void graph_free(struct graph *g);

/* Sets *at to the node of `o`, made if it is new, or to NOTHING. */
int graph_node(struct graph *g, PyObject *o, uint32_t *at);
/* Pushes the nodes that `at` refers to. */
int graph_expand(struct graph *g, uint32_t at);
/* Finds how many bytes the node itself has. A __sizeof__ that fails or lies becomes a problem, and the type's basic size is taken. */
int graph_measure(struct graph *g, uint32_t at);
int graph_push(struct stack *s, uint32_t at);
#endif
