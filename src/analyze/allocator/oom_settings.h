// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the allocator settings under which a failed request would have succeeded.
 *
 * The recorded requests of a device are replayed under the standard settings, once per device. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_SETTINGS_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_SETTINGS_H

#include "analyze/allocator/sim/sweep.h"

enum {
	TIDE_OOM_MOST_EVENTS = 64
}; /* a replay reports for this many events whether it served
				     * them */

typedef struct tide_oom_trial { /* the standard settings, tried on one device */
	uint32_t device;
	tide_requests *q; /* owned; NULL = nothing to replay */
	tide_sweep sweep; /* empty if the capacity is unknown */
} tide_oom_trial;

typedef struct tide_oom_trials {
	tide_oom_trial v[TIDE_OOM_MOST_EVENTS];
	size_t n;
} tide_oom_trials;

/* Returns the trial on the device of an out-of-memory mark, run on the first call for that
 * device. NULL with `err` set on failure. Release all with tide__oom_trials_free. */
const tide_oom_trial *tide__oom_trial_get(tide_oom_trials *all, const tide_model *m, uint32_t mark,
					  tide_error *err);
void tide__oom_trials_free(tide_oom_trials *all);

/* Returns the index of a mark among the recorded out-of-memory requests of its device. */
size_t tide__oom_index(const tide_oom_trial *x, uint32_t mark);
/* Returns true if a replay served the k-th of them. */
bool tide__oom_served(const tide_sim_result *r, size_t k);
/* Returns the device row of an out-of-memory mark. */
uint32_t tide__oom_device(const tide_model *m, uint32_t mark);

#endif
