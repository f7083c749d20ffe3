// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Flame graphs: a tree of paths with exact weights.
 *
 *   CPU     real nesting of host spans by lane and time. Each moment of a lane belongs to the span
 *           begun last among those open then, so the self times of a lane add up to the union of
 *           its spans, however they overlap.
 *   GPU     each kernel, copy and fill under the op and Python spans that launched it (its cause
 *           and that span's parents). The total is the sum of their durations, as in the kernel
 *           table.
 *   MEMORY  bytes alive at the peak of a device, all bytes ever allocated on it, or those not freed
 *           at the end, by call stack or by op path.
 *
 * Always: total = self + the children's totals, in integers; root.total is the figure that
 * docs/analyses/flame.md defines. Folding (small nodes, depth) moves weight, never drops it. */
#ifndef TIDE_ANALYZE_OPS_FLAME_H
#define TIDE_ANALYZE_OPS_FLAME_H

#include "model/model.h"
#include "model/strings.h"

typedef enum tide_flame_kind { TIDE_FLAME_CPU, TIDE_FLAME_GPU, TIDE_FLAME_MEMORY } tide_flame_kind;
typedef enum tide_flame_by {
	TIDE_FLAME_BY_AUTO,
	TIDE_FLAME_BY_STACK,
	TIDE_FLAME_BY_OP
} tide_flame_by;

enum { /* nodes.type */
       TIDE_NODE_ROOT,
       TIDE_NODE_LANE,	 /* a thread */
       TIDE_NODE_SPAN,	 /* a host span */
       TIDE_NODE_KERNEL, /* device work */
       TIDE_NODE_FRAME,	 /* a frame of a call stack */
       TIDE_NODE_NOTE,	 /* a made-up name such as "[small kernels]", not from the trace */
};

#define TIDE_NODE_COLUMNS(C)                                                                       \
	C(uint32_t, name, "text in the flame's strings")                                           \
	C(uint32_t, parent, "node, always a smaller row; 0 is the root")                           \
	C(uint32_t, child, "first child, 0 = none; children are in order of total, largest first") \
	C(uint32_t, next, "next child of the same parent, 0 = none")                               \
	C(uint32_t, depth, "levels below the root")                                                \
	C(uint32_t, shallow, "the node, or its ancestor at depth TIDE_ORDER_DEEP")                 \
	C(uint64_t, self, "ns or bytes of the node itself")                                        \
	C(uint64_t, total, "self and everything below")                                            \
	C(uint64_t, count, "spans or allocations of the node itself")                              \
	C(uint64_t, peak_bytes, "memory: bytes of the node itself alive at the peak")              \
	C(uint64_t, peak_count, "memory: allocations of the node itself alive at the peak")        \
	C(tide_frame_id, frame, "frame of the model, for a FRAME")                                 \
	C(uint8_t, type, "TIDE_NODE_*")

typedef struct tide_nodes {
	size_t n, cap;
#define C(type, name, doc) type *name;
	TIDE_NODE_COLUMNS(C)
#undef C
} tide_nodes;

/* Deeper than any real program nests, and a bound on the paths of hostile input: writing every
 * path of a tree costs nodes × depth. */
enum { TIDE_FLAME_DEEP = 1000 };

typedef struct tide_flame_options {
	tide_flame_kind kind;
	bool merge;	    /* CPU: one tree for all lanes, without a level for the thread */
	bool no_lines;	    /* MEMORY: frames are function and file, without the line */
	bool merge_steps;   /* all "ProfilerStep#N" become "ProfilerStep#*" */
	bool allocated;	    /* MEMORY: weigh by all bytes ever allocated instead of those at the
			   * peak */
	bool left;	    /* MEMORY: weigh by the bytes that are not freed at the end */
	tide_flame_by by;   /* MEMORY: AUTO = by stack if any allocation has one */
	uint32_t device;    /* MEMORY: tide_device_id; 0 = the one with the highest peak */
	uint64_t min_value; /* fold nodes with a smaller total into "[small]"; 0 = none */
	uint32_t small_ppm; /* fold device work below this millionth part of the total; 0 = none */
	uint32_t max_depth; /* levels below the root; deeper nodes count for their ancestor; 0 =
			     * all */
	bool ordered;	    /* also keep time order: tide_flame.order */
} tide_flame_options;

/* The same weights in time order: each row is a node of the tree in one time interval. A row's
 * children are in time order, and neighbours are always different nodes (equal ones are merged).
 * Definition: docs/analyses/flame.md. */
typedef struct tide_flame_order {
	size_t n, cap;
	uint32_t *node,
		*parent; /* owned; node of the tree; row, always a smaller one (row 0: root) */
	uint64_t *self, *count; /* owned */
	uint64_t folded;	/* rows merged into a "[small]" one */
	uint64_t cut;		/* weights moved to an ancestor: too deep, or too many rows */
	uint64_t total;		/* of all weights so far */
	const struct tide_order_path *lane; /* the lane of the last rows, from row `run` on */
	uint32_t run;
} tide_flame_order;
/* Node of a row that represents several small ones. */
#define TIDE_ORDER_SMALL UINT32_MAX
/* Bounds for hostile input: levels, rows. */
enum { TIDE_ORDER_DEEP = 200, TIDE_ORDER_ROWS = 8 << 20 };
/* Row count above which rows smaller than 1/TIDE_ORDER_PARTS of the whole may be folded at once. */
enum { TIDE_ORDER_WHOLE = 1 << 16, TIDE_ORDER_PARTS = 4000 };

typedef struct tide_flame {
	tide_nodes nodes;      /* row 0 is the root */
	tide_strings *strings; /* owned */
	tide_map edges;	       /* (parent, name) -> node */
	tide_flame_kind kind;
	bool bytes;		/* weights are bytes, else ns */
	uint64_t folded;	/* nodes merged into "[small]" or "[small kernels]" */
	uint64_t cut;		/* nodes that were too deep */
	tide_device_id device;	/* MEMORY: the device, 0 = no memory was recorded */
	int64_t peak_ns;	/* MEMORY: when the peak was reached */
	tide_flame_order order; /* filled on request; not kept by folding and joining */
} tide_flame;

/* Builds the tree. `opt` may be NULL: CPU, nothing folded. Returns TIDE_OK or TIDE_ENOMEM.
 * O(spans + allocs). *out is owned by the caller: tide__flame_free, which also accepts NULL. */
tide_code tide__find_flame(const tide_model *m, const tide_flame_options *opt, tide_flame **out,
			   tide_error *err);
void tide__flame_free(tide_flame *f);

/* Returns the text of a node, any bytes. Borrowed until the flame is freed. */
const char *tide__flame_name(const tide_flame *f, uint32_t node, size_t *n);

/* Functions to build trees (also used to join the trees of several traces). */
tide_flame *tide__flame_new(const char *root_name);
uint32_t tide__flame_text(tide_flame *f, const char *s, size_t n); /* returns an id; 0 if memory
								    * runs out */
/* The same for a node's name in another graph. `names` maps its ids, 0 = not yet, so that each
 * text is copied once (tide__flame_names_new; tide__free). */
uint32_t tide__flame_copy(tide_flame *into, const tide_flame *from, uint32_t node, uint32_t *names);
uint32_t *tide__flame_names_new(const tide_flame *from);
/* Returns the child of `parent` named `name`, created if needed; 0 if memory runs out. */
uint32_t tide__flame_get_child(tide_flame *f, uint32_t parent, uint32_t name, unsigned type);
/* Computes totals from self weights, then orders children. Returns false if memory runs out. */
bool tide__flame_finish(tide_flame *f);
/* Adds all of `from` below a new node of `into` named `name`. Returns false if memory runs out. */
bool tide__flame_join(tide_flame *into, const tide_flame *from, const char *name);
/* Returns a copy with small and deep nodes folded as in `opt`; NULL if memory runs out. */
tide_flame *tide__flame_fold(const tide_flame *f, const tide_flame_options *opt);

/* Time order (flame_order.c). `path` keeps the current row of each of `lanes`. */
typedef struct tide_order_path {
	struct tide_order_level {
		uint32_t row, node; /* of the order; of the tree */
	} * levels;		    /* owned; below the root, from the top */
	size_t n, cap;
} tide_order_path;
/* Adds weight for `node`, next in time on the path's lane. Returns false if memory runs out. */
bool tide__flame_order_add(tide_flame *f, tide_order_path *path, uint32_t node, uint64_t self,
			   uint64_t count);
/* Makes a copy in which rows with a total below `min` are merged into one "[small]" between
 * their neighbours. Returns false if memory runs out. */
bool tide__flame_order_fold(const tide_flame_order *o, uint64_t min, uint32_t deep,
			    tide_flame_order *out);
void tide__flame_order_free(tide_flame_order *o); /* accepts a zeroed one */

/* Returns the default tree of a trace: GPU if there is device work, else CPU, else memory. */
tide_flame_kind tide__flame_mostly(const tide_model *m);

#endif
