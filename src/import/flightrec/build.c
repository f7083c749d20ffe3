// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* From the entries of a dump to the model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/flightrec/flightrec.h"

enum { GROUPS_MOST = 1024 };

/* ---- rows ---- */

bool tide__fr_nomem(fr_dump *d)
{
	if (d->rc == TIDE_OK)
		d->rc = tide__nomem(d->err);
	return false;
}

bool tide__fr_fail(fr_dump *d, tide_code code, uint64_t at, const char *what)
{
	if (d->rc == TIDE_OK)
		d->rc = tide__fail(d->err, code, at, "%s", what);
	return false;
}

fr_entry *tide__fr_entry(fr_dump *d)
{
	if (!TIDE_ROOM(d->v, d->cap, d->n + 1)) {
		tide__fr_nomem(d);
		return NULL;
	}
	d->v[d->n] = (fr_entry){ .record = -1,
				 .pg = -1,
				 .seq = -1,
				 .p2p_seq = -1,
				 .op = -1,
				 .created = -1,
				 .started = -1,
				 .completed = -1,
				 .timeout_ms = -1,
				 .in_count = -1,
				 .out_count = -1 };
	return &d->v[d->n++];
}

fr_group *tide__fr_group(fr_dump *d)
{
	if (d->n_groups >= (size_t)2 * GROUPS_MOST) {
		tide__fr_fail(d, TIDE_ELIMIT, TIDE_NO_OFFSET, "more than 1,024 process groups");
		return NULL;
	}
	if (!TIDE_ROOM(d->groups, d->cap_groups, d->n_groups + 1)) {
		tide__fr_nomem(d);
		return NULL;
	}
	d->groups[d->n_groups] =
		(fr_group){ .pg = -1, .enqueued = -1, .started = -1, .completed = -1 };
	return &d->groups[d->n_groups++];
}

void tide__fr_list_put(fr_list *l, const char *text, size_t n)
{
	if (l->cut)
		return;
	if (l->n + n > FR_LIST_TEXT - 4) {
		memcpy(l->text + l->n, "...", 3);
		l->n += 3;
		l->cut = true;
		return;
	}
	memcpy(l->text + l->n, text, n);
	l->n += n;
}

bool tide__fr_dimension(fr_dump *d, uint64_t at)
{
	return ++d->dims <= d->most_dims ||
	       tide__fr_fail(d, TIDE_ELIMIT, at, "its lists of sizes repeat too often");
}

int64_t tide__fr_times(int64_t a, int64_t b)
{
	int64_t v;
	if (a <= 0 || b <= 0)
		return 0;
	return __builtin_mul_overflow(a, b, &v) ? INT64_MAX : v;
}

int64_t tide__fr_plus(int64_t a, int64_t b)
{
	int64_t v;
	return __builtin_add_overflow(a, b, &v) ? INT64_MAX : v;
}

/* ---- lanes and facts ---- */

bool tide__fr_fact(fr_dump *d, const char *key, tide_str text)
{
	if (!tide__fact_set_number(d->m, key, 0))
		return tide__fr_nomem(d);
	d->m->facts.text[tide__fact_find(d->m, key)] = text;
	return true;
}

struct build {
	fr_dump *d;
	tide_model *m;
	tide_map lanes; /* name of a group -> its lane */
	int64_t least, most;
};

static bool fact(struct build *b, const char *what, uint32_t lane, tide_str text, int64_t number)
{
	char key[64];
	snprintf(key, sizeof key, "flightrec.%s.%" PRIu32, what, lane);
	if (!text.i && number < 0)
		return true;
	return text.i ? tide__fr_fact(b->d, key, text)
		      : tide__fact_set_number(b->m, key, number) || tide__fr_nomem(b->d);
}

/* Returns the lane of a group, 0 on failure. */
static uint32_t lane_of(struct build *b, tide_str name, int64_t number)
{
	tide_model *m = b->m;
	uint32_t lane = tide__map_get(&b->lanes, name.i + UINT64_C(1));
	if (lane)
		return lane;
	if (m->lanes.n > (size_t)GROUPS_MOST) {
		tide__fr_fail(b->d, TIDE_ELIMIT, TIDE_NO_OFFSET, "more than 1,024 process groups");
		return 0;
	}
	lane = tide__push(&m->lanes, &tide_lanes_desc);
	if (!lane || !tide__map_put(&b->lanes, name.i + UINT64_C(1), lane)) {
		tide__fr_nomem(b->d);
		return 0;
	}
	m->lanes.process[lane].i = 1;
	m->lanes.kind[lane] = TIDE_LANE_COMM;
	m->lanes.name[lane] = name;
	m->lanes.number[lane] = number;
	return lane;
}

