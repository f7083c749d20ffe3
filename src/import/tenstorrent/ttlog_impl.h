// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the importer of Tenstorrent runtime logs.
 *
 *   load.c     the input in lines, sniffing
 *   results.c  JSON files of a run instead of its log
 *   line.c     one line: colours, rank, prefix; which of the runtime's messages it is
 *   repeats.c  states that repeat an earlier line
 *   ranks.c    ranks with their process, device, pools and lane; the clock; spans
 *   ops.c      operations, programs, memory blocks: the sequence on one rank
 *   inferred_allocs.c  changes between blocks -> inferred allocations and frees
 *   modules.c  dumps of MLIR modules, sessions, out-of-memory lines
 *   axis.c     the clocks of all ranks as one axis, rows in its order
 *   finish.c   allocations and memory events in order, marks, facts
 *
 * A log has no clock. Operation i of a rank (deallocate and get_device excepted) begins at i *
 * TIDE_OP_NS; events between operations i and i + 1 have times between theirs. Ranks run side by
 * side: the order of their lines is arbitrary. At the end axis.c lets the nth run of a
 * program begin at one time on all ranks.
 *
 * One pass; memory is that of the model's rows. Format: docs/formats/tt-log.md. */
#ifndef TIDE_IMPORT_TENSTORRENT_TTLOG_IMPL_H
#define TIDE_IMPORT_TENSTORRENT_TTLOG_IMPL_H

#include "base/mlir.h"
#include "import/import.h"

enum { TT_DRAM, TT_L1, TT_L1_SMALL, TT_TRACE, TT_POOLS };

/* ---- one line ---- */

typedef enum tt_what {
	TT_FOREIGN,   /* not a message of the runtime; may contain a keyword of modules.c */
	TT_OP,	      /* text: the MLIR op */
	TT_HEADER,    /* text: operation type, or "submit"; when: TIDE_STATE_* */
	TT_STATE,     /* state of `pool` */
	TT_START,     /* text: program */
	TT_FINISH,    /* text: program */
	TT_CACHE_HIT, /* text: function */
	TT_CACHE_MISS,
	TT_OTHER, /* a runtime message without memory or operations */
} tt_what;

typedef struct tt_state { /* of one bank, bytes; largest: UINT64_MAX = unknown */
	uint32_t banks;
	uint64_t total, allocated, free, largest;
} tt_state;

typedef struct tt_line {
	tt_what what;
	tide_slice rank; /* "1,0" of an MPI prefix, "12" of a label; absent without either */
	tide_slice text;
	tide_slice all; /* the line without rank and colours */
	unsigned pool;	/* TT_STATE */
	uint8_t when;	/* TT_HEADER */
	bool cut;	/* a runtime message that is cut off */
	bool label;	/* rank is a label: "12: " */
	tt_state state;
} tt_line;

/* Returns true, and the label's number in *number, if the line is a label ("12: ") and then a
 * message of the runtime or a module. The number may be a line number: `grep -n` writes the same
 * form. */
bool tide__ttlog_labelled(const char *s, size_t n, int64_t *number);
/* Parses a line (without newline). `labels`: lines of the log have labels of ranks. `room` holds
 * n bytes: colours are removed there. *rest is a line that another writer began in the middle of it
 * (parse it next), else absent. */
void tide__ttlog_parse_line(const char *s, size_t n, bool labels, char *room, tt_line *out,
			    tide_slice *rest);
/* Parses "Device DRAM memory state: MemoryView{...}"; returns false if a number is missing. */
bool tide__ttlog_parse_state(tide_slice text, unsigned *pool, tt_state *out);

enum { TT_REPEATS = 64, TT_REPEAT_LEAST = 64, TT_REPEAT_MOST = 384 };

typedef struct tt_repeat {
	size_t n; /* of its text; 0 = none */
	size_t rank_at;
	tt_line line;
	char text[TT_REPEAT_MOST];
} tt_repeat;

typedef struct tt_repeats {
	tt_repeat lines[TT_REPEATS];
} tt_repeats;

/* Returns true, and the state, if the line is one of those remembered. Only what, rank, label, pool
 * and state of *out are set. */
bool tide__ttlog_find_repeat(const tt_repeats *v, const char *s, size_t n, tt_line *out);
/* Remembers the line if it is a whole state. */
void tide__ttlog_remember(tt_repeats *v, const char *s, size_t n, const tt_line *line);

enum { TT_LABELS_UNKNOWN, TT_LABELS_NONE, TT_LABELS_RANKS }; /* of the log's lines */

/* ---- operations ---- */

enum { TT_KIND_OP, TT_KIND_DEALLOCATE, TT_KIND_GET_DEVICE, TT_KIND_LOAD_CACHED };
enum { TT_OPERANDS = 8, TT_RESULTS = 4 }; /* kept, to find what an op frees */
enum { TT_POOL_UNKNOWN = TT_POOLS + 1 };  /* a type does not say in which pool it is */

