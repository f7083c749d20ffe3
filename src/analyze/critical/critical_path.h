// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The critical path of a step: the chain of work and waiting that determined its length.
 *
 * Nodes of the graph are times: every CPU op, runtime call and GPU row launched in the window has
 * a begin and an end. Edges (tide_cp_edge) with time lead along a call stack, through a kernel, and
 * to a kernel's start: from its launch if the queue was empty, otherwise from the previous kernel
 * on its stream. Edges of dependencies and synchronisation have time 0. The longest path is the
 * critical path. docs/analyses/critical-path.md has every rule. Pure; O(rows log rows). */
#ifndef TIDE_ANALYZE_CRITICAL_CRITICAL_PATH_H
#define TIDE_ANALYZE_CRITICAL_CRITICAL_PATH_H

#include "analyze/compat/frame.h"

#define TIDE_CP_EDGES(X)		       /* name, text */                                \
	X(OPERATOR, "operator")		       /* through an op or a kernel */                 \
	X(DEPENDENCY, "dependency")	       /* one op after another: 0 */                   \
	X(LAUNCH_DELAY, "kernel_launch_delay") /* from the launch to the kernel's start */     \
	X(KERNEL_DELAY, "kernel_kernel_delay") /* from one kernel's end to the next's start */ \
	X(SYNC, "sync_dependency")	       /* synchronisation: 0 */
typedef enum tide_cp_edge_type {
#define X(name, text) TIDE_CP_##name,
	TIDE_CP_EDGES(X)
#undef X
		TIDE_CP_EDGE_TYPES
} tide_cp_edge_type;
const char *tide__cp_edge_text(tide_cp_edge_type t);

#define TIDE_CP_BOUNDS(X)                                                             \
	X(NONE, "")                                                                   \
	X(CPU, "cpu_bound")                                                           \
	X(DATA, "data_loading")                                                       \
	X(COMPUTE, "gpu_compute_bound")                                               \
	X(COMM, "gpu_communication_bound")                                            \
	X(MEMORY, "gpu_memory_bound") /* copies and fills */                          \
	X(KERNEL_GAP, "gpu_kernel_kernel_overhead")                                   \
	X(LAUNCH, "gpu_kernel_launch_overhead")                                       \
	X(QUEUED, "gpu_queued_behind_earlier_work") /* began long after its launch */ \
	X(BEFORE, "gpu_work_from_before_window")    /* waited for work launched earlier */
typedef enum tide_cp_bound {
#define X(name, text) TIDE_CP_BOUND_##name,
	TIDE_CP_BOUNDS(X)
#undef X
		TIDE_CP_BOUND_COUNT
} tide_cp_bound;
const char *tide__cp_bound_text(tide_cp_bound b);

typedef struct tide_cp_step { /* one edge of the path, in order */
	tide_cp_edge_type type;
	tide_cp_bound bound;
	int64_t weight;	   /* the frame's unit */
	tide_span_id span; /* span the time is attributed to; none for dependencies */
	int64_t t0, t1;	   /* start and end */
} tide_cp_step;

typedef struct tide_critical_path {
	bool found;	     /* false: see why */
	const char *why;     /* static text */
	int64_t matches;     /* host rows whose name contains the annotation */
	bool window;	     /* false: no row makes one */
	int64_t start, end;  /* window; 0 if there is none */
	size_t nodes, edges; /* of the graph */
	uint64_t edge_count[TIDE_CP_EDGE_TYPES];
	size_t path_nodes;
	int64_t length; /* sum of the path's weights */
	int64_t by_type[TIDE_CP_EDGE_TYPES];
	int64_t by_bound[TIDE_CP_BOUND_COUNT];
	tide_cp_step *path; /* owned */
	size_t n_path;
	int64_t *events; /* owned; event numbers on the path, ascending */
	size_t n_events;
} tide_critical_path;

typedef struct tide_critical_search_options {
	const char
		*annotation; /* host rows whose name contains it make the window (in µs frames also
			      * device rows); "" = the whole trace */
	int64_t first, last; /* instances of it to use, counted from 0 */
	const char *data_loading; /* names that contain it are data loading; NULL = none */
} tide_critical_search_options;

/* f: tide__compat_frame_build (compatible, µs) or tide__compat_frame_build_exact (ns). */
tide_code tide__find_critical_path(const tide_model *m, const tide_compat_frame *f,
				   const tide_critical_search_options *opt, tide_critical_path *out,
				   tide_error *err);
void tide__critical_path_free(tide_critical_path *c);

/* The longest edges of a path, in order of time, for pages. */
typedef struct tide_cp_longest {
	uint32_t *step; /* owned: indexes in `path` */
	size_t n;
	uint64_t left_out; /* edges with a weight that are not listed, and their sum */
	int64_t left_out_time;
} tide_cp_longest;

/* Finds at most `most` edges (1 or more), all with a weight of 1 or more. Of equal ones the first
 * are listed. Returns false if memory runs out. Release in any case. */
bool tide__critical_find_longest(const tide_critical_path *c, size_t most, tide_cp_longest *out);
void tide__critical_longest_free(tide_cp_longest *x);

#endif
