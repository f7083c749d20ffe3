// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Report on torch.compile from a TORCH_TRACE log: compiles, graph breaks, recompiles, stages,
 * caches.
 *
 * Definitions: docs/analyses/compile.md. A figure that the log lacks is -1. */
#ifndef TIDE_ANALYZE_COMPILE_COMPILE_REPORT_H
#define TIDE_ANALYZE_COMPILE_COMPILE_REPORT_H

#include "model/model.h"

typedef struct tide_slice { /* borrowed from the model; not terminated */
	const char *s;
	size_t n;
} tide_slice;

/* One compile of a frame, or of a backward graph: every record up to its metrics. */
typedef struct tide_compile_unit {
	uint32_t process;
	tide_str id; /* "0/1": frame, then the number of earlier compiles of it */
	tide_str function, file;
	int64_t line;
	bool finished; /* its metrics are present */
	bool backward;
	int64_t total_ns;    /* wall time of the compile */
	int64_t backend_ns;  /* part of it: after tracing */
	int64_t inductor_ns; /* part of it: Inductor */
	int64_t codegen_ns;  /* part of it: scheduling, code generation, waiting for compilers */
	int64_t triton_ns;   /* in worker processes: not part of the above */
	int64_t autotune_ns;
	int64_t guards, graph_ops, restarts, breaks;
	int64_t ops;	  /* operators of the graphs that were compiled */
	int64_t kernels;  /* kernels generated */
	int64_t launches; /* kernel calls in one run of the generated code */
	int64_t external; /* calls of library kernels in one run */
	tide_str fail_type, fail_reason, recompile_reason, cudagraph_skip;
	tide_str fx_cache, autograd_cache; /* "hit", "miss", "bypass", "disabled"; none = unknown */
} tide_compile_unit;

/* Graph breaks at one place for one reason. */
typedef struct tide_graph_break {
	tide_slice reason, explanation, hint; /* n = 0: absent */
	const char *suggestion;		      /* static text */
	tide_str file, id;		      /* id: of the first compile with it */
	int64_t line;			      /* 0 = unknown */
	uint64_t count;
	int64_t retrace_ns; /* tracing time discarded because of it */
	int64_t resume_ns;  /* time to compile the code after it as a separate function */
} tide_graph_break;

typedef struct tide_recompile {
	tide_str function, file, reason;
	int64_t line;
	uint64_t count;
	int64_t total_ns;
} tide_recompile;

typedef struct tide_compile_stage {
	tide_str name;
	uint64_t count;
	int64_t wall_ns, self_ns; /* wall: nested stages of the same name count once */
} tide_compile_stage;

enum { TIDE_CACHE_FX, TIDE_CACHE_AUTOGRAD, TIDE_CACHES };
enum { TIDE_CACHE_HIT, TIDE_CACHE_MISS, TIDE_CACHE_BYPASS, TIDE_CACHE_DISABLED, TIDE_CACHE_STATES };
extern const char *const tide__cache_text[TIDE_CACHES];
extern const char *const tide__cache_state_text[TIDE_CACHE_STATES];

typedef struct tide_compile_report {
	tide_compile_unit *units; /* owned, in order of time */
	size_t n_units, cap_units;
	tide_graph_break *breaks; /* owned, by cost, descending */
	size_t n_breaks, cap_breaks;
	tide_recompile *recompiles; /* owned, by time, descending */
	size_t n_recompiles, cap_recompiles;
	tide_compile_stage *stages; /* owned, by self time, descending */
	size_t n_stages, cap_stages;
	uint64_t cache[TIDE_CACHES][TIDE_CACHE_STATES];
	uint64_t graph_breaks; /* occurrences: the sum over breaks */
	uint64_t recompiled, failed, unfinished, cudagraph_skips, graphs;
	int64_t total_ns; /* of finished compiles */
	int64_t ops, kernels, launches,
		external; /* of all generated code; -1 = no code in the log */
} tide_compile_report;

/* Returns TIDE_ENOMEM, or TIDE_EFORMAT for a trace without compile records; *out is then empty.
 * O(spans log spans). */
tide_code tide__compile_report_find(const tide_model *m, tide_compile_report *out, tide_error *err);
void tide__compile_report_free(tide_compile_report *r);

/* Returns operators per kernel call: ops / (launches + external); 0 = unknown. */
double tide__compile_fusion(const tide_compile_report *r);

/* Returns a suggestion for a break, by its reason: static text. */
const char *tide__break_suggestion(tide_slice reason);

/* Copies the first line of a recompile's reason to out, runs of blanks as one: torch pads guards
 * with blanks and adds the user's stack on further lines. Returns out. */
char *tide__guard_text(const char *reason, char *out, size_t size);

#endif
