// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which changes make a program fit: virtual runs of one program under plans, compared.
 *
 * `tidemark fit` makes the recordings: the unchanged program, and one for each plan (facts fit.*).
 * Rows that need no run are added from the unchanged one: other settings of the allocator
 * (simulated), shards over ranks (arithmetic). Definitions: docs/analyses/fit.md. */
#ifndef TIDE_ANALYZE_PREDICT_FIT_H
#define TIDE_ANALYZE_PREDICT_FIT_H

#include "analyze/predict/virtual_run.h"

typedef enum tide_fit_basis {
	TIDE_FIT_RUN,	     /* the program ran under the plan, on a virtual device */
	TIDE_FIT_SIMULATED,  /* the unchanged run, with other settings of the allocator */
	TIDE_FIT_ARITHMETIC, /* sums of the unchanged run's peak */
} tide_fit_basis;

typedef struct tide_fit_row {
	const tide_model *m; /* borrowed */
	size_t trace;	     /* its place in the call */
	tide_fit_basis basis;
	const char *setting; /* simulated: the settings; static */
	unsigned
		stage; /* arithmetic: what is sharded: 1 states, 2 and gradients, 3 and parameters */
	int64_t ranks;
	uint64_t allocated, reserved;
	tide_virtual_range range; /* of a run or simulation */
	bool fits;
	double step_ns; /* estimated; < 0 = unknown */
	double cost; /* of a step, as a part of the unchanged one's: 0.1 = 10 % longer; < -1 = unknown */
	const char *differs; /* why the results are not the same; NULL = they are. Of the model */
} tide_fit_row;

typedef struct tide_fit_untried { /* a change that could not be tried */
	const tide_model *m;	  /* whose plan it was, or the unchanged run */
	const char *reason;	  /* of the model, or static */
	bool is_plan;		  /* the plan of `m`; else the reason begins with the change */
} tide_fit_untried;

typedef struct tide_fit {
	uint64_t budget;    /* 0 = unknown */
	tide_fit_row base;  /* the unchanged program */
	tide_fit_row *rows; /* owned: by fit, cost, peak */
	size_t n, cap;
	tide_fit_untried *untried; /* owned */
	size_t n_untried, cap_untried;
	size_t best; /* the first that fits, with the same results if one has; n = none */
} tide_fit;

/* Compares the models: virtual runs of one program, one of them without a plan. `budget` 0 = the
 * device's memory less its context, as noted by the run. `ranks` of the shards, 0 = none. Fails
 * with TIDE_EUSAGE if a model is no virtual run, or none or several are without a plan. Release
 * with tide__fit_free in any case. Models are borrowed until then. */
tide_code tide__fit_find(const tide_model *const *models, size_t n, uint64_t budget, int64_t ranks,
			 tide_fit *out, tide_error *err);
void tide__fit_free(tide_fit *f);

/* Returns the last note or fact `key` of a run, borrowed from the model; NULL = there is none. */
const char *tide__fit_note(const tide_model *m, const char *key);
/* Calls `each` with the text of every note `key` of a run, in their order. */
void tide__fit_each_note(const tide_model *m, const char *key,
			 void (*each)(void *context, const char *text), void *context);

#endif
