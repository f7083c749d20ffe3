// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorts the calls of all ranks so that those of one collective are together, judges each, finds the
 * clocks from those that synchronise, then measures each. Memory: 24 bytes for each call of a rank, and
 * 48 more for each that synchronises. */
#include "analyze/device/rank_collectives.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const char *const tide__coll_odd_text[TIDE_COLL_ODDS] = {
	"alone",	"too_many_ranks",     "same_rank_twice",
	"not_a_member", "group_sizes_differ", "operations_differ",
};

typedef struct seen { /* a call on a rank */
	const tide_hta_call *c;
	uint32_t rank, group;
	bool outsider; /* its rank is not in the group's list */
} seen;

#define OUTSIDER (1u << 31)

typedef struct event { /* calls of several ranks that are one collective */
	size_t first;
	uint32_t n;
	int8_t odd; /* -1 = sound */
	bool sure;  /* not matched by place alone, or with the same number of calls on all ranks */
} event;

typedef struct matcher {
	const tide_hta_job *job;
	tide_rank_collectives *out;
	uint32_t **pg; /* per rank: group of its pgs, + 1, and OUTSIDER */
	tide_map groups, rows, lasts, cells;
	seen *v;
	size_t n;
	event *events;
	size_t n_events, cap_events;
} matcher;

/* ---- groups ---- */

/* Reads the whole list "[0, 4, 8]". Returns NULL for anything else, or if memory runs out. */
static int64_t *read_ranks(const char *s, int64_t *n)
{
	int64_t *v = NULL;
	size_t cap = 0;
	*n = 0;
	for (s += *s == '['; isdigit((unsigned char)*s);) {
		char *end;
		long long x = strtoll(s, &end, 10);
		if (end - s > 9 || !TIDE_ROOM(v, cap, (size_t)*n + 1))
			break;
		v[(*n)++] = x;
		s = end + strspn(end, ", ");
	}
	if (*n && *s == ']')
		return v;
	tide__free(v);
	*n = 0;
	return NULL;
}

/* The last number of a list that the profiler cut: "[0, 8, ..., 504]"; -1 = none. */
static int64_t last_listed(const char *s)
{
	const char *comma = strrchr(s, ',');
	return comma && strstr(s, "...") ? strtoll(comma + 1, NULL, 10) : -1;
}

static int64_t *spread(int64_t first, int64_t stride, int64_t n)
{
	enum { MOST = 1 << 20 };
	if (n < 1 || n > MOST || first < 0 || stride < 1 || stride > MOST || first > MOST)
		return NULL;
	int64_t *v = tide__alloc((size_t)n, sizeof *v);
	for (int64_t i = 0; v && i < n; i++)
		v[i] = first + i * stride;
	return v;
}

/* A list that was cut: ranks at equal distances, if the last one agrees. */
static int64_t *spread_ranks(const tide_hta_pg *g, const char *text)
{
	int64_t *v = spread(g->first, g->stride, g->size);
	if (v && last_listed(text) == v[g->size - 1])
		return v;
	tide__free(v);
	return NULL;
}

static void list_ranks(matcher *m, const tide_hta_pg *g, tide_coll_group *to)
{
	int64_t n;
	const char *text = tide__hta_str(m->job->sum, g->ranks, NULL);
	to->list = read_ranks(text, &n);
	if (to->list && to->size < 0)
		to->size = n;
	if (to->list && n != to->size) { /* the list contradicts the size */
		tide__free(to->list);
		to->list = NULL;
	}
	if (!to->list)
		to->list = spread_ranks(g, text);
	if (!to->list && g->size > 0 && g->size == m->job->sum->h.world)
		to->list = spread(0, 1, g->size); /* the whole job */
}

