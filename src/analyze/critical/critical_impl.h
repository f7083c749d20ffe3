// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the critical path, shared by the files of this folder. */
#ifndef TIDE_ANALYZE_CRITICAL_CRITICAL_IMPL_H
#define TIDE_ANALYZE_CRITICAL_CRITICAL_IMPL_H

#include "analyze/critical/critical_graph.h"
#include "analyze/critical/critical_path.h"
#include "analyze/common/sort.h"

typedef struct crit_node {
	int64_t t;
	uint32_t row; /* of the frame */
	bool start;
} crit_node;

typedef struct crit {
	const tide_model *m;
	const tide_compat_frame *f;
	bool *in;	       /* row is in the window */
	uint32_t *begin, *end; /* per row: node + 1, 0 = none */
	crit_node *nodes;      /* sorted by time, then event */
	size_t n_nodes;
	int64_t *queue;	  /* per row: queue length after it, INT64_MIN = none */
	int64_t *pending; /* per device row: queue length of its stream after its launch */
	uint8_t *names;	  /* per text: critical_cpu.c's classification, 0 = not classified yet */
	tide_cg g;
	const char *why; /* set if the graph is unreliable */
} crit;

static inline const char *crit_name(const crit *c, size_t row)
{
	return tide__text(c->m, c->m->spans.name[c->f->span[row].i], NULL);
}

static inline unsigned crit_cat(const crit *c, size_t row)
{
	return c->m->spans.cat[c->f->span[row].i];
}

/* Allocates n entries to sort rows or nodes by time; equal times keep the order of ids. NULL if
 * memory runs out. */
tide_keyed *tide__critical_reserve(size_t n);
static inline void crit_put(tide_keyed *k, int64_t t, uint64_t id)
{
	*k = (tide_keyed){ (uint64_t)t ^ UINT64_C(1) << 63, id };
}
/* Sorts the first n entries of tide__critical_reserve(n). */
void tide__critical_sort(tide_keyed *k, size_t n);

/* Adds an edge between two nodes. Its length is the time between them, or 0 if `zero`; `parent` is
 * the row that the time is attributed to (-1 = none). Returns false if memory runs out. */
bool tide__critical_add_edge(crit *c, uint32_t from, uint32_t to, tide_cp_edge_type type, bool zero,
			     int64_t parent);

bool tide__critical_add_cpu(crit *c); /* critical_cpu.c: runtime lock and call stacks */
bool tide__critical_add_gpu(crit *c); /* critical_gpu.c: kernels, launches, synchronisation */
/* critical_queue.c: fills c->queue */
bool tide__critical_find_queue(crit *c);
/* Returns true for a call that puts work on a stream and has a GPU row. */
bool tide__critical_is_launch(const crit *c, size_t row);
/* Returns true if times are exact and Tidemark's own rules apply, not HTA's. */
static inline bool crit_exact(const crit *c)
{
	return c->f->unit > 1;
}
/* Ends of all device rows in order, also outside the window (critical_wait.c). */
typedef struct crit_ended {
	int64_t t;
	uint32_t row;
	int64_t call; /* row that launched it, -1 = not in the trace */
} crit_ended;
crit_ended *tide__critical_find_ends(const crit *c,
				     size_t *n); /* tide__free; NULL if memory runs out */
/* Returns how many of them are at or before t. */
size_t tide__critical_until(const crit_ended *e, size_t n, int64_t t);

enum {
	CRIT_LATE_US = 100
}; /* a kernel that begins this long after its launch call was not
			      * delayed by the launch */

/* critical_infer.c, exact frames: waits of kernels for other streams. *out is NULL if the trace
 * records them. Returns false if memory runs out. */
typedef struct crit_infer crit_infer;
bool tide__critical_infer_new(const crit *c, crit_infer **out);
void tide__critical_infer_free(crit_infer *x); /* NULL is allowed */
/* Returns the device row that `row` waited for, -1 = none. x may be NULL. */
int64_t tide__critical_inferred(const crit *c, const crit_infer *x, size_t row);

/* critical_wait.c, exact frames: adds waits that no synchronisation row records. Returns false
 * if memory runs out. */
bool tide__critical_add_waits(crit *c);

#endif
