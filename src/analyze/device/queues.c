// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Queue length per stream: the number of launches called and not yet begun on the device.
 *
 * An entry lives from the start of its launch call to the first start of one of its rows on the
 * stream; a graph launch is one entry of each stream it uses. All figures are weighted by time,
 * from the stream's first launch to its last start: mean = area / time, percentile p = the lowest
 * length that the queue did not exceed for p % of the time, max = the greatest length that lasted.
 * A row that starts before its own launch (clocks differ) is counted as early and left out. */
#include <stdlib.h>

#include "analyze/device/hta_parts.h"
#include "analyze/common/sort.h"
#include "base/mem.h"

typedef struct entries { /* grouped by stream: those of stream s are [at[s], at[s + 1]) */
	uint64_t *begin, *end, *scratch;
	size_t *at;
} entries;

/* Returns an order-preserving key of a time. */
static uint64_t key_of(int64_t t)
{
	return (uint64_t)t ^ (uint64_t)1 << 63;
}

/* Marks the first row of each launch on each stream, in row order: mark[i] = 1. */
static bool mark_first(const tide_hta_input *in, uint8_t *mark)
{
	tide_map seen = { 0 };
	bool ok = true, several = false;
	for (size_t i = 0; i < in->n_launches; i++)
		several |= in->launches[i].rows > 1;
	for (size_t i = 0; ok && i < in->rows->n; i++) {
		uint64_t launch = tide__row_launch(in, i);
		uint64_t key = launch << 32 | in->rows->stream[i];
		mark[i] = launch != 0;
		if (!launch || !several)
			continue;
		if (tide__map_get(&seen, key))
			mark[i] = 0;
		else
			ok = tide__map_put(&seen, key, 1);
	}
	tide__map_free(&seen);
	return ok;
}

static void collect(const tide_hta_input *in, tide_hta *h, const uint8_t *mark, entries *e)
{
	size_t *next = e->at; /* filled one index ahead, so that each ends as its start */
	for (size_t i = 0; i < in->rows->n; i++) {
		if (!mark[i])
			continue;
		int64_t a = in->m->spans.t0[tide__row_launch(in, i)], b = tide__row_t0(in, i);
		uint32_t s = in->rows->stream[i];
		if (b < a) {
			h->streams.v[s].queue_early++;
			continue;
		}
		e->begin[next[s + 1]] = key_of(a);
		e->end[next[s + 1]++] = key_of(b);
	}
}

static void add_area(tide_hta_stream *s, uint64_t length, uint64_t dt)
{
	tide_u128 area = (tide_u128)s->queue_area[1] << 64 | s->queue_area[0];
	area += (tide_u128)length * dt;
	s->queue_area[0] = (uint64_t)area;
	s->queue_area[1] = (uint64_t)(area >> 64);
}

/* Sums the time at each length in at_length[0 .. n]. */
static void sweep(tide_hta_stream *s, const uint64_t *begin, const uint64_t *end, size_t n,
		  uint64_t *at_length)
{
	size_t i = 0, k = 0;
	uint64_t now = begin[0];
	while (k < n) { /* every begin precedes its end, so i >= k always */
		uint64_t next = i < n && begin[i] < end[k] ? begin[i] : end[k];
		uint64_t length = i - k, dt = next - now;
		if (dt) {
			at_length[length] += dt;
			add_area(s, length, dt);
			if (length > s->queue_max)
				s->queue_max = length;
			if (length >= TIDE_QUEUE_LIMIT)
				s->queue_full += (int64_t)dt;
		}
		now = next;
		if (i < n && begin[i] <= end[k])
			i++;
		else
			k++;
	}
	s->queue_time = (int64_t)(now - begin[0]);
}

