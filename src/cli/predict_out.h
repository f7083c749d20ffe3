// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What predict found, and its two outputs. */
#ifndef TIDE_CLI_PREDICT_OUT_H
#define TIDE_CLI_PREDICT_OUT_H

#include "analyze/predict/predicted_breakdown.h"
#include "analyze/common/paths.h"
#include "analyze/predict/predicted_reserved.h"
#include "cli/cli.h"

typedef struct tide_predict_run { /* a recording */
	uint64_t size;		  /* first: they are sorted by it */
	const char *file;
	tide_model *m;
	uint32_t device;
	tide_held held;
	uint64_t peak, reserved; /* UINT64_MAX = not known */
	uint64_t without; /* its peak as the others tell it; UINT64_MAX = there are too few */
} tide_predict_run;

typedef struct tide_predict_row {
	uint64_t size, peak, most;
	uint64_t reserved; /* UINT64_MAX = not known */
	size_t line;	   /* that the peak is on */
	const tide_predict_run *run;
} tide_predict_row;

typedef enum tide_kept { /* how reserved bytes are told */
			 TIDE_KEPT_UNKNOWN,
			 TIDE_KEPT_LINE, /* the peak, and a line through what both recordings kept
					    beyond it */
			 TIDE_KEPT_SIM,	 /* the allocator, simulated */
} tide_kept;

typedef struct tide_predict_answer {
	tide_predict_run *v; /* by size */
	size_t n;
	tide_lines live, reserved; /* the latter borrows the former's, for TIDE_KEPT_LINE: */
	tide_kept kept;
	tide_resized resized;	      /* for TIDE_KEPT_SIM */
	uint64_t capacity;	      /* 0 = not known */
	uint64_t fits, fits_reserved; /* where it is */
	tide_predict_row *rows;
	size_t n_rows;
	tide_predict_row
		whole; /* what the parts are of: the largest that fits, else the last row */
	tide_parts roles, modules;
	tide_paths paths;
} tide_predict_answer;

static inline const tide_predict_run *tide__predict_last(const tide_predict_answer *x)
{
	return &x->v[x->n - 1];
}

void tide__predict_text(const tide_args *a, tide_predict_answer *x);
void tide__predict_json(const tide_args *a, tide_predict_answer *x);

#endif
