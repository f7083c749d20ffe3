// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over uses finds the history of each allocation; a second one its state at the peak; a
 * sweep over events and absences finds what the peak would be.
 *
 * The clock of all rules is the number of uses so far: it does not depend on the machine, and runs
 * also in a recording of a program that never ran. */
#include "analyze/memory/stale.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/step_boundaries.h"
#include "analyze/memory/holders.h"
#include "analyze/memory/roles.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

#define NONE SIZE_MAX

enum {
	GRACE = 8, /* uses by other ops that pass before an allocation counts as idle: an engine
		     * holds the inputs of an op for a moment */
};

/* The history of one allocation; times are indexes of uses. */
struct life {
	size_t born, end;     /* uses before its birth, before its end */
	size_t first, before; /* its first use; its last use before the peak; NONE = none */
	size_t after;	      /* its first use after the peak */
	size_t last;
	size_t gap;    /* longest time without a use, its birth counts as one */
	uint32_t step; /* step of the last use */
	bool several;  /* it was used in more than one step */
	bool listed;   /* in the peak's live set */
};

struct work {
	const tide_model *m;
	tide_stale *x;
	struct life *v; /* owned: per alloc */
	tide_step_boundaries steps;
	tide_roles roles;
	tide_holder_names holders;
	size_t step;	 /* uses of one step; 0 = no steps are known */
	uint64_t until;	 /* position from which on uses are not recorded; UINT64_MAX = none */
	uint32_t *group; /* owned: per alloc its group in the part at hand */
};

/* ---- what is known ---- */

static bool has_fact(const tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	return at >= 0 && (tide__fact_is_text(m, (size_t)at) || m->facts.number[at] > 0);
}

/* Returns whether the uses of this trace are known completely; else the reason. */
static bool uses_known(const tide_model *m, const char **why, const char **detail)
{
	static const char *const losses[] = { "loss.events",	    "loss.missing_events",
					      "loss.missing_slots", "loss.gap_at",
					      "loss.paused",	    "loss.unread_records",
					      "loss.truncated_at",  "loss.corrupt_at" };
	int64_t unseen = tide__fact_find(m, "uses.unseen");
	*detail = "";
	if (!m->uses.n) {
		*why = m->format && !strcmp(m->format, "tide")
			       ? "it was recorded without ops, or by an older version"
			       : "this format does not say which ops use which memory; `tidemark run "
				 "-- PROGRAM` records it";
		return false;
	}
	if (unseen >= 0) {
		*why = "not every use was seen";
		*detail = tide__text(m, m->facts.text[unseen], NULL);
		return false;
	}
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (has_fact(m, losses[i])) {
			*why = "the recording is incomplete";
			*detail = losses[i];
			return false;
		}
	return true;
}

/* Returns the position from which on no use is recorded although memory is. */
static uint64_t known_until(const tide_model *m)
{
	for (size_t i = 1; i < m->marks.n; i++) {
		if (m->marks.kind[i] != TIDE_MARK_ANNOTATION ||
		    strcmp(tide__text(m, m->marks.name[i], NULL), "uses.off") != 0)
			continue;
		for (size_t k = m->marks.position[i]; k < m->memory_events.n; k++)
			if (m->memory_events.kind[k] == TIDE_MEMORY_ALLOC)
				return m->marks.position[i];
	}
	return UINT64_MAX;
}

/* ---- histories ---- */

static void note_use(struct work *w, struct life *l, size_t i, uint32_t step, uint64_t peak)
{
	size_t since = l->last == NONE ? l->born : l->last;
	l->gap = i - since > l->gap ? i - since : l->gap;
	l->several |= l->first != NONE && step != l->step;
	l->step = step;
	l->last = i;
	if (l->first == NONE)
		l->first = i;
	if (w->m->uses.position[i] < peak)
		l->before = i;
	else if (l->after == NONE)
		l->after = i;
}

/* Notes uses [*i, ...) that happened before memory event `event`. */
static void note_uses(struct work *w, size_t *i, uint64_t event, uint32_t *step)
{
	const tide_uses *u = &w->m->uses;
	uint64_t peak = w->x->level->peak_position;
	for (; *i < u->n && u->position[*i] <= event; ++*i) {
		while (*step < w->steps.n + 1 && w->steps.t && w->steps.t[*step] <= u->t[*i])
			++*step;
		note_use(w, &w->v[u->alloc[*i].i], *i, *step, peak);
	}
}

