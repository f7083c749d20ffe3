// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs of one program in several modes of torch.compile, beside each other. */
#ifndef TIDE_RENDER_REPORT_COMPILE_RUNS_H
#define TIDE_RENDER_REPORT_COMPILE_RUNS_H

#include <stdio.h>

#include "analyze/compile/compile_calls.h"
#include "render/text/grid.h"

typedef struct tide_compile_run {
	const char *mode; /* borrowed; NULL = as set by the program */
	int64_t wall_ns;  /* of the whole program, compiling included */
	int status;
	bool timed_out;
	bool logged;   /* at least one function was compiled */
	bool recorded; /* `calls` and `device` are known */
	tide_compile_calls calls;
	char device[64]; /* device of the bytes; "" = none */
} tide_compile_run;

/* Returns the speedup of this run's median call over `eager`; 0 = unknown. */
double tide__compile_speedup(const tide_compile_run *eager, const tide_compile_run *r);

/* Writes one row per run, nothing if no run has calls. */
void tide__compile_runs_text(const tide_compile_run *v, size_t n, FILE *out,
			     const tide_style *style);
/* Writes the figures of the calls: members of an object that is open; `eager` NULL = there is none to
 * compare with. */
void tide__compile_calls_json(const tide_compile_run *r, const tide_compile_run *eager,
			      tide_json *j);
/* Members of an object that is open; `eager` NULL = there is none to compare with. */
void tide__compile_run_json(const tide_compile_run *r, const tide_compile_run *eager, tide_json *j);

#endif
