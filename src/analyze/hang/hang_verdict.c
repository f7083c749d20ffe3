// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The verdict: follows the earliest row that waits to the rank that did not come. */
#include <string.h>

#include "analyze/hang/hang_impl.h"
#include "base/error.h"
#include "base/mem.h"

const char *tide__hang_verdict_text(tide_hang_verdict v)
{
	static const char *const text[] = {
#define X(name, text) text,
		TIDE_HANG_VERDICTS(X)
#undef X
	};
	return text[v];
}

const char *tide__hang_role_text(tide_hang_role r)
{
	static const char *const text[] = {
#define X(name, text) text,
		TIDE_HANG_ROLES(X)
#undef X
	};
	return text[r];
}

/* ---- what a rank does in a row ---- */

static const tide_hang_last *killed(const tide_hang *h, int64_t rank)
{
	for (size_t i = 0; i < h->n_lasts; i++)
		if (h->lasts[i].rank == rank && h->lasts[i].killed)
			return &h->lasts[i];
	return NULL;
}

static const tide_hang_seen *seen_of(const tide_hang *h, const tide_hang_dump *d, uint32_t group)
{
	for (uint32_t s = 0; s < d->n_seen; s++)
		if (h->seen[d->of_group + s].group == group)
			return &h->seen[d->of_group + s];
	return NULL;
}

/* The last op of a dump, of this group if it has one; SIZE_MAX = none. */
static size_t last_op(const tide_hang *h, const tide_hang_dump *d, uint32_t group)
{
	size_t last = d->n ? d->first + d->n - 1 : SIZE_MAX;
	for (size_t i = d->first + d->n; i-- > d->first;)
		if (h->ops[i].group == group)
			return i;
	return last;
}

/* The dump has no op in the row. */
static tide_hang_role absent(const tide_hang *h, const tide_hang_dump *d, const tide_hang_row *r)
{
	const tide_hang_seen *s = seen_of(h, d, r->group);
	if (r->p2p)
		return d->whole ? TIDE_HANG_IS_MISSING : TIDE_HANG_IS_UNKNOWN;
	if (s && s->last_seq >= r->seq)
		return TIDE_HANG_IS_PASSED;
	if (d->whole || (s && s->last_seq >= 0))
		return TIDE_HANG_IS_MISSING;
	if (s && s->enqueued >= 0) /* older ops only are left out */
		return s->enqueued >= r->seq ? TIDE_HANG_IS_PASSED : TIDE_HANG_IS_MISSING;
	return TIDE_HANG_IS_UNKNOWN;
}

static tide_hang_evidence look(const tide_hang *h, size_t row, int64_t rank)
{
	const tide_hang_row *r = &h->rows[row];
	size_t dump = tide__hang_dump_of(h, rank);
	tide_hang_evidence e = {
		.rank = rank, .group = r->group, .seq = r->seq, .op = SIZE_MAX, .dump = dump
	};
	if (dump == SIZE_MAX) {
		e.role = killed(h, rank) ? TIDE_HANG_IS_DIED : TIDE_HANG_IS_NO_DUMP;
		return e;
	}
	const tide_hang_dump *d = &h->dumps[dump];
	e.op = tide__hang_op_in(h, d, r);
	if (e.op != SIZE_MAX) {
		e.role = h->ops[e.op].finished ? TIDE_HANG_IS_FINISHED : TIDE_HANG_IS_WAITING;
		return e;
	}
	e.role = absent(h, d, r);
	e.op = last_op(h, d, r->group);
	return e;
}

static bool put(tide_hang_evidence **out, size_t *n, size_t *cap, tide_hang_evidence e)
{
	if (!TIDE_ROOM(*out, *cap, *n + 1))
		return false;
	(*out)[(*n)++] = e;
	return true;
}

/* Marks the ops that differ from most: the first of the most frequent ones is the measure. Without a
 * majority none is named, and all are marked. */
static void mark_differing(const tide_hang *h, tide_hang_evidence *v, size_t n)
{
	size_t best = SIZE_MAX, most = 0, with = 0;
	for (size_t i = 0; i < n; i++)
		with += v[i].role <= TIDE_HANG_IS_FINISHED;
	for (size_t i = 0; i < n && most * 2 <= with; i++) {
		size_t same = 0;
		for (size_t k = 0; k < n && v[i].role <= TIDE_HANG_IS_FINISHED; k++)
			same += v[k].role <= TIDE_HANG_IS_FINISHED &&
				!tide__hang_compare(h, &h->ops[v[i].op], &h->ops[v[k].op]);
		if (same > most) {
			most = same;
			best = i;
		}
		if (i > 8) /* a majority is among the first, or there are many kinds */
			break;
	}
	if (best == SIZE_MAX || most == with)
		return;
	for (size_t i = 0; i < n; i++)
		if (v[i].role <= TIDE_HANG_IS_FINISHED &&
		    (most * 2 <= with ||
		     tide__hang_compare(h, &h->ops[v[best].op], &h->ops[v[i].op])))
			v[i].role = TIDE_HANG_IS_DIFFERS;
}

