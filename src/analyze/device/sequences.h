// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Frequent kernel sequences: the kernels that ops of one name launch, in order.
 *
 * Of all host spans whose name contains `op`, only the outermost count (an op inside another of the
 * same name does not), if at least `min_kernels` device rows were launched below them. A pattern is
 * the op's name followed by the names of those rows by start time. Pure; O(spans + rows log
 * rows). */
#ifndef TIDE_ANALYZE_DEVICE_SEQUENCES_H
#define TIDE_ANALYZE_DEVICE_SEQUENCES_H

#include "model/model.h"

typedef struct tide_sequence {
	uint64_t count;
	int64_t gpu_ns; /* summed durations of the device rows */
	int64_t cpu_ns; /* summed durations of the ops */
	size_t first;	/* its names are names[first .. first + length) */
	size_t length;	/* op + kernels */
} tide_sequence;

typedef struct tide_sequences {
	tide_sequence *v; /* owned; most frequent first, then by names */
	size_t n;
	tide_str *names;  /* owned */
	uint64_t ops;	  /* spans that were counted */
	uint64_t matched; /* spans whose name matched, at any depth */
} tide_sequences;

/* Counts only ops that begin in [from, to): INT64_MIN, INT64_MAX for all. */
tide_code tide__find_sequences(const tide_model *m, const char *op, size_t min_kernels,
			       int64_t from, int64_t to, tide_sequences *out, tide_error *err);
void tide__sequences_free(tide_sequences *s);

#endif
