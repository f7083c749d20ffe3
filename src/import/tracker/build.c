// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* From rows with the document's times to a model: time zero, spans in order, allocations with
 * moves, snapshots as marks and samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"
#include "model/span_parents.h"

enum { LANES_SEARCHED = 16 };

/* ---- time ---- */

static void see(int64_t t, int64_t *least, int64_t *most)
{
	*least = t < *least ? t : *least;
	*most = t > *most ? t : *most;
}

static void shift(trk *t)
{
	tide_model *m = t->m;
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (size_t i = 1; i < m->spans.n; i++) {
		see(m->spans.t0[i], &least, &most);
		see(m->spans.t1[i], &least, &most);
	}
	for (size_t i = 0; i < t->n_snaps; i++)
		see(t->snaps[i].t, &least, &most);
	for (size_t i = 0; i < t->n_lives; i++) {
		see(t->lives[i].born, &least, &most);
		if (t->lives[i].died != TIDE_T_NEVER)
			see(t->lives[i].died, &least, &most);
	}
	if (most < least)
		return;
	for (size_t i = 1; i < m->spans.n; i++) {
		m->spans.t0[i] -= least;
		m->spans.t1[i] -= least;
	}
	for (size_t i = 0; i < t->n_snaps; i++)
		t->snaps[i].t -= least;
	for (size_t i = 0; i < t->n_lives; i++) {
		t->lives[i].born -= least;
		if (t->lives[i].died != TIDE_T_NEVER)
			t->lives[i].died -= least;
	}
	m->t_end = most - least;
	m->wall0_ns = least;
	m->wall_known = t->unix_time;
}

/* ---- spans ---- */

/* Entries of the log whose end is not told go on until the next one of their lane. */
static bool close_spans(trk *t)
{
	tide_model *m = t->m;
	int64_t *next = tide__alloc(m->lanes.n, sizeof *next);
	if (!next)
		return tide__tracker_nomem(t);
	for (size_t i = 0; i < m->lanes.n; i++)
		next[i] = -1;
	for (size_t i = m->spans.n - 1; i >= 1; i--) {
		uint32_t in = m->spans.lane[i].i;
		if (t->open[i] && m->spans.cat[i] == TIDE_CAT_OP && next[in] > m->spans.t0[i])
			m->spans.t1[i] = next[in];
		if (m->spans.cat[i] == TIDE_CAT_OP)
			next[in] = m->spans.t0[i];
	}
	tide__free(next);
	return true;
}

/* In order first, then the ends that only the order tells, then nested. */
static bool nest(trk *t)
{
	tide_parent_column open = { t->open, 1 };
	if (t->m->spans.n < 2)
		return true;
	if (t->without_end &&
	    (!tide__find_span_parents(t->m, &open, 1, NULL, 0) || !close_spans(t)))
		return tide__tracker_nomem(t);
	return tide__find_span_parents(t->m, NULL, 0, NULL, 0) || tide__tracker_nomem(t);
}

/* ---- memory ---- */

static uint8_t device_kind(const char *s)
{
	for (uint8_t k = TIDE_DEVICE_UNKNOWN; k <= TIDE_DEVICE_OTHER; k++)
		if (!strcmp(tide__device_kind_text(k), s))
			return k;
	return *s ? TIDE_DEVICE_OTHER : TIDE_DEVICE_UNKNOWN;
}

/* "cuda:1" -> kind and number; of a kind that is none of ours, "npu:1", the name too. */
static bool name_device(tide_model *m, uint32_t d, tide_str device)
{
	char text[64];
	snprintf(text, sizeof text, "%s", tide__text(m, device, NULL));
	size_t n = strcspn(text, ":");
	m->devices.index[d] = text[n] ? strtol(text + n + 1, NULL, 10) : 0;
	text[n] = 0;
	m->devices.kind[d] = device_kind(text);
	if (m->devices.kind[d] == TIDE_DEVICE_OTHER)
		m->devices.name[d] = tide__str(m, text);
	return m->devices.kind[d] != TIDE_DEVICE_OTHER || m->devices.name[d].i;
}

