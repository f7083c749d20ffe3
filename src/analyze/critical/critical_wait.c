// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Handles calls that wait for the device. Most traces do not record which work a synchronisation
 * waited for (CUDA writes such rows on request, HIP never does). Then it is assumed to be the row
 * that ended last on the device before the call did, among those launched before the call or by it,
 * if that end is after the call began. A waiting call has no self time; a call without a known wait
 * keeps it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/critical_impl.h"
#include "base/mem.h"
#include "base/search.h"

/* Calls that return when the device is done. */
static bool synchronizes(const char *n)
{
	static const char *const names[] = {
		"DeviceSynchronize", "StreamSynchronize", "EventSynchronize", "Memcpy",
		"MemcpyWithStream",  "CtxSynchronize",
	};
	size_t head = !strncmp(n, "cuda", 4)  ? 4
		      : !strncmp(n, "hip", 3) ? 3
		      : !strncmp(n, "cu", 2)  ? 2
					      : 0;
	for (size_t i = 0; head && i < sizeof names / sizeof *names; i++)
		if (!strcmp(n + head, names[i]))
			return true;
	return false;
}

enum { BACK = 64 }; /* ends examined; more than one is needed only if clocks disagree */

crit_ended *tide__critical_find_ends(const crit *c, size_t *n)
{
	const tide_compat_frame *f = c->f;
	tide_keyed *k = tide__critical_reserve(f->n);
	*n = 0;
	for (uint32_t i = 0; k && i < f->n; i++)
		if (tide__cat_is_gpu(crit_cat(c, i)))
			crit_put(&k[(*n)++], f->ts[i] + f->dur[i], i);
	if (k)
		tide__critical_sort(k, *n);
	crit_ended *e = k ? tide__alloc(*n, sizeof *e) : NULL;
	for (size_t i = 0; e && i < *n; i++) {
		uint32_t row = (uint32_t)k[i].id;
		e[i] = (crit_ended){ f->ts[row] + f->dur[row], row,
				     f->link[row] > 0 ? tide__compat_frame_row(f, f->link[row])
						      : -1 };
	}
	tide__free(k);
	return e;
}

size_t tide__critical_until(const crit_ended *e, size_t n, int64_t t)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, n, mid, e[mid].t <= t);
	return lo;
}

/* Returns true if a synchronisation row records the work that the call waited for. */
static bool told(const crit *c, size_t row)
{
	int64_t to = c->f->link[row] > 0 ? tide__compat_frame_row(c->f, c->f->link[row]) : -1;
	return to >= 0 && crit_cat(c, (size_t)to) == TIDE_CAT_SYNC;
}

/* Returns the device row that the call waited for, NULL = unknown. */
static const crit_ended *waited_for(const crit *c, uint32_t call, const crit_ended *e, size_t n)
{
	int64_t t0 = c->f->ts[call];
	size_t k = tide__critical_until(e, n, t0 + c->f->dur[call]);
	for (size_t i = 0; i < BACK && k > i && e[k - 1 - i].t > t0; i++) {
		int64_t by = e[k - 1 - i].call;
		if (by < 0 || by == call || c->f->ts[by] < t0)
			return &e[k - 1 - i];
	}
	return NULL;
}

/* waits[node] is set for the end of a call that waited. Work from before the window has no node to
 * start an edge from. */
static bool find_waits(crit *c, const crit_ended *e, size_t n, bool *waits)
{
	bool ok = true;
	for (uint32_t i = 0; i < c->f->n && ok; i++) {
		unsigned cat = crit_cat(c, i);
		if (!c->end[i] || (cat != TIDE_CAT_RUNTIME && cat != TIDE_CAT_DRIVER) ||
		    !synchronizes(crit_name(c, i)) || told(c, i))
			continue;
		const crit_ended *w = waited_for(c, i, e, n);
		if (!w)
			continue;
		waits[c->end[i] - 1] = true;
		if (c->end[w->row])
			ok = tide__critical_add_edge(c, c->end[w->row] - 1, c->end[i] - 1,
						     TIDE_CP_SYNC, false, -1);
	}
	return ok;
}

/* Gives the stack's edge into the end of a waiting call the weight 0. */
static void clear_weights(crit *c, bool *waits)
{
	for (size_t i = 0; i < c->g.n_edges; i++)
		if (c->g.edges[i].type == TIDE_CP_SYNC)
			waits[c->g.edges[i].to] = true;
	for (size_t i = 0; i < c->g.n_edges; i++) {
		tide_cg_edge *e = &c->g.edges[i];
		if (e->type == TIDE_CP_OPERATOR && waits[e->to] && !c->nodes[e->to].start)
			e->weight = 0;
	}
}

bool tide__critical_add_waits(crit *c)
{
	size_t n;
	crit_ended *e = tide__critical_find_ends(c, &n);
	bool *waits = tide__calloc(c->n_nodes, sizeof *waits);
	bool ok = e && waits && find_waits(c, e, n, waits);
	if (ok)
		clear_weights(c, waits);
	tide__free(e);
	tide__free(waits);
	return ok;
}
