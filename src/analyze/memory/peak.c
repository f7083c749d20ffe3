// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/peak.h"

#include "analyze/memory/relative.h"
#include "analyze/memory/reserved.h"
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
	x->reserved = x->usage.devices[x->device].peak_reserved;
	if (!x->at.chosen || x->at.at_peak)
		return TIDE_OK;
	tide_code rc = tide__find_reserved(x->m, &r, err);
	if (rc != TIDE_OK)
		return rc;
	x->reserved = tide__reserved_at(&r, x->device, x->position, x->at.t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

tide_code tide__peak_find(const tide_model *m, const tide_peak_query *q, tide_peak *x,
			  tide_error *err)
{
	const tide_level *l;
	static const char sizes[] = TIDE_RELATIVE_COUNTER;
	*x = (tide_peak){ .m = m, .device = q->device, .at = q->at };
	x->only_sizes = tide__strings_find(m->strings, sizes, sizeof sizes - 1);
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &x->usage, err);
	if (rc != TIDE_OK)
		return rc;
	if (x->device == TIDE_ANY)
		x->device = tide__usage_highest(&x->usage);
	l = &x->usage.devices[x->device];
	x->position = x->at.chosen && !x->at.at_peak ? x->at.position : l->peak_position;
	rc = find_reserved(x, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__live_set_at(x->m, x->position, x->device, TIDE_ANY, &x->alive, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t i = 0; i < x->alive.n; i++) {
		x->bytes += x->m->allocs.size[x->alive.rows[i]];
		x->requested += x->m->allocs.requested[x->alive.rows[i]];
	}
	tide_group_by by = q->by == TIDE_PEAK_BEST ? default_by(x) : (tide_group_by)q->by;
	if (by == TIDE_BY_ROLE && tide__find_roles(x->m, &x->roles) != TIDE_OK)
		return tide__nomem(err);
	rc = tide__groups_in_roles(x->m, &x->alive, by, x->roles.role, &x->groups, err);
	if (rc == TIDE_OK && by != TIDE_BY_TENSOR && !(x->at.chosen && !x->at.at_peak))
		rc = tide__find_peak_savings(x->m, x->device, &x->groups, SAVINGS, &x->savings,
					     &x->n_savings, err);
	return rc;
}

void tide__peak_free(tide_peak *x)
{
	tide__usage_free(&x->usage);
	tide__live_set_free(&x->alive);
	tide__groups_free(&x->groups);
	tide__roles_free(&x->roles);
	tide__free(x->savings);
}
