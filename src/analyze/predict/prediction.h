// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory at work sizes that were not recorded, from recordings at two or more sizes.
 *
 * Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICTION_H
#define TIDE_ANALYZE_PREDICT_PREDICTION_H

#include "analyze/common/paths.h"
#include "analyze/predict/predicted_breakdown.h"
#include "analyze/predict/predicted_reserved.h"

typedef struct tide_predict_run { /* a recording */
	uint64_t size;		  /* first member: runs are sorted by it */
	const char *file;	  /* display name in reports; borrowed */
	tide_model *m;		  /* borrowed */
	uint32_t device;
	tide_moment_profile held;
	uint64_t peak, reserved; /* UINT64_MAX = unknown */
	uint64_t without;	 /* its peak as predicted from the others; UINT64_MAX = too few */
} tide_predict_run;

enum {
	TIDE_PREDICT_FAR = 2
}; /* times the largest recording: beyond it reserved bytes are a range */

typedef struct tide_predict_row {
	uint64_t size, peak, most;
	uint64_t reserved; /* UINT64_MAX = unknown */
	/* bounds of reserved bytes if they are a range; UINT64_MAX = no range */
	uint64_t reserved_least, reserved_most;
	size_t line; /* the line that the peak is on */
	const tide_predict_run *run;
} tide_predict_row;

typedef enum tide_kept { /* how reserved bytes are predicted */
			 TIDE_KEPT_UNKNOWN,
			 TIDE_KEPT_LINE, /* the peak, plus a line through what both recordings
					  * reserved beyond it */
			 TIDE_KEPT_SIM,	 /* the simulated allocator */
} tide_kept;

typedef struct tide_predict_answer {
	tide_predict_run *v; /* by size */
	size_t n;
	tide_lines live, reserved; /* the latter borrows the former's, for TIDE_KEPT_LINE: */
	tide_kept kept;
	tide_predicted_reserved resized; /* for TIDE_KEPT_SIM */
	bool library;		      /* ops of cuDNN or MIOpen, which choose workspaces by size */
	uint64_t capacity;	      /* 0 = unknown */
	uint64_t fits, fits_reserved; /* if the capacity is known */
	tide_predict_row *rows;
	size_t n_rows;
	/* the row that the parts belong to: the largest that fits, else the last row */
	tide_predict_row whole;
	tide_predicted_breakdown roles, modules;
	tide_paths paths;
} tide_predict_answer;

static inline const tide_predict_run *tide__predict_last(const tide_predict_answer *x)
{
	return &x->v[x->n - 1];
}

/* Measures a recording: x->v[i] has size, model and device. Returns TIDE_ENOTFOUND if it has no
 * allocations on that device. */
tide_code tide__predict_measure(tide_predict_run *r, tide_error *err);
/* Predicts the n sizes of `at` and every recorded one. x->v holds measured recordings sorted by
 * size, x->capacity is set. Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__predict_find(tide_predict_answer *x, const uint64_t *at, size_t n, tide_error *err);
/* Frees the results of tide__predict_measure and tide__predict_find; the models stay. */
void tide__predict_free(tide_predict_answer *x);

#endif