static void percentiles(tide_hta_stream *s, const uint64_t *at_length, size_t n)
{
	uint64_t sum = 0;
	size_t length = 0;
	for (int p = 0; p < TIDE_PCTS; p++) {
		uint64_t want = (uint64_t)(((tide_u128)s->queue_time * tide__pcts[p] + 99) / 100);
		while (length <= n && sum + at_length[length] < want)
			sum += at_length[length++];
		s->queue_pct[p] = length;
	}
}

static bool one_stream(tide_hta_stream *s, uint64_t *begin, uint64_t *end, size_t n,
		       uint64_t *scratch)
{
	s->queue_entries = n;
	if (!n)
		return true;
	uint64_t *at_length = tide__calloc(n + 2, sizeof *at_length);
	if (!at_length)
		return false;
	tide__sort_u64(begin, n, scratch);
	tide__sort_u64(end, n, scratch);
	sweep(s, begin, end, n, at_length);
	percentiles(s, at_length, n);
	tide__free(at_length);
	return true;
}

static bool run(const tide_hta_input *in, tide_hta *h, uint8_t *mark, entries *e)
{
	if (!mark_first(in, mark))
		return false;
	for (size_t i = 0; i < in->rows->n; i++)
		if (mark[i])
			e->at[in->rows->stream[i] + 2]++;
	for (size_t s = 0; s < h->streams.n; s++)
		e->at[s + 2] += e->at[s + 1];
	size_t *start = tide__alloc(h->streams.n + 1, sizeof *start);
	if (!start)
		return false;
	for (size_t s = 0; s < h->streams.n; s++)
		start[s] = e->at[s + 1];
	collect(in, h, mark, e);
	bool ok = true;
	for (size_t s = 0; ok && s < h->streams.n; s++)
		ok = one_stream(&h->streams.v[s], e->begin + start[s], e->end + start[s],
				e->at[s + 1] - start[s], e->scratch);
	tide__free(start);
	return ok;
}

bool tide__hta_find_queue(const tide_hta_input *in, tide_hta *h)
{
	size_t n = in->rows->n;
	uint8_t *mark = tide__alloc(n, 1);
	entries e = { tide__alloc(n, 8), tide__alloc(n, 8), tide__alloc(n, 8),
		      tide__calloc(h->streams.n + 2, sizeof *e.at) };
	bool ok = mark && e.begin && e.end && e.scratch && e.at && run(in, h, mark, &e);
	tide__free(mark);
	tide__free(e.begin);
	tide__free(e.end);
	tide__free(e.scratch);
	tide__free(e.at);
	return ok;
}

/* ---- as a curve ---- */

typedef struct change {
	int64_t t;
	uint32_t stream;
	int32_t by;
} change;

static int by_stream(const void *a, const void *b)
{
	const change *x = a, *y = b;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->t < y->t ? -1 : x->t > y->t;
}

bool tide__hta_put_queues(const tide_hta_input *in, tide_hta_put *put, void *user)
{
	size_t n = 0, rows = in->rows->n;
	uint8_t *mark = tide__alloc(rows, 1);
	change *v = tide__alloc(2 * rows, sizeof *v);
	bool ok = mark && v && mark_first(in, mark);
	for (size_t i = 0; ok && i < rows; i++) {
		int64_t a = in->m->spans.t0[tide__row_launch(in, i)], b = tide__row_t0(in, i);
		if (!mark[i] || b < a)
			continue;
		v[n++] = (change){ a, in->rows->stream[i], 1 };
		v[n++] = (change){ b, in->rows->stream[i], -1 };
	}
	if (ok && n)
		qsort(v, n, sizeof *v, by_stream);
	for (size_t i = 0, j; ok && i < n; i = j) {
		int64_t length = 0;
		for (j = i; ok && j < n && v[j].stream == v[i].stream; j++) {
			length += v[j].by;
			if (j + 1 == n || v[j + 1].stream != v[j].stream || v[j + 1].t != v[j].t)
				ok = put(user, v[j].stream, v[j].t, (double)length);
		}
	}
	tide__free(mark);
	tide__free(v);
	return ok;
}