static int64_t count_ranks(const char *s)
{
	int64_t n = strpbrk(s, "0123456789") != NULL;
	for (; *s; s++)
		n += *s == ',';
	return n;
}

static bool add_configs(struct build *b)
{
	for (size_t i = 0; i < b->d->n_groups; i++) {
		const fr_group *g = &b->d->groups[i];
		if (!g->name.i || g->pg >= 0)
			continue;
		uint32_t lane = lane_of(b, g->name, -1);
		int64_t ranks = count_ranks(tide__text(b->m, g->ranks, NULL));
		bool whole = !strcmp(tide__text(b->m, g->desc, NULL), "default_pg");
		if (whole && ranks)
			b->m->processes.world[1] = ranks;
		if (!lane || !fact(b, "desc", lane, g->desc, -1) ||
		    (ranks && !fact(b, "ranks", lane, g->ranks, -1)))
			return false;
	}
	return true;
}

/* pg_status names groups by number: entries have their names. */
static bool add_statuses(struct build *b)
{
	tide_str none = { 0 };
	for (size_t i = 0; i < b->d->n_groups; i++) {
		const fr_group *g = &b->d->groups[i];
		for (uint32_t l = 1; g->pg >= 0 && l < b->m->lanes.n; l++)
			if (b->m->lanes.number[l] == g->pg &&
			    (!fact(b, "enqueued", l, none, g->enqueued) ||
			     !fact(b, "started", l, none, g->started) ||
			     !fact(b, "completed", l, none, g->completed)))
				return false;
	}
	return true;
}

/* ---- spans ---- */

static int by_time(const void *x, const void *y)
{
	const fr_entry *a = x, *b = y;
	if (a->created != b->created)
		return a->created < b->created ? -1 : 1;
	return (a->record > b->record) - (a->record < b->record);
}

/* Times must be in 0 .. 2^62; an entry without one has that of its predecessor. */
static bool order(struct build *b)
{
	fr_dump *d = b->d;
	int64_t last = 0;
	uint64_t without = 0;
	const int64_t far = INT64_C(1) << 62;
	b->least = INT64_MAX;
	for (size_t i = 0; i < d->n; i++) {
		fr_entry *e = &d->v[i];
		bool known = e->created > 0 && e->created < far;
		without += !known;
		e->created = known ? e->created : last;
		e->started = e->started > 0 && e->started < far ? e->started : -1;
		e->completed = e->completed > 0 && e->completed < far ? e->completed : -1;
		last = e->created;
		b->least = known && e->created < b->least ? e->created : b->least;
	}
	b->least = b->least == INT64_MAX ? 0 : b->least;
	b->most = b->least;
	for (size_t i = 0; i < d->n; i++) {
		fr_entry *e = &d->v[i];
		e->created = e->created < b->least ? b->least : e->created;
		b->most = e->created > b->most ? e->created : b->most;
		b->most = e->started > b->most ? e->started : b->most;
		b->most = e->completed > b->most ? e->completed : b->most;
	}
	if (d->n)
		qsort(d->v, d->n, sizeof *d->v, by_time);
	return !without ||
	       tide__fact_set_number(b->m, "loss.entries_without_time", (int64_t)without) ||
	       tide__fr_nomem(d);
}

/* Attributes in the order of their keys' ids. */
#define ATTR_NUMBERS(X)               \
	X(record_id, record)          \
	X(collective_seq_id, seq)     \
	X(p2p_seq_id, p2p_seq)        \
	X(op_id, op)                  \
	X(timeout_ms, timeout_ms)     \
	X(input_elements, in_count)   \
	X(output_elements, out_count) \
	X(is_p2p, p2p)                \
	X(retired, retired)
#define ATTR_TEXTS(X)              \
	X(group_desc, desc)        \
	X(state, state)            \
	X(input_sizes, in_sizes)   \
	X(output_sizes, out_sizes) \
	X(input_dtypes, in_types)  \
	X(output_dtypes, out_types)

