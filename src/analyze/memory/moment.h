// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The moment a report is about. */
#ifndef TIDE_ANALYZE_MEMORY_MOMENT_H
#define TIDE_ANALYZE_MEMORY_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_moment {
	bool chosen;	   /* a moment was given; else the end of the trace */
	bool at_peak;	   /* the peak of the device */
	uint64_t position; /* memory events before it; UINT64_MAX if not chosen or at_peak */
	int64_t t;	   /* the given time, ns */
} tide_moment;

#endif
