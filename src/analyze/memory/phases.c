// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One sweep over the memory events. Each pool belongs to three scopes (itself, its device's part,
 * that device's L1 or the total), so an event costs three updates. */
#include "analyze/memory/phases.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

enum { MAX_DEPTH = 4096 };     /* spans around an annotation that are examined */
enum { MAX_LEVELS = 1 << 24 }; /* phases × scopes: about 1.4 GB of results */

struct sweep {
	const tide_model *m;
	tide_phases *p;
	uint64_t *start; /* scope -> use at the phase's start */
};

static bool is_cb(const tide_model *m, uint32_t pool)
{
	const char *name = tide__text(m, m->pools.name[pool], NULL);
	return !strcmp(name, "CB") || !strcmp(name, "L1_CB");
}

/* Dataflow buffers and scratchpads are neither circular buffers nor buffers: they count in the
 * whole L1 only. */
static bool is_scratch(const tide_model *m, uint32_t pool)
{
	return !strcmp(tide__text(m, m->pools.name[pool], NULL), "SCRATCH");
}

/* ---- phases ---- */

/* Returns the kind of the marks that divide the trace: checkpoints if it has no phases. */
static uint8_t dividing_kind(const tide_model *m)
{
	for (uint32_t k = 1; k < m->marks.n; k++)
		if (m->marks.kind[k] == TIDE_MARK_PHASE)
			return TIDE_MARK_PHASE;
	return TIDE_MARK_CHECKPOINT;
}

static void cut_phases(const tide_model *m, tide_phases *p)
{
	uint64_t from = 0;
	int64_t t0 = 0;
	uint8_t kind = dividing_kind(m);
	for (uint32_t k = 1; k < m->marks.n; k++) {
		if (m->marks.kind[k] != kind)
			continue;
		p->phases[p->n++] = (tide_phase){ k,	m->marks.name[k],     t0, m->marks.t[k],
						  from, m->marks.position[k], 1 };
		from = m->marks.position[k];
		t0 = m->marks.t[k];
	}
	if (from < m->memory_events.n || !p->n)
		p->phases[p->n++] =
			(tide_phase){ 0, { 0 }, t0, m->t_end, from, m->memory_events.n, 1 };
}

/* Recordings have one category for all ops. A range that the program named is an outermost span
 * that is not an op of the framework ("aten::mm"), a module or an optimizer's step. */
static bool is_named_range(const tide_model *m, uint32_t s)
{
	const char *name = tide__text(m, m->spans.name[s], NULL);
	return m->spans.cat[s] == TIDE_CAT_OP && !m->spans.parent[s].i && *name && m->format &&
	       !strcmp(m->format, "tide") && !strstr(name, "::") &&
	       strncmp(name, "nn.Module: ", 11) != 0 && strncmp(name, "Optimizer.", 10) != 0;
}

static bool is_annotation(const tide_model *m, uint32_t s)
{
	if (m->spans.cat[s] != TIDE_CAT_USER)
		return is_named_range(m, s);
	unsigned depth = 0;
	for (uint32_t up = m->spans.parent[s].i; up; up = m->spans.parent[up].i)
		if (m->spans.cat[up] == TIDE_CAT_USER || ++depth > MAX_DEPTH)
			return false;
	return true;
}

/* Ends a phase with the events up to `to`; events before it become a phase without a name. */
static void cut_until(const tide_model *m, tide_phases *p, uint64_t *from, int64_t *t, int64_t t1,
		      tide_str name)
{
	uint64_t to = t1 >= m->t_end ? m->memory_events.n : tide__memory_event_from(m, t1);
	if (to < *from)
		to = *from;
	if (name.i || to > *from)
		p->phases[p->n++] = (tide_phase){ 0, name, *t, t1, *from, to, 1 };
	*from = to;
	*t = t1;
}

