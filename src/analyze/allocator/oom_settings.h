// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which allocator settings would have served a request that failed.
 *
 * The recorded requests of a device are replayed under the standard settings, once per device. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_SETTINGS_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_SETTINGS_H

#include "analyze/allocator/sim/sweep.h"

enum { TIDE_OOM_MOST_EVENTS = 64 }; /* a replay says for so many events whether it served them */

typedef struct tide_oom_trial { /* the standard settings, tried on one device */
	uint32_t device;
	tide_requests *q; /* owned; NULL = nothing to replay */
	tide_sweep sweep; /* empty if the capacity is unknown */
} tide_oom_trial;

typedef struct tide_oom_trials {
	tide_oom_trial v[TIDE_OOM_MOST_EVENTS];
	size_t n;
} tide_oom_trials;

/* The trial on the device of an out-of-memory mark, made on the first call for that device.
 * NULL with `err` set on failure. Release all with tide__oom_trials_free. */
const tide_oom_trial *tide__oom_trial(tide_oom_trials *all, const tide_model *m, uint32_t mark,
				      tide_error *err);
void tide__oom_trials_free(tide_oom_trials *all);

/* Which of the recorded out-of-memory requests of its device a mark is. */
size_t tide__oom_index(const tide_oom_trial *x, uint32_t mark);
/* Whether a replay served the k-th of them. */
bool tide__oom_served(const tide_sim_result *r, size_t k);
/* Device row of an out-of-memory mark. */
uint32_t tide__oom_device(const tide_model *m, uint32_t mark);

#endif
