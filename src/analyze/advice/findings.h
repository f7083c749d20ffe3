// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collects every recommendation on a recording in one list with its evidence (time, memory,
 * allocator, compile), and a score with the points each finding costs or earns. Defined in
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
	int points;	/* change of the score */
	uint64_t bytes; /* bytes concerned; 0 = none */
	char text[480];
} tide_finding;

enum { TIDE_FINDINGS_MAX = 64 };

typedef struct tide_findings {
	tide_finding v[TIDE_FINDINGS_MAX]; /* most severe first */
	size_t n;
	bool looked[TIDE_AREAS]; /* the recording has data on this area */
	int score;		 /* 0 .. 100; -1: no area has data */
	char grade;		 /* A B C D F; 0 with score -1 */
} tide_findings;

/* `job` is the holistic analysis of m, NULL = no device work. O(spans + events). */
tide_code tide__collect_findings(const tide_model *m, const tide_hta_job *job, tide_findings *out,
				 tide_error *err);

#endif
