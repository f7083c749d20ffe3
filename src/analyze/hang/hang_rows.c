// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Matches the ops of all ranks: dumps in order, groups with members, rows, pairs of send and recv. */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang_impl.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

/* ---- dumps ---- */

static int by_rank(const void *x, const void *y)
{
	const tide_hang_dump *a = x, *b = y;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->last_record != b->last_record)
		return a->last_record < b->last_record ? -1 : 1;
	if (a->last_finished != b->last_finished)
		return a->last_finished < b->last_finished ? -1 : 1;
	if (a->last_wall_ns != b->last_wall_ns)
		return a->last_wall_ns < b->last_wall_ns ? -1 : 1;
	if (a->json != b->json)
		return a->json ? -1 : 1;
	return strcmp(a->file, b->file);
}

static void order_dumps(tide_hang *h, int64_t world)
{
	int64_t most = -1;
	if (h->n_dumps)
		qsort(h->dumps, h->n_dumps, sizeof *h->dumps, by_rank);
	h->n_ranks = 0;
	h->world = world ? world : -1;
	for (size_t i = 0; i < h->n_dumps; i++) {
		tide_hang_dump *d = &h->dumps[i];
		d->latest = i + 1 == h->n_dumps || d[1].rank != d->rank;
		h->n_ranks += d->latest;
		most = d->rank > most ? d->rank : most;
		if (!world && d->world > h->world)
			h->world = d->world;
	}
	if (h->world >= 0 && h->world <= most)
		h->world = most + 1;
}

size_t tide__hang_dump_of(const tide_hang *h, int64_t rank)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, h->n_dumps, mid, h->dumps[mid].rank <= rank);
	return lo && h->dumps[lo - 1].rank == rank ? lo - 1 : SIZE_MAX;
}

/* ---- groups ---- */

static bool has_rank(const tide_hang_group *g, int64_t rank)
{
	for (size_t i = 0; i < g->n_ranks; i++)
		if (g->ranks[i] == rank)
			return true;
	return false;
}

static bool add_rank(tide_hang_group *g, int64_t rank)
{
	if (g->n_ranks && g->ranks[g->n_ranks - 1] >= rank)
		return true;
	if (!TIDE_ROOM(g->ranks, g->cap_ranks, g->n_ranks + 1))
		return false;
	g->ranks[g->n_ranks++] = rank;
	return true;
}

/* A dump without a list of ranks uses the one group of this name that has a list and the rank. */
static uint32_t same_group(const tide_hang *h, uint32_t g, int64_t rank)
{
	uint32_t found = g;
	if (h->groups[g].listed)
		return g;
	for (uint32_t i = 1; i < h->n_groups; i++)
		if (h->groups[i].listed && h->groups[i].name.i == h->groups[g].name.i &&
		    has_rank(&h->groups[i], rank)) {
			if (found != g)
				return g;
			found = i;
		}
	return found;
}

static bool find_members(tide_hang *h)
{
	for (uint32_t g = 1; g < h->n_groups; g++) {
		tide_hang_group *x = &h->groups[g];
		x->whole = !strcmp(tide__text(h->names, x->desc, NULL), "default_pg");
		x->ops = x->rows_waiting = x->rows_differ = 0;
		x->last_seq = -1;
		x->n_ranks = x->listed ? x->n_ranks : 0;
	}
	for (size_t i = 0; i < h->n_dumps; i++) {
		const tide_hang_dump *d = &h->dumps[i];
		for (uint32_t s = 0; d->latest && s < d->n_seen; s++) {
			tide_hang_seen *seen = &h->seen[d->of_group + s];
			seen->group = same_group(h, seen->read, d->rank);
			tide_hang_group *g = &h->groups[seen->group];
			if (!g->listed && !g->whole && !add_rank(g, d->rank))
				return false;
		}
	}
	/* the group of all ranks, where no dump lists them */
	int64_t all = h->world;
	if (all < 0 && h->n_dumps)
		all = h->dumps[h->n_dumps - 1].rank + 1;
	for (uint32_t g = 1; g < h->n_groups; g++)
		for (int64_t r = 0; h->groups[g].whole && !h->groups[g].listed && r < all; r++)
			if (!add_rank(&h->groups[g], r))
				return false;
	return true;
}

