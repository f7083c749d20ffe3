// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collects every recommendation on a recording in one list with its evidence (time, memory,
 * allocator, compile), and a score with the points each finding costs or earns. Defined in
 * docs/analyses/findings.md. */
#ifndef TIDE_ANALYZE_ADVICE_FINDINGS_H
#define TIDE_ANALYZE_ADVICE_FINDINGS_H

#include "analyze/advice/time_advice.h"

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
	int severity;	   /* TIDE_ADVICE_* */
	int points;	   /* change of the score */
	uint64_t bytes;	   /* bytes concerned; 0 = none */
	uint32_t device;   /* row of the device whose memory it is about; 0 = none */
	int64_t t;	   /* of the first failed request, else of that device's peak; -1 = none */
	char heading[160]; /* the problem in a few words */
	char text[480];
} tide_finding;

enum { TIDE_FINDINGS_MAX = 64 };

typedef struct tide_findings {
	tide_finding v[TIDE_FINDINGS_MAX]; /* most severe first */
	size_t n;
	bool looked[TIDE_AREAS]; /* the recording has data on this area */
	int score;		 /* 0 .. 100; -1: no area has data */
	char grade;		 /* A B C D F; 0 with score -1 */
	bool untried;		 /* allocator settings were not tried (most_replayed) */
} tide_findings;

typedef struct tide_findings_query {
	const tide_hta_job *job; /* the holistic analysis of the recording; NULL = no device work */
	size_t most_replayed;	 /* a recording with more memory events than this is not replayed:
				  * it gets no advice on settings and retries, and `untried` is
				  * set if it has a caching allocator; 0 = no limit */
} tide_findings_query;

/* O(spans + events). */
tide_code tide__collect_findings(const tide_model *m, const tide_findings_query *q,
				 tide_findings *out, tide_error *err);

#endif
