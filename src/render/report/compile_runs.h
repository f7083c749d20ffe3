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

/* Those members; of a run without a mode the first five. */
extern const tide_member tide__compile_time_members[], tide__compile_peak_members[],
	tide__compile_run_members[];
#define TIDE_COMPILE_RUN_MEMBERS                                                             \
	TIDE_MEMBER_MAYBE("mode", TEXT, "mode of torch.compile; null: as the program says"), \
		TIDE_MEMBER("wall_ns", NS, "wall time of the program, compiling included"),  \
		TIDE_MEMBER("exit_status", PLAIN, "of the program"),                         \
		TIDE_MEMBER("timed_out", BOOL, "--timeout ended it"),                        \
		TIDE_MEMBER("has_real_data", BOOL, "something was compiled"),                \
		TIDE_COMPILE_CALL("calls", COUNT, NULL, "calls that were measured"),         \
		TIDE_COMPILE_CALL("calls_left_out", COUNT, NULL,                             \
				  "the first call, and calls that compiled"),                \
		TIDE_COMPILE_CALL("call_time", OBJECT, tide__compile_time_members,           \
				  "time of a call"),                                         \
		TIDE_COMPILE_CALL("call_peak", OBJECT, tide__compile_peak_members,           \
				  "peak of a call above its begin"),                         \
		TIDE_COMPILE_CALL("device", TEXT, NULL, "device of these bytes"),            \
		TIDE_COMPILE_CALL("speedup", REAL, NULL, "median of eager / this median"),   \
		TIDE_COMPILE_CALL("memory_savings_bytes", SIGNED, NULL,                      \
				  "highest peak of eager less this one")
#define TIDE_COMPILE_CALL(key_, kind_, list, text)                                            \
	{                                                                                     \
		.key = key_, .kind = TIDE_KIND_##kind_, .members = list,                      \
		.may = TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT, .meaning = "with a mode: " text \
	}

#endif
