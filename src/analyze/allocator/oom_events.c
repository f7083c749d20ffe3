// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/oom_events.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- in full ---- */

static tide_code try_settings(tide_oom_events *x, size_t i, tide_error *err)
{
	uint32_t mark = x->v[i].mark;
	tide_oom_trial_of *t = &x->tried[i];
	t->on = tide__oom_trial_get(&x->trials, x->m, mark, err);
	if (!t->on)
		return err->code ? err->code : TIDE_ENOMEM;
	t->index = tide__oom_index(t->on, mark);
	for (size_t k = 0; k < t->on->sweep.n; k++) {
		const tide_sim_result *r = &t->on->sweep.v[k];
		t->others += !r->same_settings;
		t->served += !r->same_settings && tide__oom_served(r, t->index);
	}
	return TIDE_OK;
}

static tide_code find_full(tide_oom_events *x, const tide_oom_query *q, const uint32_t *marks,
			   tide_error *err)
{
	tide_code rc = TIDE_OK;
	for (size_t i = 0; rc == TIDE_OK && i < x->n_full; i++) {
		x->n_v++;
		rc = tide__find_oom(x->m, marks[i], q->by, q->top, &x->v[i], err);
		if (rc == TIDE_OK && q->settings)
			rc = try_settings(x, i, err);
	}
	return rc;
}

/* ---- the others ---- */

struct others {
	tide_oom_events *x;
	size_t seen;
	bool list;
};

static void add_to_sum(tide_oom_sum *s, const tide_oom *o)
{
	if (!s->n || o->asked < s->least)
		s->least = o->asked;
	if (o->asked > s->most)
		s->most = o->asked;
	if (!s->n++)
		s->first = o->t;
	s->last = o->t;
}

static bool take_other(void *user, const tide_oom *o)
{
	struct others *y = user;
	tide_oom_events *x = y->x;
	if (y->seen++ < x->n_full)
		return true;
	uint32_t device = tide__oom_device(x->m, o->mark);
	add_to_sum(&x->sums[device * TIDE_OOM_CAUSES + o->cause], o);
	if (y->list)
		x->v[x->n_v++] = *o;
	return true;
}

static tide_code find_others(tide_oom_events *x, const tide_oom_query *q, tide_error *err)
{
	struct others y = { .x = x, .list = q->others == TIDE_OOM_LIST };
	x->sums = tide__calloc(x->m->devices.n * TIDE_OOM_CAUSES, sizeof *x->sums);
	if (!x->sums)
		return tide__nomem(err);
	return tide__find_ooms(x->m, q->device, take_other, &y, err);
}

/* ---- all ---- */

tide_code tide__oom_events_find(const tide_model *m, const tide_oom_query *q, tide_oom_events *out,
				tide_error *err)
{
	tide_error none = { .offset = TIDE_NO_OFFSET };
	uint32_t *marks = NULL;
	memset(out, 0, sizeof *out);
	out->m = m;
	err = err ? err : &none;
	tide_code rc = tide__oom_marks_find(m, q->device, &marks, &out->n, err);
	if (rc != TIDE_OK)
		return rc;
	out->n_full = out->n < q->full ? out->n : q->full;
	out->others_t = out->n > out->n_full ? m->marks.t[marks[out->n_full]] : 0;
	out->v = tide__calloc(q->others == TIDE_OOM_LIST ? out->n : out->n_full, sizeof *out->v);
	rc = out->v ? find_full(out, q, marks, err) : tide__nomem(err);
	if (rc == TIDE_OK && q->others != TIDE_OOM_COUNT && out->n > out->n_full)
		rc = find_others(out, q, err);
	tide__free(marks);
	return rc;
}

void tide__oom_events_free(tide_oom_events *x)
{
	for (size_t i = 0; i < x->n_v; i++)
		tide__oom_free(&x->v[i]);
	tide__free(x->v);
	tide__free(x->sums);
	tide__oom_trials_free(&x->trials);
}