#define X(key, member) A_##key,
enum { ATTR_NUMBERS(X) ATTR_TEXTS(X) A_time_started_ns, A_N };
#undef X
static const char *const attr_keys[A_N] = {
#define X(key, member) [A_##key] = #key,
	ATTR_NUMBERS(X) ATTR_TEXTS(X)[A_time_started_ns] = "time_started_ns",
#undef X
};

_Static_assert((int)A_N <= (int)FR_KEYS, "fr_dump has room for fewer keys");

tide_code tide__fr_begin(fr_dump *d)
{
	for (size_t i = 0; i < A_N; i++) {
		d->keys[i] = tide__intern(d->m, attr_keys[i]);
		if (!d->keys[i].i)
			tide__fr_nomem(d);
	}
	return d->rc;
}

static bool attr(struct build *b, uint32_t span, tide_str key, tide_str text, int64_t number)
{
	size_t row;
	tide_attrs *a = &b->m->attrs;
	if (!tide__table_push(a, &tide_attrs_desc, &row))
		return tide__fr_nomem(b->d);
	a->span[row].i = span;
	a->key[row] = key;
	a->text[row] = text;
	a->number[row] = number;
	return true;
}

static bool add_attrs(struct build *b, const fr_entry *e, uint32_t span, const tide_str *keys)
{
	const tide_str none = { 0 };
#define X(key, member)                                                                          \
	if ((int64_t)e->member >= 0 && !attr(b, span, keys[A_##key], none, (int64_t)e->member)) \
		return false;
	ATTR_NUMBERS(X)
#undef X
#define X(key, member)                                                  \
	if (e->member.i && !attr(b, span, keys[A_##key], e->member, 0)) \
		return false;
	ATTR_TEXTS(X)
#undef X
	return e->started < 0 || attr(b, span, keys[A_time_started_ns], none,
				      e->started > b->least ? e->started - b->least : 0);
}

/* An op is finished if the recorder says so. Gloo never says it: it retires ops that ended. */
static bool is_finished(const struct build *b, const fr_entry *e)
{
	return e->completed >= 0 || !strcmp(tide__text(b->m, e->state, NULL), "completed") ||
	       (e->retired && !strncmp(tide__text(b->m, e->name, NULL), "gloo:", 5));
}

static bool add_span(struct build *b, const fr_entry *e, const tide_str *keys)
{
	tide_model *m = b->m;
	uint32_t lane = lane_of(b, e->group, e->pg);
	uint32_t s = lane ? tide__push(&m->spans, &tide_spans_desc) : 0;
	if (!s)
		return tide__fr_nomem(b->d);
	if (m->lanes.number[lane] < 0)
		m->lanes.number[lane] = e->pg;
	bool finished = is_finished(b, e), timed = e->completed >= e->created;
	m->spans.t0[s] = e->created - b->least;
	m->spans.t1[s] = !finished ? b->most - b->least
			 : timed   ? e->completed - b->least
				   : m->spans.t0[s];
	m->spans.flags[s] = !finished ? TIDE_SPAN_OPEN : timed ? 0 : TIDE_SPAN_NO_END;
	m->spans.lane[s].i = lane;
	m->spans.name[s] = e->name;
	m->spans.stack[s] = e->stack;
	m->spans.cat[s] = TIDE_CAT_OP;
	return add_attrs(b, e, s, keys);
}

static bool add_spans(struct build *b)
{
	for (size_t i = 0; i < b->d->n; i++)
		if (!add_span(b, &b->d->v[i], b->d->keys))
			return false;
	return true;
}

static bool add_process(struct build *b, int64_t rank)
{
	tide_processes *p = &b->m->processes;
	if (!tide__push(p, &tide_processes_desc))
		return tide__fr_nomem(b->d);
	p->pid[1] = p->parent_pid[1] = p->world[1] = -1;
	p->rank[1] = rank;
	return true;
}

tide_code tide__fr_build(fr_dump *d, int64_t rank)
{
	struct build b = { .d = d, .m = d->m };
	(void)(add_process(&b, rank) && add_configs(&b) && order(&b) && add_spans(&b) &&
	       add_statuses(&b));
	d->m->t_end = b.most - b.least;
	d->m->wall0_ns = b.least;
	d->m->wall_known = b.least > 0;
	tide__map_free(&b.lanes);
	return d->rc;
}
