// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* From the models of dumps and recordings to the rows of a hang. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

/* ---- texts and stacks ---- */

struct add {
	tide_hang *h;
	const tide_model *m;
	tide_map texts;	  /* of m -> of h->names */
	uint32_t *stacks; /* owned: the same for stacks */
	uint32_t *groups; /* owned: lane -> group */
	tide_error *err;
};

static bool take_text(struct add *a, tide_str s, tide_str *out)
{
	size_t n;
	out->i = s.i ? tide__map_get(&a->texts, s.i) : 0;
	if (out->i || !s.i)
		return true;
	const char *text = tide__text(a->m, s, &n);
	*out = tide__intern_n(a->h->names, text, n);
	return out->i && tide__map_put(&a->texts, s.i, out->i);
}

static bool take_stacks(struct add *a)
{
	const tide_model *m = a->m;
	a->stacks = tide__calloc(m->stacks.n ? m->stacks.n : 1, sizeof *a->stacks);
	for (size_t i = 1; a->stacks && i < m->stacks.n; i++) {
		uint32_t f = m->stacks.frame[i].i;
		tide_str function, file;
		if (!take_text(a, m->frames.function[f], &function) ||
		    !take_text(a, m->frames.file[f], &file))
			return false;
		tide_frame_id frame =
			tide__frame_intern(a->h->names, function, file, m->frames.line[f]);
		tide_stack_id parent = { a->stacks[m->stacks.parent[i].i] };
		a->stacks[i] = frame.i ? tide__stack_intern(a->h->names, parent, frame).i : 0;
		if (!a->stacks[i])
			return false;
	}
	return a->stacks != NULL;
}

/* ---- groups ---- */

/* Finds the fact flightrec.WHAT.LANE. */
static int64_t fact_of(const tide_model *m, const char *what, uint32_t lane, tide_str *text)
{
	static const char before[] = "flightrec.";
	size_t n = strlen(what);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		if (strncmp(key, before, sizeof before - 1) != 0)
			continue;
		key += sizeof before - 1;
		if (strncmp(key, what, n) != 0 || key[n] != '.' ||
		    strtoul(key + n + 1, NULL, 10) != lane)
			continue;
		if (text)
			*text = m->facts.text[i];
		return m->facts.number[i];
	}
	return -1;
}

/* "[0, 1, 12]": ranks in ascending order. */
static bool read_ranks(tide_hang_group *g, const char *s)
{
	while (*s) {
		if (*s < '0' || *s > '9') {
			s++;
			continue;
		}
		char *end;
		int64_t rank = strtoll(s, &end, 10);
		s = end;
		if (rank > 100000000)
			continue;
		if (!TIDE_ROOM(g->ranks, g->cap_ranks, g->n_ranks + 1))
			return false;
		size_t at = g->n_ranks++;
		for (; at && g->ranks[at - 1] > rank; at--)
			g->ranks[at] = g->ranks[at - 1];
		g->ranks[at] = rank;
	}
	return true;
}

/* Returns the group with this name and list of ranks, 0 if memory runs out. */
static uint32_t group_for(tide_hang *h, tide_str name, tide_str list)
{
	uint64_t key = (uint64_t)name.i << 32 | list.i;
	uint32_t g = tide__map_get(&h->group_of, key + 1);
	if (g)
		return g;
	size_t at = h->n_groups ? h->n_groups : 1;
	if (!TIDE_ROOM(h->groups, h->cap_groups, at + 1))
		return 0;
	if (at == 1)
		h->groups[0] = (tide_hang_group){ 0 };
	h->groups[at] = (tide_hang_group){ .name = name, .list = list, .listed = list.i != 0 };
	h->n_groups = at + 1;
	if (!read_ranks(&h->groups[at], tide__text(h->names, list, NULL)) ||
	    !tide__map_put(&h->group_of, key + 1, (uint32_t)at))
		return 0;
	return (uint32_t)at;
}

static bool add_group(struct add *a, uint32_t lane)
{
	tide_hang *h = a->h;
	tide_str name, list = { 0 }, desc = { 0 }, raw_list = { 0 }, raw_desc = { 0 };
	fact_of(a->m, "ranks", lane, &raw_list);
	fact_of(a->m, "desc", lane, &raw_desc);
	if (!take_text(a, a->m->lanes.name[lane], &name) || !take_text(a, raw_list, &list) ||
	    !take_text(a, raw_desc, &desc) || !TIDE_ROOM(h->seen, h->cap_seen, h->n_seen + 1))
		return false;
	uint32_t g = group_for(h, name, list);
	if (!g)
		return false;
	if (desc.i)
		h->groups[g].desc = desc;
	a->groups[lane] = g;
	h->seen[h->n_seen++] =
		(tide_hang_seen){ .read = g,
				  .group = g,
				  .last_seq = -1,
				  .enqueued = fact_of(a->m, "enqueued", lane, NULL),
				  .completed = fact_of(a->m, "completed", lane, NULL) };
	return true;
}