static void cut_annotations(const tide_model *m, tide_phases *p)
{
	uint64_t from = 0;
	int64_t t = 0;
	for (uint32_t s = 1; s < m->spans.n; s++) {
		if (!is_annotation(m, s) || m->spans.t1[s] <= t)
			continue;
		if (m->spans.t0[s] > t)
			cut_until(m, p, &from, &t, m->spans.t0[s], (tide_str){ 0 });
		cut_until(m, p, &from, &t, m->spans.t1[s], m->spans.name[s]);
	}
	if (from < m->memory_events.n)
		cut_until(m, p, &from, &t, m->t_end, (tide_str){ 0 });
}

/* ---- scopes ---- */

struct parts { /* of one device: how many pools, then scope + 1 */
	uint32_t of[TIDE_SCOPE_TOTAL];
};

/* Returns the scope of `kind` that pool k belongs to beside its own. */
static tide_scope_kind part_of(const tide_model *m, uint32_t k)
{
	return !tide__pool_is_l1(m, k) ? TIDE_SCOPE_MAIN
	       : is_cb(m, k)	       ? TIDE_SCOPE_L1_CB
	       : is_scratch(m, k)      ? TIDE_SCOPE_L1
				       : TIDE_SCOPE_L1_BUFFER;
}

/* Returns true if it is the only main memory of its device. */
static bool sole_pool(const tide_model *m, uint32_t pool)
{
	if (part_of(m, pool) != TIDE_SCOPE_MAIN)
		return false;
	for (uint32_t k = 1; k < m->pools.n; k++)
		if (k != pool && m->pools.device[k].i == m->pools.device[pool].i &&
		    part_of(m, k) == TIDE_SCOPE_MAIN)
			return false;
	return true;
}

bool tide__scope_has(const tide_model *m, const tide_scope *s, uint32_t pool)
{
	if (s->kind == TIDE_SCOPE_POOL)
		return pool == s->pool;
	if (s->kind != TIDE_SCOPE_TOTAL && m->pools.device[pool].i != s->device)
		return false;
	tide_scope_kind part = part_of(m, pool);
	if (s->kind == TIDE_SCOPE_TOTAL)
		return part == TIDE_SCOPE_MAIN;
	return part == s->kind || (s->kind == TIDE_SCOPE_L1 && part != TIDE_SCOPE_MAIN);
}

/* Uses the device's own capacity for its main memory; otherwise all pools must have one. */
uint64_t tide__scope_limit(const tide_model *m, const tide_scope *s)
{
	uint64_t sum = 0;
	if (s->kind == TIDE_SCOPE_TOTAL)
		return 0;
	if (s->kind == TIDE_SCOPE_MAIN && m->devices.capacity[s->device])
		return m->devices.capacity[s->device];
	for (uint32_t k = 1; k < m->pools.n; k++) {
		if (!tide__scope_has(m, s, k))
			continue;
		uint64_t more = m->pools.capacity[k];
		if (!more && s->pools == 1 && s->kind == TIDE_SCOPE_POOL)
			more = sole_pool(m, k) ? m->devices.capacity[m->pools.device[k].i] : 0;
		if (!more || sum + more < sum)
			return 0;
		sum += more;
	}
	return sum;
}

static uint32_t add_scope(tide_phases *p, tide_scope_kind kind, uint32_t device, uint32_t pool,
			  uint32_t pools)
{
	p->scopes[p->n_scopes++] = (tide_scope){ kind, device, pool, pools };
	return (uint32_t)p->n_scopes;
}

static void touched_pools(const tide_model *m, bool *touched)
{
	for (uint32_t i = 1; i < m->allocs.n; i++)
		touched[m->allocs.pool[i].i] = true;
}

