// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Stragglers: the ranks that others waited for.
 *
 * A collective ends on all ranks at about the same time; the rank that came last spends the least
 * time in it. So for one collective on two or more ranks, a rank is late by (longest duration on
 * any rank − its own duration). Durations need no common clock. Collectives are matched by kernel
 * name, process group and its ranks, and by sequence number or else step and position in it.
 * Pure. */
#ifndef TIDE_ANALYZE_DEVICE_STRAGGLERS_H
#define TIDE_ANALYZE_DEVICE_STRAGGLERS_H

#include "analyze/device/hta_job.h"

typedef struct tide_straggler {
	int64_t rank;
	uint64_t collectives; /* matched collectives of this rank */
	uint64_t last;	      /* collectives in which it came last (ties count for each) */
	int64_t late_ns;      /* sum of its lateness: the time the earliest rank waited for it */
	int64_t worst_ns;     /* largest of these */
	int64_t worst_step;   /* its step, -1 = none */
} tide_straggler;

typedef struct tide_stragglers {
	tide_straggler *v; /* owned; latest first */
	size_t n;
	uint64_t matched; /* collectives seen on two or more ranks */
	uint64_t alone;	  /* rows without a counterpart, or on more ranks than their group has */
} tide_stragglers;

tide_code tide__find_stragglers(const tide_hta_job *job, tide_stragglers *out, tide_error *err);
void tide__stragglers_free(tide_stragglers *s);

#endif
