// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Thresholds on a diff, for CI:   peak>+2%   gpu_time>+5%   kernel_time>100ms   count(aten::mm)>+10
 *
 *     condition := figure compare limit
 *     figure    := one of the diff's metrics | function '(' pattern ')'
 *     function  := count | op_time | self_time | kernel_time | peak
 *     compare   := '>' | '>=' | '<' | '<='
 *     limit     := ['+' | '-'] number [unit]
 *     unit      := '%' | ns us ms s | B KiB MiB GiB TiB (or KB MB GB TB, the same powers of 1024)
 *
 * With a sign the limit applies to the change from A to B, in the figure's unit or in percent of A;
 * without a sign it applies to B itself. Patterns match whole names; '*' matches any text. Blanks
 * around the parts are ignored. All arithmetic is exact. docs/analyses/diff.md has the manual. */
#ifndef TIDE_ANALYZE_COMPARE_THRESHOLDS_H
#define TIDE_ANALYZE_COMPARE_THRESHOLDS_H

#include "analyze/compare/diff.h"

typedef enum tide_fail_function {
	TIDE_FAIL_METRIC,      /* no function: a metric */
	TIDE_FAIL_COUNT,       /* count(name): host spans and device work of that name */
	TIDE_FAIL_OP_TIME,     /* op_time(name): host spans, durations */
	TIDE_FAIL_SELF_TIME,   /* self_time(name): host spans, self time */
	TIDE_FAIL_KERNEL_TIME, /* kernel_time(name): device work, durations */
	TIDE_FAIL_PEAK,	       /* peak(role): bytes alive at the peak of that role */
} tide_fail_function;

typedef struct tide_failif {
	tide_fail_function function;
	tide_metric metric;  /* of METRIC */
	const char *pattern; /* borrowed from the text, not terminated */
	size_t n_pattern;
	tide_unit unit;	      /* of the figure */
	bool less, or_equal;  /* '<' instead of '>'; with '=' */
	bool change, percent; /* limit on the change; in percent of A */
	int64_t number;	      /* the limit is number / scale × factor, in the figure's unit or % */
	int64_t scale, factor;
} tide_failif;

typedef struct tide_fail_result {
	uint64_t a, b;
	bool known[2]; /* false: that trace lacks the figure */
	bool crossed;  /* set only if both are known, or B alone if the limit is on B */
	bool decided;  /* the required figures are known */
	bool matched;  /* the pattern matches a name in either trace; always true for a metric */
} tide_fail_result;

/* Parses a condition; `text` is borrowed as long as *out is used. Returns TIDE_OK, or
 * TIDE_EUSAGE with the byte of the error as offset and one line of text. */
tide_code tide__failif_parse(const char *text, tide_failif *out, tide_error *err);

/* Returns whether a figure that is a in A and b in B is beyond the limit. */
bool tide__failif_crossed(const tide_failif *f, uint64_t a, uint64_t b);

tide_fail_result tide__failif_check(const tide_failif *f, const tide_diff *d);

/* Returns true if `text` matches the pattern, in which '*' matches any text. */
bool tide__glob_match(const char *pattern, size_t n_pattern, const char *text, size_t n);

#endif
