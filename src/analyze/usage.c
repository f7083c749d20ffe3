// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/usage.h"

#include "base/error.h"
#include "base/mem.h"

struct sweep {
	const tide_model *m;
	tide_usage *u;
	uint64_t cut;  /* moves applied so far */
	size_t bucket; /* where in the series we are */
	int64_t until; /* time at which that bucket ends */
};

/* ---- one level ---- */

static void on_alloc(struct sweep *s, tide_level *l, uint64_t size, uint64_t requested)
{
	l->allocs++;
	l->alloc_bytes += size;
	l->bytes += size;
	l->requested += requested;
	l->count++;
	if (l->bytes > l->peak) {
		l->peak = l->bytes;
		l->peak_cut = s->cut;
	}
	if (l->peak_cut == s->cut) {
		l->peak_requested = l->requested;
		l->peak_count = l->count;
		l->peak_reserved = l->reserved;
	}
}

static void on_free(tide_level *l, uint64_t size, uint64_t requested)
{
	l->frees++;
	l->free_bytes += size;
	l->bytes -= size;
	l->requested -= requested;
	l->count--;
}

static void on_segment(tide_level *l, uint64_t size, bool freed)
{
	l->segments += !freed;
	l->reserved += freed ? -size : size;
	if (l->reserved > l->reserved_peak)
		l->reserved_peak = l->reserved;
}

/* ---- series ---- */

/* Time at which bucket b ends: (b + 1)/buckets of [0, t_end]. */
static int64_t bucket_end(const tide_model *m, size_t b, size_t buckets)
{
	double span = (double)(m->t_end > 0 ? m->t_end : 0) + 1;
	return b + 1 >= buckets ? INT64_MAX : (int64_t)(span * (double)(b + 1) / (double)buckets);
}

static void raise(uint64_t *v, uint64_t to)
{
	if (to > *v)
		*v = to;
}

/* Every device's value from now on counts in the current bucket. */
static void fill(struct sweep *s)
{
	tide_usage *u = s->u;
	for (size_t d = 0; d < u->n_devices; d++) {
		raise(&u->live_series[d * u->buckets + s->bucket], u->devices[d].bytes);
		raise(&u->reserved_series[d * u->buckets + s->bucket], u->devices[d].reserved);
	}
}

static void go_to(struct sweep *s, int64_t t)
{
	while (t >= s->until) {
		s->bucket++;
		s->until = bucket_end(s->m, s->bucket, s->u->buckets);
		fill(s);
	}
}

/* ---- the sweep ---- */

static void apply(struct sweep *s, uint32_t row, unsigned kind)
{
	const tide_model *m = s->m;
	bool segment = kind == TIDE_MOVE_SEG_ALLOC || kind == TIDE_MOVE_SEG_FREE;
	uint32_t pool = segment ? m->segments.pool[row].i : m->allocs.pool[row].i;
	uint32_t device = m->pools.device[pool].i;
	tide_level *l[] = { &s->u->pools[pool], &s->u->devices[device] };
	uint64_t size = segment ? m->segments.size[row] : m->allocs.size[row];
	for (int i = 0; i < 2; i++) {
		if (segment)
			on_segment(l[i], size, kind == TIDE_MOVE_SEG_FREE);
		else if (kind == TIDE_MOVE_ALLOC)
			on_alloc(s, l[i], size, m->allocs.requested[row]);
		else
			on_free(l[i], size, m->allocs.requested[row]);
	}
	if (s->u->buckets) {
		size_t at = device * s->u->buckets + s->bucket;
		raise(&s->u->live_series[at], l[1]->bytes);
		raise(&s->u->reserved_series[at], l[1]->reserved);
	}
}

static void sweep(struct sweep *s, uint64_t cut)
{
	const tide_model *m = s->m;
	for (uint64_t i = 0; i < cut; i++) {
		s->cut = i + 1;
		unsigned kind = m->moves.kind[i];
		uint32_t row = m->moves.row[i];
		if (kind == TIDE_MOVE_FREE || kind == TIDE_MOVE_FREE_ASKED) {
			row = tide__move_ends(m, i);
			kind = TIDE_MOVE_FREE;
			if (!row)
				continue;
		}
		if (s->u->buckets)
			go_to(s, tide__move_time(m, i));
		apply(s, row, kind);
	}
	if (s->u->buckets)
		go_to(s, m->t_end);
}

static void peak_times(const tide_model *m, tide_level *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l[i].peak_t = l[i].peak_cut ? tide__move_time(m, l[i].peak_cut - 1) : 0;
}

static bool make(tide_usage *u, const tide_model *m, size_t buckets)
{
	u->n_pools = m->pools.n;
	u->n_devices = m->devices.n;
	u->buckets = buckets;
	u->pools = tide__calloc(u->n_pools, sizeof *u->pools);
	u->devices = tide__calloc(u->n_devices, sizeof *u->devices);
	if (buckets) {
		u->live_series = tide__calloc(u->n_devices, buckets * sizeof(uint64_t));
		u->reserved_series = tide__calloc(u->n_devices, buckets * sizeof(uint64_t));
	}
	return u->pools && u->devices && (!buckets || (u->live_series && u->reserved_series));
}

tide_code tide__usage(const tide_model *m, uint64_t cut, size_t buckets, tide_usage *out,
		      tide_error *err)
{
	*out = (tide_usage){ .cut = cut < m->moves.n ? cut : m->moves.n };
	if (!make(out, m, buckets)) {
		tide__usage_free(out);
		return tide__nomem(err);
	}
	struct sweep s = { .m = m, .u = out, .until = bucket_end(m, 0, buckets ? buckets : 1) };
	sweep(&s, out->cut);
	peak_times(m, out->pools, out->n_pools);
	peak_times(m, out->devices, out->n_devices);
	return TIDE_OK;
}

void tide__usage_free(tide_usage *u)
{
	tide__free(u->pools);
	tide__free(u->devices);
	tide__free(u->live_series);
	tide__free(u->reserved_series);
	*u = (tide_usage){ 0 };
}

uint32_t tide__usage_highest(const tide_usage *u)
{
	uint32_t best = 0;
	for (uint32_t d = 0; d < u->n_devices; d++)
		if (u->devices[d].peak > u->devices[best].peak)
			best = d;
	return best;
}

uint64_t tide__cut_at(const tide_model *m, int64_t t)
{
	uint64_t lo = 0, hi = m->moves.n;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (tide__move_time(m, mid) <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
