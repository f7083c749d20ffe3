// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Temporal breakdown of the time between the first start and the last end on the device.
 *
 * All figures are lengths of unions over every device and stream of the trace, so they never count
 * a moment twice. idle = kernel_time - busy; non_compute = busy - compute; the types may overlap
 * each other, and `set_ns` has the duration of each exact combination of them. */
#include "analyze/device/breakdown.h"
#include "analyze/device/hta_parts.h"

bool tide__gpu_unions_find(const tide_model *m, const tide_gpu_rows *rows, tide_interval_set *types)
{
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t s = rows->span[i];
		if (!tide__interval_set_add(&types[rows->type[i]], m->spans.t0[s],
					    tide__span_end(m, s)))
			return false;
	}
	return true;
}

/* Returns the next moment after which list `l` changes: the end of the running interval or the
 * next start. */
static int64_t edge(const tide_interval_set *l, size_t at, bool on)
{
	return on ? l->t1[at] : at < l->n ? l->t0[at] : INT64_MAX;
}

/* Computes the time during which exactly the lists in the mask run, for each of the 2^k masks of k
 * <= 8 lists; out[0] is the time between first start and last end when none runs. O(k x pieces). */
static void cover_sets(const tide_interval_set *lists, unsigned k, int64_t *out)
{
	size_t at[8] = { 0 };
	unsigned mask = 0;
	int64_t now = 0;
	bool begun = false;
	for (unsigned s = 0; s < 1u << k; s++)
		out[s] = 0;
	for (;;) {
		int64_t next = INT64_MAX;
		unsigned which = 0;
		for (unsigned i = 0; i < k; i++) {
			int64_t e = edge(&lists[i], at[i], mask >> i & 1);
			if (e < next) {
				next = e;
				which = i;
			}
		}
		if (next == INT64_MAX)
			return;
		if (begun)
			out[mask] += next - now;
		begun = true;
		now = next;
		if (mask >> which & 1)
			at[which]++;
		mask ^= 1u << which;
	}
}

static bool is_host_work(unsigned cat)
{
	return cat == TIDE_CAT_OP || cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER ||
	       cat == TIDE_CAT_PYTHON;
}

/* Computes the part of the device's idle time with recorded host activity: the union of host work
 * inside [first, end], minus the part during device work. Returns false if memory runs out. */
static bool idle_host_active(const tide_hta_input *in, const tide_interval_set *device,
			     int64_t first, int64_t end, int64_t *out)
{
	const tide_spans *sp = &in->m->spans;
	tide_interval_set host = { 0 };
	bool ok = true;
	for (size_t i = 1; ok && i < sp->n && sp->t0[i] < end; i++) {
		if (!is_host_work(sp->cat[i]))
			continue;
		int64_t a = sp->t0[i], b = tide__span_end(in->m, (uint32_t)i);
		a = a < first ? first : a;
		b = b > end ? end : b;
		if (b > a)
			ok = tide__interval_set_add(&host, a, b);
	}
	*out = tide__interval_set_ns(&host) - tide__interval_set_both_ns(&host, device);
	tide__interval_set_free(&host);
	return ok;
}

static bool count_rows(const tide_hta_input *in, tide_hta_head *h, tide_interval_set *all,
		       tide_union_length *sum, tide_union_length *custom)
{
	for (size_t i = 0; i < in->rows->n; i++) {
		int64_t a = tide__row_t0(in, i), b = tide__row_t1(in, i);
		unsigned type = in->rows->type[i];
		h->rows_of[type]++;
		h->sum_of[type] = tide__add_sat(h->sum_of[type], b - a);
		h->linked += tide__row_launch(in, i) != 0;
		tide__union_length_add(sum, a, b);
		if (!tide__interval_set_add(all, a, b))
			return false;
		if (in->rows->custom[i]) {
			h->custom_rows++;
			tide__union_length_add(custom, a, b);
		}
	}
	return true;
}

static void fill_head(const tide_hta_input *in, const tide_union_length *sum, tide_hta_head *h)
{
	h->first = sum->first;
	h->kernel_time = sum->end - sum->first;
	h->busy = sum->length;
	h->idle = h->kernel_time - h->busy;
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		h->type_ns[t] = tide__interval_set_ns(&in->types[t]);
	h->non_compute = h->busy - h->type_ns[TIDE_GPU_COMPUTE];
	h->overlap =
		tide__interval_set_both_ns(&in->types[TIDE_GPU_COMM], &in->types[TIDE_GPU_COMPUTE]);
	cover_sets(in->types, TIDE_GPU_TYPES, h->set_ns);
	h->set_ns[0] = h->idle; /* includes the time up to a row of length 0 at either end */
}

bool tide__hta_find_breakdown(const tide_hta_input *in, tide_hta *r)
{
	tide_interval_set all = { 0 };
	tide_union_length sum = { 0 }, custom = { 0 };
	r->h.rows = in->rows->n;
	r->h.left_out = in->rows->left_out;
	bool ok = count_rows(in, &r->h, &all, &sum, &custom);
	if (ok && sum.any) {
		fill_head(in, &sum, &r->h);
		r->h.custom_ns = custom.length;
		ok = idle_host_active(in, &all, sum.first, sum.end, &r->h.idle_host_active);
	}
	tide__interval_set_free(&all);
	return ok;
}