/* Returns the group + 1; 0 if memory ran out. `g` NULL: the unknown group. */
static uint32_t group_of(matcher *m, const tide_hta_pg *g)
{
	static const tide_hta_pg none = { .size = -1 };
	g = g ? g : &none;
	uint64_t key = (uint64_t)g->name.i << 32 | g->ranks.i;
	uint32_t row = tide__map_get(&m->groups, key);
	if (row)
		return row;
	tide_rank_collectives *o = m->out;
	if (!TIDE_ROOM(o->groups, o->cap_groups, o->n_groups + 1) ||
	    !tide__map_put(&m->groups, key, (uint32_t)o->n_groups + 1))
		return 0;
	tide_coll_group *to = &o->groups[o->n_groups++];
	*to = (tide_coll_group){
		.name = g->name, .desc = g->desc, .ranks = g->ranks, .size = g->size
	};
	list_ranks(m, g, to);
	return (uint32_t)o->n_groups;
}

static bool is_outsider(const tide_coll_group *g, int64_t rank)
{
	for (int64_t i = 0; g->list && i < g->size; i++)
		if (g->list[i] == rank)
			return false;
	return g->list && rank >= 0;
}

/* Finds the group of each group of a rank, with OUTSIDER if the rank is not in its list. */
static bool find_groups(matcher *m)
{
	m->pg = tide__calloc(m->job->n_ranks, sizeof *m->pg);
	for (size_t r = 0; m->pg && r < m->job->n_ranks; r++) {
		const tide_hta *h = m->job->ranks[r].h;
		m->pg[r] = tide__calloc(h->pgs.n + 1, sizeof **m->pg);
		if (!m->pg[r])
			return false;
		for (size_t i = 0; i < h->calls.n; i++) {
			uint32_t pg = h->calls.v[i].pg;
			if (m->pg[r][pg])
				continue;
			uint32_t g = group_of(m, pg ? &h->pgs.v[pg - 1] : NULL);
			if (!g)
				return false;
			bool outside = is_outsider(&m->out->groups[g - 1], h->h.rank);
			m->pg[r][pg] = g | (outside ? OUTSIDER : 0);
		}
	}
	return m->pg != NULL;
}

/* ---- matching ---- */

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

static int same_run(const seen *x, const seen *y)
{
	ORDER(x->group, y->group);
	ORDER(x->c->seq, y->c->seq);
	if (x->c->seq < 0) {
		ORDER(x->c->name.i, y->c->name.i);
		ORDER(x->c->step, y->c->step);
	}
	return 0;
}

static int by_collective(const void *a, const void *b)
{
	const seen *x = a, *y = b;
	int rc = same_run(x, y);
	if (rc)
		return rc;
	ORDER(x->c->ordinal, y->c->ordinal);
	ORDER(x->rank, y->rank);
	return 0;
}

static bool collect(matcher *m)
{
	size_t all = 0;
	for (size_t r = 0; r < m->job->n_ranks; r++)
		all += m->job->ranks[r].h->calls.n;
	m->v = tide__alloc(all, sizeof *m->v);
	for (size_t r = 0; m->v && r < m->job->n_ranks; r++) {
		const tide_hta *h = m->job->ranks[r].h;
		for (size_t i = 0; i < h->calls.n; i++) {
			uint32_t g = m->pg[r][h->calls.v[i].pg];
			m->v[m->n++] = (seen){ &h->calls.v[i], (uint32_t)r, (g & ~OUTSIDER) - 1,
					       (g & OUTSIDER) != 0 };
		}
	}
	if (m->v && m->n)
		qsort(m->v, m->n, sizeof *m->v, by_collective);
	m->out->calls = m->n;
	return m->v != NULL;
}

static bool same_message(const tide_hta_call *x, const tide_hta_call *y)
{
	bool both = x->bytes >= 0 && y->bytes >= 0 && (x->flags & y->flags & TIDE_CALL_SYNC);
	return x->name.i == y->name.i && x->dtype.i == y->dtype.i &&
	       (!both || x->bytes == y->bytes);
}

