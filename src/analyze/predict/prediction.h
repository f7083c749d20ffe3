// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory at sizes of the work that were not recorded, from recordings at two or more that were.
 *
 * Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICTION_H
#define TIDE_ANALYZE_PREDICT_PREDICTION_H

#include "analyze/common/paths.h"
#include "analyze/predict/predicted_breakdown.h"
#include "analyze/predict/predicted_reserved.h"

typedef struct tide_predict_run { /* a recording */
	uint64_t size;		  /* first: they are sorted by it */
	const char *file;	  /* what reports call it; borrowed */
	tide_model *m;		  /* borrowed */
	uint32_t device;
	tide_moment_profile held;
	uint64_t peak, reserved; /* UINT64_MAX = not known */
	uint64_t without; /* its peak as the others tell it; UINT64_MAX = there are too few */
} tide_predict_run;

typedef struct tide_predict_row {
	uint64_t size, peak, most;
	uint64_t reserved; /* UINT64_MAX = not known */
	size_t line;	   /* that the peak is on */
	const tide_predict_run *run;
} tide_predict_row;

typedef enum tide_kept { /* how reserved bytes are predicted */
			 TIDE_KEPT_UNKNOWN,
			 TIDE_KEPT_LINE, /* the peak, and a line through what both recordings kept beyond it */
			 TIDE_KEPT_SIM, /* the allocator, simulated */
} tide_kept;

typedef struct tide_predict_answer {
	tide_predict_run *v; /* by size */
	size_t n;
	tide_lines live, reserved; /* the latter borrows the former's, for TIDE_KEPT_LINE: */
	tide_kept kept;
	tide_predicted_reserved resized; /* for TIDE_KEPT_SIM */
	uint64_t capacity;		 /* 0 = not known */
	uint64_t fits, fits_reserved;	 /* where it is */
	tide_predict_row *rows;
	size_t n_rows;
	/* what the parts are of: the largest that fits, else the last row */
	tide_predict_row whole;
	tide_predicted_breakdown roles, modules;
	tide_paths paths;
} tide_predict_answer;

static inline const tide_predict_run *tide__predict_last(const tide_predict_answer *x)
{
	return &x->v[x->n - 1];
}

/* Measure a recording: x->v[i] has size, model and device. TIDE_ENOTFOUND if it has no
 * allocations on that device. */
tide_code tide__predict_measure(tide_predict_run *r, tide_error *err);
/* Predict the n sizes of `at` and every recorded one. x->v holds measured recordings sorted by
 * size, x->capacity is set. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__predict_find(tide_predict_answer *x, const uint64_t *at, size_t n, tide_error *err);
/* Release what tide__predict_measure and tide__predict_find made; the models stay. */
void tide__predict_free(tide_predict_answer *x);

#endif