static void find_histories(struct work *w)
{
	const tide_model *m = w->m;
	size_t i = 0;
	uint32_t step = 0;
	for (size_t a = 0; a < m->allocs.n; a++)
		w->v[a] = (struct life){
			.end = m->uses.n, .first = NONE, .before = NONE, .after = NONE, .last = NONE
		};
	for (size_t e = 0; e < m->memory_events.n; e++) {
		bool made;
		uint32_t a = tide__memory_event_life(m, e, &made);
		note_uses(w, &i, e, &step);
		if (!a)
			continue;
		if (made)
			w->v[a].born = i;
		else
			w->v[a].end = i;
	}
	note_uses(w, &i, UINT64_MAX, &step);
}

static size_t uses_before(const tide_model *m, int64_t t)
{
	size_t low = 0;
	TIDE_SEARCH(low, m->uses.n, mid, m->uses.t[mid] < t);
	return low;
}

/* Returns the uses of one step: the mean. */
static size_t step_of(const struct work *w)
{
	if (w->steps.n < 2)
		return 0;
	return (uses_before(w->m, w->steps.t[w->steps.n]) - uses_before(w->m, w->steps.t[0])) /
	       w->steps.n;
}

/* ---- the rules ---- */

static bool is_lasting_role(unsigned role)
{
	return role == TIDE_ROLE_PARAMETER || role == TIDE_ROLE_GRADIENT ||
	       role == TIDE_ROLE_OPTIMIZER || role == TIDE_ROLE_BUFFER ||
	       role == TIDE_ROLE_WORKSPACE;
}

/* Returns true if the allocation is of those that are used again and again, and its history does
 * not show that this has ended: it has to be unused for twice the longest pause so far, and for a
 * whole step. */
static bool is_lasting(const struct work *w, uint32_t a)
{
	const struct life *l = &w->v[a];
	size_t idle = l->end - l->last;
	bool lasting = l->several || is_lasting_role(w->roles.role[a]);
	if (!w->step)
		return is_lasting_role(w->roles.role[a]) || idle < 2 * l->gap;
	return lasting && (idle < 2 * l->gap || idle < w->step);
}

static bool is_unknown(const struct work *w, uint32_t a)
{
	return w->v[a].last == NONE || (w->m->allocs.flags[a] & TIDE_ALLOC_OVERLAPS) ||
	       (w->until != UINT64_MAX && w->v[a].end == w->m->uses.n);
}

/* Returns the number of uses without which a pause is not a wait. */
static size_t long_pause(const struct work *w)
{
	size_t n = w->step ? w->step / 2 : w->m->uses.n / 4;
	return n > GRACE ? n : GRACE;
}

static size_t uses_at_peak(const struct work *w)
{
	const tide_uses *u = &w->m->uses;
	size_t low = 0;
	TIDE_SEARCH(low, u->n, mid, u->position[mid] < w->x->level->peak_position);
	return low;
}

/* Returns the state at the peak of an allocation that is alive there; `now`: uses before it. */
static tide_idle state_of(const struct work *w, uint32_t a, size_t now)
{
	const struct life *l = &w->v[a];
	if (is_unknown(w, a))
		return TIDE_IDLE_UNKNOWN;
	size_t since = l->before == NONE ? l->born : l->before;
	if (l->after != NONE)
		return l->after - since >= long_pause(w) && now - since >= GRACE ? TIDE_IDLE_WAITING
										 : TIDE_IDLE_IN_USE;
	if (l->end - l->last < GRACE || now - since < GRACE || is_lasting(w, a))
		return TIDE_IDLE_IN_USE;
	return TIDE_IDLE_STALE;
}

static bool choose(struct work *w, const tide_live_set *alive)
{
	tide_stale *x = w->x;
	size_t now = uses_at_peak(w);
	x->stale.set.rows = tide__calloc(alive->n + 1, sizeof *alive->rows);
	x->waiting.set.rows = tide__calloc(alive->n + 1, sizeof *alive->rows);
	if (!x->stale.set.rows || !x->waiting.set.rows)
		return false;
	for (size_t i = 0; i < alive->n; i++) {
		uint32_t a = alive->rows[i];
		tide_idle s = x->known ? state_of(w, a, now) : TIDE_IDLE_UNKNOWN;
		tide_stale_part *p = s == TIDE_IDLE_STALE ? &x->stale : &x->waiting;
		x->bytes[s] += w->m->allocs.size[a];
		x->count[s]++;
		if (s < TIDE_IDLE_WAITING)
			continue;
		p->set.rows[p->set.n++] = a;
		p->bytes += w->m->allocs.size[a];
	}
	return true;
}

