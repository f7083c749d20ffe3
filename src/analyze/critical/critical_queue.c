// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Counts the launches waiting on a stream, at each launch and each start. */
#include <stdlib.h>

#include "analyze/critical/critical_impl.h"
#include "base/mem.h"

bool tide__critical_is_launch(const crit *c, size_t row)
{
	if (c->f->link[row] <= 0)
		return false;
	if (!crit_exact(c))
		return tide__compat_queue_launch(crit_name(c, row));
	int64_t to = tide__compat_frame_row(c->f, c->f->link[row]);
	return c->f->stream[row] == -1 && to >= 0 && tide__cat_is_gpu(crit_cat(c, (size_t)to));
}

struct point {
	int64_t stream, t;
	uint32_t row;	 /* launch or device row */
	uint32_t device; /* device row */
	int add;
};

static int by_stream_time(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	if (a->add != b->add) /* a launch comes before a start at the same time */
		return a->add > b->add ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static uint64_t entry(const crit *c, uint32_t row, uint32_t call)
{
	return (uint64_t)call << 32 | c->m->spans.lane[c->f->span[row].i].i;
}

/* Returns the call that put a device row into its stream's queue, + 1; 0 if there is none that
 * counts. */
static uint32_t launch_of(const crit *c, const tide_map *launch, uint32_t row)
{
	if (c->f->stream[row] == -1 || (crit_exact(c) && !tide__cat_is_gpu(crit_cat(c, row))))
		return 0;
	return tide__map_get(launch, (uint64_t)c->f->corr[row]);
}

/* For exact frames: if one call put several rows on one stream (a graph), only the first to begin
 * counts. first: entry -> row + 1. */
static bool find_first(const crit *c, const tide_map *launch, tide_map *first)
{
	const tide_compat_frame *f = c->f;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t k = launch_of(c, launch, i);
		uint32_t was = k ? tide__map_get(first, entry(c, i, k)) : 0;
		if (k && (!was || f->ts[i] < f->ts[was - 1]) &&
		    !tide__map_put(first, entry(c, i, k), i + 1))
			return false;
	}
	return true;
}

static size_t points(const crit *c, const tide_map *launch, const tide_map *first, struct point *p)
{
	const tide_compat_frame *f = c->f;
	size_t n = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t k = launch_of(c, launch, i);
		if (!k || (crit_exact(c) && tide__map_get(first, entry(c, i, k)) != i + 1))
			continue;
		p[n++] = (struct point){ f->stream[i], f->ts[k - 1], k - 1, i, 1 };
		p[n++] = (struct point){ f->stream[i], f->ts[i], i, i, -1 };
	}
	return n;
}

bool tide__critical_find_queue(crit *c)
{
	const tide_compat_frame *f = c->f;
	struct point *p = tide__alloc(2 * f->n, sizeof *p);
	tide_map launch = { 0 }, first = { 0 };
	bool ok = p != NULL;
	for (size_t i = 0; i < f->n && ok; i++)
		if (tide__critical_is_launch(c, i))
			ok = tide__map_put(&launch, (uint64_t)f->corr[i], (uint32_t)i + 1);
	ok = ok && (!crit_exact(c) || find_first(c, &launch, &first));
	size_t n = ok ? points(c, &launch, &first, p) : 0;
	if (ok)
		qsort(p, n, sizeof *p, by_stream_time);
	int64_t length = 0;
	for (size_t i = 0; i < n; i++) {
		length = (i && p[i].stream == p[i - 1].stream ? length : 0) + p[i].add;
		c->queue[p[i].row] = length;
		if (p[i].add > 0)
			c->pending[p[i].device] = length;
	}
	tide__map_free(&launch);
	tide__map_free(&first);
	tide__free(p);
	return ok;
}
