// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The reduction of the peak without one group of allocations.
 *
 * The peak without a group is the highest live bytes of the whole trace when none of its
 * allocations is counted; the group's saving is the peak minus that. A saving is never more than
 * the group's bytes alive at the peak, and less if another moment is nearly as high. */
#ifndef TIDE_ANALYZE_MEMORY_PEAK_SAVINGS_H
#define TIDE_ANALYZE_MEMORY_PEAK_SAVINGS_H

#include "analyze/memory/groups.h"

typedef struct tide_peak_saving {
	size_t row;	   /* in the groups */
	uint64_t without;  /* the peak without it */
	uint64_t saving;   /* peak - without */
	uint64_t position; /* position of the peak without it */
} tide_peak_saving;

/* Finds exact savings of the `top` largest rows of `g`, which are the groups at the peak of
 * `device`, or of `pool` (TIDE_ANY = the device). *out has one element per row, in their order;
 * owned: tide__free. At most `top`
 * steps per memory event; far fewer if live bytes are rarely near the peak. */
tide_code tide__find_peak_savings(const tide_model *m, uint32_t device, uint32_t pool,
				  tide_groups *g, size_t top, tide_peak_saving **out, size_t *n,
				  tide_error *err);

#endif