/* ---- what may differ ---- */

static const struct rule {
	const char *op;
	bool in, out; /* every rank has the same number of elements, and the same type */
} rules[] = {
	{ "all_to_all", 0, 0 },
	{ "alltoall", 0, 0 },
	{ "all_to_all_single", 0, 0 },
	{ "alltoall_base", 0, 0 },
	{ "all_to_all_v_single", 0, 0 },
	{ "all_gather_v", 0, 0 },
	{ "reduce_scatter_v", 0, 0 },
	{ "gather", 1, 0 },
	{ "scatter", 0, 1 },
	{ "broadcast", 0, 1 },
	{ "_broadcast_oop", 0, 1 },
	{ "reduce", 1, 0 },
	{ "_reduce_oop", 1, 0 },
	{ "coalesced", 0, 0 },
	{ "send", 0, 0 },
	{ "recv", 0, 0 },
};

static const char *short_name(const tide_hang *h, tide_str name)
{
	const char *s = tide__text(h->names, name, NULL), *colon = strchr(s, ':');
	return colon ? colon + 1 : s;
}

unsigned tide__hang_compare(const tide_hang *h, const tide_hang_op *a, const tide_hang_op *b)
{
	struct rule r = { NULL, 1, 1 };
	unsigned d = 0;
	if (a->name.i == b->name.i && a->in_count == b->in_count && a->out_count == b->out_count &&
	    a->in_types.i == b->in_types.i && a->out_types.i == b->out_types.i)
		return 0;
	if (a->name.i != b->name.i && strcmp(short_name(h, a->name), short_name(h, b->name)) != 0)
		return TIDE_HANG_DIFFERS_OP;
	const char *name = short_name(h, a->name);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!strcmp(rules[i].op, name))
			r = rules[i];
	if ((r.in && a->in_count != b->in_count && a->in_count >= 0 && b->in_count >= 0) ||
	    (r.out && a->out_count != b->out_count && a->out_count >= 0 && b->out_count >= 0))
		d |= TIDE_HANG_DIFFERS_SIZE;
	if ((r.in && a->in_types.i != b->in_types.i && a->in_types.i && b->in_types.i) ||
	    (r.out && a->out_types.i != b->out_types.i && a->out_types.i && b->out_types.i))
		d |= TIDE_HANG_DIFFERS_TYPE;
	return d;
}

/* ---- rows ---- */

struct match {
	tide_hang *h;
	tide_map rows; /* group, place, sequence -> row + 1 */
	struct last {  /* of one dump, by group */
		int64_t seq, most;
		uint32_t place, group; /* group: the one that it really is */
	} * of;
};

enum { SEQ_BITS = 40, PLACE_BITS = 8, GROUP_BITS = 16 };

static bool add_to_row(struct match *x, size_t i)
{
	tide_hang *h = x->h;
	tide_hang_op *op = &h->ops[i];
	if (op->seq < 0 || op->seq >> SEQ_BITS || op->place >> PLACE_BITS ||
	    op->group >> GROUP_BITS) {
		h->left_out++;
		return true;
	}
	uint64_t key =
		((uint64_t)op->group << PLACE_BITS | op->place) << SEQ_BITS | (uint64_t)op->seq;
	uint32_t r = tide__map_get(&x->rows, key);
	if (!r) {
		if (!TIDE_ROOM(h->rows, h->cap_rows, h->n_rows + 1))
			return false;
		h->rows[h->n_rows++] = (tide_hang_row){
			.group = op->group, .place = op->place, .seq = op->seq, .first = i
		};
		r = (uint32_t)h->n_rows;
		if (!tide__map_put(&x->rows, key, r))
			return false;
	}
	tide_hang_row *row = &h->rows[r - 1];
	row->n++;
	row->waiting += !op->finished;
	row->differ |= (uint8_t)tide__hang_compare(h, &h->ops[row->first], op);
	if (op->wall_ns < h->ops[row->first].wall_ns)
		row->first = i;
	return true;
}

