// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/collective_args.h"

#include <string.h>

#include "analyze/common/span_args.h"

enum { MAX_UP = 64 }; /* spans around a launch that are examined */

tide_collective_keys tide__collective_keys_find(const tide_model *m)
{
	return (tide_collective_keys){
		.name = tide__attr_key(m, "Collective name"),
		.group = tide__attr_key(m, "Process Group Name"),
		.desc = tide__attr_key(m, "Process Group Description"),
		.ranks = tide__attr_key(m, "Process Group Ranks"),
		.size = tide__attr_key(m, "Group size"),
		.dtype = tide__attr_key(m, "dtype"),
		.in = tide__attr_key(m, "In msg nelems"),
		.out = tide__attr_key(m, "Out msg nelems"),
		.seq = tide__attr_key(m, "Seq"),
		.in_split = tide__attr_key(m, "In split size"),
		.out_split = tide__attr_key(m, "Out split size"),
		.first = tide__attr_key(m, "Global rank start"),
		.stride = tide__attr_key(m, "Global rank stride"),
	};
}

uint32_t tide__collective_carrier(const tide_hta_input *in, const tide_collective_keys *k,
				  size_t row)
{
	uint32_t span = in->rows->span[row];
	if (tide__attr_text(in->m, span, k->name).i)
		return span;
	span = tide__row_launch(in, row);
	for (int up = 0; span && up < MAX_UP; up++, span = in->m->spans.parent[span].i)
		if (tide__attr_text(in->m, span, k->name).i)
			return span;
	return 0;
}

int64_t tide__collective_seq(const tide_hta_input *in, const tide_collective_keys *k, size_t row)
{
	if (!k->seq.i)
		return -1;
	int64_t seq = tide__attr_number(in->m, in->rows->span[row], k->seq);
	uint32_t span = tide__row_launch(in, row);
	for (int up = 0; seq < 0 && span && up < MAX_UP; up++, span = in->m->spans.parent[span].i)
		seq = tide__attr_number(in->m, span, k->seq);
	return seq;
}

/* Ranges that PyTorch puts around the launch of a collective. */
static bool names_one(const char *name)
{
	return !strncmp(name, "nccl:", 5) || !strncmp(name, "rccl:", 5) ||
	       !strncmp(name, "c10d::", 6);
}

const tide_collective_kind *tide__collective_guess(const tide_hta_input *in, size_t row)
{
	const tide_model *m = in->m;
	uint32_t span = tide__row_launch(in, row);
	for (int up = 0; span && up < MAX_UP; up++, span = m->spans.parent[span].i) {
		const char *name = tide__text(m, m->spans.name[span], NULL);
		const tide_collective_kind *kind =
			names_one(name) ? tide__collective_kind(name) : NULL;
		if (kind)
			return kind;
	}
	return tide__collective_kind(tide__text(m, m->spans.name[in->rows->span[row]], NULL));
}