/* Returns why the calls are no sound collective, -1 = they are. */
static int judge(const matcher *m, const seen *v, size_t n)
{
	const tide_coll_group *g = &m->out->groups[v->group];
	const tide_hta_rank *ranks = m->job->ranks;
	if (n < 2)
		return TIDE_COLL_ALONE;
	for (size_t i = 0; i < n; i++) {
		int64_t rank = ranks[v[i].rank].h->h.rank;
		const tide_hta *h = ranks[v[i].rank].h;
		int64_t size = v[i].c->pg ? h->pgs.v[v[i].c->pg - 1].size : -1;
		if (i && rank >= 0 && rank == ranks[v[i - 1].rank].h->h.rank)
			return TIDE_COLL_SAME_RANK;
		if (size >= 0 && g->size >= 0 && size != g->size)
			return TIDE_COLL_SIZES;
		if (v[i].outsider)
			return TIDE_COLL_NOT_MEMBER;
		if (!same_message(v[i].c, v->c))
			return TIDE_COLL_OPS;
	}
	return g->size >= 0 && (uint64_t)g->size < n ? TIDE_COLL_TOO_MANY : -1;
}

/* Makes the events of calls [from, to), which differ by their place only. */
static bool make_events(matcher *m, size_t from, size_t to)
{
	bool sure = m->v[from].c->seq >= 0 || m->v[from].c->step >= 0;
	uint32_t n0 = 0;
	size_t first_event = m->n_events;
	bool equal = true;
	for (size_t i = from, j; i < to; i = j) {
		for (j = i + 1; j < to && m->v[j].c->ordinal == m->v[i].c->ordinal; j++)
			;
		if (!TIDE_ROOM(m->events, m->cap_events, m->n_events + 1))
			return false;
		event *e = &m->events[m->n_events++];
		*e = (event){ i, (uint32_t)(j - i), (int8_t)judge(m, m->v + i, j - i), sure };
		equal &= !n0 || n0 == e->n;
		n0 = e->n;
		tide_coll_group *g = &m->out->groups[m->v[i].group];
		if (e->odd >= 0)
			g->odd[e->odd]++;
		else
			g->calls++;
		if (e->odd < 0 && g->size == (int64_t)e->n)
			g->whole++;
	}
	for (size_t i = first_event; i < m->n_events && !sure; i++) {
		m->events[i].sure = equal;
		m->out->unsure += m->events[i].odd < 0;
	}
	return true;
}

static bool find_events(matcher *m)
{
	for (size_t i = 0, j; i < m->n; i = j) {
		for (j = i + 1; j < m->n && !same_run(&m->v[i], &m->v[j]); j++)
			;
		if (!make_events(m, i, j))
			return false;
	}
	return true;
}

/* ---- clocks ---- */

/* Without group names ranks of several groups may look like one, unless the whole job is there. */
static bool gives_time(const matcher *m, const event *e)
{
	if (!m->v[e->first].c->pg && (int64_t)e->n != m->job->sum->h.world)
		return false;
	for (size_t i = e->first; i < e->first + e->n; i++)
		if (!(m->v[i].c->flags & TIDE_CALL_SYNC))
			return false;
	return e->odd < 0 && e->sure;
}

/* Times of old traces are whole microseconds. */
static int64_t resolution_of(const tide_hta *h)
{
	for (size_t i = 0; i < h->calls.n; i++)
		if (h->calls.v[i].t0 % 1000 || h->calls.v[i].t1 % 1000)
			return 1;
	return 1000;
}

static tide_code find_clocks(matcher *m, tide_error *err)
{
	size_t ranks = m->job->n_ranks, n = 0, k = 0;
	tide_clock_end *e = tide__alloc(m->n, sizeof *e);
	size_t *first = tide__alloc(m->n_events + 1, sizeof *first);
	int64_t *resolution = tide__alloc(ranks, sizeof *resolution);
	if (!e || !first || !resolution) {
		tide__free(e);
		tide__free(first);
		tide__free(resolution);
		return tide__nomem(err);
	}
	for (size_t r = 0; r < ranks; r++)
		resolution[r] = resolution_of(m->job->ranks[r].h);
	for (size_t i = 0; i < m->n_events; i++) {
		const event *ev = &m->events[i];
		if (!gives_time(m, ev))
			continue;
		first[k++] = n;
		for (size_t j = ev->first; j < ev->first + ev->n; j++)
			e[n++] = (tide_clock_end){ m->v[j].rank, m->v[j].c->t0, m->v[j].c->t1 };
	}
	first[k] = n;
	tide_code rc = tide__clocks_find(e, first, k, resolution, ranks, &m->out->clocks, err);
	tide__free(e);
	tide__free(first);
	tide__free(resolution);
	return rc;
}

