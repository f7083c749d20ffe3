// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A Tenstorrent run, operation by operation.
 *
 *     tide_tt *t;
 *     tide_code rc = tide__tt_find(m, &opt, &t, &err);
 *     for (size_t i = 0; i < t->n; i++) use(t->ops[i]);
 *     tide__tt_free(t);
 *
 * The runtime prints memory before an operation runs. So the state of operation i is the state
 * before it, and `change` is the difference to the rank's next block. The next block may be that of
 * a deallocate, which has no row here; it still counts. The last operation of a program has no next
 * block unless "after submit" was printed: its change is unknown.
 *
 * Bytes are those of one bank unless a name says `all`. Definitions: docs/analyses/tenstorrent.md.
 * */
#ifndef TIDE_ANALYZE_TENSTORRENT_TT_H
#define TIDE_ANALYZE_TENSTORRENT_TT_H

#include "base/map.h"
#include "base/mlir.h"
#include "model/model.h"

enum { TIDE_TT_POOLS = 4 }; /* DRAM, L1, L1_SMALL, TRACE: TIDE_POOL_* - 1 */
#define TIDE_TT_UNKNOWN INT64_MIN

typedef struct tide_tt_options {
	uint32_t skip_runs; /* skip everything before the end of this many outermost programs */
	bool skip_warmup;   /* skip everything up to the first "Got output shape:" */
	int64_t rank;	    /* only this rank; -1 = all */
} tide_tt_options;
#define TIDE_TT_OPTIONS_INIT \
	{                    \
		.rank = -1   \
	}

typedef struct tide_tt_op {
	uint32_t span;
	tide_str text;	/* MLIR, none = the log lacks it */
	tide_str type;	/* "TypecastOp", none = unknown */
	tide_str graph; /* const-eval program it is in */
	bool miss;	/* its cache was missed */
	uint32_t lane, process;
	uint32_t session; /* from 1, 0 = the log names none */
	uint64_t line;	  /* in the log, from 1 */
	uint32_t module;  /* text of the last ttnn module dumped before it, 0 = none */
	uint32_t state
		[TIDE_TT_POOLS]; /* row + 1 in pool_states of the block before it, 0 = missing */
	int64_t change[TIDE_TT_POOLS]; /* caused by it; TIDE_TT_UNKNOWN */
	uint64_t
		high[TIDE_TT_POOLS]; /* highest from its block to the next operation's, inclusive */
} tide_tt_op;

typedef struct tide_tt_peak {
	uint64_t bytes; /* highest allocated in one bank */
	uint32_t state; /* row + 1 in pool_states, 0 = the pool was never seen */
	uint32_t span;	/* the operation before that block, which it is attributed to; 0 =
	                 * unknown */
	int64_t op;	/* its row in ops, or of the operation before a deallocate; -1 = none */
	uint32_t pool;	/* row in pools */
} tide_tt_peak;

typedef struct tide_tt_trend { /* of fragmentation, 1 - largest free / free */
	double first, last;    /* mean over the first and the last tenth of blocks */
	double mean, most;
	int64_t most_op; /* row in ops, -1 = none */
	double slope;	 /* least squares, per 1000 operations */
	uint64_t n;	 /* blocks with free bytes; 0 = unknown */
} tide_tt_trend;

typedef struct tide_tt_weight { /* an argument of @main in a module dump; slices of its text */
	tide_slice ssa, name, type, shape, dtype;
	uint64_t bytes;
	uint32_t module;  /* document it comes from, row in documents */
	uint32_t same;	  /* 1 + row of the same weight in an earlier module, 0 = it is the first */
	uint32_t modules; /* of the first: how many modules have it */
} tide_tt_weight;

typedef struct tide_tt_model { /* arguments of all modules; a weight of several counts once */
	uint64_t weights, inputs, bytes; /* bytes: of the weights */
	uint64_t modules;
	uint64_t unnamed; /* weights without a name: the same in another module is unknown */
} tide_tt_model;

