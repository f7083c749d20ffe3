// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How many launches were waiting on a stream, at each launch and each start. */
#include <stdlib.h>

#include "analyze/crit.h"
#include "base/mem.h"

bool tide__crit_is_launch(const crit *c, size_t row)
{
	return c->f->link[row] > 0 && tide__compat_queue_launch(crit_name(c, row));
}

struct point {
	int64_t stream, t;
	uint32_t row;
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

bool tide__crit_queue(crit *c)
{
	const tide_compat_frame *f = c->f;
	struct point *p = tide__alloc(2 * f->n, sizeof *p);
	tide_map launch = { 0 };
	bool ok = p != NULL;
	size_t n = 0;
	for (size_t i = 0; i < f->n && ok; i++)
		if (tide__crit_is_launch(c, i))
			ok = tide__map_put(&launch, (uint64_t)f->corr[i], (uint32_t)i + 1);
	for (uint32_t i = 0; i < f->n && ok; i++) {
		uint32_t k = f->stream[i] != -1 ? tide__map_get(&launch, (uint64_t)f->corr[i]) : 0;
		if (!k)
			continue;
		p[n++] = (struct point){ f->stream[i], f->ts[k - 1], k - 1, 1 };
		p[n++] = (struct point){ f->stream[i], f->ts[i], i, -1 };
	}
	if (ok)
		qsort(p, n, sizeof *p, by_stream_time);
	int64_t length = 0;
	for (size_t i = 0; i < n && ok; i++) {
		length = (i && p[i].stream == p[i - 1].stream ? length : 0) + p[i].add;
		c->queue[p[i].row] = length;
	}
	tide__map_free(&launch);
	tide__free(p);
	return ok;
}
