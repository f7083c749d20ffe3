// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The conditions of --fail-if, checked on a diff of two traces or on every rank of two jobs. */
#ifndef TIDE_ANALYZE_COMPARE_CHECKS_H
#define TIDE_ANALYZE_COMPARE_CHECKS_H

#include "analyze/compare/thresholds.h"

typedef struct tide_diff_checks {
	const char *const *text; /* borrowed: the source texts */
	tide_failif *f;		 /* owned */
	tide_fail_result *r;	 /* owned; of the last diff checked */
	size_t n;
	bool crossed, undecided; /* true if any check of any diff was */
} tide_diff_checks;

/* Parses n conditions. On failure *bad is the index of the wrong one and err->offset the
 * character in it (TIDE_EFORMAT), or TIDE_ENOMEM. Free in any case. */
tide_code tide__diff_checks_parse(const char *const *text, size_t n, tide_diff_checks *c,
				  size_t *bad, tide_error *err);
void tide__diff_checks_free(tide_diff_checks *c);
/* Checks one diff. */
void tide__diff_checks_run(tide_diff_checks *c, const tide_diff *d);

#endif
