// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A diff as text and JSON. */
#ifndef TIDE_RENDER_REPORT_COMPARE_DIFF_H
#define TIDE_RENDER_REPORT_COMPARE_DIFF_H

#include "analyze/compare/diff.h"
#include "analyze/compare/checks.h"
#include "render/text/out.h"

/* "12.34 MiB", "1.234 ms", "1,234"; with a sign for changes. Returns buf. */
char *tide__unit_text(char *buf, size_t n, tide_unit unit, int64_t v, bool sign);

/* Returns the figures, one row each: A, B, change. NULL if memory runs out. */
tide_grid *tide__diff_metrics(const tide_diff *d);
/* "metrics": {"peak": {"a", "b", "delta", "pct", "unit"}, ..}; unknown values are null. */
void tide__diff_metrics_json(const tide_diff *d, tide_json *j);

/* Member `key`: {"trace", "device", "losses"} of one of the two. */
void tide__diff_side_json(tide_json *j, const char *key, const char *file, const tide_model *m,
			  tide_device_id device);

/* Returns the first `top` rows (0 = all) that differ; `brief`: call stacks in one short line.
 * NULL if memory runs out. */
tide_grid *tide__diff_rows(const tide_diff *d, tide_diff_kind kind, size_t top, bool brief);

/* Writes members "metrics", "speedup" and one table per kind, as in `tidemark diff --json`; the
 * first `top` rows of each table (0 = all). Returns false if memory runs out. */
bool tide__diff_json(const tide_diff *d, size_t top, tide_json *j);

/* Writes "A 5.34 GiB, B 5.60 GiB (+4.87 %)"; unknown figures are shown as unknown. */
void tide__diff_checks_write_figures(const tide_diff_checks *c, size_t i, char *buf, size_t n);
/* Member "fail_if". */
void tide__diff_checks_json(tide_json *j, const tide_diff_checks *c);

/* Writes the whole report: `file` are the names of the two traces, `top` rows per table (0 =
 * all). Both return false if memory runs out. */
bool tide__diff_report_text(const tide_diff *d, const tide_model *const m[2],
			    const tide_diff_checks *c, const char *const file[2], size_t top,
			    const tide_out *to);
/* Prints the notes about losses of A and of B; once if they are the same. */
void tide__diff_losses_text(const tide_model *const m[2], const tide_out *to);
/* Rows of the tables, by kind. */
extern const tide_member tide__diff_row_members[TIDE_N_DIFF_KINDS][11];
/* Writes its members. */
bool tide__diff_report_json(const tide_diff *d, const tide_model *const m[2],
			    const tide_diff_checks *c, const char *const file[2], tide_json *j);

#endif
