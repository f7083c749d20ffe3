// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Hints for importers: what the caller needs of a trace. */
#ifndef TIDE_MODEL_WANT_H
#define TIDE_MODEL_WANT_H

enum { /* an importer may skip unwanted data to save memory, but must not change the rest */
       TIDE_WANT_SPANS = 1,
       TIDE_WANT_MEMORY = 2,
       TIDE_WANT_ARGS = 4, /* span_src, for fetching arguments later */
       TIDE_WANT_FLOWS = 8,
       TIDE_WANT_RAW =
	       16, /* Kineto only, never implied by 0: span_raw, and the fact kineto.ts0_ns (raw
			     * ts of t = 0) */
       TIDE_WANT_SHAPES =
	       32, /* Kineto only, never implied by 0: shapes, types and scalars of ops as
				* attributes (KIN_SHAPES in kineto/keywords.h) */
       TIDE_WANT_LAUNCH = 64, /* Kineto only: grid, block, registers and shared memory of kernels as
				* attributes (KIN_LAUNCH in kineto/keywords.h) */
};

#endif
