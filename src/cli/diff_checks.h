// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The conditions of --fail-if, for a diff of two traces and for each rank of a diff of two jobs. */
#ifndef TIDE_CLI_DIFF_CHECKS_H
#define TIDE_CLI_DIFF_CHECKS_H

#include "analyze/compare/thresholds.h"
#include "cli/cli.h"

typedef struct tide_diff_checks {
	const char **text;   /* borrowed: as written */
	tide_failif *f;	     /* owned */
	tide_fail_result *r; /* owned; of the last diff looked at */
	size_t n;
	bool crossed, undecided; /* any, of all diffs looked at */
} tide_diff_checks;

/* Read them from the option's list. 0, or the exit status after a message. Free in any case. */
int tide__diff_checks_parse(const tide_args *a, const tide_value *v, tide_diff_checks *c);
void tide__diff_checks_free(tide_diff_checks *c);
/* Look at one diff. */
void tide__diff_checks_run(tide_diff_checks *c, const tide_diff *d);
/* "A 5.34 GiB, B 5.60 GiB (+4.87 %)", unknown ones as such. */
void tide__diff_checks_figures(const tide_diff_checks *c, size_t i, char *buf, size_t n);
/* A line on stderr for each one that is crossed or cannot be decided; `where` is put before it. */
void tide__diff_checks_tell(const tide_diff_checks *c, const char *where);
/* Member "fail_if". */
void tide__diff_checks_json(tide_json *j, const tide_diff_checks *c);
/* 0, 1 when one could not be decided, 3 when one was crossed. */
int tide__diff_checks_status(const tide_diff_checks *c);

#endif
