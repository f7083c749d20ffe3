// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the sizes of a recording by role: the highest bytes of each role, and its bytes at the
 * peak. */
#include <string.h>

#include "analyze/live/live_set.h"
#include "analyze/memory/roles.h"
#include "analyze/ops/modules.h"
#include "analyze/predict/training_sizes.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"

enum { ROLES = TIDE_ROLE_WORKSPACE + 1 };

struct held { /* bytes by role */
	int64_t now[ROLES], most[ROLES], at_peak[ROLES];
	int64_t all, peak;
	uint64_t peak_at; /* memory events up to the peak */
};

/* Role of a part; the other roles are TIDE_PART_OTHER. */
static const uint8_t part_roles[TIDE_PARTS_N] = { [TIDE_PART_MODEL] = TIDE_ROLE_PARAMETER,
						  [TIDE_PART_GRADIENTS] = TIDE_ROLE_GRADIENT,
						  [TIDE_PART_OPTIMIZER] = TIDE_ROLE_OPTIMIZER,
						  [TIDE_PART_ACTIVATIONS] = TIDE_ROLE_ACTIVATION };

static bool counted(const tide_model *m, uint32_t row, uint32_t device)
{
	uint32_t pool = m->allocs.pool[row].i;
	return m->pools.device[pool].i == device && !tide__pool_is_l1(m, pool);
}

static void sweep(const tide_model *m, const tide_roles *roles, uint32_t device, struct held *h)
{
	for (uint64_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t row = tide__memory_event_life(m, i, &born);
		if (!row || !counted(m, row, device))
			continue;
		uint8_t role = roles->role[row] < ROLES ? roles->role[row] : TIDE_ROLE_UNKNOWN;
		int64_t size = (int64_t)m->allocs.size[row];
		h->now[role] += born ? size : -size;
		h->all += born ? size : -size;
		if (h->now[role] > h->most[role])
			h->most[role] = h->now[role];
		if (h->all > h->peak) {
			h->peak = h->all;
			h->peak_at = i + 1;
			memcpy(h->at_peak, h->now, sizeof h->now);
		}
	}
}

/* Returns the number of elements of all described parameters; 0 = none is described. */
static uint64_t count_parameters(const tide_model *m, uint32_t device)
{
	uint64_t sum = 0;
	for (uint32_t i = 1; i < m->tensors.n; i++) {
		uint32_t row = m->tensors.alloc[i].i;
		uint64_t n = 1;
		if (m->tensors.role[i] != TIDE_ROLE_PARAMETER || !row || !counted(m, row, device) ||
		    m->allocs.died[row] != TIDE_T_NEVER)
			continue;
		for (uint32_t d = 0; d < m->tensors.ndim[i]; d++)
			n *= m->dims[m->tensors.dims[i] + d];
		sum += n <= m->allocs.size[row] * 8 ? n : 0;
	}
	return sum;
}

/* ---- the summary ---- */

static void fill_row(tide_phase_row *r, const tide_phase_level *l)
{
	const int64_t v[] = { [TIDE_FIGURE_SEGMENT_PEAK] = (int64_t)l->segment_peak,
			      [TIDE_FIGURE_ALLOCATIONS] = (int64_t)l->alloc_bytes,
			      [TIDE_FIGURE_DEALLOCATIONS] = (int64_t)l->free_bytes,
			      [TIDE_FIGURE_CHANGE] = l->change,
			      [TIDE_FIGURE_PEAK] = (int64_t)l->peak,
			      [TIDE_FIGURE_CURRENT] = (int64_t)l->current };
	for (size_t f = 0; f < sizeof v / sizeof *v; f++) {
		r->bytes[f] = v[f];
		r->known |= 1u << f;
	}
}

static bool add_rows(const tide_model *m, const tide_phases *p, size_t scope, tide_phase_summary *s)
{
	for (size_t n = 0; n < p->n; n++) {
		const tide_phase_level *l = &p->levels[n * p->n_scopes + scope];
		size_t len = 0;
		const char *name = tide__text(m, p->phases[n].name, &len);
		tide_phase_row *r = tide__phase_row_add(s, name, len);
		if (!r)
			return false;
		r->number = (uint32_t)n + 1;
		fill_row(r, l);
		s->overall = (int64_t)l->peak;
		s->final = (int64_t)l->current;
	}
	s->has_overall = s->whole = true;
	return true;
}

static tide_code add_summary(const tide_model *m, uint32_t device, const char *title,
			     tide_phase_summaries *all, tide_error *err)
{
	tide_phases p = { 0 };
	tide_phase_summary *s = NULL;
	tide_code rc = tide__find_phases(m, &p, err);
	size_t k = 0;
	while (k < p.n_scopes &&
	       !(p.scopes[k].kind == TIDE_SCOPE_MAIN && p.scopes[k].device == device))
		k++;
	if (rc == TIDE_OK && k == p.n_scopes)
		rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				"no allocations on that device");
	if (rc == TIDE_OK &&
	    (!(s = tide__phase_summary_add(all, title, "DRAM", "")) || !add_rows(m, &p, k, s)))
		rc = tide__nomem(err);
	if (s && rc == TIDE_OK) {
		s->capacity = m->devices.capacity[device];
		s->parameters = count_parameters(m, device);
	}
	tide__phases_free(&p);
	return rc;
}

/* ---- sizes by role ---- */

static tide_maybe_bytes some(int64_t bytes)
{
	return (tide_maybe_bytes){ bytes > 0, bytes };
}

/* Returns the bytes of a role at the peak; unknown if no allocation has the role and some bytes
 * have no role, because they may belong to it. */