/* The last sequence numbers of a dump's groups, and the places of its ops. */
static bool walk_dump(struct match *x, const tide_hang_dump *d)
{
	tide_hang *h = x->h;
	for (uint32_t g = 0; g < h->n_groups; g++)
		x->of[g] = (struct last){ .seq = -1, .most = -1, .group = g };
	for (uint32_t s = 0; s < d->n_seen; s++)
		x->of[h->seen[d->of_group + s].read].group = h->seen[d->of_group + s].group;
	for (size_t i = d->first; i < d->first + d->n; i++) {
		tide_hang_op *op = &h->ops[i];
		op->group = x->of[op->group].group;
		h->groups[op->group].ops++;
		if (op->p2p || op->batch)
			continue;
		struct last *l = &x->of[op->group];
		l->place = l->seq == op->seq ? l->place + 1 : 0;
		l->seq = op->seq;
		l->most = op->seq > l->most ? op->seq : l->most;
		op->place = l->place;
		if (!add_to_row(x, i))
			return false;
	}
	for (uint32_t s = 0; s < d->n_seen; s++)
		h->seen[d->of_group + s].last_seq = x->of[h->seen[d->of_group + s].group].most;
	return true;
}

/* ---- send and recv ---- */

/* The rank of a member of the group; -1 = unknown. */
static int64_t member(const tide_hang_group *g, int32_t at)
{
	if (g->listed || g->whole)
		return (size_t)at < g->n_ranks ? g->ranks[at] : -1;
	return -1;
}

/* The n-th (from 0) send or recv of a dump with this peer in this group; SIZE_MAX = fewer. */
static size_t nth(const tide_hang *h, const tide_hang_dump *d, uint32_t group, int64_t peer,
		  bool send, size_t n)
{
	for (size_t i = d->first; i < d->first + d->n; i++) {
		const tide_hang_op *op = &h->ops[i];
		if (op->group == group && op->peer >= 0 && op->send == send &&
		    member(&h->groups[group], op->peer) == peer && !n--)
			return i;
	}
	return SIZE_MAX;
}

enum { MOST_PAIRS = 4096 };

/* Adds a row for each send or recv that waits for its peer. They match by order, so both dumps must
 * have the first op of their process. */
static bool add_pairs(struct match *x, const tide_hang_dump *d, size_t *pairs)
{
	tide_hang *h = x->h;
	for (size_t i = d->first; i < d->first + d->n && *pairs < MOST_PAIRS; i++) {
		const tide_hang_op *op = &h->ops[i];
		if (op->peer < 0 || op->finished)
			continue;
		if (!TIDE_ROOM(h->rows, h->cap_rows, h->n_rows + 1))
			return false;
		h->rows[h->n_rows++] = (tide_hang_row){ .group = op->group,
							.seq = op->seq,
							.first = i,
							.n = 1,
							.waiting = 1,
							.p2p = true };
		++*pairs;
	}
	return true;
}