typedef struct tt_op { /* an operation's text; created once for each distinct text */
	tide_str text, name;
	tide_str results[TT_RESULTS], operands[TT_OPERANDS]; /* SSA names */
	uint32_t tensor_dims, n_dims; /* shape of its first result in model.dims */
	uint8_t dtype, kind, n_operands, n_results;
	uint8_t pool; /* of its first result; TT_POOLS = another, or TT_POOL_UNKNOWN */
	bool cut;     /* a bracket of the text is not closed */
} tt_op;

typedef struct tt_frame { /* an open program, or the load_cached operation that opened one */
	uint32_t span;
	uint32_t instance; /* number of this run of a program, to name its values */
	tide_str name;
	bool program, const_eval;
} tt_frame;

/* ---- lives ---- */

/* A pool's live allocations. Rests are remainders that rounding left of freed ones. */
enum { TT_VALUES, TT_WEIGHTS, TT_RESTS, TT_LISTS };

typedef struct tt_life { /* one inferred allocation */
	uint64_t size;
	int64_t born, died;
	uint64_t seq_born, seq_died; /* order of events with equal times */
	uint32_t pool, span, free_span, lane;
	uint32_t op;	     /* in ttlog.ops + 1, 0 = none */
	uint32_t prev, next; /* list of live ones in its pool, newest first; 0 = end */
	uint8_t list, role, flags;
} tt_life;

typedef struct tt_pool {
	uint32_t row; /* in model.pools, 0 = not seen yet */
	uint32_t banks;
	uint64_t last;		 /* bytes allocated in one bank at the last block */
	uint64_t block;		 /* number of that block, 0 = none yet */
	uint32_t live[TT_LISTS]; /* heads of lists of lives */
} tt_pool;

typedef struct tt_owner {  /* the operation that a change is attributed to */
	uint32_t span;	   /* 0 = unknown */
	uint32_t op;	   /* in ttlog.ops + 1, 0 = none */
	uint32_t instance; /* of the program it is in */
	uint32_t root;	   /* instance of the outermost program, 0 = none */
	uint8_t role;
} tt_owner;

typedef struct tt_end { /* of an outermost program */
	uint32_t ops;	/* operations of the rank that count on the axis, up to here */
	int64_t t;
} tt_end;

typedef struct tt_oom { /* the last out-of-memory line of a rank */
	uint64_t ops;	/* operations begun before it + 1; 0 = none */
	int64_t bytes;
	unsigned pool;
} tt_oom;

typedef struct tt_rank {
	tide_str name; /* "1,0" or "12", none if the log names no ranks */
	uint32_t process, device, lane;
	tt_pool pools[TT_POOLS];
	uint64_t n_ops; /* operations that count on the axis */
	int64_t now;	/* the clock: never decreases */
	uint8_t *kept;	/* owned; per operation on the axis: 1 = its block was read */
	size_t cap_kept;
	tt_end *ends; /* owned */
	size_t n_ends, cap_ends;
	/* the operation whose block is missing or incomplete */
	uint32_t op_span;
	uint32_t op; /* in ttlog.ops + 1; 0 = known only from a header */
	tide_str op_type;
	uint64_t op_line;
	uint8_t op_kind; /* TT_KIND_*, as it began */
	bool op_open;	 /* there is such an operation */
	bool op_blocked; /* its block was read */
	/* the block that is being read */
	bool in_block;
	uint8_t when, have; /* have: bit per pool */
	tt_state state[TT_POOLS];
	/* the last complete block */
	uint64_t blocks;
	tt_owner owner;	    /* the operation that ran after it; span 0 = unknown */
	uint32_t last_root; /* span of the last outermost program */
	tt_frame *stack;    /* owned */
	size_t depth, cap_stack;
	tt_oom oom;
	uint32_t cached_span; /* a load_cached whose program may follow */
	bool submitted;	      /* a state "before submit" came last, not one "after submit" */
	/* a module dump that is being read */
	char *dump; /* owned */
	size_t n_dump, cap_dump;
	tide_str stage;	  /* none = no dump is open */
	tide_str layouts; /* text of the last ttnn module: its aliases apply */
} tt_rank;

typedef struct tt_mark { /* becomes a row of marks once memory events exist */
	int64_t t, value, extra;
	tide_str name, text;
	uint32_t lane, pool;
	uint8_t kind;
} tt_mark;

