// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/ledger/device_join.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

enum { NEAR_NS = 1500000000 }; /* samples of two processes belong together if they are nearer */

struct part {
	size_t recording;
	const tide_ledger *l;
};

/* ---- one device ---- */

static uint64_t known(uint64_t v)
{
	return v == TIDE_LEDGER_UNKNOWN ? 0 : v;
}

static uint64_t held(const tide_ledger_at *a)
{
	return known(a->live) + known(a->cached) + known(a->other) + known(a->pooled) +
	       known(a->context) + known(a->profiler);
}

/* Returns the moment of a ledger nearest to `wall`; NULL if none is near. */
static const tide_ledger_at *nearest(const tide_ledger *l, int64_t wall)
{
	const tide_ledger_at *best = NULL;
	int64_t best_d = NEAR_NS;
	size_t lo = 0;
	TIDE_SEARCH(lo, l->n, mid, l->wall0_ns + l->at[mid].t < wall);
	for (size_t k = lo ? lo - 1 : 0; k <= lo && k < l->n; k++) {
		int64_t d = l->wall0_ns + l->at[k].t - wall;
		d = d < 0 ? -d : d;
		if (d < best_d) {
			best_d = d;
			best = &l->at[k];
		}
	}
	return best;
}

/* Sums up a device. "Other processes" in the samples of the main recording includes the other
 * recordings, which are subtracted. */
static void sum_up(tide_joined_device *d, size_t k, const tide_ledger_at *told, size_t own)
{
	tide_joined_at *a = &d->at[k];
	const tide_ledger_at *p = &d->parts[k * d->n_parts];
	uint64_t all = 0, rest = 0;
	for (size_t i = 0; i < d->n_parts; i++) {
		all += held(&p[i]);
		rest += i == own ? 0 : held(&p[i]);
	}
	a->others = told->others == TIDE_LEDGER_UNKNOWN ? TIDE_LEDGER_UNKNOWN
		    : told->others > rest		? told->others - rest
							: 0;
	a->unexplained =
		a->used == TIDE_LEDGER_UNKNOWN
			? INT64_MIN
			: (int64_t)a->used - (int64_t)(all + known(a->others) + known(a->reserved));
	if (known(a->used) > known(d->at[d->highest].used))
		d->highest = k;
}

/* Returns the part whose NVML samples are used: the one with most of them. */
static const tide_ledger *main_part(const struct part *parts, size_t n, size_t *own)
{
	*own = 0;
	for (size_t i = 0; i < n; i++)
		if (parts[i].l->at[0].used != TIDE_LEDGER_UNKNOWN &&
		    (parts[*own].l->at[0].used == TIDE_LEDGER_UNKNOWN ||
		     parts[i].l->n > parts[*own].l->n))
			*own = i;
	return parts[*own].l;
}

static bool join(const struct part *parts, size_t n, tide_joined_device *d)
{
	size_t own;
	const tide_ledger *l = main_part(parts, n, &own);
	*d = (tide_joined_device){ .index = l->index,
				   .n = l->n,
				   .n_parts = n,
				   .at = tide__calloc(l->n, sizeof *d->at),
				   .parts = tide__calloc(l->n * n, sizeof *d->parts),
				   .recordings = tide__calloc(n, sizeof *d->recordings),
				   .pids = tide__calloc(n, sizeof *d->pids) };
	memcpy(d->name, l->name, sizeof d->name);
	if (!d->at || !d->parts || !d->recordings || !d->pids)
		return false;
	for (size_t i = 0; i < n; i++) {
		d->recordings[i] = parts[i].recording;
		d->pids[i] = parts[i].l->pid;
	}
	for (size_t k = 0; k < l->n; k++) {
		const tide_ledger_at *a = &l->at[k];
		d->at[k] = (tide_joined_at){ .wall_ns = l->wall0_ns + a->t,
					     .total = a->total,
					     .used = a->used,
					     .reserved = a->reserved };
		for (size_t i = 0; i < n; i++) {
			const tide_ledger_at *x = nearest(parts[i].l, d->at[k].wall_ns);
			if (x)
				d->parts[k * n + i] = *x;
		}
		sum_up(d, k, a, own);
	}
	return true;
}

/* Collects the parts of the device of l[i].v[d]; none if an earlier one is the same device. */
static bool parts_of(const tide_ledgers *l, size_t n, size_t i, size_t d, struct part **parts,
		     size_t *room, size_t *n_parts)
{
	*n_parts = 0;
	for (size_t k = 0; k < n; k++)
		for (size_t e = 0; e < l[k].n; e++) {
			if (strcmp(l[i].v[d].id, l[k].v[e].id) != 0 || !l[k].v[e].n)
				continue;
			if (k < i || (k == i && e < d)) {
				*n_parts = 0;
				return true;
			}
			if (!TIDE_ROOM(*parts, *room, *n_parts + 1))
				return false;
			(*parts)[(*n_parts)++] = (struct part){ k, &l[k].v[e] };
		}
	return true;
}

tide_code tide__join_ledgers(const tide_ledgers *l, size_t n, tide_joined *out, tide_error *err)
{
	size_t cap = 0, room = 0, n_parts = 0;
	struct part *parts = NULL;
	bool ok = true;
	memset(out, 0, sizeof *out);
	for (size_t i = 0; ok && i < n; i++)
		for (size_t d = 0; ok && d < l[i].n; d++) {
			ok = parts_of(l, n, i, d, &parts, &room, &n_parts);
			if (ok && n_parts)
				ok = TIDE_ROOM(out->v, cap, out->n + 1) &&
				     join(parts, n_parts, &out->v[out->n++]);
		}
	tide__free(parts);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__joined_free(tide_joined *j)
{
	for (size_t i = 0; i < j->n; i++) {
		tide__free(j->v[i].at);
		tide__free(j->v[i].parts);
		tide__free(j->v[i].recordings);
		tide__free(j->v[i].pids);
	}
	tide__free(j->v);
	memset(j, 0, sizeof *j);
}
