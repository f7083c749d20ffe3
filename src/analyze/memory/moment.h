// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A moment that a report is asked for. */
#ifndef TIDE_ANALYZE_MEMORY_MOMENT_H
#define TIDE_ANALYZE_MEMORY_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_moment {
	bool chosen;  /* a moment was asked for; else the end of the trace */
	bool at_peak; /* the peak of the device */
	uint64_t cut; /* memory events before it; UINT64_MAX when not chosen or at_peak */
	int64_t t;    /* the time asked for, ns */
} tide_moment;

/* The end of the trace: no moment was asked for. */
#define TIDE_MOMENT_END ((tide_moment){ .cut = UINT64_MAX, .t = INT64_MAX })

#endif
