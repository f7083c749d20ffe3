// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Every recommendation on a recording in one list, with its evidence: time, memory, allocator,
 * compile; and a score that shows what it lost and gained for what. Defined in
 * docs/analyses/findings.md. */
#ifndef TIDE_ANALYZE_ADVICE_FINDINGS_H
#define TIDE_ANALYZE_ADVICE_FINDINGS_H

#include "analyze/device/advice.h"

typedef enum tide_area {
	TIDE_AREA_TIME,
	TIDE_AREA_MEMORY,
	TIDE_AREA_ALLOCATOR,
	TIDE_AREA_COMPILE,
	TIDE_AREAS
} tide_area;
extern const char *const tide__area_text[TIDE_AREAS];

typedef struct tide_finding {
	tide_area area;
	const char *id;	    /* static text */
	const char *figure; /* static text; NULL = none */
	double value, threshold;
	int severity;	/* TIDE_ADVICE_* */
	int points;	/* what it changes the score by */
	uint64_t bytes; /* it is about; 0 = none */
	char text[480];
} tide_finding;

enum { TIDE_FINDINGS_MAX = 64 };

typedef struct tide_findings {
	tide_finding v[TIDE_FINDINGS_MAX]; /* most severe first */
	size_t n;
	bool looked[TIDE_AREAS]; /* the recording says something about this area */
	int score;		 /* 0 .. 100; -1: no area could be looked at */
	char grade;		 /* A B C D F; 0 with score -1 */
} tide_findings;

/* `job`: the holistic analysis of m, NULL = no device work. O(spans + moves). */
tide_code tide__collect_findings(const tide_model *m, const tide_hta_job *job, tide_findings *out,
				 tide_error *err);

#endif
