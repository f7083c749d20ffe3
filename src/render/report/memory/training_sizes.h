// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Training sizes (analyze/predict/training_sizes.h) as text and JSON. */
#ifndef TIDE_RENDER_REPORT_MEMORY_TRAINING_SIZES_H
#define TIDE_RENDER_REPORT_MEMORY_TRAINING_SIZES_H

#include "analyze/predict/training_sizes.h"
#include "render/text/member.h"
#include "render/text/json.h"

typedef struct tide_sizes_report {
	const char *title;	      /* borrowed */
	const tide_phase_summary *s;  /* borrowed */
	const tide_training_sizes *t; /* borrowed */
	double bytes_per_param;	      /* used for expected sizes */
	bool typed;		      /* --bytes-per-param was given: not an assumption */
	int64_t kv_expected;	      /* -1 = not requested */
} tide_sizes_report;

/* Prints the section of one summary: theoretical and measured sizes, the peak, its parts,
 * advice. */
void tide__sizes_text(const tide_sizes_report *r, FILE *out);
/* The same as one object, in bytes; unknown is null. */
extern const tide_member tide__sizes_members[];
void tide__sizes_json(const tide_sizes_report *r, tide_json *j);

typedef struct tide_sentence {
	char text[240];
} tide_sentence;
enum { TIDE_TRAINING_SENTENCES = 4 };
/* Writes the advice of tide__training_fit_find as sentences. Returns their number. */
size_t tide__training_write_advice(const tide_training_sizes *t,
				   tide_sentence out[TIDE_TRAINING_SENTENCES]);

#endif
