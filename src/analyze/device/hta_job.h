// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Many ranks as one: results are added one after another and put together in integers, so that the
 * order of adding, and who analysed which rank, cannot be seen in the outcome.
 *
 * Of each rank its own figures stay (head, streams, steps, collectives, copies, losses); its
 * kernels, ops, launches and annotations go into the job's. Texts of all of them then live in
 * job->sum. */
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

typedef struct tide_hta_job {
	tide_hta *sum;	      /* owned; head: sums over ranks; tables: merged over ranks */
	tide_hta_rank *ranks; /* owned; after finish: by rank, unknown ones last, then by file */
	size_t n_ranks, cap_ranks;
	tide_hta_failed *failed; /* owned; by file */
	size_t n_failed, cap_failed;
	char **notes; /* owned; what a reader must know: missing ranks, no device rows ... */
	size_t n_notes, cap_notes;
	uint64_t max_kept;  /* bytes of durations kept for percentiles; default 1 GiB */
	bool kept_too_many; /* it was not enough: percentiles of some kernels are unknown */
	tide_map kernels, apis, ops, op_kernels, annotations, collectives, copies, losses;
} tide_hta_job;

/* NULL on exhaustion. */
tide_hta_job *tide__hta_job_new(void);
void tide__hta_job_free(tide_hta_job *job); /* NULL is fine */

/* Add a rank. `h` is taken over, also on failure. */
tide_code tide__hta_job_add(tide_hta_job *job, const char *trace, tide_hta *h, tide_error *err);
/* A rank that could not be read. */
tide_code tide__hta_job_fail(tide_hta_job *job, const char *trace, const tide_error *why,
			     tide_error *err);
/* Sort, compute percentiles, write the notes. Nothing is added afterwards. */
tide_code tide__hta_job_finish(tide_hta_job *job, tide_error *err);

/* A finished job of one rank; `h` is taken over. *out is NULL (with TIDE_OK) when it has no device rows.
 * Owned by the caller, also on failure. */
tide_code tide__hta_job_of(const char *trace, tide_hta *h, tide_hta_job **out, tide_error *err);
/* A finished job of this one trace; *out is NULL (with TIDE_OK) when it has no device rows. Owned by
 * the caller, also on failure. */
tide_code tide__hta_one(const tide_model *m, const char *trace, tide_hta_job **out,
			tide_error *err);

/* A line for the reader, printf-like. False on exhaustion. */
bool tide__hta_job_note(tide_hta_job *job, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
