// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/predict/virtual_run.h"

#include <string.h>

#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"

bool tide__is_predicted(const tide_model *m)
{
	return tide__fact_find(m, "predicted.device") >= 0;
}

/* Finds where the program emptied the cache: the requests before which it did. */
static tide_code find_emptied(const tide_model *m, tide_requests *q)
{
	size_t cap = 0, i = 0;
	tide__free(q->empty);
	q->empty = NULL;
	q->n_empty = 0;
	for (uint32_t k = 1; k < m->marks.n; k++) {
		if (m->marks.kind[k] != TIDE_MARK_ANNOTATION ||
		    strcmp(tide__text(m, m->marks.name[k], NULL), "torch.cuda.empty_cache") != 0)
			continue;
		while (i < q->n && q->r[i].event < m->marks.position[k])
			i++;
		if (!TIDE_ROOM(q->empty, cap, q->n_empty + 1))
			return TIDE_ENOMEM;
		q->empty[q->n_empty++] = (uint32_t)i;
	}
	return TIDE_OK;
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
	c.capacity = r->capacity;
	rc = find_emptied(m, q);
	if (rc == TIDE_OK)
		rc = tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &sim);
	r->out = rc == TIDE_OK && sim.out;
	if (r->out) {
		r->out_alloc = q->r[sim.out_req].id;
		r->out_event = q->r[sim.out_req].event;
		r->out_reserved = sim.st.reserved;
		c.capacity = 0; /* and the bytes it would have reserved */
		rc = tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &sim);
	}
	if (rc != TIDE_OK) {
		tide__requests_free(q);
		return tide__nomem(err);
	}
	r->allocated = sim.st.allocated_peak;
	r->reserved = sim.st.reserved_peak;
	rc = tide__virtual_range(m, q, c, r->allocated, r->reserved, &r->range);
	tide__requests_free(q);
	return rc == TIDE_OK ? TIDE_OK : tide__nomem(err);
}

static tide_code at_peak(const tide_model *m, tide_virtual_run *r, tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__find_usage(m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK)
		rc = tide__live_set_at(m, u.devices[r->device].peak_position, r->device, TIDE_ANY,
				       &r->live, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &r->live, TIDE_BY_ROLE, &r->roles, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &r->live, TIDE_BY_MODULE, &r->modules, err);
	tide__usage_free(&u);
	return rc;
}

/* A program that was killed left no number of steps. */
static const char *unended(const tide_model *m)
{
	int64_t why = tide__fact_find(m, "predicted.unended");
	if (why >= 0)
		return tide__text(m, m->facts.text[why], NULL);
	return tide__fact_find(m, "predicted.steps") < 0 ? "it was killed" : NULL;
}

tide_code tide__virtual_run(const tide_model *m, uint32_t device, uint64_t capacity,
			    const tide_sim_config *settings, tide_virtual_run *out, tide_error *err)
{
	*out = (tide_virtual_run){ .device = device, .capacity = capacity, .unended = unended(m) };
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
	while (n < r->phases.n && i >= r->phases.phases[n].event1)
		n++;
	return n;
}