typedef struct tide_tt_alias { /* "#name = value" of a ttnn module */
	uint32_t module;       /* text of the module */
	tide_slice name, value;
} tide_tt_alias;

typedef struct tide_tt_graph { /* a const-eval program; every module has programs of its own */
	tide_str name;
	uint32_t module; /* number of its module, from 1; 0 = unknown, or the log has one module */
	uint64_t ops, runs, loads; /* operations in it, runs, requests by load_cached */
	bool miss;
	int64_t change_all; /* DRAM bytes of all banks that it kept */
} tide_tt_graph;

typedef struct tide_tt {
	const tide_model *m;
	tide_tt_op *ops; /* owned: operations with a block, without deallocate and get_device */
	size_t n;
	uint32_t *skipped; /* owned: spans of operations without a block */
	size_t n_skipped;
	uint64_t deallocates, get_devices;
	uint32_t pool_row[TIDE_TT_POOLS]; /* of the first rank; 0 = never seen */
	tide_tt_peak peak[TIDE_TT_POOLS]; /* over all ranks */
	tide_tt_peak
		*peaks; /* owned; by row in pools, with the pool's kind: state 0 = never seen */
	tide_tt_trend trend[TIDE_TT_POOLS];
	tide_tt_weight *weights; /* owned: all arguments, in order of modules */
	size_t n_weights;
	tide_tt_graph *graphs; /* owned; by name and module */
	size_t n_graphs;
	size_t n_ranks;
	uint32_t runs;	/* of outermost programs, of the rank with most */
	bool no_warmup; /* skip_warmup found nothing to skip */
	/* owned; per op: 1 + first weight of the module it belongs to, 0 = none */
	uint32_t *module_of;
	/* owned; per op in a const-eval program: 1 + the load_cached that ran it */
	uint32_t *load_of;
	tide_map cached;	/* (program's run, value) -> 1 + the load_cached that made it */
	uint64_t ambiguous;	/* operands whose argument has another shape in the dump */
	tide_tt_alias *aliases; /* owned; sorted by module and name */
	size_t n_aliases;
	size_t cap_ops, cap_skipped, cap_weights, cap_graphs, cap_aliases;
} tide_tt;

/* Returns TIDE_OK, TIDE_ENOMEM, or TIDE_ENOTFOUND if the trace has no operation with a pool state,
 * not that rank, or nothing after the runs that are skipped. */
tide_code tide__tt_find(const tide_model *m, const tide_tt_options *opt, tide_tt **out,
			tide_error *err);
/* NULL is allowed. */
void tide__tt_free(tide_tt *t);

/* Returns the fragmentation of a state: 1 - largest / free; NaN if nothing is free. */
double tide__tt_fragmentation(const tide_model *m, uint32_t state);
/* Returns the position of an operation on the axis, as `--at "op N"` uses it. */
int64_t tide__tt_position(const tide_tt *t, size_t op);
/* Returns the row of the operation at a span, or of the last before it; -1 = none. */
int64_t tide__tt_op_at(const tide_tt *t, uint32_t span);

/* ---- texts of operations ---- */

/* Parses the operation's text; returns false if it has none or it cannot be read. */
bool tide__tt_parse(const tide_tt *t, const tide_tt_op *o, tide_mlir_op *out);
/* Returns its name: from the MLIR text, else the type in the header. Borrowed. */
const char *tide__tt_name(const tide_tt *t, const tide_tt_op *o);
enum { TIDE_TT_LOC = 1000 }; /* bytes of a location that are shown */
/* Returns its location as one line: a name, a file with line and column, "a, b" of fused ones,
 * "f at g" of a call; the function for a load_cached without one. Aliases of its ttnn module are
 * resolved. Absent = unknown. The text is in `out` or borrowed from the trace. */
tide_slice tide__tt_loc(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p,
			char out[TIDE_TT_LOC]);