static int64_t peer_of(const tide_hang *h, const tide_hang_op *op)
{
	const tide_hang_group *g = &h->groups[op->group];
	return (g->listed || g->whole) && (size_t)op->peer < g->n_ranks ? g->ranks[op->peer] : -1;
}

static int64_t rank_of_op(const tide_hang *h, size_t op)
{
	for (size_t i = 0; i < h->n_dumps; i++)
		if (op >= h->dumps[i].first && op < h->dumps[i].first + h->dumps[i].n)
			return h->dumps[i].rank;
	return -1;
}

tide_code tide__hang_members(const tide_hang *h, size_t row, tide_hang_evidence **out, size_t *n,
			     size_t *cap, tide_error *err)
{
	const tide_hang_row *r = &h->rows[row];
	size_t from = *n;
	bool ok = true;
	if (r->p2p) {
		int64_t peer = peer_of(h, &h->ops[r->first]);
		ok = put(out, n, cap, look(h, row, rank_of_op(h, r->first))) &&
		     (peer < 0 || put(out, n, cap, look(h, row, peer)));
	} else {
		const tide_hang_group *g = &h->groups[r->group];
		for (size_t i = 0; ok && i < g->n_ranks; i++)
			ok = put(out, n, cap, look(h, row, g->ranks[i]));
		if (ok && r->differ)
			mark_differing(h, *out + from, *n - from);
	}
	return ok ? TIDE_OK : tide__nomem(err);
}

/* ---- the way ---- */

struct way {
	tide_hang *h;
	uint8_t *visited; /* per entry of h->stuck */
	tide_error *err;
	size_t step;
	tide_code rc;
};

static size_t count_role(const tide_hang *h, tide_hang_role role)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n_evidence; i++)
		n += h->evidence[i].role == role;
	return n;
}

static void settle(tide_hang *h, tide_hang_verdict v, tide_hang_because because, size_t row)
{
	h->verdict = h->at_the_end = v;
	h->because = because;
	h->row = row;
}

/* The first row of the group, up to r, whose ops differ; r itself if none does. */
static size_t differing(const tide_hang *h, size_t r)
{
	size_t best = r;
	for (size_t i = 0; i < h->n_rows && h->groups[h->rows[r].group].rows_differ; i++) {
		const tide_hang_row *x = &h->rows[i], *y = &h->rows[best];
		if (x->group != h->rows[r].group || !x->differ || x->p2p || x->seq > h->rows[r].seq)
			continue;
		if (!y->differ || x->seq < y->seq)
			best = i;
	}
	return best;
}

/* Two ranks call the same ops in another order: a later op of each is what the other has here. */
static bool swapped(const tide_hang *h, const tide_hang_evidence *a, const tide_hang_evidence *b)
{
	enum { NEAR = 16 };
	bool found[2] = { false, false };
	const tide_hang_evidence *v[2] = { a, b };
	for (int k = 0; k < 2; k++) {
		const tide_hang_dump *d = &h->dumps[v[k]->dump];
		const tide_hang_op *other = &h->ops[v[!k]->op];
		for (size_t i = v[k]->op + 1, n = 0; i < d->first + d->n && n < NEAR; i++)
			if (h->ops[i].group == a->group && !h->ops[i].p2p && ++n)
				found[k] |= !tide__hang_compare(h, &h->ops[i], other);
	}
	return found[0] && found[1];
}

static bool in_other_order(const tide_hang *h, size_t from)
{
	const tide_hang_evidence *a = NULL;
	for (size_t i = from; i < h->n_evidence; i++) {
		const tide_hang_evidence *e = &h->evidence[i];
		if (e->role > TIDE_HANG_IS_DIFFERS)
			continue;
		if (a &&
		    (tide__hang_compare(h, &h->ops[a->op], &h->ops[e->op]) & TIDE_HANG_DIFFERS_OP))
			return swapped(h, a, e);
		a = a ? a : e;
	}
	return false;
}

