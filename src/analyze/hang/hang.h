// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Why a job hangs, from Flight Recorder dumps of its ranks.
 *
 *     tide_hang h = { 0 };
 *     for each model: tide__hang_add(&h, model, file, err);
 *     tide__hang_finish(&h, world, err);
 *     ... h.verdict, h.evidence ...
 *     tide__hang_free(&h);
 *
 * Ops of all ranks that have one group, sequence number and place in it are one row. The earliest row
 * that a rank waits in is followed to the rank that did not come, from there to the row that this
 * rank waits in, and so on: the end of that way is the verdict. Every figure is defined in
 * docs/analyses/hang.md.
 *
 * Models may be freed after tide__hang_add. Memory: about 120 bytes for each recorded op. Time: linear
 * in the recorded ops; each row that is followed costs one more pass. */
#ifndef TIDE_ANALYZE_HANG_HANG_H
#define TIDE_ANALYZE_HANG_HANG_H

#include "base/map.h"
#include "model/model.h"

#define TIDE_HANG_VERDICTS(X)                                         \
	X(UNKNOWN, "unknown") /* the dumps do not suffice */          \
	X(MISSING_RANK, "missing_rank")                               \
	X(MISMATCHED_OP, "mismatched_op")                             \
	X(MISMATCHED_SIZE, "mismatched_size")                         \
	X(MISMATCHED_DTYPE, "mismatched_dtype")                       \
	X(MISMATCHED_ORDER, "mismatched_order")                       \
	X(DIED, "died")                                               \
	X(NO_DUMP, "no_dump")                                         \
	X(SLOW, "slow") /* waiting, but it moved between two dumps */ \
	X(NONE, "none") /* nothing waits */

/* Roles of ranks in a row. */
#define TIDE_HANG_ROLES(X)                                                             \
	X(WAITING, "waiting")	/* called it; it is not finished */                    \
	X(FINISHED, "finished") /* called it, and it is finished */                    \
	X(DIFFERS, "differs")	/* called another op, size or type than most */        \
	X(PASSED, "passed")	/* its dump no longer has it: it called a later one */ \
	X(MISSING, "missing")	/* its dump shows that it did not come */              \
	X(NO_DUMP, "no_dump")                                                          \
	X(DIED, "died")	      /* no dump, and its recording was not closed */          \
	X(UNKNOWN, "unknown") /* the dump does not say */

typedef enum tide_hang_verdict {
#define X(name, text) TIDE_HANG_##name,
	TIDE_HANG_VERDICTS(X)
#undef X
} tide_hang_verdict;

typedef enum tide_hang_role {
#define X(name, text) TIDE_HANG_IS_##name,
	TIDE_HANG_ROLES(X)
#undef X
} tide_hang_role;

typedef enum tide_hang_because { /* why the verdict is what it is: the sentence of a report */
				 TIDE_HANG_NO_DUMPS,
				 TIDE_HANG_NO_OPS,
				 TIDE_HANG_NOTHING_WAITS,
				 TIDE_HANG_SILENT,    /* nothing waits, but ranks have no dump */
				 TIDE_HANG_DIFFERENT, /* `row` differs */
				 TIDE_HANG_ABSENT,    /* ranks did not come to `row` */
				 TIDE_HANG_CYCLE, /* ranks wait for each other, in `row` and others */
				 TIDE_HANG_OVERWRITTEN, /* dumps no longer have `row` */
				 TIDE_HANG_UNKNOWN_PEER, /* `row` is a send or a receive, and no dump lists its group */
				 TIDE_HANG_ALL_CAME, /* all known ranks are in `row` */
} tide_hang_because;

typedef struct tide_hang_op { /* a recorded op; texts and stacks of tide_hang.names */
	tide_str name, state, in_sizes, out_sizes, in_types, out_types;
	tide_stack_id stack;
	uint32_t group, place; /* in groups; among ops of one sequence number */
	int64_t seq, record, in_count, out_count;
	int64_t wall_ns;			  /* when it was called, Unix; -1 = unknown */
	int32_t peer;				  /* of send and recv: rank in the group, else -1 */
	bool p2p, send, finished, retired, batch; /* batch: ends ops that were coalesced */
} tide_hang_op;

