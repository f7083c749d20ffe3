// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Launch statistics: one value per launch call of any kind (CUDA, HIP, driver, graph, copy) that
 * has device rows in the window.
 *
 *   cpu     duration of the call            delay  max(0, first device start - end of the call)
 *   gpu     sum of its rows' durations
 *   short kernel     cpu <= 50 us and gpu < cpu: the call cost more than the work
 *   runtime outlier  cpu > 50 us            delay outlier  delay > 100 us
 *
 * A launch that started several rows is a graph launch and counts once. */
#include "analyze/device/hta_parts.h"
#include "analyze/common/sort.h"
#include "base/mem.h"

const unsigned tide__pcts[TIDE_PCTS] = { 50, 90, 95, 99 };

static void fold(const tide_model *m, const tide_gpu_rows *rows, const uint64_t *key, size_t n,
		 tide_launch *out, size_t *n_out)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t span = (uint32_t)(key[i] >> 32), row = (uint32_t)key[i];
		uint32_t gpu = rows->span[row];
		if (!k || out[k - 1].span != span)
			out[k++] = (tide_launch){ .span = span, .first = row };
		out[k - 1].rows++;
		out[k - 1].gpu =
			tide__add_sat(out[k - 1].gpu, tide__span_end(m, gpu) - m->spans.t0[gpu]);
	}
	*n_out = k;
}

tide_launch *tide__find_launches(const tide_model *m, const tide_gpu_rows *rows, size_t *n_out)
{
	uint64_t *key = tide__alloc(rows->n, sizeof *key), *scratch;
	scratch = tide__alloc(rows->n, sizeof *scratch);
	tide_launch *out = NULL;
	size_t n = 0;
	if (key && scratch) {
		for (size_t i = 0; i < rows->n; i++) {
			uint32_t launch = m->spans.cause[rows->span[i]].i;
			if (launch)
				key[n++] = (uint64_t)launch << 32 | (uint32_t)i;
		}
		tide__sort_u64(key, n, scratch);
		size_t distinct = 0;
		for (size_t i = 0; i < n; i++)
			distinct += !i || key[i] >> 32 != key[i - 1] >> 32;
		out = tide__alloc(distinct, sizeof *out);
		if (out)
			fold(m, rows, key, n, out, n_out);
	}
	tide__free(key);
	tide__free(scratch);
	return out;
}

typedef struct figures {
	int64_t cpu, delay;
	bool is_short, slow, late;
} figures;

static figures measure(const tide_hta_input *in, const tide_launch *l)
{
	int64_t end = tide__span_end(in->m, l->span);
	figures f = { .cpu = end - in->m->spans.t0[l->span] };
	f.delay = tide__row_t0(in, l->first) - end;
	if (f.delay < 0)
		f.delay = 0;
	f.is_short = f.cpu <= in->opt.short_ns && l->gpu < f.cpu;
	f.slow = f.cpu > in->opt.short_ns;
	f.late = f.delay > in->opt.delay_ns;
	return f;
}

static void count(tide_hta_head *h, const tide_launch *l, const figures *f)
{
	h->launches++;
	h->short_kernels += f->is_short;
	h->runtime_outliers += f->slow;
	h->delay_outliers += f->late;
	if (l->rows > 1) {
		h->graph_launches++;
		h->graph_rows += l->rows;
	}
	tide__stat_add(&h->cpu, f->cpu);
	tide__stat_add(&h->delay, f->delay);
}

static void count_api(tide_hta_api *a, const tide_launch *l, const figures *f)
{
	a->rows += l->rows;
	a->graph |= l->rows > 1;
	a->short_kernels += f->is_short;
	a->runtime_outliers += f->slow;
	a->delay_outliers += f->late;
	tide__stat_add(&a->cpu, f->cpu);
	tide__stat_add(&a->delay, f->delay);
	tide__stat_add(&a->gpu, l->gpu);
}

static tide_hta_api *api_of(const tide_hta_input *in, tide_hta *h, tide_map *seen, uint32_t span)
{
	tide_str name = in->m->spans.name[span];
	uint32_t k = tide__map_get(seen, name.i);
	if (k)
		return &h->apis.v[k - 1];
	tide_hta_api *a = TIDE_HTA_PUSH(h, apis);
	if (!a || !tide__map_put(seen, name.i, (uint32_t)h->apis.n))
		return NULL;
	a->name = tide__hta_take(h, in->m, name);
	return a;
}

static void percentiles(uint64_t *v, size_t n, uint64_t *scratch, int64_t *out)
{
	tide__sort_u64(v, n, scratch);
	for (int p = 0; n && p < TIDE_PCTS; p++)
		out[p] = (int64_t)v[tide__nearest_rank(n, tide__pcts[p])];
}

bool tide__hta_find_launch(const tide_hta_input *in, tide_hta *h)
{
	size_t n = in->n_launches;
	uint64_t *cpu = tide__alloc(n, sizeof *cpu), *delay = tide__alloc(n, sizeof *delay);
	uint64_t *scratch = tide__alloc(n, sizeof *scratch);
	tide_map seen = { 0 };
	bool ok = cpu && delay && scratch;
	for (size_t i = 0; ok && i < n; i++) {
		const tide_launch *l = &in->launches[i];
		figures f = measure(in, l);
		tide_hta_api *a = api_of(in, h, &seen, l->span);
		ok = a != NULL;
		if (!ok)
			break;
		count(&h->h, l, &f);
		count_api(a, l, &f);
		cpu[i] = (uint64_t)f.cpu;
		delay[i] = (uint64_t)f.delay;
	}
	if (ok) {
		percentiles(cpu, n, scratch, h->h.cpu_pct);
		percentiles(delay, n, scratch, h->h.delay_pct);
	}
	tide__map_free(&seen);
	tide__free(cpu);
	tide__free(delay);
	tide__free(scratch);
	return ok;
}