static void settle_mismatch(tide_hang *h, size_t row)
{
	unsigned d = h->rows[row].differ;
	bool order = (d & TIDE_HANG_DIFFERS_OP) && in_other_order(h, 0);
	settle(h,
	       order			    ? TIDE_HANG_MISMATCHED_ORDER
	       : d & TIDE_HANG_DIFFERS_OP   ? TIDE_HANG_MISMATCHED_OP
	       : d & TIDE_HANG_DIFFERS_SIZE ? TIDE_HANG_MISMATCHED_SIZE
					    : TIDE_HANG_MISMATCHED_DTYPE,
	       TIDE_HANG_DIFFERENT, row);
}

/* The entry of h->stuck that a rank waits in; SIZE_MAX = none. A rank waits where its earliest
 * unfinished op is. */
static size_t waits_in(const tide_hang *h, int64_t rank)
{
	size_t dump = tide__hang_dump_of(h, rank);
	const tide_hang_dump *d = dump == SIZE_MAX ? NULL : &h->dumps[dump];
	for (size_t i = d ? d->first : 0; d && i < d->first + d->n; i++) {
		const tide_hang_op *op = &h->ops[i];
		if (op->finished || op->batch)
			continue;
		if (!op->p2p && h->stuck_of[op->group] != SIZE_MAX)
			return h->stuck_of[op->group];
		for (size_t s = 0; s < h->n_stuck; s++)
			if (h->rows[h->stuck[s]].p2p && h->rows[h->stuck[s]].first == i)
				return s;
		return SIZE_MAX;
	}
	return SIZE_MAX;
}

/* Returns the entry of h->stuck to look at next; SIZE_MAX = the verdict is found. */
static size_t follow(struct way *w, size_t s)
{
	tide_hang *h = w->h;
	size_t row = h->stuck[s], wrong = differing(h, row), next = SIZE_MAX, from;
	const tide_hang_row *r = &h->rows[wrong];
	from = h->n_evidence;
	if (r->differ) {
		h->n_evidence = from = 0;
		w->step = 0;
	}
	w->rc = tide__hang_members(h, wrong, &h->evidence, &h->n_evidence, &h->cap_evidence,
				   w->err);
	if (w->rc != TIDE_OK)
		return SIZE_MAX;
	for (size_t i = from; i < h->n_evidence; i++)
		h->evidence[i].row = (uint32_t)w->step;
	w->step++;
	if (r->differ) {
		settle_mismatch(h, wrong);
		return SIZE_MAX;
	}
	/* the rows before this one are the way to it: the verdict is about this one alone */
	size_t missing = 0, gone = 0, died = 0;
	bool idle = false;
	for (size_t i = from; i < h->n_evidence; i++) {
		const tide_hang_evidence *e = &h->evidence[i];
		missing += e->role == TIDE_HANG_IS_MISSING;
		gone += e->role == TIDE_HANG_IS_NO_DUMP;
		died += e->role == TIDE_HANG_IS_DIED;
		if (e->role == TIDE_HANG_IS_MISSING) {
			size_t to = waits_in(h, e->rank);
			idle |= to == SIZE_MAX;
			next = next == SIZE_MAX ? to : next;
		}
	}
	if (missing && !idle && !died)
		return next;
	memmove(h->evidence, h->evidence + from, (h->n_evidence - from) * sizeof *h->evidence);
	h->n_evidence -= from;
	if (died || missing || gone)
		settle(h,
		       died	 ? TIDE_HANG_DIED
		       : missing ? TIDE_HANG_MISSING_RANK
				 : TIDE_HANG_NO_DUMP,
		       TIDE_HANG_ABSENT, wrong);
	else
		settle(h, TIDE_HANG_UNKNOWN,
		       count_role(h, TIDE_HANG_IS_UNKNOWN) ? TIDE_HANG_OVERWRITTEN
		       : r->p2p && h->n_evidence < 2	   ? TIDE_HANG_UNKNOWN_PEER
							   : TIDE_HANG_ALL_CAME,
		       wrong);
	return SIZE_MAX;
}

/* Follows the way from entry s of h->stuck to its end. */
static void walk(struct way *w, size_t s)
{
	tide_hang *h = w->h;
	h->n_evidence = w->step = 0;
	while (w->rc == TIDE_OK && s != SIZE_MAX && !w->visited[s]) {
		w->visited[s] = 1;
		s = follow(w, s);
	}
	if (w->rc == TIDE_OK && s != SIZE_MAX) /* back at a row: the ranks wait for each other */
		settle(h, TIDE_HANG_MISMATCHED_ORDER, TIDE_HANG_CYCLE, h->stuck[s]);
}

enum { MOST_STARTS = 1000 };

/* The first way, in the order of the rows, that ends with a cause; else the first one. Work that was
 * called after the cause waits too, with all its ranks there. */
