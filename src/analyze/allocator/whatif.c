// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/whatif.h"

#include "base/error.h"

static bool tried(const tide_whatif *x, const tide_sim_config *c)
{
	for (size_t i = 0; i < x->n; i++)
		if (tide__sim_config_equals(&x->tries[i], c))
			return true;
	return false;
}

static void add_try(tide_whatif *x, const tide_sim_config *c)
{
	if (c->gc_threshold > 0 && !x->capacity)
		x->gc_left_out = true;
	else if (x->n < TIDE_WHATIF_TRIES && !tried(x, c))
		x->tries[x->n++] = *c;
}

/* Adds one candidate: the recorded settings with all settings of `set`. */
static tide_code add_asked(const tide_whatif_query *q, tide_whatif *x, tide_error *err)
{
	tide_sim_config c = x->q->recorded;
	if (c.gc_threshold > 0 && !x->capacity) {
		c.gc_threshold = 0; /* recorded, but meaningless without a capacity */
		x->gc_left_out = true;
	}
	for (size_t i = 0; i < q->n_set; i++)
		if (tide__sim_parse(&c, q->set[i], err) != TIDE_OK)
			return TIDE_EUSAGE;
	if (c.gc_threshold > 0 && !x->capacity)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "garbage_collection_threshold is a fraction of the device's "
				  "memory, which is not in the trace: give --capacity");
	if (q->n_set)
		add_try(x, &c);
	return TIDE_OK;
}

static tide_code add_tries(const tide_whatif_query *q, tide_whatif *x, tide_error *err)
{
	add_try(x, &x->q->recorded);
	tide_code rc = add_asked(q, x, err);
	for (size_t i = 0; rc == TIDE_OK && q->standard && tide__sim_standard[i]; i++) {
		tide_sim_config c = tide__sim_defaults();
		if (tide__sim_parse(&c, tide__sim_standard[i], NULL) == TIDE_OK)
			add_try(x, &c);
	}
	return rc;
}

static tide_code find_reserved(tide_whatif *x, tide_error *err)
{
	tide_usage u;
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, 0, &u, err);

	if (rc != TIDE_OK)
		return rc;
	x->reserved = u.devices[x->device].reserved_peak;
	x->source = u.devices[x->device].source;
	tide__usage_free(&u);
	return TIDE_OK;
}

tide_code tide__whatif_find(const tide_model *m, const tide_whatif_query *q, tide_whatif *x,
			    tide_error *err)
{
	*x = (tide_whatif){ .m = m, .device = q->device };
	if (m->devices.kind[q->device] == TIDE_DEVICE_TT) /* banks, no caching allocator */
		return TIDE_OK;
	tide_code rc = tide__requests_new(m, (tide_device_id){ q->device }, &x->q, err);
	if (rc == TIDE_ENOTFOUND)
		return TIDE_OK;
	if (rc == TIDE_OK)
		rc = find_reserved(x, err);
	if (rc != TIDE_OK)
		return rc;
	x->capacity = q->capacity ? q->capacity : x->q->limit;
	rc = add_tries(q, x, err);
	if (rc == TIDE_OK)
		rc = tide__sim_sweep(x->q, x->tries, x->n, x->capacity, &x->sweep, err);
	return rc;
}

void tide__whatif_free(tide_whatif *x)
{
	tide__sweep_free(&x->sweep);
	tide__requests_free(x->q);
}

int64_t tide__whatif_time(const tide_whatif *x, const tide_request *r)
{
	if (r->kind == TIDE_REQ_OOM)
		return x->m->marks.t[r->id];
	return tide__memory_event_time(x->m, r->event);
}