static uint32_t pool_of(trk *t, tide_str device)
{
	tide_model *m = t->m;
	uint32_t row = tide__map_get(&t->pools, (uint64_t)device.i + 1);
	if (row)
		return row;
	uint32_t d = tide__push(&m->devices, &tide_devices_desc);
	row = tide__push(&m->pools, &tide_pools_desc);
	if (!d || !row || !tide__map_put(&t->pools, (uint64_t)device.i + 1, row) ||
	    !name_device(m, d, device)) {
		tide__tracker_nomem(t);
		return 0;
	}
	bool host = m->devices.kind[d] == TIDE_DEVICE_HOST;
	m->pools.device[row].i = d;
	m->pools.kind[row] = host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM;
	m->pools.name[row] = tide__str(m, host ? "heap" : "DRAM");
	return m->pools.name[row].i || tide__tracker_nomem(t) ? row : 0;
}

/* The innermost span named `op` on one of the first lanes that ran at `at`, 0 = none. */
static uint32_t span_of(const tide_model *m, const uint32_t *last, tide_str op)
{
	uint32_t best = 0;
	for (size_t lane = 1; op.i && lane < m->lanes.n && lane <= LANES_SEARCHED; lane++)
		for (uint32_t s = last[lane]; s; s = m->spans.parent[s].i)
			if (m->spans.name[s].i == op.i && s > best)
				best = s;
	return best;
}

static int by_birth(const void *a, const void *b)
{
	const trk_life *x = a, *y = b;
	return (x->born > y->born) - (x->born < y->born);
}

/* Last span of each lane that is open at `at`, kept up to date from one birth to the next. */
static void advance(const tide_model *m, uint32_t *last, uint32_t *span, int64_t at)
{
	for (; *span < m->spans.n && m->spans.t0[*span] <= at; ++*span)
		last[m->spans.lane[*span].i] = *span;
	for (size_t lane = 1; lane < m->lanes.n && lane <= LANES_SEARCHED; lane++)
		while (last[lane] && m->spans.t1[last[lane]] < at)
			last[lane] = m->spans.parent[last[lane]].i;
}

static bool put_alloc(trk *t, const trk_life *l, uint32_t span, uint64_t *next)
{
	tide_model *m = t->m;
	uint32_t row, pool = pool_of(t, l->device);
	uint64_t take = (l->size + 511) / 512 * 512;
	if (!pool)
		return false;
	if (take > UINT64_MAX / 2 - *next) { /* more bytes than addresses */
		t->bad++;
		return true;
	}
	if (!(row = tide__push(&m->allocs, &tide_allocs_desc)))
		return tide__tracker_nomem(t);
	m->allocs.addr[row] = *next;
	*next += take ? take : 512;
	m->allocs.size[row] = m->allocs.requested[row] = l->size;
	m->allocs.born[row] = l->born;
	m->allocs.died[row] = l->died;
	m->allocs.pool[row].i = pool;
	m->allocs.span[row].i = span;
	m->allocs.lane[row] = m->spans.lane[span];
	m->allocs.role[row] = l->role;
	if (l->tensor)
		m->tensors.alloc[l->tensor].i = row;
	return true;
}

static bool allocations(trk *t)
{
	tide_model *m = t->m;
	uint32_t *last = tide__calloc(m->lanes.n, sizeof *last), span = 1;
	uint64_t next = 1 << 20;
	bool ok = last != NULL;
	if (!ok)
		return tide__tracker_nomem(t);
	if (t->n_lives)
		qsort(t->lives, t->n_lives, sizeof *t->lives, by_birth);
	for (size_t i = 0; ok && i < t->n_lives; i++) {
		advance(m, last, &span, t->lives[i].born);
		ok = put_alloc(t, &t->lives[i], span_of(m, last, t->lives[i].op), &next);
	}
	tide__free(last);
	return ok;
}

typedef struct event {
	int64_t t;
	uint32_t row;
	uint8_t kind;
} event;

static int by_time(const void *a, const void *b)
{
	const event *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->kind - y->kind;
}

