// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The compile report as text and as JSON. Defined in docs/analyses/compile.md. */
#ifndef TIDE_REPORT_OPS_COMPILE_H
#define TIDE_REPORT_OPS_COMPILE_H

#include <stdio.h>

#include "analyze/compile/compile_report.h"
#include "render/text/grid.h"

/* Tables have at most `top` rows, 0 = all. */
void tide__compile_text(const tide_model *m, const tide_compile_report *r, size_t top, FILE *out,
			const tide_style *style);
/* Writes members of an open object. */
void tide__compile_json(const tide_model *m, const tide_compile_report *r, size_t top,
			tide_json *j);

/* A run of a program (compile_runs.h) and, if it compiled anything, the members above. */
extern const tide_member tide__compile_program_members[];

#endif