/* ---- figures ---- */

typedef struct extent {
	int64_t shortest, longest;
	size_t quick, slow; /* entries of these: came last; came first */
} extent;

static extent durations(const seen *v, size_t n)
{
	extent x = { INT64_MAX, -1, 0, 0 };
	for (size_t i = 0; i < n; i++) {
		int64_t d = v[i].c->t1 - v[i].c->t0;
		if (d < x.shortest) {
			x.shortest = d;
			x.quick = i;
		}
		if (d > x.longest) {
			x.longest = d;
			x.slow = i;
		}
	}
	return x;
}

static tide_coll_row *row_of(matcher *m, const seen *v, size_t n)
{
	tide_rank_collectives *o = m->out;
	const tide_coll_group *g = &o->groups[v->group];
	int64_t bytes = -1;
	for (size_t i = 0; i < n; i++)
		bytes = v[i].c->bytes > bytes ? v[i].c->bytes : bytes;
	uint64_t key = tide__mix((uint64_t)v->group << 32 | v->c->name.i) ^
		       tide__mix((uint64_t)bytes + ((uint64_t)v->c->dtype.i << 48)) ^
		       (uint64_t)n << 1 ^ (v->c->flags & TIDE_CALL_HOST) << 20;
	uint32_t at = tide__map_get(&m->rows, key);
	if (at)
		return &o->rows[at - 1];
	if (!TIDE_ROOM(o->rows, o->cap_rows, o->n_rows + 1) ||
	    !tide__map_put(&m->rows, key, (uint32_t)o->n_rows + 1))
		return NULL;
	tide_coll_row *r = &o->rows[o->n_rows++];
	*r = (tide_coll_row){ .group = v->group,
			      .name = v->c->name,
			      .dtype = v->c->dtype,
			      .bytes = bytes,
			      .ranks = n,
			      .whole = g->size == (int64_t)n,
			      .whole_known = g->size >= 0,
			      .host = v->c->flags & TIDE_CALL_HOST,
			      .bus_known = true };
	return r;
}

/* Adds how far apart the ranks began and ended, if they have one clock. */
static void place(matcher *m, tide_coll_row *row, const seen *v, size_t n)
{
	const tide_clock *clocks = m->out->clocks.v, *one = &clocks[v->rank];
	double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };
	double under = 0, over = 0;
	int64_t base;
	if (__builtin_add_overflow(v->c->t0, one->shift, &base)) /* an impossible time */
		return;
	for (size_t i = 0; i < n; i++) {
		const tide_clock *c = &clocks[v[i].rank];
		if (!tide__clock_is_known(c) || c->reference != one->reference)
			return;
		for (int end = 0; end < 2; end++) {
			int64_t t = end ? v[i].c->t1 : v[i].c->t0;
			double at = tide__clock_common(c, t, base), a, b;
			tide__clock_bound(c, t, &a, &b);
			low[end] = fmin(low[end], at);
			high[end] = fmax(high[end], at);
			under = fmin(under, a);
			over = fmax(over, b);
		}
	}
	row->placed++;
	tide__stat_add(&row->skew0, llround(high[0] - low[0]));
	tide__stat_add(&row->skew1, llround(high[1] - low[1]));
	tide__stat_add(&row->bound, (int64_t)fmin(ceil(over - under) + 2, 9e18));
}