static bool moves(trk *t)
{
	tide_model *m = t->m;
	size_t n = 0, row;
	event *v = tide__alloc(m->allocs.n * 2, sizeof *v);
	bool ok = v != NULL;
	for (uint32_t i = 1; ok && i < m->allocs.n; i++) {
		v[n++] = (event){ m->allocs.born[i], i, TIDE_MOVE_ALLOC };
		if (m->allocs.died[i] != TIDE_T_NEVER)
			v[n++] = (event){ m->allocs.died[i], i, TIDE_MOVE_FREE };
	}
	if (ok && n)
		qsort(v, n, sizeof *v, by_time);
	for (size_t i = 0; ok && i < n; i++) {
		ok = tide__table_push(&m->moves, &tide_moves_desc, &row);
		if (ok) {
			m->moves.row[row] = v[i].row;
			m->moves.kind[row] = v[i].kind;
		}
	}
	tide__free(v);
	return ok || tide__tracker_nomem(t);
}

/* ---- snapshots ---- */

static int snap_order(const void *a, const void *b)
{
	const trk_snap *x = a, *y = b;
	return (x->t > y->t) - (x->t < y->t);
}

static uint32_t counter_of(trk *t, tide_map *known, tide_str device)
{
	tide_model *m = t->m;
	uint32_t row = tide__map_get(known, device.i), pool = row ? 0 : pool_of(t, device);
	if (row)
		return row;
	row = pool ? tide__push(&m->counters, &tide_counters_desc) : 0;
	if (!row || !tide__map_put(known, device.i, row)) {
		tide__tracker_nomem(t);
		return 0;
	}
	m->counters.name[row] = tide__str(m, "snapshot total");
	m->counters.unit[row] = tide__str(m, "bytes");
	m->counters.device[row] = m->pools.device[pool];
	return (m->counters.name[row].i && m->counters.unit[row].i) || tide__tracker_nomem(t) ? row
											      : 0;
}

static bool put_totals(trk *t, const trk_snap *s, tide_map *known)
{
	size_t row;
	for (size_t i = s->first; i < s->first + s->n; i++) {
		uint32_t c = counter_of(t, known, t->totals[i].device);
		if (!c || !tide__table_push(&t->m->samples, &tide_samples_desc, &row))
			return tide__tracker_nomem(t);
		t->m->samples.t[row] = s->t;
		t->m->samples.value[row] = (double)t->totals[i].bytes;
		t->m->samples.counter[row].i = c;
	}
	return true;
}

static bool marks(trk *t)
{
	tide_model *m = t->m;
	tide_map known = { 0 };
	size_t move = 0;
	bool ok = true;
	if (t->n_snaps)
		qsort(t->snaps, t->n_snaps, sizeof *t->snaps, snap_order);
	for (size_t i = 0; ok && i < t->n_snaps; i++) {
		const trk_snap *s = &t->snaps[i];
		uint32_t row = tide__push(&m->marks, &tide_marks_desc);
		while (move < m->moves.n && tide__move_time(m, move) <= s->t)
			move++;
		if (!row) {
			ok = tide__tracker_nomem(t);
			break;
		}
		m->marks.t[row] = s->t;
		m->marks.extra[row] = -1;
		m->marks.move[row] = move;
		m->marks.name[row] = s->name;
		m->marks.kind[row] = TIDE_MARK_CHECKPOINT;
		ok = put_totals(t, s, &known);
	}
	tide__map_free(&known);
	return ok;
}

/* ---- all of it ---- */

/* Tensors whose life was never told describe nothing: the table keeps those of an allocation. */
static void drop_loose_tensors(tide_model *m)
{
	tide_tensors *x = &m->tensors;
	size_t n = 1;
	for (size_t i = 1; i < x->n; i++) {
		if (!x->alloc[i].i)
			continue;
#define C(type, name, doc) x->name[n] = x->name[i];
		TIDE_TENSOR_COLUMNS(C)
#undef C
		n++;
	}
	x->n = n;
}

static bool losses(trk *t)
{
	static const char *const keys[] = { "loss.bad_records", "loss.repeated_lifecycle_events",
					    "loss.operations_without_duration" };
	uint64_t n[] = { t->bad, t->repeated, t->without_end };
	for (size_t i = 0; i < 3; i++)
		if (n[i] && !tide__fact_num(t->m, keys[i], (int64_t)n[i]))
			return tide__tracker_nomem(t);
	return tide__fact_text(t->m, "tracker.addresses", "made up: a profile has none") ||
	       tide__tracker_nomem(t);
}

bool tide__tracker_build(trk *t)
{
	shift(t);
	bool ok = nest(t) && allocations(t) && moves(t) && marks(t) && losses(t);
	drop_loose_tensors(t->m);
	return ok;
}