/* ---- what the peak would be ---- */

struct absences {
	tide_absence *v; /* owned */
	size_t n, cap;
};

static int by_position(const void *a, const void *b)
{
	const tide_absence *x = a, *y = b;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	if (x->back != y->back) /* what comes back does so first */
		return x->back ? -1 : 1;
	return x->alloc < y->alloc ? -1 : x->alloc > y->alloc;
}

static bool add_absence(struct absences *s, uint64_t position, uint32_t alloc, bool back)
{
	if (!TIDE_ROOM(s->v, s->cap, s->n + 1))
		return false;
	s->v[s->n++] = (tide_absence){ .position = position, .alloc = alloc, .back = back };
	return true;
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the position from which on a program can be without the allocation: its last use. The
 * autograd engine holds what a backward function read until that function ends; a recording
 * without those functions (predict) gives it GRACE uses. */
static uint64_t leaves_at(const tide_model *m, const struct life *l)
{
	const tide_uses *u = &m->uses;
	bool backward = false;
	for (uint32_t s = u->span[l->last].i; s; s = m->spans.parent[s].i) {
		const char *name = tide__text(m, m->spans.name[s], NULL);
		if (begins_with(name, "autograd::engine::evaluate_function"))
			return tide__position_at(m, m->spans.t1[s]);
		backward |= !strcmp(name, "backward");
	}
	size_t i = backward ? l->last + GRACE : l->last;
	return i < l->end ? u->position[i] : UINT64_MAX;
}

/* Every allocation of a group leaves at its last use, also those that are not alive at the peak:
 * one line of the program makes all of them. */
static bool add_stale(const struct work *w, struct absences *s)
{
	const tide_model *m = w->m;
	for (uint32_t a = 1; a < m->allocs.n; a++) {
		const struct life *l = &w->v[a];
		if (w->group[a] == UINT32_MAX || is_unknown(w, a) || l->end - l->last < GRACE ||
		    is_lasting(w, a))
			continue;
		if (!add_absence(s, leaves_at(m, l), a, false))
			return false;
	}
	return true;
}

/* Returns the position before the op of use i: it has to be back there. */
static uint64_t begin_of(const tide_uses *u, size_t i)
{
	size_t k = i;
	while (k && u->position[k - 1] == u->position[i] && u->span[k - 1].i == u->span[i].i)
		k--;
	return k ? u->position[k - 1] : 0;
}

/* Every allocation of a group is away during each of its long pauses. */
static bool add_waiting(struct work *w, struct absences *s)
{
	const tide_uses *u = &w->m->uses;
	size_t pause = long_pause(w);
	size_t *last = tide__calloc(w->m->allocs.n + 1, sizeof *last); /* + 1; 0 = none */
	bool ok = last != NULL;
	for (size_t i = 0; ok && i < u->n; i++) {
		uint32_t a = u->alloc[i].i;
		if (w->group[a] != UINT32_MAX && !is_unknown(w, a) && last[a] &&
		    i - (last[a] - 1) >= pause && begin_of(u, i) > u->position[last[a] - 1])
			ok = add_absence(s, u->position[last[a] - 1], a, false) &&
			     add_absence(s, begin_of(u, i), a, true);
		last[a] = i + 1;
	}
	tide__free(last);
	return ok;
}

struct sweep {
	uint64_t *away, *high; /* per group, and of all together: [n] */
	bool *gone;	       /* per alloc: it is away */
	size_t n;
	uint64_t live, peak, least;
};

static void raise(struct sweep *s)
{
	s->peak = s->live > s->peak ? s->live : s->peak;
	if (s->live <= s->least)
		return;
	s->least = UINT64_MAX;
	for (size_t k = 0; k <= s->n; k++) {
		if (s->live - s->away[k] > s->high[k])
			s->high[k] = s->live - s->away[k];
		s->least = s->high[k] < s->least ? s->high[k] : s->least;
	}
}

static void leave(const struct work *w, struct sweep *s, uint32_t a, bool back)
{
	uint64_t size = w->m->allocs.size[a];
	if (s->gone[a] != back)
		return;
	s->gone[a] = !back;
	s->away[w->group[a]] += back ? -size : size;
	s->away[s->n] += back ? -size : size;
	if (back)
		raise(s);
}

static bool is_on(const tide_model *m, uint32_t a, uint32_t device)
{
	uint32_t p = m->allocs.pool[a].i;
	return m->pools.device[p].i == device && tide__pool_in_device(m, p);
}

static void sweep_all(const struct work *w, struct sweep *s, const struct absences *absences)
{
	const tide_model *m = w->m;
	size_t k = 0;
	for (size_t e = 0; e < m->memory_events.n; e++) {
		bool made;
		uint32_t a = tide__memory_event_life(m, e, &made);
		for (; k < absences->n && absences->v[k].position <= e; k++)
			leave(w, s, absences->v[k].alloc, absences->v[k].back);
		if (!a || !is_on(m, a, w->x->device))
			continue;
		if (made) {
			s->live += m->allocs.size[a];
			raise(s);
			continue;
		}
		s->live -= m->allocs.size[a];
		if (s->gone[a]) { /* it is gone for good */
			s->away[w->group[a]] -= m->allocs.size[a];
			s->away[s->n] -= m->allocs.size[a];
			s->gone[a] = false;
		}
	}
}

/* Finds the group of each allocation of the device: UINT32_MAX = none of those at the peak. */
static bool find_group(struct work *w, tide_stale_part *p)
{
	const tide_model *m = w->m;
	for (uint32_t a = 0; a < m->allocs.n; a++) {
		w->group[a] = UINT32_MAX;
		if (!a || !is_on(m, a, w->x->device))
			continue;
		uint64_t key = tide__groups_key(&p->groups, m, a);
		size_t row = tide__groups_find(&p->groups, key);
		if (key == UINT64_MAX)
			return false;
		if (row < p->n_rows)
			w->group[a] = (uint32_t)row;
	}
	return true;
}

static bool find_savings(struct work *w, tide_stale_part *p, bool waiting)
{
	struct absences absences = { 0 };
	struct sweep s = { .n = p->n_rows };
	s.away = tide__calloc(s.n + 1, sizeof *s.away);
	s.high = tide__calloc(s.n + 1, sizeof *s.high);
	s.gone = tide__calloc(w->m->allocs.n + 1, sizeof *s.gone);
	bool ok = s.away && s.high && s.gone && find_group(w, p) &&
		  (waiting ? add_waiting(w, &absences) : add_stale(w, &absences));
	if (ok) {
		if (absences.n)
			qsort(absences.v, absences.n, sizeof *absences.v, by_position);
		sweep_all(w, &s, &absences);
		for (size_t k = 0; k < s.n; k++)
			p->rows[k].saving = s.peak - s.high[k];
		p->saving = s.peak - s.high[s.n];
		for (size_t k = 0; k < absences.n; k++)
			absences.v[k].group = w->group[absences.v[k].alloc];
	}
	tide__free(s.away);
	tide__free(s.high);
	tide__free(s.gone);
	p->absences = absences.v;
	p->n_absences = absences.n;
	return ok;
}

/* ---- rows ---- */

static void describe(const struct work *w, tide_stale_part *p)
{
	const tide_model *m = w->m;
	uint64_t most[TIDE_STALE_ROWS] = { 0 }, held[TIDE_STALE_ROWS] = { 0 };
	for (size_t k = 0; k < p->n_rows; k++) {
		p->rows[k].next_ns = -1;
		p->rows[k].reserved_saving = TIDE_STALE_UNREPLAYED;
	}
	for (size_t i = 0; i < p->set.n; i++) {
		uint32_t a = p->set.rows[i];
		const struct life *l = &w->v[a];
		size_t k = w->group[a];
		if (k >= p->n_rows)
			continue;
		tide_stale_row *r = &p->rows[k];
		int64_t peak = w->x->level->peak_t,
			since = l->before == NONE ? m->allocs.born[a] : m->uses.t[l->before];
		r->idle_ns = peak - since > r->idle_ns ? peak - since : r->idle_ns;
		int64_t next = l->after == NONE ? -1 : m->uses.t[l->after] - peak;
		if (next >= 0 && (r->next_ns < 0 || next < r->next_ns))
			r->next_ns = next;
		if (w->holders.of && w->holders.of[a].i && m->allocs.size[a] > held[k]) {
			held[k] = m->allocs.size[a];
			r->holder = w->holders.of[a];
		}
		if (m->allocs.size[a] > most[k]) {
			most[k] = m->allocs.size[a];
			r->last = l->before == NONE ? m->allocs.span[a] : m->uses.span[l->before];
		}
	}
}

static tide_code find_part(struct work *w, int by, tide_group_names names, tide_stale_part *p,
			   bool waiting, tide_error *err)
{
	tide_code rc = tide__groups_find_in_roles(w->m, &p->set, (tide_group_by)by, names,
						  w->roles.role, &p->groups, err);
	if (rc != TIDE_OK || !p->groups.n)
		return rc;
	p->n_rows = p->groups.n < TIDE_STALE_ROWS ? p->groups.n : TIDE_STALE_ROWS;
	p->rows = tide__calloc(p->n_rows, sizeof *p->rows);
	if (!p->rows || !find_savings(w, p, waiting))
		return tide__nomem(err);
	describe(w, p);
	return TIDE_OK;
}

static tide_code find_all(struct work *w, const tide_live_set *alive, int by,
			  tide_group_names names, tide_error *err)
{
	const tide_model *m = w->m;
	w->v = tide__calloc(m->allocs.n + 1, sizeof *w->v);
	w->group = tide__calloc(m->allocs.n + 1, sizeof *w->group);
	if (!w->v || !w->group || tide__find_roles(m, &w->roles) != TIDE_OK ||
	    tide__referrers_find(m, &w->holders) != TIDE_OK)
		return tide__nomem(err);
	tide_code rc = tide__find_step_boundaries(m, w->x->device, 0, &w->steps);
	if (rc != TIDE_OK)
		return tide__nomem(err);
	w->step = step_of(w);
	w->until = known_until(m);
	find_histories(w);
	if (!choose(w, alive))
		return tide__nomem(err);
	rc = find_part(w, by, names, &w->x->stale, false, err);
	return rc == TIDE_OK ? find_part(w, by, names, &w->x->waiting, true, err) : rc;
}

static void free_work(struct work *w)
{
	tide__free(w->v);
	tide__free(w->group);
	tide__roles_free(&w->roles);
	tide__referrers_free(&w->holders);
	tide__step_boundaries_free(&w->steps);
}

/* Returns stack if more of the bytes have one than have an op. */
static int best_by(const tide_model *m, const tide_live_set *alive)
{
	uint64_t op = 0, stack = 0;
	for (size_t i = 0; i < alive->n; i++) {
		uint32_t a = alive->rows[i];
		op += m->allocs.span[a].i ? m->allocs.size[a] : 0;
		stack += m->allocs.stack[a].i ? m->allocs.size[a] : 0;
	}
	return stack && stack >= op ? TIDE_BY_FRAME : TIDE_BY_OP;
}

tide_code tide__stale_find(const tide_model *m, uint32_t device, int by, tide_group_names names,
			   tide_stale *x, tide_error *err)
{
	struct work w = { .m = m, .x = x };
	tide_live_set alive = { 0 };
	*x = (tide_stale){ .m = m, .device = device };
	x->stale.reserved_saving = x->waiting.reserved_saving = TIDE_STALE_UNREPLAYED;
	tide_code rc = tide__find_usage(m, UINT64_MAX, 0, &x->usage, err);
	if (rc != TIDE_OK)
		return rc;
	if (x->device == TIDE_ANY)
		x->device = tide__usage_highest(&x->usage);
	x->level = &x->usage.devices[x->device];
	x->known = uses_known(m, &x->why, &x->detail);
	rc = tide__live_set_at(m, x->level->peak_position, x->device, TIDE_ANY, &alive, err);
	if (rc == TIDE_OK)
		rc = find_all(&w, &alive, by < 0 ? best_by(m, &alive) : by, names, err);
	tide__live_set_free(&alive);
	free_work(&w);
	return rc;
}

static void free_part(tide_stale_part *p)
{
	tide__live_set_free(&p->set);
	tide__groups_free(&p->groups);
	tide__free(p->rows);
	tide__free(p->absences);
}

void tide__stale_free(tide_stale *x)
{
	tide__usage_free(&x->usage);
	free_part(&x->stale);
	free_part(&x->waiting);
}