static tide_coll_last *last_of(matcher *m, const seen *s)
{
	tide_rank_collectives *o = m->out;
	uint64_t key = (uint64_t)s->group << 32 | s->rank;
	uint32_t at = tide__map_get(&m->lasts, key);
	if (at)
		return &o->last[at - 1];
	if (!TIDE_ROOM(o->last, o->cap_last, o->n_last + 1) ||
	    !tide__map_put(&m->lasts, key, (uint32_t)o->n_last + 1))
		return NULL;
	tide_coll_last *l = &o->last[o->n_last++];
	*l = (tide_coll_last){ .group = s->group, .rank = s->rank, .worst_step = -1 };
	o->groups[s->group].seen++;
	return l;
}

/* Adds what the late rank did longer than the one that came first, since their previous call. */
static void explain(tide_coll_last *l, const tide_hta_call *late, const tide_hta_call *early)
{
	int why = TIDE_LATE_UNKNOWN;
	int64_t most = 0;
	for (int k = 0; k < TIDE_BEFORES && late->since >= 0 && early->since >= 0; k++) {
		int64_t more = late->before[k] - early->before[k];
		if (more > 0)
			l->why_ns[k] = tide__add_sat(l->why_ns[k], more);
		if (more > most) {
			most = more;
			why = k;
		}
	}
	l->why[why]++;
}

/* Finds who came last, by durations as in stragglers.c: they need no clock. */
static bool blame(matcher *m, const seen *v, size_t n, const extent *x)
{
	for (size_t i = 0; i < n; i++) {
		tide_coll_last *l = last_of(m, &v[i]);
		int64_t d = v[i].c->t1 - v[i].c->t0, late = x->longest - d;
		if (!l)
			return false;
		l->calls++;
		if (d != x->shortest || !late)
			continue;
		l->last++;
		l->late_ns = tide__add_sat(l->late_ns, late);
		if (late > l->worst_ns) {
			l->worst_ns = late;
			l->worst_step = v[i].c->step;
		}
		explain(l, v[i].c, v[x->slow].c);
	}
	return true;
}

static bool measure(matcher *m, const event *e)
{
	const seen *v = m->v + e->first;
	extent x = durations(v, e->n);
	tide_coll_row *row = row_of(m, v, e->n);
	if (!row)
		return false;
	row->calls++;
	tide__stat_add(&row->latency, x.shortest);
	for (size_t i = 0; i < e->n; i++) {
		tide__stat_add(&row->wait, v[i].c->t1 - v[i].c->t0 - x.shortest);
		if (v[i].c->bus_bytes < 0)
			row->bus_known = false;
		else if ((uint64_t)v[i].c->bus_bytes > row->bus_bytes)
			row->bus_bytes = (uint64_t)v[i].c->bus_bytes;
	}
	place(m, row, v, e->n);
	return blame(m, v, e->n, &x);
}

/* ---- the matrix ---- */

static tide_coll_cell *cell_of(matcher *m, uint32_t group, uint64_t from, uint64_t to)
{
	tide_rank_collectives *o = m->out;
	uint64_t key = (uint64_t)group << 44 ^ from << 22 ^ to;
	uint32_t at = tide__map_get(&m->cells, key);
	if (at)
		return &o->cells[at - 1];
	if (!TIDE_ROOM(o->cells, o->cap_cells, o->n_cells + 1) ||
	    !tide__map_put(&m->cells, key, (uint32_t)o->n_cells + 1))
		return NULL;
	tide_coll_cell *c = &o->cells[o->n_cells++];
	*c = (tide_coll_cell){ .group = group, .from = from, .to = to };
	return c;
}

/* Returns the place of a rank in its group, -1 = unknown. */
static int64_t place_of(const tide_coll_group *g, int64_t rank)
{
	for (int64_t i = 0; g->list && i < g->size; i++)
		if (g->list[i] == rank)
			return i;
	return -1;
}

