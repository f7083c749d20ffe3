// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/peak.h"

#include <string.h>

#include "analyze/live/relative.h"
#include "analyze/live/reserved.h"
#include "analyze/memory/stale.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

enum { SAVINGS = 64 }; /* groups whose saving is computed */

/* Returns ops, unless less than half of the bytes have one and more of them have a call stack. */
static tide_group_by default_by(const tide_peak *x)
{
	const tide_allocs *v = &x->m->allocs;
	uint64_t op = 0, stack = 0;
	bool any = false;
	for (size_t i = 0; i < x->alive.n; i++) {
		uint32_t row = x->alive.rows[i];
		any |= v->span[row].i || v->stack[row].i;
		op += v->span[row].i ? v->size[row] : 0;
		stack += v->stack[row].i ? v->size[row] : 0;
	}
	if (!any)
		return TIDE_BY_SIZE;
	return stack >= x->bytes / 2 + x->bytes % 2 || !op ? TIDE_BY_STACK : TIDE_BY_OP;
}

static tide_code find_reserved(tide_peak *x, tide_error *err)
{
	tide_reserved r;
	x->reserved = x->level->peak_reserved;
	if (!x->at.chosen || x->at.at_peak)
		return TIDE_OK;
	tide_code rc = tide__find_reserved(x->m, &r, err);
	if (rc != TIDE_OK)
		return rc;
	x->reserved = x->pool ? TIDE_RESERVED_NONE
			      : tide__reserved_at(&r, x->device, x->position, x->at.t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

static bool is_asked(const tide_peak *x, const char *name, uint32_t pool)
{
	const tide_model *m = x->m;
	return (x->device == TIDE_ANY || m->pools.device[pool].i == x->device) &&
	       (name ? !strcmp(tide__text(m, m->pools.name[pool], NULL), name)
		     : !tide__pool_in_device(m, pool));
}

/* Returns the pool of that name with the highest peak, the first of equals; without a name, of
 * those that count in no device. 0 = none. */
static uint32_t highest_pool(const tide_peak *x, const char *name)
{
	uint32_t best = 0;
	for (uint32_t p = 1; p < x->m->pools.n; p++)
		if (is_asked(x, name, p) &&
		    (!best || x->usage.pools[p].peak > x->usage.pools[best].peak))
			best = p;
	return best;
}

/* Chooses the memory: a pool if its name is given, else the device with the highest peak. */
static tide_code choose(tide_peak *x, const char *name, tide_error *err)
{
	uint32_t device = x->device == TIDE_ANY ? tide__usage_highest(&x->usage) : x->device;
	if (name || !x->usage.devices[device].allocs)
		x->pool = highest_pool(x, name);
	if (name && !x->pool)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "the trace has no pool '%.60s'; `tidemark info` lists pools",
				  name);
	x->device = x->pool ? x->m->pools.device[x->pool].i : device;
	x->level = x->pool ? &x->usage.pools[x->pool] : &x->usage.devices[x->device];
	return TIDE_OK;
}

static tide_code find_never_used(tide_peak *x, tide_error *err)
{
	tide_stale s;
	x->never_used = UINT64_MAX;
	if (!x->m->uses.n || x->pool || (x->at.chosen && !x->at.at_peak))
		return TIDE_OK;
	tide_code rc = tide__stale_find(x->m, x->device, TIDE_BY_OP, TIDE_NAMES_WHOLE, &s, err);
	if (rc == TIDE_OK && s.known)
		x->never_used = s.bytes[TIDE_IDLE_STALE];
	tide__stale_free(&s);
	return rc;
}

tide_code tide__peak_find(const tide_model *m, const tide_peak_query *q, tide_peak *x,
			  tide_error *err)
{
	static const char sizes[] = TIDE_RELATIVE_COUNTER;
	*x = (tide_peak){ .m = m, .device = q->device, .at = q->at };
	x->only_sizes = tide__strings_find(m->strings, sizes, sizeof sizes - 1);
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &x->usage, err);
	if (rc != TIDE_OK)
		return rc;
	rc = choose(x, q->pool, err);
	if (rc != TIDE_OK)
		return rc;
	x->known = x->level->allocs || tide__memory_known(m, x->device ? x->device : TIDE_ANY);
	uint32_t pool = x->pool ? x->pool : TIDE_ANY;
	x->position = x->at.chosen && !x->at.at_peak ? x->at.position : x->level->peak_position;
	rc = find_reserved(x, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__live_set_at(x->m, x->position, x->device, pool, &x->alive, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t i = 0; i < x->alive.n; i++) {
		x->bytes += x->m->allocs.size[x->alive.rows[i]];
		x->requested += x->m->allocs.requested[x->alive.rows[i]];
	}
	tide_group_by by = q->by == TIDE_PEAK_BEST ? default_by(x) : (tide_group_by)q->by;
	if (by == TIDE_BY_ROLE && tide__find_roles(x->m, &x->roles) != TIDE_OK)
		return tide__nomem(err);
	rc = tide__groups_find_in_roles(x->m, &x->alive, by, q->names, x->roles.role, &x->groups,
					err);
	if (rc == TIDE_OK && by != TIDE_BY_TENSOR && !(x->at.chosen && !x->at.at_peak))
		rc = tide__find_peak_savings(x->m, x->device, pool, &x->groups, SAVINGS,
					     &x->savings, &x->n_savings, err);
	return rc == TIDE_OK ? find_never_used(x, err) : rc;
}

void tide__peak_free(tide_peak *x)
{
	tide__usage_free(&x->usage);
	tide__live_set_free(&x->alive);
	tide__groups_free(&x->groups);
	tide__roles_free(&x->roles);
	tide__free(x->savings);
}
