// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Combines many ranks: results are added one by one and merged in integers, so that neither the
 * order of adding nor the process that analysed a rank affects the outcome.
 *
 * Each rank keeps its own figures (head, streams, steps, collectives, copies, losses); its kernels,
 * ops, launches and annotations are merged into the job's. All texts are then in job->sum. */
#ifndef TIDE_ANALYZE_DEVICE_HTA_JOB_H
#define TIDE_ANALYZE_DEVICE_HTA_JOB_H

#include "analyze/device/hta.h"

typedef struct tide_hta_rank {
	tide_hta *h; /* owned; its texts are ids of job->sum */
	char *trace; /* owned; the file */
} tide_hta_rank;

typedef struct tide_hta_failed {
	char *trace; /* owned */
	tide_error err;
} tide_hta_failed;

typedef enum tide_hta_note_kind {
	TIDE_HTA_NO_PERCENTILES, /* too many durations: percentiles of some kernels are unknown */
	TIDE_HTA_TWO_TRACES,	 /* ranks[first] and ranks[first + 1] are the same rank */
	TIDE_HTA_MISSING,	 /* `n` ranks of the world have no trace; job->missing lists them */
	TIDE_HTA_NO_ROWS,	 /* `n` traces have no device rows, the first is ranks[first] */
} tide_hta_note_kind;

typedef struct tide_hta_note {
	tide_hta_note_kind kind;
	size_t first;
	int64_t n;
} tide_hta_note;

enum { TIDE_HTA_MISSING_LISTED = 100 }; /* ranks listed at most */

typedef struct tide_hta_job {
	tide_hta *sum;	      /* owned; head: sums over ranks; tables: merged over ranks */
	tide_hta_rank *ranks; /* owned; after finish: by rank, unknown ones last, then by file */
	size_t n_ranks, cap_ranks;
	tide_hta_failed *failed; /* owned; by file */
	size_t n_failed, cap_failed;
	tide_hta_note *notes; /* owned; render/report/device/hta.h writes them */
	size_t n_notes, cap_notes;
	int64_t missing[TIDE_HTA_MISSING_LISTED]; /* the first ranks without a trace */
	size_t n_missing;
	uint64_t max_kept;  /* bytes of durations kept for percentiles; default 1 GiB */
	bool kept_too_many; /* the limit was reached: percentiles of some kernels are unknown */
	tide_map kernels, apis, ops, op_kernels, annotations, collectives, copies, losses;
} tide_hta_job;

/* Returns NULL if memory runs out. */
tide_hta_job *tide__hta_job_new(void);
void tide__hta_job_free(tide_hta_job *job); /* NULL is allowed */

/* Adds a rank. Takes ownership of `h`, also on failure. */
tide_code tide__hta_job_add(tide_hta_job *job, const char *trace, tide_hta *h, tide_error *err);
/* Adds a rank that could not be read. */
tide_code tide__hta_job_fail(tide_hta_job *job, const char *trace, const tide_error *why,
			     tide_error *err);
/* Sorts, computes percentiles, finds the notes. Call once, after the last rank. */
tide_code tide__hta_job_finish(tide_hta_job *job, tide_error *err);

/* Makes a finished job of one rank; takes ownership of `h`. *out is NULL (with TIDE_OK) if it
 * has no device rows. Owned by the caller, also on failure. */
tide_code tide__hta_job_make(const char *trace, tide_hta *h, tide_hta_job **out, tide_error *err);
/* Makes a finished job of one trace; *out is NULL (with TIDE_OK) if it has no device rows. Owned
 * by the caller, also on failure. */
tide_code tide__hta_job_find(const tide_model *m, const char *trace, tide_hta_job **out,
			     tide_error *err);

#endif