static void find_cause(struct way *w)
{
	tide_hang *h = w->h;
	size_t n = h->n_stuck < MOST_STARTS ? h->n_stuck : MOST_STARTS;
	for (size_t s = 0; s < n && w->rc == TIDE_OK; s++) {
		if (w->visited[s])
			continue;
		walk(w, s);
		if (w->rc != TIDE_OK || h->verdict != TIDE_HANG_UNKNOWN)
			return;
	}
	if (w->rc == TIDE_OK && n > 1) {
		memset(w->visited, 0, h->n_stuck);
		walk(w, 0);
	}
}

/* ---- movement ---- */

/* One moment, written as JSON and as a pickle. */
static bool are_copies(const tide_hang_dump *a, const tide_hang_dump *b)
{
	return a->rank == b->rank && a->json != b->json && a->n == b->n &&
	       a->last_record == b->last_record && a->last_finished == b->last_finished &&
	       a->last_wall_ns == b->last_wall_ns;
}

/* Every rank with several dumps called or finished ops between its last two. */
static bool moves(const tide_hang *h)
{
	bool some = false;
	for (size_t i = 1; i < h->n_dumps; i++) {
		const tide_hang_dump *b = &h->dumps[i], *a = b - 1;
		if (b->latest && a > h->dumps && are_copies(a, b))
			a--;
		if (!b->latest || a->rank != b->rank || are_copies(a, b))
			continue;
		if (b->last_record <= a->last_record && b->last_finished <= a->last_finished)
			return false;
		some = true;
	}
	return some;
}

/* Nothing waits: ranks of the job without a dump are the evidence. */
static tide_code settle_none(tide_hang *h, tide_error *err)
{
	enum { MOST = 100000 };
	bool died = false;
	settle(h, h->n_ops ? TIDE_HANG_NONE : TIDE_HANG_UNKNOWN,
	       !h->n_dumps ? TIDE_HANG_NO_DUMPS
	       : h->n_ops  ? TIDE_HANG_NOTHING_WAITS
			   : TIDE_HANG_NO_OPS,
	       SIZE_MAX);
	if (!h->n_ops || h->world <= (int64_t)h->n_ranks)
		return TIDE_OK;
	for (int64_t r = 0; r < h->world && h->n_evidence < MOST; r++) {
		tide_hang_evidence e = { .rank = r,
					 .role = TIDE_HANG_IS_NO_DUMP,
					 .seq = -1,
					 .op = SIZE_MAX,
					 .dump = SIZE_MAX };
		if (tide__hang_dump_of(h, r) != SIZE_MAX)
			continue;
		if (killed(h, r)) {
			e.role = TIDE_HANG_IS_DIED;
			died = true;
		}
		if (!put(&h->evidence, &h->n_evidence, &h->cap_evidence, e))
			return tide__nomem(err);
	}
	settle(h, died ? TIDE_HANG_DIED : TIDE_HANG_NO_DUMP, TIDE_HANG_SILENT, SIZE_MAX);
	return TIDE_OK;
}

tide_code tide__hang_finish(tide_hang *h, int64_t world, tide_error *err)
{
	struct way w = { .h = h, .err = err };
	if (!h->names && !(h->names = tide__model_new()))
		return tide__nomem(err);
	h->n_evidence = 0;
	tide_code rc = tide__hang_match(h, world, err);
	if (rc != TIDE_OK)
		return rc;
	if (!h->n_stuck)
		return settle_none(h, err);
	w.visited = tide__calloc(h->n_stuck, 1);
	if (!w.visited)
		return tide__nomem(err);
	find_cause(&w);
	tide__free(w.visited);
	if ((h->verdict == TIDE_HANG_MISSING_RANK || h->verdict == TIDE_HANG_UNKNOWN) && moves(h))
		h->verdict = TIDE_HANG_SLOW;
	return w.rc;
}

void tide__hang_free(tide_hang *h)
{
	for (size_t i = 0; i < h->n_dumps; i++)
		tide__free(h->dumps[i].file);
	for (size_t i = 0; i < h->n_lasts; i++)
		tide__free(h->lasts[i].file);
	for (size_t i = 1; i < h->n_groups; i++)
		tide__free(h->groups[i].ranks);
	tide__free(h->ops);
	tide__free(h->dumps);
	tide__free(h->seen);
	tide__free(h->groups);
	tide__map_free(&h->group_of);
	tide__free(h->lasts);
	tide__free(h->rows);
	tide__free(h->stuck);
	tide__free(h->stuck_of);
	tide__free(h->evidence);
	tide__model_free(h->names);
	*h = (tide_hang){ 0 };
}
