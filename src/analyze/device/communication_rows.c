// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The communication rows of a rank, numbered so that ranks can be laid side by side: row k of its
 * name in its step. A row launched outside any step is numbered in a step of its own, -1. */
#include "analyze/device/hta_parts.h"
#include "base/map.h"

bool tide__part_comms(const tide_hta_input *in, tide_hta *h)
{
	tide_map seen = { 0 }; /* (name, step) -> rows so far */
	bool ok = true;
	for (size_t i = 0; ok && i < in->rows->n; i++) {
		if (in->rows->type[i] != TIDE_GPU_COMM)
			continue;
		uint32_t name = in->m->spans.name[in->rows->span[i]].i, step = in->rows->step[i];
		uint32_t k = tide__map_get(&seen, (uint64_t)name << 32 | step);
		tide_hta_comm *row = TIDE_HTA_PUSH(h, comms);
		ok = row && tide__map_put(&seen, (uint64_t)name << 32 | step, k + 1);
		if (!ok)
			break;
		row->name = tide__hta_take(h, in->m, (tide_str){ name });
		row->ordinal = k;
		row->step = step ? in->steps->v[step - 1].number : -1;
		row->dur = tide__row_dur(in, i);
	}
	tide__map_free(&seen);
	return ok;
}
