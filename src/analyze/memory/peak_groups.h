// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The live set at one position in several groupings at once, for pages: the definitions and the
 * order of groups are those of `tidemark peak --group-by`. */
#ifndef TIDE_ANALYZE_MEMORY_PEAK_GROUPS_H
#define TIDE_ANALYZE_MEMORY_PEAK_GROUPS_H

#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"

enum { TIDE_PEAK_GROUPINGS = 5 };
extern const tide_group_by tide__peak_groupings[TIDE_PEAK_GROUPINGS];

typedef struct tide_peak_groups {
	const tide_model *m; /* borrowed */
	tide_live_set alive;
	tide_roles roles;
	tide_groups by[TIDE_PEAK_GROUPINGS]; /* like tide__peak_groupings */
} tide_peak_groups;

/* Groups the allocations alive on a device after `position` memory events. Release with
 * tide__peak_groups_free, also after a failure. O(events). */
tide_code tide__find_peak_groups(const tide_model *m, uint32_t device, uint64_t position,
				 tide_peak_groups *out, tide_error *err);
void tide__peak_groups_free(tide_peak_groups *x);

#endif
