// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_REPORT_COMPARE_DIFF_H
#define TIDE_REPORT_COMPARE_DIFF_H

#include "analyze/compare/checks.h"
#include "report/report.h"

/* Returns the conditions of a diff and their results, until the report is freed. */
const tide_diff_checks *tide__diff_report_checks(const tide_report *r);

/* Figures of one rank of two jobs. */
extern const tide_member tide__diff_rank_members[];

#endif
