// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/peak_groups.h"

#include "analyze/live/live_set.h"
#include "base/error.h"

const tide_group_by tide__peak_groupings[TIDE_PEAK_GROUPINGS] = { TIDE_BY_ROLE, TIDE_BY_MODULE,
								  TIDE_BY_OP, TIDE_BY_FRAME,
								  TIDE_BY_TENSOR };

tide_code tide__find_peak_groups(const tide_model *m, uint32_t device, uint64_t position,
				 tide_peak_groups *out, tide_error *err)
{
	*out = (tide_peak_groups){ .m = m };
	tide_code rc = tide__live_set_at(m, position, device, TIDE_ANY, &out->alive, err);
	if (rc == TIDE_OK && tide__find_roles(m, &out->roles) != TIDE_OK)
		rc = tide__nomem(err);
	for (size_t k = 0; rc == TIDE_OK && k < TIDE_PEAK_GROUPINGS; k++)
		rc = tide__groups_find_in_roles(m, &out->alive, tide__peak_groupings[k],
						TIDE_NAMES_FOLDED, out->roles.role, &out->by[k],
						err);
	return rc;
}

void tide__peak_groups_free(tide_peak_groups *x)
{
	for (size_t k = 0; k < TIDE_PEAK_GROUPINGS; k++)
		tide__groups_free(&x->by[k]);
	tide__live_set_free(&x->alive);
	tide__roles_free(&x->roles);
}
