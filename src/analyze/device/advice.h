// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recommendations from evidence: each has the figure it rests on and the threshold that figure
 * crossed, in its text and as numbers. A rule whose figure is unknown says nothing. */
#ifndef TIDE_ANALYZE_DEVICE_ADVICE_H
#define TIDE_ANALYZE_DEVICE_ADVICE_H

#include "analyze/device/hta_job.h"

enum { TIDE_ADVICE_INFO, TIDE_ADVICE_MEDIUM, TIDE_ADVICE_HIGH };
extern const char *const tide__severity_text[3]; /* "info", "medium", "high" */

typedef struct tide_advice {
	const char *id;	    /* "gpu_idle" ... */
	const char *figure; /* name of the figure: "idle_pct" ... */
	double value;	    /* what it is */
	double threshold;   /* what it crossed */
	bool below;	    /* it counts when below the threshold, else above */
	int severity;
	char bottleneck[160]; /* what is wrong, one line; "" = nothing is */
	char text[480];	      /* what to do about it, one line, with the evidence */
} tide_advice;

/* Most advice a job can get: the number of rules. */
enum { TIDE_ADVICE_MAX = 16 };

/* Advice on a finished job, most severe first; returns how many were put into out. */
size_t tide__advise(const tide_hta_job *job, tide_advice out[TIDE_ADVICE_MAX]);

#endif
