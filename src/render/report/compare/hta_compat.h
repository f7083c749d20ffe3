// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark hta --hta-compat`: HTA's own figures of every rank, in the fields of `hta --json`
 * and as HTA's own tables. */
#ifndef TIDE_RENDER_REPORT_COMPARE_HTA_COMPAT_H
#define TIDE_RENDER_REPORT_COMPARE_HTA_COMPAT_H

#include "analyze/compat/tables.h"
#include "render/text/out.h"

typedef struct tide_compat_rank {
	int64_t rank;	      /* 0 if the trace names none, as in HTA */
	char *path;	      /* owned */
	char *failed;	      /* owned; reason if it could not be read, NULL = it was read */
	tide_compat_tables t; /* owned; names are ids of the job's strings */
	size_t steps;	      /* different profiler steps */
	bool dropped_last;
} tide_compat_rank;

typedef struct tide_compat_loss { /* a loss.* fact of the traces (model.h) */
	tide_str key;		  /* after "loss." */
	tide_str text;		  /* of the first trace that has one; none = a number */
	int64_t number; /* sum over all traces; a position (…_at, …_at_byte): of the first that
			 * has one */
} tide_compat_loss;

typedef struct tide_compat_job {
	tide_compat_rank *v; /* owned; in rank order */
	size_t n;
	tide_strings *strings;	  /* owned */
	tide_compat_loss *losses; /* owned */
	size_t n_losses, cap_losses;
} tide_compat_job;

extern const tide_member tide__compat_members[];
/* Writes the members of an open object. */
void tide__compat_json(const tide_compat_job *job, tide_json *j);
void tide__compat_text(const tide_compat_job *job, const tide_out *to);

#endif