/* ---- ops ---- */

/* "nccl:send 0->1", "nccl:recv 1<-0": the peer's rank in the group. */
static void read_peer(tide_hang_op *op, const char *name)
{
	int from, to;
	const char *s = strchr(name, ':');
	s = s ? s + 1 : name;
	op->peer = -1;
	op->batch = !strncmp(s, "coalesced", 9);
	if (sscanf(s, "send %d->%d", &from, &to) == 2) {
		op->peer = to;
		op->send = true;
	} else if (sscanf(s, "recv %d<-%d", &to, &from) == 2) {
		op->peer = from;
	}
	if (op->peer >= 0)
		op->p2p = true;
}

#define NUMBERS(X)                  \
	X(record_id, record)        \
	X(collective_seq_id, seq)   \
	X(input_elements, in_count) \
	X(output_elements, out_count)
#define TEXTS(X)                   \
	X(state, state)            \
	X(input_sizes, in_sizes)   \
	X(output_sizes, out_sizes) \
	X(input_dtypes, in_types)  \
	X(output_dtypes, out_types)

struct keys {
#define X(key, member) tide_str key;
	NUMBERS(X)
	TEXTS(X)
	X(is_p2p, p2p)
	X(retired, retired)
	X(p2p_seq_id, p2p_seq)
	X(group_desc, desc)
#undef X
};

/* UINT32_MAX, which no attribute has: the dump lacks it. */
static tide_str find_key(const tide_model *m, const char *key)
{
	uint32_t id = tide__strings_find(m->strings, key, strlen(key));
	return (tide_str){ id ? id : UINT32_MAX };
}

static bool take_attrs(struct add *a, size_t from, size_t to, const struct keys *k,
		       tide_hang_op *op, int64_t *p2p_seq, tide_str *desc)
{
	const tide_attrs *t = &a->m->attrs;
	for (size_t i = from; i < to; i++) {
		uint32_t key = t->key[i].i;
#define X(name, member)       \
	if (key == k->name.i) \
		op->member = t->number[i];
		NUMBERS(X)
#undef X
#define X(name, member)                                                 \
	if (key == k->name.i && !take_text(a, t->text[i], &op->member)) \
		return false;
		TEXTS(X)
#undef X
		if (key == k->is_p2p.i)
			op->p2p = t->number[i] > 0;
		if (key == k->retired.i)
			op->retired = t->number[i] > 0;
		if (key == k->p2p_seq_id.i)
			*p2p_seq = t->number[i];
		if (key == k->group_desc.i)
			*desc = t->text[i];
	}
	return true;
}

static bool add_op(struct add *a, uint32_t span, size_t *attr, const struct keys *k,
		   tide_hang_dump *d)
{
	tide_hang *h = a->h;
	const tide_model *m = a->m;
	tide_hang_op op = { .seq = -1, .record = -1, .in_count = -1, .out_count = -1 };
	int64_t p2p_seq = -1;
	tide_str desc = { 0 };
	size_t from = *attr, to = from;
	while (to < m->attrs.n && m->attrs.span[to].i == span)
		to++;
	*attr = to;
	if (!take_text(a, m->spans.name[span], &op.name) ||
	    !take_attrs(a, from, to, k, &op, &p2p_seq, &desc) ||
	    !TIDE_ROOM(h->ops, h->cap_ops, h->n_ops + 1))
		return false;
	read_peer(&op, tide__text(h->names, op.name, NULL));
	if (op.p2p)
		op.seq = p2p_seq;
	op.group = a->groups[m->spans.lane[span].i];
	op.stack.i = a->stacks[m->spans.stack[span].i];
	op.finished = !(m->spans.flags[span] & TIDE_SPAN_OPEN);
	op.wall_ns = m->wall_known ? m->wall0_ns + m->spans.t0[span] : -1;
	if (desc.i && !h->groups[op.group].desc.i && !take_text(a, desc, &h->groups[op.group].desc))
		return false;
	h->ops[h->n_ops++] = op;
	d->n++;
	d->whole |= op.record == 0;
	d->last_record = op.record > d->last_record ? op.record : d->last_record;
	if (op.finished)
		d->last_finished = op.record > d->last_finished ? op.record : d->last_finished;
	return true;
}

static int by_record(const void *x, const void *y)
{
	const tide_hang_op *a = x, *b = y;
	return (a->record > b->record) - (a->record < b->record);
}

/* Ops that were coalesced have no state of their own: the op that ends the batch has it. */
static void settle_batches(tide_hang_op *v, size_t n)
{
	for (size_t i = n; i--;) {
		if (!v[i].batch)
			continue;
		for (size_t k = i;
		     k-- && v[k].group == v[i].group && v[k].seq == v[i].seq && !v[k].batch;)
			v[k].finished |= v[i].finished;
	}
}