size_t tide__hang_op_in(const tide_hang *h, const tide_hang_dump *d, const tide_hang_row *r)
{
	const tide_hang_op *first = &h->ops[r->first];
	if (!r->p2p) {
		for (size_t i = d->first; i < d->first + d->n; i++) {
			const tide_hang_op *op = &h->ops[i];
			if (op->group == r->group && op->seq == r->seq && op->place == r->place &&
			    !op->p2p && !op->batch)
				return i;
		}
		return SIZE_MAX;
	}
	if (r->first >= d->first && r->first < d->first + d->n)
		return r->first;
	/* the peer: its op with the same number in their order */
	const tide_hang_dump *own = NULL;
	for (size_t i = 0; i < h->n_dumps; i++)
		if (r->first >= h->dumps[i].first && r->first < h->dumps[i].first + h->dumps[i].n)
			own = &h->dumps[i];
	size_t n = 0;
	for (size_t i = own ? own->first : r->first; i < r->first; i++)
		n += h->ops[i].group == r->group && h->ops[i].peer == first->peer &&
		     h->ops[i].send == first->send;
	return own ? nth(h, d, r->group, own->rank, !first->send, n) : SIZE_MAX;
}

/* ---- rows that wait ---- */

/* Counts the rows of groups, and finds the first row of each that waits. */
static bool count_rows(tide_hang *h)
{
	tide__free(h->stuck_of);
	h->stuck_of = tide__alloc(h->n_groups ? h->n_groups : 1, sizeof *h->stuck_of);
	if (!h->stuck_of)
		return false;
	memset(h->stuck_of, 0xff, (h->n_groups ? h->n_groups : 1) * sizeof *h->stuck_of);
	for (size_t r = 0; r < h->n_rows; r++) {
		const tide_hang_row *x = &h->rows[r], *y;
		tide_hang_group *g = &h->groups[x->group];
		size_t *f = &h->stuck_of[x->group];
		g->rows_waiting += x->waiting > 0;
		g->rows_differ += x->differ != 0;
		if (!x->p2p && x->seq > g->last_seq)
			g->last_seq = x->seq;
		if (!x->waiting || x->p2p)
			continue;
		y = *f == SIZE_MAX ? NULL : &h->rows[*f];
		if (!y || x->seq < y->seq || (x->seq == y->seq && x->place < y->place))
			*f = r;
	}
	return true;
}

struct start {
	int64_t wall_ns;
	size_t row;
};

static int by_start(const void *x, const void *y)
{
	const struct start *a = x, *b = y;
	if (a->wall_ns != b->wall_ns)
		return a->wall_ns < b->wall_ns ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static bool list_stuck(tide_hang *h)
{
	struct start *v = NULL;
	size_t n = 0, cap = 0;
	bool ok = count_rows(h);
	for (size_t r = 0; ok && r < h->n_rows; r++) {
		const tide_hang_row *x = &h->rows[r];
		if (!x->waiting || (!x->p2p && h->stuck_of[x->group] != r))
			continue;
		ok = TIDE_ROOM(v, cap, n + 1);
		if (ok)
			v[n++] = (struct start){ h->ops[x->first].wall_ns, r };
	}
	ok = ok && TIDE_ROOM(h->stuck, h->cap_stuck, n + 1);
	if (ok && n)
		qsort(v, n, sizeof *v, by_start);
	h->n_stuck = ok ? n : 0;
	for (size_t i = 0; i < h->n_stuck; i++) {
		h->stuck[i] = v[i].row;
		if (!h->rows[v[i].row].p2p)
			h->stuck_of[h->rows[v[i].row].group] = i;
	}
	tide__free(v);
	return ok;
}

tide_code tide__hang_match(tide_hang *h, int64_t world, tide_error *err)
{
	struct match x = { .h = h };
	size_t pairs = 0;
	h->n_rows = h->left_out = h->n_stuck = 0;
	order_dumps(h, world);
	x.of = tide__alloc(h->n_groups ? h->n_groups : 1, sizeof *x.of);
	bool ok = x.of && find_members(h);
	for (size_t i = 0; ok && i < h->n_dumps; i++)
		ok = !h->dumps[i].latest ||
		     (walk_dump(&x, &h->dumps[i]) && add_pairs(&x, &h->dumps[i], &pairs));
	ok = ok && list_stuck(h);
	tide__map_free(&x.rows);
	tide__free(x.of);
	return ok ? TIDE_OK : tide__nomem(err);
}