/* Returns the first name in its location, by which module dumps are searched. Borrowed. */
tide_slice tide__tt_loc_name(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p);
/* Reads a tensor type of an operation, resolving layout aliases of its ttnn module. */
bool tide__tt_read_tensor(const tide_tt *t, const tide_tt_op *o, tide_slice type,
			  tide_mlir_tensor *out);
/* Reads the type of the first result. */
bool tide__tt_read_result(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p,
			  tide_mlir_tensor *out);

/* ---- weights ---- */

/* Finds the weights among the operands of an operation, by SSA name: rows of t->weights in out[0
 * .. most). Operations of a const-eval program have those of the load_cached that ran it, and so have
 * operations that use its result.
 * Returns their number. */
size_t tide__tt_find_op_weights(tide_tt *t, size_t op, uint32_t *out, size_t most);
bool tide__tt_is_weight(const tide_tt_weight *w);
/* Counts the arguments. Programs of one model share their weights: a weight with the same name,
 * shape and dtype as one of an earlier module is the same. */
tide_tt_model tide__tt_count_model(const tide_tt *t);
/* Returns true if the log has two modules that differ. */
bool tide__tt_several_modules(const tide_tt *t);

/* ---- lists and sums ---- */

typedef enum tide_tt_by {
	TIDE_TT_BY_LEVEL,   /* highest until the next operation's block */
	TIDE_TT_BY_GROWTH,  /* bytes it added, if known and above 0 */
	TIDE_TT_BY_PADDING, /* padded minus logical bytes of its first result, above 0 */
} tide_tt_by;

typedef struct tide_tt_row {
	uint64_t value;
	uint32_t op;
} tide_tt_row;

/* Returns the `most` highest rows, the first of equals first; of an operation that several ranks
 * run at one position, the highest. Their number in *n. Owned by the caller. NULL if memory runs
 * out. */
tide_tt_row *tide__tt_find_top(const tide_tt *t, tide_tt_by by, unsigned pool, size_t most,
			       size_t *n);

typedef struct tide_tt_count {
	tide_str name;
	uint64_t n;
} tide_tt_count;
/* Counts operations by name, most frequent first. Owned by the caller; NULL if memory runs out. */
tide_tt_count *tide__tt_count_by_name(const tide_tt *t, size_t *n);

typedef struct tide_tt_parts { /* bytes of all banks that were live at a pool's peak */
	uint64_t weights;      /* made by const-eval programs */
	uint64_t activations;  /* made by operations of other programs from values */
	uint64_t arguments;    /* made from arguments alone: weights or inputs */
	uint64_t before;       /* before the first block */
	uint64_t other;	       /* between programs */
} tide_tt_parts;
void tide__tt_find_parts_at_peak(const tide_tt *t, unsigned pool, tide_tt_parts *out);

typedef struct
	tide_tt_share { /* bytes of all banks that were live before an operation, of its rank */
	uint64_t weights, activations; /* as in tide_tt_parts */
	uint64_t rest; /* made from arguments, before the first block, between programs */
} tide_tt_share;
/* Computes the parts before each operation: out[0 .. t->n). The three together equal the state of
 * the pool, if the operation has one. Returns false if memory runs out. */
bool tide__tt_find_shares(const tide_tt *t, unsigned pool, tide_tt_share *out);

/* ---- padding ---- */

typedef struct tide_tt_live { /* live tensors made by operations */
	uint64_t bytes, padded, n;
} tide_tt_live;

/* Computes the padding after each operation, for DRAM (0) and L1 (1): out[op * 2 + k], t->n * 2
 * values. Values live until a deallocate or the end of their program's run, results of const-eval
 * programs as those of load_cached, for all runs. `flat`: values are identified by name only,
 * across programs, until a deallocate, as in the JSON files of a run. */
tide_code tide__tt_find_padding(const tide_tt *t, bool flat, tide_tt_live *out, tide_error *err);

#endif
