// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernel breakdown: one row per (type, name) with statistics over single device rows.
 *
 * Sorted durations are kept as varints of their differences (usually 2 bytes per row), so that
 * percentiles are exact nearest-rank ones even after many ranks are merged. */
#include "analyze/device/hta_parts.h"
#include "analyze/common/sort.h"
#include "analyze/common/span_args.h"
#include "base/mem.h"

/* Ids of the launch figures among the attributes' names; none if the trace lacks them. */
typedef struct launch_keys {
	tide_str grid, block, registers, shared;
} launch_keys;

static launch_keys find_keys(const tide_model *m)
{
	return (launch_keys){ tide__attr_key(m, "grid"), tide__attr_key(m, "block"),
			      tide__attr_key(m, "registers per thread"),
			      tide__attr_key(m, "shared memory") };
}

/* Stores the figures of row i if it is the longest launch of its kernel so far. */
static void see_launch(const tide_hta_input *in, tide_hta *h, const launch_keys *k, size_t i,
		       tide_hta_kernel *row)
{
	const tide_model *m = in->m;
	uint32_t span = in->rows->span[i], lane = m->spans.lane[span].i;
	if (row->launch_ns >= tide__row_dur(in, i))
		return;
	row->launch_ns = tide__row_dur(in, i);
	row->device = m->lanes.device[lane].i ? m->devices.index[m->lanes.device[lane].i] : -1;
	row->stream = m->lanes.number[lane];
	row->grid = tide__hta_take(h, m, tide__attr_text(m, span, k->grid));
	row->block = tide__hta_take(h, m, tide__attr_text(m, span, k->block));
	row->registers = k->registers.i ? tide__attr_number(m, span, k->registers) : -1;
	row->shared = k->shared.i ? tide__attr_number(m, span, k->shared) : -1;
}

/* Writes the kernel index of each row into `group` and statistics into the table. */
static bool group_rows(const tide_hta_input *in, tide_hta *h, uint32_t *group)
{
	tide_map seen = { 0 };
	bool ok = true;
	launch_keys keys = find_keys(in->m);
	for (size_t i = 0; ok && i < in->rows->n; i++) {
		tide_str name = in->m->spans.name[in->rows->span[i]];
		uint64_t key = (uint64_t)name.i << 2 | in->rows->type[i];
		uint32_t k = tide__map_get(&seen, key);
		if (!k) {
			tide_hta_kernel *row = TIDE_HTA_PUSH(h, kernels);
			ok = row && tide__map_put(&seen, key, (uint32_t)h->kernels.n);
			if (!ok)
				break;
			row->name = tide__hta_take(h, in->m, name);
			row->type = in->rows->type[i];
			row->custom = in->rows->custom[i];
			row->launch_ns = -1;
			k = (uint32_t)h->kernels.n;
		}
		group[i] = k - 1;
		tide__stat_add(&h->kernels.v[k - 1].dur, tide__row_dur(in, i));
		see_launch(in, h, &keys, i, &h->kernels.v[k - 1]);
	}
	tide__map_free(&seen);
	return ok;
}

static bool put_varint(tide_hta *h, uint64_t v)
{
	do {
		uint8_t *b = TIDE_HTA_PUSH(h, bytes);
		if (!b)
			return false;
		*b = (uint8_t)(v > 127 ? v | 128 : v);
		v >>= 7;
	} while (v);
	return true;
}

/* Adds a chunk of durations to a kernel; sorts v. */
static bool put_chunk(tide_hta *h, tide_hta_kernel *kernel, uint64_t *v, size_t n,
		      uint64_t *scratch)
{
	tide_hta_chunk *c = TIDE_HTA_PUSH(h, chunks);
	if (!c)
		return false;
	tide__sort_u64(v, n, scratch);
	size_t at = h->bytes.n;
	for (size_t i = 0; i < n; i++)
		if (!put_varint(h, v[i] - (i ? v[i - 1] : 0)))
			return false;
	*c = (tide_hta_chunk){ .at = at, .bytes = h->bytes.n - at, .n = n };
	kernel->chunk = h->chunks.n;
	return true;
}

/* Groups durations by kernel: a counting sort of the rows by group, then a sort of each group. */
static bool keep_durations(const tide_hta_input *in, tide_hta *h, const uint32_t *group)
{
	size_t n = in->rows->n;
	uint64_t *d = tide__alloc(n, sizeof *d), *scratch = tide__alloc(n, sizeof *scratch);
	size_t *at = tide__calloc(h->kernels.n + 1, sizeof *at);
	bool ok = d && scratch && at;
	if (ok) {
		for (size_t k = 0; k < h->kernels.n; k++)
			at[k + 1] = at[k] + (size_t)h->kernels.v[k].dur.n;
		for (size_t i = 0; i < n; i++)
			d[at[group[i]]++] = (uint64_t)tide__row_dur(in, i);
		size_t first = 0;
		for (size_t k = 0; ok && k < h->kernels.n; k++) {
			ok = put_chunk(h, &h->kernels.v[k], d + first, at[k] - first, scratch);
			first = at[k];
		}
	}
	tide__free(d);
	tide__free(scratch);
	tide__free(at);
	return ok;
}

bool tide__hta_find_kernels(const tide_hta_input *in, tide_hta *h)
{
	uint32_t *group = tide__alloc(in->rows->n, sizeof *group);
	bool ok = group && group_rows(in, h, group) && keep_durations(in, h, group);
	tide__free(group);
	return ok;
}