/* Pools first, then device by device, then the total: the order of the report. */
static void make_scopes(struct sweep *s, const bool *touched, struct parts *parts)
{
	const tide_model *m = s->m;
	uint32_t main = 0;
	for (uint32_t k = 0; k < m->pools.n; k++) {
		uint32_t d = m->pools.device[k].i;
		if (!touched[k])
			continue;
		s->p->of[k][0] = add_scope(s->p, TIDE_SCOPE_POOL, d, k, 1);
		tide_scope_kind part = part_of(m, k);
		parts[d].of[part]++;
		parts[d].of[TIDE_SCOPE_L1] += tide__pool_is_l1(m, k) && part != TIDE_SCOPE_L1;
		main += !tide__pool_is_l1(m, k);
	}
	for (uint32_t d = 0; d < m->devices.n; d++)
		for (int kind = TIDE_SCOPE_MAIN; kind <= TIDE_SCOPE_L1; kind++)
			if (parts[d].of[kind])
				parts[d].of[kind] = add_scope(s->p, (tide_scope_kind)kind, d, 0,
							      parts[d].of[kind]);
	uint32_t total = main ? add_scope(s->p, TIDE_SCOPE_TOTAL, 0, 0, main) : 0;
	for (uint32_t k = 0; k < m->pools.n; k++) {
		const uint32_t *of = parts[m->pools.device[k].i].of;
		if (!touched[k])
			continue;
		s->p->of[k][1] = part_of(m, k) == TIDE_SCOPE_L1 ? 0 : of[part_of(m, k)];
		s->p->of[k][2] = tide__pool_is_l1(m, k) ? of[TIDE_SCOPE_L1] : total;
	}
}

/* ---- the sweep ---- */

static void one(struct sweep *s, tide_phase_level *l, uint32_t scope, uint32_t row, unsigned kind)
{
	uint64_t size = s->m->allocs.size[row];
	if (kind == TIDE_MEMORY_FREE) {
		l->frees++;
		l->free_bytes += size;
		l->current -= size;
		return;
	}
	l->allocs++;
	l->alloc_bytes += size;
	l->current += size;
	if (s->m->allocs.flags[row] & TIDE_ALLOC_BEFORE)
		l->before_bytes += size;
	if (l->current > l->top) {
		l->top = l->current;
		l->segment_peak = l->top - s->start[scope];
	}
}

static void run_phase(struct sweep *s, size_t n)
{
	const tide_model *m = s->m;
	const tide_phase *ph = &s->p->phases[n];
	tide_phase_level *l = s->p->levels + n * s->p->n_scopes;
	for (size_t k = 0; k < s->p->n_scopes; k++) {
		s->start[k] = n ? l[k - s->p->n_scopes].current : 0;
		l[k].current = l[k].top = s->start[k];
	}
	for (uint64_t i = ph->event0; i < ph->event1; i++) {
		bool born;
		uint32_t row = tide__memory_event_life(m, i, &born);
		if (!row)
			continue;
		const uint32_t *of = s->p->of[m->allocs.pool[row].i];
		for (int k = 0; k < TIDE_SCOPES_A_POOL; k++)
			if (of[k])
				one(s, &l[of[k] - 1], of[k] - 1, row,
				    born ? TIDE_MEMORY_ALLOC : TIDE_MEMORY_FREE);
	}
	for (size_t k = 0; k < s->p->n_scopes; k++) {
		uint64_t before = n ? l[k - s->p->n_scopes].peak : 0;
		l[k].change = (int64_t)(l[k].alloc_bytes - l[k].free_bytes);
		l[k].peak = l[k].top > before ? l[k].top : before;
	}
}

static tide_code run(struct sweep *s, tide_error *err)
{
	tide_phases *p = s->p;
	if (p->n_scopes && p->n > MAX_LEVELS / p->n_scopes)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "%zu phases of %zu pools and devices are too many to tabulate",
				  p->n, p->n_scopes);
	p->levels = tide__calloc(p->n, p->n_scopes * sizeof *p->levels);
	s->start = tide__calloc(p->n_scopes, sizeof *s->start);
	if (!p->levels || !s->start)
		return tide__nomem(err);
	for (size_t n = 0; n < p->n; n++)
		run_phase(s, n);
	return TIDE_OK;
}

