// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recommendations from evidence: each has the figure it is based on and the threshold that
 * figure crossed, in its text and as numbers. A rule with an unknown figure gives no advice. */
#ifndef TIDE_ANALYZE_ADVICE_TIME_ADVICE_H
#define TIDE_ANALYZE_ADVICE_TIME_ADVICE_H

#include "analyze/device/hta_job.h"

enum { TIDE_ADVICE_INFO, TIDE_ADVICE_MEDIUM, TIDE_ADVICE_HIGH };
extern const char *const tide__severity_text[3]; /* "info", "medium", "high" */

typedef struct tide_advice {
	const char *id;	    /* "gpu_idle" ... */
	const char *figure; /* name of the figure: "idle_pct" ... */
	double value;	    /* value of the figure */
	double threshold;   /* threshold that it crossed */
	bool below;	    /* crossed downwards, else upwards */
	int severity;
	char bottleneck[160]; /* the problem, one line; "" = none */
	char text[480];	      /* the recommendation with its evidence, one line */
} tide_advice;

/* Maximum number of recommendations: the number of rules. */
enum { TIDE_ADVICE_MAX = 16 };

/* Writes advice on a finished job into out, most severe first; returns its number. */
size_t tide__find_time_advice(const tide_hta_job *job, tide_advice out[TIDE_ADVICE_MAX]);

#endif
