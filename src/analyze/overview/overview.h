// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The first answers about a recording: the peak and what made it, where time went, the gravest
 * findings. Every figure is one of another analysis: peak, hta, ops, advice. Defined in
 * docs/analyses/overview.md. */
#ifndef TIDE_ANALYZE_OVERVIEW_OVERVIEW_H
#define TIDE_ANALYZE_OVERVIEW_OVERVIEW_H

#include "analyze/advice/findings.h"
#include "analyze/memory/heap.h"
#include "analyze/memory/peak.h"
#include "analyze/ops/ops.h"
#include "analyze/overview/hints.h"

enum { TIDE_OVERVIEW_ROWS = 3 };

typedef struct tide_overview_time { /* work that took long */
	const char *name;	    /* borrowed; NULL = outside any op, or its launch is unknown */
	size_t n;		    /* its length */
	int64_t ns;
	double share; /* percent of the time of all work on that side; NaN = unknown */
} tide_overview_time;

typedef struct tide_overview {
	const tide_model *m; /* borrowed */
	unsigned holds;	     /* TIDE_HOLDS_* */
	tide_peak peak;	     /* valid if has_peak */
	bool has_peak;
	double peak_error; /* of a sampled host heap: standard error of the peak, bytes; else 0 */
	tide_hta_job *job; /* NULL = no device rows */
	tide_ops ops;	   /* valid if has_ops: no device rows, but spans of threads */
	bool has_ops;
	tide_overview_time longest[TIDE_OVERVIEW_ROWS]; /* device time by op, else self time */
	size_t n_longest;
	tide_findings findings;
	size_t grave[TIDE_OVERVIEW_ROWS]; /* findings that cost points, gravest first */
	size_t n_grave;
	tide_hint next[TIDE_HINTS];
	size_t n_next;
} tide_overview;

/* `m` is borrowed until tide__overview_free, which must be called even after a failure. The cost of
 * those analyses. */
tide_code tide__overview_find(const tide_model *m, tide_group_names names, tide_overview *out,
			      tide_error *err);
void tide__overview_free(tide_overview *x);

#endif