static bool add_ops(struct add *a, tide_hang_dump *d)
{
	const tide_model *m = a->m;
	size_t attr = 0;
	struct keys k;
#define X(name, member) k.name = find_key(m, #name);
	NUMBERS(X)
	TEXTS(X)
	X(is_p2p, p2p)
	X(retired, retired)
	X(p2p_seq_id, p2p_seq)
	X(group_desc, desc)
#undef X
	for (uint32_t s = 1; s < m->spans.n; s++)
		if (!add_op(a, s, &attr, &k, d))
			return false;
	if (d->n) {
		qsort(a->h->ops + d->first, d->n, sizeof *a->h->ops, by_record);
		settle_batches(a->h->ops + d->first, d->n);
	}
	return true;
}

static bool add_dump(struct add *a, const char *file)
{
	tide_hang *h = a->h;
	const tide_model *m = a->m;
	if (!TIDE_ROOM(h->dumps, h->cap_dumps, h->n_dumps + 1))
		return false;
	tide_hang_dump *d = &h->dumps[h->n_dumps];
	*d = (tide_hang_dump){ .rank = m->processes.rank[1],
			       .world = m->processes.world[1],
			       .last_wall_ns = m->wall_known ? m->wall0_ns + m->t_end : -1,
			       .last_record = -1,
			       .last_finished = -1,
			       .first = h->n_ops,
			       .of_group = (uint32_t)h->n_seen,
			       .file = tide__strndup(file, strlen(file)) };
	h->n_dumps++;
	int64_t row = tide__fact_find(m, "flightrec.container");
	d->json = row >= 0 && !strcmp(tide__text(m, m->facts.text[row], NULL), "json");
	a->groups = tide__calloc(m->lanes.n ? m->lanes.n : 1, sizeof *a->groups);
	bool ok = d->file && a->groups && take_stacks(a);
	for (uint32_t l = 1; ok && l < m->lanes.n; l++)
		ok = add_group(a, l);
	d->n_seen = (uint32_t)h->n_seen - d->of_group;
	return ok && add_ops(a, d);
}

/* ---- recordings ---- */

/* The span that says most about the end: the innermost open one that began last, else the last to
 * end. */
static uint32_t last_span(const tide_model *m, bool *open)
{
	uint32_t best = 0;
	*open = false;
	for (uint32_t s = 1; s < m->spans.n; s++) {
		bool is_open = (m->spans.flags[s] & TIDE_SPAN_OPEN) != 0;
		if (tide__cat_is_gpu(m->spans.cat[s]) || is_open < *open)
			continue;
		if (is_open > *open || !best || is_open || m->spans.t1[s] >= m->spans.t1[best])
			best = s;
		*open = is_open;
	}
	return best;
}

static bool add_recording(struct add *a, const char *file)
{
	tide_hang *h = a->h;
	const tide_model *m = a->m;
	if (!TIDE_ROOM(h->lasts, h->cap_lasts, h->n_lasts + 1))
		return false;
	tide_hang_last *l = &h->lasts[h->n_lasts];
	*l = (tide_hang_last){ .rank = m->processes.n > 1 ? m->processes.rank[1] : -1,
			       .pid = m->processes.n > 1 ? m->processes.pid[1] : -1,
			       .t_ns = -1,
			       .killed = tide__fact_find(m, "recovered.from") >= 0,
			       .file = tide__strndup(file, strlen(file)) };
	h->n_lasts++;
	uint32_t s = last_span(m, &l->open);
	bool ok = l->file && take_stacks(a) && take_text(a, m->spans.name[s], &l->op);
	uint32_t stack = 0;
	for (uint32_t p = s; ok && p; p = m->spans.parent[p].i) {
		stack = stack ? stack : m->spans.stack[p].i;
		if (!l->range.i && m->spans.cat[p] == TIDE_CAT_USER)
			ok = take_text(a, m->spans.name[p], &l->range);
	}
	for (size_t i = m->marks.n; ok && i-- > 1 && !l->phase.i;)
		if (m->marks.kind[i] == TIDE_MARK_PHASE || m->marks.kind[i] == TIDE_MARK_STEP)
			ok = take_text(a, m->marks.name[i], &l->phase);
	if (ok && s) {
		l->stack.i = a->stacks[stack];
		l->t_ns = l->open ? m->spans.t0[s] : m->spans.t1[s];
	}
	return ok;
}

tide_code tide__hang_add(tide_hang *h, const tide_model *m, const char *file, tide_error *err)
{
	struct add a = { .h = h, .m = m, .err = err };
	bool dump = m->format && !strcmp(m->format, "flightrec");
	if (dump && (m->processes.n < 2 || m->processes.rank[1] < 0))
		return tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				  "its name has no rank: name it as torch does, e.g. "
				  "nccl_trace_rank_3");
	if (!h->names && !(h->names = tide__model_new()))
		return tide__nomem(err);
	bool ok = dump ? add_dump(&a, file) : add_recording(&a, file);
	tide__map_free(&a.texts);
	tide__free(a.stacks);
	tide__free(a.groups);
	return ok ? TIDE_OK : tide__nomem(err);
}
