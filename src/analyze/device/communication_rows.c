// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Numbers the communication rows of a rank, so that ranks can be compared: row k of its name and
 * process group in its step, or among the rows with its sequence number if it has one. A row
 * launched outside any step belongs to step -1. */
#include "analyze/common/span_args.h"
#include "analyze/device/collective_args.h"
#include "base/map.h"

/* Returns true for a send or a receive, which is between two ranks: other ranks' rows are
 * unrelated. */
static bool between_two(const tide_model *m, uint32_t carrier, const tide_collective_keys *k)
{
	const tide_collective_kind *kind =
		carrier ? tide__collective_kind(
				  tide__text(m, tide__attr_text(m, carrier, k->name), NULL))
			: NULL;
	return kind && kind->pair;
}

static bool one_row(const tide_hta_input *in, tide_hta *h, const tide_collective_keys *k,
		    tide_map *seen, size_t i)
{
	const tide_model *m = in->m;
	uint32_t at = tide__collective_carrier(in, k, i);
	if (between_two(m, at, k))
		return true;
	uint32_t step = in->rows->step[i];
	tide_hta_comm r = { .name = m->spans.name[in->rows->span[i]],
			    .group = at ? tide__attr_text(m, at, k->group) : (tide_str){ 0 },
			    .ranks = at ? tide__attr_text(m, at, k->ranks) : (tide_str){ 0 },
			    .size = at ? tide__attr_number(m, at, k->size) : -1,
			    .seq = tide__collective_seq(in, k, i),
			    .step = step ? in->steps->v[step - 1].number : -1,
			    .dur = tide__row_dur(in, i) };
	uint64_t key = tide__mix((uint64_t)r.group.i << 32 | r.ranks.i) ^ r.name.i;
	key = tide__mix(tide__mix(key) ^ (uint64_t)(r.seq < 0 ? step : r.seq)) + (r.seq < 0);
	r.ordinal = tide__map_get(seen, key);
	tide_hta_comm *row = TIDE_HTA_PUSH(h, comms);
	if (!row || !tide__map_put(seen, key, r.ordinal + 1))
		return false;
	r.name = tide__hta_take(h, m, r.name);
	r.group = tide__hta_take(h, m, r.group);
	r.ranks = tide__hta_take(h, m, r.ranks);
	*row = r;
	return true;
}

bool tide__hta_find_comms(const tide_hta_input *in, tide_hta *h)
{
	tide_collective_keys k = tide__collective_keys_find(in->m);
	tide_map seen = { 0 }; /* name, group, step or sequence number -> rows so far */
	bool ok = true;
	for (size_t i = 0; ok && i < in->rows->n; i++)
		if (in->rows->type[i] == TIDE_GPU_COMM)
			ok = one_row(in, h, &k, &seen, i);
	tide__map_free(&seen);
	return ok;
}
