// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/standing.h"

#include <string.h>

/* Returns true if a memory event is later than the beginning: older blocks are placed there. */
static bool has_history(const tide_model *m)
{
	size_t n = m->memory_events.n;
	return n && tide__memory_event_time(m, n - 1) > tide__memory_event_time(m, 0);
}

tide_code tide__standing_find(const tide_model *m, uint32_t device, tide_group_by by,
			      tide_standing *out, tide_error *err)
{
	memset(out, 0, sizeof *out);
	const tide_peak_query q = {
		.device = device,
		.by = (int)by,
		.at = { .chosen = true, .position = m->memory_events.n, .t = m->t_end },
	};
	tide_code rc = tide__peak_find(m, &q, &out->alive, err);
	out->device = out->alive.device;
	out->history = has_history(m);
	if (rc == TIDE_OK && out->device)
		rc = tide__state_find_at(m, UINT64_MAX, out->device, &out->state, err);
	out->known = rc == TIDE_OK && out->device && out->state.known && out->alive.groups.n;
	return rc;
}

void tide__standing_free(tide_standing *x)
{
	tide__peak_free(&x->alive);
	tide__state_free(&x->state);
}