static tide_maybe_bytes at_peak(const struct held *h, uint8_t role)
{
	return (tide_maybe_bytes){ h->most[role] > 0 || !h->at_peak[TIDE_ROLE_UNKNOWN],
				   h->at_peak[role] };
}

static void by_role(const struct held *h, bool theory, tide_training_sizes *t)
{
	int64_t sum = 0;
	t->from_roles = true;
	for (int p = TIDE_PART_MODEL; p < TIDE_PARTS_N; p++) {
		bool named = theory && t->expected[p].known &&
			     (p == TIDE_PART_MODEL || p == TIDE_PART_OPTIMIZER);
		t->actual[p] = some(h->most[part_roles[p]]);
		t->part[p] = named ? t->expected[p] : at_peak(h, part_roles[p]);
		sum += t->part[p].bytes;
	}
	t->part[TIDE_PART_OTHER] = (tide_maybe_bytes){ true, t->peak - sum };
	t->kv = some(h->most[TIDE_ROLE_KV_CACHE]);
}

/* ---- tensors at the peak ---- */

static tide_training_part part_of(uint8_t role)
{
	for (int p = TIDE_PART_MODEL; p < TIDE_PARTS_N; p++)
		if (part_roles[p] == role)
			return (tide_training_part)p;
	return TIDE_PART_OTHER;
}

/* Inserts an allocation if it is among the largest; rows[i] is that of largest[i]. */
static void insert(tide_part_tensors *t, uint32_t *rows, uint32_t row, int64_t bytes)
{
	size_t kept = t->n < TIDE_PART_TENSORS ? t->n : TIDE_PART_TENSORS, i = kept;
	t->n++;
	while (i && t->largest[i - 1].bytes < bytes)
		i--;
	if (i == TIDE_PART_TENSORS)
		return;
	size_t behind = (kept < TIDE_PART_TENSORS ? kept : TIDE_PART_TENSORS - 1) - i;
	memmove(&t->largest[i + 1], &t->largest[i], behind * sizeof *t->largest);
	memmove(&rows[i + 1], &rows[i], behind * sizeof *rows);
	t->largest[i].bytes = bytes;
	rows[i] = row;
}

static void copy(char *to, size_t room, const char *from)
{
	size_t n = strnlen(from, room - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

static void name(const tide_model *m, const tide_modules *modules, uint32_t row,
		 tide_part_tensor *t)
{
	uint32_t span = m->allocs.span[row].i;
	if (span)
		copy(t->op, sizeof t->op, tide__text(m, m->spans.name[span], NULL));
	if (span && modules->of[span].i)
		copy(t->module, sizeof t->module, tide__module_text(m, modules->of[span]));
	for (uint32_t i = 1; i < m->tensors.n; i++)
		if (m->tensors.alloc[i].i == row && m->tensors.name[i].i)
			copy(t->name, sizeof t->name, tide__text(m, m->tensors.name[i], NULL));
}

static tide_code find_tensors(const tide_model *m, const tide_roles *roles, uint32_t device,
			      uint64_t position, tide_training_sizes *out, tide_error *err)
{
	uint32_t rows[TIDE_PARTS_N][TIDE_PART_TENSORS] = { 0 };
	tide_live_set alive = { 0 };
	tide_modules modules = { 0 };
	tide_code rc = tide__live_set_at(m, position, device, TIDE_ANY, &alive, err);
	out->tensors = tide__calloc(TIDE_PARTS_N, sizeof *out->tensors);
	if (rc == TIDE_OK && !out->tensors)
		rc = tide__nomem(err);
	if (rc == TIDE_OK)
		rc = tide__modules_find_of_spans(m, &modules, err);
	for (size_t i = 0; rc == TIDE_OK && i < alive.n; i++) {
		uint32_t row = alive.rows[i];
		tide_training_part p = part_of(roles->role[row]);
		if (counted(m, row, device))
			insert(&out->tensors[p], rows[p], row, (int64_t)m->allocs.size[row]);
	}
	for (int p = 0; rc == TIDE_OK && p < TIDE_PARTS_N; p++)
		for (size_t i = 0; i < TIDE_PART_TENSORS && rows[p][i]; i++)
			name(m, &modules, rows[p][i], &out->tensors[p].largest[i]);
	tide__modules_free(&modules);
	tide__live_set_free(&alive);
	return rc;
}

static tide_code reserved_peak(const tide_model *m, uint32_t device, tide_training_sizes *t,
			       tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__find_usage(m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK && u.devices[device].reserved_peak != TIDE_RESERVED_NONE)
		t->reserved = some((int64_t)u.devices[device].reserved_peak);
	tide__usage_free(&u);
	return rc;
}

tide_code tide__training_sizes_find_recorded(const tide_model *m, uint32_t device,
					     const char *title, const tide_sizes_options *o,
					     tide_phase_summaries *all, tide_training_sizes *out,
					     tide_error *err)
{
	tide_roles roles = { 0 };
	struct held h = { 0 };
	*out = (tide_training_sizes){ 0 };
	tide_code rc = add_summary(m, device, title, all, err);
	if (rc == TIDE_OK)
		rc = tide__training_sizes_find(&all->v[all->n - 1], o, out, err);
	if (rc == TIDE_OK && (rc = tide__find_roles(m, &roles)) != TIDE_OK)
		rc = tide__nomem(err);
	if (rc == TIDE_OK) {
		sweep(m, &roles, device, &h);
		bool theory = o->model.known || o->optimizer.known || o->bytes_per_param > 0;
		by_role(&h, theory && !o->actual, out);
		rc = find_tensors(m, &roles, device, h.peak_at, out, err);
	}
	if (rc == TIDE_OK)
		rc = reserved_peak(m, device, out, err);
	if (rc != TIDE_OK)
		tide__training_sizes_free(out);
	tide__roles_free(&roles);
	return rc;
}
