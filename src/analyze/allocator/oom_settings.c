// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/oom_settings.h"

uint32_t tide__oom_device(const tide_model *m, uint32_t mark)
{
	return m->pools.device[m->marks.pool[mark].i].i;
}

static tide_code try_settings(const tide_model *m, tide_oom_trial *t, tide_error *err)
{
	tide_code rc = tide__requests_new(m, (tide_device_id){ t->device }, &t->q, err);

	if (rc != TIDE_OK)
		return rc == TIDE_ENOTFOUND ? TIDE_OK : rc;
	if (!t->q->limit)
		return TIDE_OK; /* the capacity is unknown */
	return tide__sim_sweep_standard(t->q, &t->sweep, err);
}

const tide_oom_trial *tide__oom_trial_get(tide_oom_trials *all, const tide_model *m, uint32_t mark,
					  tide_error *err)
{
	uint32_t device = tide__oom_device(m, mark);
	tide_oom_trial *t = all->v;
	while (t < all->v + all->n && t->device != device)
		t++;
	if (t < all->v + all->n)
		return t;
	all->n++;
	t->device = device;
	return try_settings(m, t, err) == TIDE_OK ? t : NULL;
}

void tide__oom_trials_free(tide_oom_trials *all)
{
	for (size_t i = 0; i < all->n; i++) {
		tide__sweep_free(&all->v[i].sweep);
		tide__requests_free(all->v[i].q);
	}
}

/* Returns the index of a mark among the recorded out-of-memory requests of its device. */
size_t tide__oom_index(const tide_oom_trial *x, uint32_t mark)
{
	size_t k = 0;

	for (size_t i = 0; x->q && i < x->q->n; i++)
		if (x->q->r[i].kind == TIDE_REQ_OOM) {
			if (x->q->r[i].id == mark)
				return k;
			k++;
		}
	return TIDE_OOM_MOST_EVENTS;
}

bool tide__oom_served(const tide_sim_result *r, size_t k)
{
	return !r->out && k < TIDE_OOM_MOST_EVENTS && (r->oom_fit_mask >> k & 1);
}