typedef struct ttlog {
	tide_model *m;
	tide_error *err;
	tide_code rc;	/* first failure */
	uint64_t line;	/* number of the line, from 1 */
	uint64_t n_ops; /* operations that count on the axis, of all ranks */
	uint64_t seq;
	uint32_t instances;
	tt_rank *ranks; /* owned */
	size_t n_ranks, cap_ranks;
	size_t last_rank;
	uint8_t labels;	 /* TT_LABELS_* */
	tt_rank outside; /* lines before the first rank: module dumps */
	tt_op *ops;	 /* owned; by text */
	size_t n_ops_known, cap_ops;
	tide_map op_of;	   /* (module, text) -> ops + 1 */
	tide_map alias_of; /* (module, "#ttnn_layout3") -> text of the layout */
	tt_life *lives;	   /* owned; row 0 unused */
	size_t n_lives, cap_lives;
	tide_map life_of; /* (instance, pool, SSA name) -> life */
	tide_map missed;  /* function -> 1: its cache was missed */
	tide_map runs;	  /* outermost program -> times it began */
	tt_mark *marks;	  /* owned */
	size_t n_marks, cap_marks;
	char *room; /* owned: a line without colours */
	size_t cap_room;
	tt_repeats *repeats; /* owned; NULL if the input is not a log */
	uint64_t doc_bytes;
	tide_str k_line, k_mlir, k_type, k_graph, k_miss,
		k_session; /* keys of attributes, ascending */
	uint32_t sessions;
	uint64_t session_ops; /* n_ops when the last session began */
	bool session_named;
	/* counts */
	uint64_t op_lines, blocks, deallocates, get_devices, skipped, partial, cut, unparsed, loose,
		unmatched, unfinished, oom, dumps, dump_left_out, foreign, long_lines;
	uint64_t results_only; /* operations read from files without deallocates */
	uint64_t resolution;   /* bytes of one bank that a state may be off by */
	const char *basis;     /* basis of the allocations, as a sentence */
} ttlog;

/* ---- load.c ---- */

/* Interns the keys of attributes. Returns false if memory runs out; tide__ttlog_end frees x in
 * either case. */
bool tide__ttlog_begin(ttlog *x);
void tide__ttlog_end(ttlog *x);

/* Records that memory ran out. Returns false. */
bool tide__ttlog_nomem(ttlog *x);

/* ---- ranks.c ---- */

/* Returns the rank of a line, created if new; NULL if memory runs out. A line without a rank's
 * name belongs to the rank of the line before; if there is none yet, `make` creates one, else
 * the line is outside all ranks. */
tt_rank *tide__ttlog_get_rank(ttlog *x, tide_slice name, bool make);
bool tide__ttlog_has_rank(const ttlog *x, tide_slice name);
/* Returns the row of a pool with its first state; 0 if memory runs out. */
uint32_t tide__ttlog_get_pool(ttlog *x, tt_rank *r, unsigned pool, const tt_state *s);
/* Returns the time of an event between operations. */
int64_t tide__ttlog_between(tt_rank *r);
/* Begins a span now, inside the innermost open one of the rank; 0 if memory runs out. */
uint32_t tide__ttlog_begin_span(ttlog *x, tt_rank *r, tide_str name, uint8_t cat, int64_t t0,
				int64_t t1);

/* ---- ops.c: false if memory runs out ---- */

bool tide__ttlog_take(ttlog *x, tt_rank *r, const tt_line *l);
/* Call if the open operation has no block before it: the next block belongs to it. */
void tide__ttlog_expect_block_after(tt_rank *r, const tide_model *m);
/* Completes the block and the operation at the end of the log or of a rank's data. */
bool tide__ttlog_settle_rank(ttlog *x, tt_rank *r);

/* ---- inferred_allocs.c ---- */

/* Notes that one bank of the pool has `now` bytes allocated: the change since the previous block is
 * attributed to `by`. */
bool tide__ttlog_change(ttlog *x, tt_rank *r, unsigned pool, uint64_t now, const tt_owner *by);

/* ---- modules.c ---- */

bool tide__ttlog_read_foreign(ttlog *x, tt_rank *r, const tt_line *l);
/* Closes a dump that a runtime message interrupts; a missing end is not a loss. */
bool tide__ttlog_dump_end(ttlog *x, tt_rank *r);

/* ---- axis.c ---- */

/* Moves the times of all ranks to one axis, sorts spans, states and marks by it, and ranks by their
 * number. Operations without a block leave the axis. Sets model.t_end. */
bool tide__ttlog_place_on_axis(ttlog *x);

/* ---- finish.c ---- */

bool tide__ttlog_finish(ttlog *x);

/* Imports the text of a results file with its related files (may be NULL). Also used by tests and
 * the fuzzer. */
typedef struct tt_results {
	const char *main, *operations, *ir; /* borrowed */
	size_t n_main, n_operations, n_ir;
} tt_results;
tide_code tide__ttresults_import(const tt_results *in, tide_model *m, tide_error *err);

/* Imports a log of n bytes, for tests. */
tide_code tide__ttlog_import(const char *text, size_t n, tide_model *m, tide_error *err);

/* Returns thousandths of an MB (1024^2 bytes) as bytes. */
static inline uint64_t tide__ttlog_bytes(int64_t milli)
{
	return ((uint64_t)milli * 1048576 + 500) / 1000;
}

#endif