static bool fill_matrix(matcher *m)
{
	for (size_t r = 0; r < m->job->n_ranks; r++) {
		const tide_hta *h = m->job->ranks[r].h;
		for (size_t i = 0; i < h->splits.n; i++) {
			const tide_hta_split *s = &h->splits.v[i];
			uint32_t group = m->pg[r][s->pg] & ~OUTSIDER;
			int64_t me = group ? place_of(&m->out->groups[group - 1], h->h.rank) : -1;
			if (me < 0)
				continue;
			uint64_t from = s->received ? s->peer : (uint64_t)me,
				 to = s->received ? (uint64_t)me : s->peer;
			tide_coll_cell *c = cell_of(m, group - 1, from, to);
			if (!c)
				return false;
			c->calls = s->calls > c->calls ? s->calls : c->calls;
			*(s->received ? &c->received_known : &c->sent_known) = true;
			*(s->received ? &c->received : &c->sent) += s->bytes;
		}
	}
	return true;
}

/* ---- the whole ---- */

static int rows_in_order(const void *a, const void *b)
{
	const tide_coll_row *x = a, *y = b;
	int64_t wx = tide__stat_sum(&x->wait), wy = tide__stat_sum(&y->wait);
	ORDER(x->group, y->group);
	ORDER(wy, wx);
	ORDER(x->name.i, y->name.i);
	ORDER(x->bytes, y->bytes);
	ORDER(x->dtype.i, y->dtype.i);
	ORDER(x->ranks, y->ranks);
	return 0;
}

static int last_in_order(const void *a, const void *b)
{
	const tide_coll_last *x = a, *y = b;
	ORDER(x->group, y->group);
	ORDER(y->late_ns, x->late_ns);
	ORDER(x->rank, y->rank);
	return 0;
}

static int cells_in_order(const void *a, const void *b)
{
	const tide_coll_cell *x = a, *y = b;
	ORDER(x->group, y->group);
	ORDER(x->from, y->from);
	ORDER(x->to, y->to);
	return 0;
}

static void sort_all(tide_rank_collectives *o)
{
	if (o->n_rows)
		qsort(o->rows, o->n_rows, sizeof *o->rows, rows_in_order);
	if (o->n_last)
		qsort(o->last, o->n_last, sizeof *o->last, last_in_order);
	if (o->n_cells)
		qsort(o->cells, o->n_cells, sizeof *o->cells, cells_in_order);
}

static void free_matcher(matcher *m)
{
	for (size_t r = 0; m->pg && r < m->job->n_ranks; r++)
		tide__free(m->pg[r]);
	tide__free(m->pg);
	tide__map_free(&m->groups);
	tide__map_free(&m->rows);
	tide__map_free(&m->lasts);
	tide__map_free(&m->cells);
	tide__free(m->v);
	tide__free(m->events);
}

tide_code tide__rank_collectives_find(const tide_hta_job *job, tide_rank_collectives *out,
				      tide_error *err)
{
	matcher m = { .job = job, .out = out };
	*out = (tide_rank_collectives){ .job = job };
	bool ok = find_groups(&m) && collect(&m) && find_events(&m);
	tide_code rc = ok ? find_clocks(&m, err) : tide__nomem(err);
	for (size_t i = 0; ok && rc == TIDE_OK && i < m.n_events; i++)
		ok = m.events[i].odd >= 0 || measure(&m, &m.events[i]);
	for (size_t i = 0; i < m.n; i++)
		out->odd_sizes += (m.v[i].c->flags & TIDE_CALL_ODD) != 0;
	ok = ok && rc == TIDE_OK && fill_matrix(&m);
	if (ok)
		sort_all(out);
	free_matcher(&m);
	if (ok)
		return TIDE_OK;
	tide__rank_collectives_free(out);
	return rc == TIDE_OK ? tide__nomem(err) : rc;
}

void tide__rank_collectives_free(tide_rank_collectives *c)
{
	for (size_t i = 0; i < c->n_groups; i++)
		tide__free(c->groups[i].list);
	tide__free(c->groups);
	tide__free(c->rows);
	tide__free(c->last);
	tide__free(c->cells);
	tide__clocks_free(&c->clocks);
	*c = (tide_rank_collectives){ 0 };
}

int64_t tide__coll_rank_at(const tide_rank_collectives *c, uint32_t group, uint64_t place)
{
	const tide_coll_group *g = &c->groups[group];
	return g->list && place < (uint64_t)g->size ? g->list[place] : -1;
}
