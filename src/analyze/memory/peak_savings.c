// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Savings by one sweep that tracks the live bytes and those of each group. */
#include "analyze/memory/peak_savings.h"

#include "base/error.h"
#include "base/mem.h"

#define NO_GROUP UINT32_MAX

struct sweep {
	uint32_t *group; /* per alloc: index below `n`, or NO_GROUP; NO_GROUP - 1 = other device */
	uint64_t *held;	 /* per group: live bytes now */
	uint64_t *high;	 /* per group: highest live bytes without it */
	uint64_t *position;
	size_t n;
	const tide_view_parts *parts; /* allocations that are split, borrowed */
	uint32_t *part;		      /* per part: its group */
};

#define ELSEWHERE (NO_GROUP - 1)

static bool assign_parts(const tide_model *m, tide_groups *g, struct sweep *s)
{
	for (size_t i = 0; i < g->parts.n; i++) {
		uint64_t key = tide__groups_view_key(g, m, g->parts.v[i].view);
		size_t row = key == UINT64_MAX ? SIZE_MAX : tide__groups_find(g, key);
		if (key == UINT64_MAX)
			return false;
		s->part[i] = row < s->n ? (uint32_t)row : NO_GROUP;
	}
	return true;
}

static bool is_on(const tide_model *m, uint32_t a, uint32_t device, uint32_t pool)
{
	uint32_t p = m->allocs.pool[a].i;
	if (pool != TIDE_ANY)
		return p == pool;
	return device == TIDE_ANY || (m->pools.device[p].i == device && tide__pool_in_device(m, p));
}

static bool assign(const tide_model *m, uint32_t device, uint32_t pool, tide_groups *g,
		   struct sweep *s)
{
	enum { SLOTS = 1024 }; /* keys repeat: the last result is checked first */
	struct {
		uint64_t key;
		uint32_t group;
	} found[SLOTS];

	for (uint64_t i = 0; i < SLOTS; i++) {
		found[i].key = i + 1; /* a key of another slot: absent */
		found[i].group = NO_GROUP;
	}
	for (uint32_t a = 1; a < m->allocs.n; a++) {
		if (!is_on(m, a, device, pool)) {
			s->group[a] = ELSEWHERE;
			continue;
		}
		uint64_t key = tide__groups_key(g, m, a), slot = key % SLOTS;

		if (key == UINT64_MAX)
			return false;
		if (found[slot].key != key) {
			size_t row = tide__groups_find(g, key);
			found[slot].key = key;
			found[slot].group = row < s->n ? (uint32_t)row : NO_GROUP;
		}
		s->group[a] = found[slot].group;
	}
	return true;
}

/* A rise is a series of allocations without a free between them. All values grow in it, so only its
 * end is compared: `last` is the position after the allocation that came last, `group` its group,
 * `other` the position after the last one of another group (0 = none in this rise), which is where
 * that group's own value last grew. */
struct rise {
	uint64_t live, last, other;
	uint32_t group;
};

/* Updates the highest values of groups with the live bytes at the end of a rise. Returns the lowest
 * of the highest values: live bytes below it change no group. */
static uint64_t raise(struct sweep *s, const struct rise *r)
{
	uint64_t least = UINT64_MAX;

	for (size_t k = 0; k < s->n; k++) {
		if (r->live - s->held[k] > s->high[k]) {
			s->high[k] = r->live - s->held[k];
			s->position[k] = k == r->group ? r->other : r->last;
		}
		least = s->high[k] < least ? s->high[k] : least;
	}
	return least;
}

/* Adds an allocation to the rise. */
static void climb(struct rise *r, uint32_t group, uint64_t size, uint64_t position)
{
	r->live += size;
	if (!size)
		return;
	if (group != r->group)
		r->other = r->last;
	r->group = group;
	r->last = position;
}

static void hold(struct sweep *s, uint32_t group, uint64_t bytes, bool born)
{
	if (group != NO_GROUP)
		s->held[group] += born ? bytes : -bytes;
}

/* Adds the allocation to its group or removes it, and its views to theirs. */
static void hold_all(const tide_model *m, struct sweep *s, uint32_t a, bool born)
{
	uint64_t rest = m->allocs.size[a];
	size_t n;
	const tide_view_part *v = tide__view_parts_of(s->parts, m, a, &n);
	for (size_t i = 0; i < n; i++) {
		hold(s, s->part[(size_t)(v - s->parts->v) + i], v[i].bytes, born);
		rest -= v[i].bytes;
	}
	hold(s, s->group[a], rest, born);
}

/* Ends a rise: before a free, at the end, and where an allocation is split between groups. */
static void end_rise(struct sweep *s, struct rise *r, uint64_t *peak, uint64_t *least)
{
	*peak = r->live > *peak ? r->live : *peak;
	if (r->last && r->live > *least)
		*least = raise(s, r);
	r->last = r->other = 0;
	r->group = NO_GROUP;
}

static void sweep_all(const tide_model *m, struct sweep *s, uint64_t *peak)
{
	uint64_t least = 0;
	struct rise r = { .group = NO_GROUP };

	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t a = tide__memory_event_life(m, i, &born), g = s->group[a];
		uint64_t size = m->allocs.size[a];

		if (!a || g == ELSEWHERE)
			continue;
		if (!born) {
			end_rise(s, &r, peak, &least);
			r.live -= size;
			hold_all(m, s, a, false);
			continue; /* no later value can be higher */
		}
		if (s->parts->n)
			end_rise(s, &r, peak, &least);
		climb(&r, s->parts->n ? NO_GROUP : g, size, i + 1);
		hold_all(m, s, a, true);
	}
	end_rise(s, &r, peak, &least);
}

tide_code tide__find_peak_savings(const tide_model *m, uint32_t device, uint32_t pool,
				  tide_groups *g, size_t top, tide_peak_saving **out, size_t *n,
				  tide_error *err)
{
	struct sweep s = { .n = g->n < top ? g->n : top, .parts = &g->parts };
	uint64_t peak = 0;
	bool ok;

	*out = tide__calloc(s.n, sizeof **out);
	*n = 0;
	s.group = tide__calloc(m->allocs.n + 1, sizeof *s.group);
	s.held = tide__calloc(s.n, sizeof *s.held);
	s.high = tide__calloc(s.n, sizeof *s.high);
	s.position = tide__calloc(s.n, sizeof *s.position);
	s.part = tide__calloc(g->parts.n + 1, sizeof *s.part);
	ok = *out && s.group && s.held && s.high && s.position && s.part &&
	     assign(m, device, pool, g, &s) && assign_parts(m, g, &s);
	if (ok) {
		sweep_all(m, &s, &peak);
		for (size_t i = 0; i < s.n; i++)
			(*out)[i] =
				(tide_peak_saving){ i, s.high[i], peak - s.high[i], s.position[i] };
		*n = s.n;
	} else {
		tide__free(*out);
		*out = NULL;
	}
	tide__free(s.group);
	tide__free(s.held);
	tide__free(s.high);
	tide__free(s.position);
	tide__free(s.part);
	return ok ? TIDE_OK : tide__nomem(err);
}
