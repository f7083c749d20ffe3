// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recommendations about memory. Each is based on figures of this trace and states them; without
 * evidence there is no advice. Thresholds: docs/analyses/allocator.md. */
#ifndef TIDE_ANALYZE_ADVICE_MEMORY_ADVICE_H
#define TIDE_ANALYZE_ADVICE_MEMORY_ADVICE_H

#include "analyze/memory/leaks.h"
#include "analyze/allocator/sim/sweep.h"

typedef struct tide_memory_advice {
	const char *kind;  /* "setting", "activations", ...: static text */
	unsigned severity; /* TIDE_ADVICE_INFO ... (analyze/advice/time_advice.h) */
	char text[360];	   /* one line: the recommendation and its evidence */
	uint64_t bytes;	   /* bytes concerned: saved, in use or lost */
} tide_memory_advice;

enum { TIDE_MEMADVICE_MAX = 12 };

typedef struct tide_memory_advices {
	tide_memory_advice v[TIDE_MEMADVICE_MAX]; /* by severity, then bytes, descending */
	size_t n;
} tide_memory_advices;

/* `sweep` and `q` come from tide__sim_sweep over the standard settings; both NULL: no advice on
 * settings. O(events). */
tide_code tide__find_memory_advice(const tide_model *m, uint32_t device, const tide_requests *q,
				   const tide_sweep *sweep, tide_memory_advices *out,
				   tide_error *err);

/* Runs the standard sweep first. Returns TIDE_OK with less advice if the trace cannot be
 * replayed. */
tide_code tide__find_full_device(const tide_model *m, uint32_t device, tide_memory_advices *out,
				 tide_error *err);

#endif