static tide_code find(const tide_model *m, bool annotations, tide_phases *out, tide_error *err)
{
	*out = (tide_phases){ 0 };
	struct sweep s = { .m = m, .p = out };
	bool *touched = tide__calloc(m->pools.n, sizeof *touched);
	struct parts *parts = tide__calloc(m->devices.n, sizeof *parts);
	size_t most = annotations ? 1 : m->marks.n + 1;
	for (uint32_t k = 1; annotations && k < m->spans.n; k++)
		most += is_annotation(m, k) ? 2 : 0;
	out->phases = tide__calloc(most, sizeof *out->phases);
	out->scopes = tide__calloc(m->pools.n * 4 + 1, sizeof *out->scopes);
	out->of = tide__calloc(m->pools.n, sizeof *out->of);
	tide_code rc = TIDE_OK;
	if (touched && parts && out->phases && out->scopes && out->of) {
		annotations ? cut_annotations(m, out) : cut_phases(m, out);
		touched_pools(m, touched);
		make_scopes(&s, touched, parts);
		rc = run(&s, err);
	} else {
		rc = tide__nomem(err);
	}
	tide__free(touched);
	tide__free(parts);
	tide__free(s.start);
	return rc;
}

tide_code tide__find_phases(const tide_model *m, tide_phases *out, tide_error *err)
{
	return find(m, false, out, err);
}

tide_code tide__phases_find_by_annotation(const tide_model *m, tide_phases *out, tide_error *err)
{
	uint32_t s = 1;
	*out = (tide_phases){ 0 };
	while (s < m->spans.n && !is_annotation(m, s))
		s++;
	if (s >= m->spans.n)
		return tide__fail(
			err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			"no annotations: --by annotation needs ranges of record_function or NVTX");
	return find(m, true, out, err);
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void join_level(tide_phase_level *to, const tide_phase_level *l)
{
	to->alloc_bytes += l->alloc_bytes;
	to->free_bytes += l->free_bytes;
	to->allocs += l->allocs;
	to->frees += l->frees;
	to->before_bytes += l->before_bytes;
	to->change += l->change;
	to->segment_peak = highest(to->segment_peak, l->segment_peak);
	to->peak = highest(to->peak, l->peak);
	to->top = highest(to->top, l->top);
	to->current = l->current;
}

bool tide__phases_join(tide_phases *p)
{
	tide_map of = { 0 }; /* name + 1 -> its phase + 1 */
	size_t n = 0;
	bool ok = p->n < UINT32_MAX;
	for (size_t i = 0; ok && i < p->n; i++) /* first, so that a failure changes nothing */
		ok = tide__map_put(&of, (uint64_t)p->phases[i].name.i + 1, UINT32_MAX);
	for (size_t i = 0; ok && i < p->n; i++) {
		uint64_t key = (uint64_t)p->phases[i].name.i + 1;
		uint32_t at = tide__map_get(&of, key);
		const tide_phase_level *from = p->levels + i * p->n_scopes;
		if (at == UINT32_MAX) {
			p->phases[n] = p->phases[i];
			memmove(p->levels + n * p->n_scopes, from, p->n_scopes * sizeof *from);
			/* the key exists: this allocates nothing */
			(void)tide__map_put(&of, key, (uint32_t)++n);
			p->last = n - 1;
			continue;
		}
		p->last = at - 1;
		p->phases[at - 1].t1 = p->phases[i].t1;
		p->phases[at - 1].count++;
		for (size_t k = 0; k < p->n_scopes; k++)
			join_level(&p->levels[(at - 1) * p->n_scopes + k], &from[k]);
	}
	tide__map_free(&of);
	p->n = ok ? n : p->n;
	p->summed = ok;
	return ok;
}

void tide__phases_free(tide_phases *p)
{
	tide__free(p->phases);
	tide__free(p->scopes);
	tide__free(p->levels);
	tide__free(p->of);
	*p = (tide_phases){ 0 };
}

uint64_t tide__phase_life_events(const tide_model *m, const tide_phase *p, const uint8_t *drop)
{
	uint64_t n = 0;
	for (uint64_t i = p->event0; i < p->event1; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(m, i, &made);
		n += row && !(drop && drop[row]);
	}
	return n;
}

size_t tide__phases_capture(const tide_model *m, const tide_phases *p)
{
	for (size_t n = p->summed ? 0 : p->n; n-- > 1;)
		if (p->phases[n].name.i &&
		    !strcmp(tide__text(m, p->phases[n].name, NULL), TIDE_BEFORE_CAPTURE))
			return n;
	return 0;
}
