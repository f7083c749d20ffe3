// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collectives over the ranks of a job (hta_job.h, analysed with hta_options.calls).
 *
 * Calls of several ranks are one collective if they have the same group (name and ranks), and the same
 * sequence number, or else the same name and step, and the same place among these. Every figure is
 * defined in docs/analyses/collectives.md. Pure. */
#ifndef TIDE_ANALYZE_DEVICE_RANK_COLLECTIVES_H
#define TIDE_ANALYZE_DEVICE_RANK_COLLECTIVES_H

#include "analyze/device/hta_job.h"
#include "analyze/device/rank_clocks.h"

/* Why calls that belong together are left out. */
typedef enum tide_coll_odd {
	TIDE_COLL_ALONE,      /* on one rank only */
	TIDE_COLL_TOO_MANY,   /* more ranks than the group has */
	TIDE_COLL_SAME_RANK,  /* two traces of one rank */
	TIDE_COLL_NOT_MEMBER, /* a rank that the group's list does not have */
	TIDE_COLL_SIZES,      /* ranks disagree on the number of ranks in the group */
	TIDE_COLL_OPS,	      /* ranks disagree on the collective, its dtype or its message size */
	TIDE_COLL_ODDS,
} tide_coll_odd;
extern const char *const tide__coll_odd_text[TIDE_COLL_ODDS];

typedef struct tide_coll_group {
	tide_str name, desc, ranks; /* none = unknown */
	uint32_t pad;
	int64_t size;	/* ranks; -1 = unknown */
	int64_t *list;	/* owned: its ranks in order; NULL = unknown */
	size_t seen;	/* ranks of the job that have calls of it */
	uint64_t calls; /* on two ranks or more, and sound */
	uint64_t whole; /* of these, on all ranks of the group */
	uint64_t odd[TIDE_COLL_ODDS];
} tide_coll_group;

typedef struct tide_coll_row { /* calls of one group, collective, dtype and message size */
	uint32_t group;
	tide_str name, dtype;
	int64_t bytes;	/* the largest of a rank; -1 = unknown */
	uint64_t ranks; /* that were seen in each */
	bool whole, whole_known;
	bool host;
	uint64_t calls;
	tide_stat latency;	/* least duration of a rank, per call */
	tide_stat wait;		/* duration - latency, per rank and call */
	uint64_t placed;	/* calls whose ranks have one clock */
	tide_stat skew0, skew1; /* of starts, of ends */
	tide_stat bound;	/* of these, per call */
	uint64_t bus_bytes;	/* of one rank in one call: bytes x factor */
	bool bus_known;
} tide_coll_row;

enum { TIDE_LATE_UNKNOWN = TIDE_BEFORES, TIDE_LATES };

typedef struct tide_coll_last { /* a rank of a group */
	uint32_t group;
	size_t rank;		   /* in the job */
	uint64_t calls, last;	   /* of these it came last */
	int64_t late_ns, worst_ns; /* sum over the calls in which it came last; the largest */
	int64_t worst_step;
	uint64_t why[TIDE_LATES];     /* calls in which it came last, by the largest cause */
	int64_t why_ns[TIDE_BEFORES]; /* what it did longer than the rank that came first */
} tide_coll_last;

typedef struct tide_coll_cell { /* bytes of all-to-alls with split sizes */
	uint32_t group;
	uint64_t from, to; /* places in the group */
	bool sent_known, received_known;
	uint64_t calls, sent, received;
} tide_coll_cell;

typedef struct tide_rank_collectives {
	const tide_hta_job *job;
	tide_coll_group *groups;
	size_t n_groups, cap_groups;
	tide_coll_row *rows; /* by group, then by waiting time */
	size_t n_rows, cap_rows;
	tide_coll_last *last; /* by group, then by lateness */
	size_t n_last, cap_last;
	tide_coll_cell *cells; /* by group, from, to */
	size_t n_cells, cap_cells;
	tide_clocks clocks; /* of job->ranks */
	uint64_t calls;	    /* rows of all ranks */
	uint64_t unsure;    /* collectives that are matched by their place alone */
	uint64_t odd_sizes; /* calls with impossible sizes */
} tide_rank_collectives;

tide_code tide__rank_collectives_find(const tide_hta_job *job, tide_rank_collectives *out,
				      tide_error *err);
void tide__rank_collectives_free(tide_rank_collectives *c);

/* Returns the rank at a place of a group, -1 = unknown. */
int64_t tide__coll_rank_at(const tide_rank_collectives *c, uint32_t group, uint64_t place);

#endif
