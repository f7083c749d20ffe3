// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/virtual_run.h"

#include <stdlib.h>

#include "analyze/memory/usage.h"
#include "base/error.h"

bool tide__is_predicted(const tide_model *m)
{
	return tide__fact_find(m, "predicted.device") >= 0;
}

/* Replays the requests with `capacity` bytes. The first refused request ends the run. */
static tide_code simulate(const tide_model *m, const tide_sim_config *settings, tide_virtual_run *r,
			  tide_error *err)
{
	tide_requests *q = NULL;
	tide_sim_result sim;
	tide_sim_config c = settings ? *settings : tide__sim_defaults();
	tide_code rc = tide__requests_new(m, (tide_device_id){ r->device }, &q, err);
	if (rc != TIDE_OK)
		return rc;
	int64_t at = tide__fact_find(m, "predicted.cudnn");
	r->range = at < 0 ? 0 : strtoull(tide__text(m, m->facts.text[at], NULL), NULL, 10);
	c.capacity = r->capacity > r->range ? r->capacity - r->range : r->capacity;
	rc = tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &sim);
	r->allocated = sim.st.allocated_peak;
	r->reserved = sim.st.reserved_peak;
	r->out = rc == TIDE_OK && sim.out;
	if (r->out) {
		r->out_alloc = q->r[sim.out_req].id;
		r->out_move = q->r[sim.out_req].move;
		r->out_reserved = sim.st.reserved;
		c.capacity = 0; /* and how much it would have wanted */
		rc = tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &sim);
		r->allocated = sim.st.allocated_peak;
		r->reserved = sim.st.reserved_peak;
	}
	r->reserved += r->range;
	tide__requests_free(q);
	return rc == TIDE_OK ? TIDE_OK : tide__nomem(err);
}

static tide_code at_peak(const tide_model *m, tide_virtual_run *r, tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__find_usage(m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK)
		rc = tide__live_set_at(m, u.devices[r->device].peak_cut, r->device, TIDE_ANY,
				       &r->live, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &r->live, TIDE_BY_ROLE, &r->roles, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &r->live, TIDE_BY_MODULE, &r->modules, err);
	tide__usage_free(&u);
	return rc;
}

tide_code tide__virtual_run(const tide_model *m, uint32_t device, uint64_t capacity,
			    const tide_sim_config *settings, tide_virtual_run *out, tide_error *err)
{
	*out = (tide_virtual_run){ .device = device, .capacity = capacity };
	tide_code rc = tide__find_phases(m, &out->phases, err);
	if (rc == TIDE_OK)
		rc = simulate(m, settings, out, err);
	if (rc == TIDE_OK)
		rc = at_peak(m, out, err);
	const tide_phases *p = &out->phases;
	while (out->scope < p->n_scopes && (p->scopes[out->scope].kind != TIDE_SCOPE_MAIN ||
					    p->scopes[out->scope].device != device))
		out->scope++;
	if (rc == TIDE_OK && out->scope == p->n_scopes)
		rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				"no allocations on that device");
	return rc;
}

void tide__virtual_run_free(tide_virtual_run *r)
{
	tide__phases_free(&r->phases);
	tide__live_set_free(&r->live);
	tide__groups_free(&r->roles);
	tide__groups_free(&r->modules);
	*r = (tide_virtual_run){ 0 };
}

size_t tide__virtual_phase(const tide_virtual_run *r, uint64_t i)
{
	size_t n = 0;
	while (n < r->phases.n && i >= r->phases.phases[n].move1)
		n++;
	return n;
}