typedef struct tide_hang_dump {
	int64_t rank, world, last_wall_ns, last_record, last_finished;
	char *file;	   /* owned */
	size_t first, n;   /* its ops */
	uint32_t of_group; /* first of its rows in hang.seen, of n_seen */
	uint32_t n_seen;
	bool whole;	   /* has the first op of its process */
	bool latest, json; /* json: without stacks */
} tide_hang_dump;

typedef struct tide_hang_seen {	     /* a group in a dump */
	uint32_t read, group;	     /* as its dump has it; the group that it really is */
	int64_t last_seq;	     /* highest in the dump, -1 = none */
	int64_t enqueued, completed; /* pg_status, -1 = unknown */
} tide_hang_seen;

typedef struct tide_hang_group {
	tide_str name, desc, list; /* list: its ranks as the dump writes them; none = unknown */
	int64_t *ranks;		   /* owned, ascending */
	size_t n_ranks, cap_ranks;
	bool whole;  /* all ranks of the job */
	bool listed; /* a dump lists its ranks; else those that were seen in it */
	size_t ops, rows_waiting, rows_differ;
	int64_t last_seq;
} tide_hang_group;

typedef struct tide_hang_last { /* a recording in the folder: the last of a rank */
	int64_t rank, pid, t_ns;
	char *file; /* owned */
	tide_str op, range, phase;
	tide_stack_id stack;
	bool open, killed; /* killed: it was not closed; read from its rings */
} tide_hang_last;

typedef struct tide_hang_row { /* ops of one group, sequence and place, of the latest dumps */
	uint32_t group, place;
	int64_t seq;
	size_t first; /* the earliest op in it */
	uint32_t n, waiting;
	uint8_t differ; /* 1 op, 2 size, 4 type */
	bool p2p;	/* `first` waits for its peer */
} tide_hang_row;

typedef struct tide_hang_evidence {
	int64_t rank;
	tide_hang_role role;
	uint32_t group, row; /* row: 0.. of the rows on the way */
	int64_t seq;
	size_t op;   /* the op; SIZE_MAX = none. For missing: the last one in the group */
	size_t dump; /* SIZE_MAX = none */
} tide_hang_evidence;

typedef struct tide_hang {
	tide_model *names; /* owned: holds texts, frames and stacks */
	tide_hang_op *ops;
	size_t n_ops, cap_ops;
	tide_hang_dump *dumps; /* after finish: by rank, then by time */
	size_t n_dumps, cap_dumps;
	tide_hang_seen *seen;
	size_t n_seen, cap_seen;
	tide_hang_group *groups; /* 0 = none */
	size_t n_groups, cap_groups;
	tide_map group_of;
	tide_hang_last *lasts;
	size_t n_lasts, cap_lasts;
	tide_hang_row *rows; /* all */
	size_t n_rows, cap_rows;
	size_t *stuck; /* rows that wait: first of each group, and of P2P; earliest first */
	size_t n_stuck, cap_stuck;
	size_t *stuck_of; /* group -> entry of stuck; SIZE_MAX = none */
	/* results */
	tide_hang_verdict verdict;
	tide_hang_evidence *evidence;
	size_t n_evidence, cap_evidence;
	tide_hang_verdict at_the_end; /* of TIDE_HANG_SLOW: the verdict without movement */
	tide_hang_because because;
	size_t row;	 /* SIZE_MAX = none */
	int64_t world;	 /* -1 = unknown */
	size_t n_ranks;	 /* that have a dump */
	size_t left_out; /* ops with impossible numbers */
} tide_hang;

/* Adds a dump, or any other trace as a recording of a rank. TIDE_EFORMAT for a dump without a rank. */
tide_code tide__hang_add(tide_hang *h, const tide_model *m, const char *file, tide_error *err);
/* Finds the verdict. `world`: ranks of the job, 0 = as the dumps say. May be called again after more
 * tide__hang_add. */
tide_code tide__hang_finish(tide_hang *h, int64_t world, tide_error *err);
void tide__hang_free(tide_hang *h);

/* Adds what each member of row r does to a list. */
tide_code tide__hang_members(const tide_hang *h, size_t r, tide_hang_evidence **out, size_t *n,
			     size_t *cap, tide_error *err);

const char *tide__hang_verdict_text(tide_hang_verdict v);
const char *tide__hang_role_text(tide_hang_role r);

#endif
