// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Calls of compiled functions and modules in the recording of a run of `tidemark compile --mode`.
 *
 * The hook (tidemark_compile.py) records each outermost call as an op TIDE_COMPILED_CALL, with the
 * device synchronised at both ends. A call in which the compiler ran contains an op
 * TIDE_COMPILER_RAN. Those, and the first call, are left out: the others are the steady state.
 * Definitions for readers: docs/analyses/compile.md. */
#ifndef TIDE_ANALYZE_COMPILE_CALLS_H
#define TIDE_ANALYZE_COMPILE_CALLS_H

#include "analyze/common/statistics.h"
#include "model/model.h"

#define TIDE_COMPILED_CALL "torch.compile call"
#define TIDE_COMPILER_RAN  "torch.compile compiler ran"

typedef struct tide_compile_calls {
	uint64_t left_out; /* calls that are not in the figures */
	tide_stat ns;	   /* time of a call */
	int64_t median_ns; /* nearest rank; 0 without calls */
	tide_stat peak;	   /* highest live bytes within a call, including memory from before */
	int64_t median_peak;
	uint32_t
		device; /* device of these bytes: the accelerator with the highest, else the host; 0
		         * = none */
} tide_compile_calls;

/* Finds the figures of calls; all are 0 without any call. O(events + spans). Returns TIDE_OK or
 * TIDE_ENOMEM. */
tide_code tide__find_compile_calls(const tide_model *m, tide_compile_calls *out, tide_error *err);

#endif
