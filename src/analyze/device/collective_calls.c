// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Lists the collectives of a rank, to compare ranks (rank_collectives.h): what was sent, when, and
 * where the rank's time went since its previous collective of the group.
 *
 * Calls are the communication rows of the device; in a trace without any, the ranges that PyTorch
 * makes of a host library's collectives (gloo:all_reduce). Sends and receives are counted only. The
 * time before a call is split by nested unions: compute, + other collectives, + copies, + data loading
 * on a launching thread; the rest is launch. So the parts add up to the interval. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/span_args.h"
#include "analyze/device/collective_args.h"
#include "base/mem.h"

const char *const tide__before_text[TIDE_BEFORES] = { "compute", "communication", "copies",
						      "data_loading", "launch" };

enum { UNIONS = TIDE_BEFORE_LAUNCH }; /* the last part is the rest */

typedef struct finder {
	const tide_hta_input *in;
	tide_hta *h;
	tide_collective_keys k;
	tide_map pgs;	  /* texts of a group -> row + 1 */
	tide_map ordinal; /* group, name, step or sequence number -> calls so far */
	tide_map splits;  /* group, peer, direction -> row + 1 */
	tide_map names;	  /* host: name -> 1 compute, 2 collective, 3 data loading, 4 none */
	bool host;
	tide_interval_set unions[UNIONS];
	int64_t *sums[UNIONS];
	int64_t *last; /* per group + 1: end of the latest call; -1 = none */
	size_t n_last, cap_last;
} finder;

/* ---- process groups ---- */

static uint32_t pg_of(finder *f, uint32_t at)
{
	const tide_model *m = f->in->m;
	tide_str name = tide__attr_text(m, at, f->k.group),
		 desc = tide__attr_text(m, at, f->k.desc),
		 ranks = tide__attr_text(m, at, f->k.ranks);
	int64_t size = tide__attr_number(m, at, f->k.size);
	if (!name.i && !ranks.i && size < 0)
		return 0;
	uint64_t key = tide__mix((uint64_t)name.i << 32 | ranks.i) ^
		       tide__mix((uint64_t)size + ((uint64_t)desc.i << 40));
	uint32_t row = tide__map_get(&f->pgs, key);
	if (row)
		return row;
	tide_hta_pg *g = TIDE_HTA_PUSH(f->h, pgs);
	if (!g || !tide__map_put(&f->pgs, key, (uint32_t)f->h->pgs.n)) {
		f->h->failed = true;
		return 0;
	}
	*g = (tide_hta_pg){ .name = tide__hta_take(f->h, m, name),
			    .desc = tide__hta_take(f->h, m, desc),
			    .ranks = tide__hta_take(f->h, m, ranks),
			    .size = size > 0 ? size : -1,
			    .first = tide__attr_number(m, at, f->k.first),
			    .stride = tide__attr_number(m, at, f->k.stride) };
	return (uint32_t)f->h->pgs.n;
}

/* ---- sizes ---- */

typedef struct sizes {
	uint64_t sum, n;
	bool known, zero; /* zero: nothing goes to some peer */
} sizes;

/* Reads "[3, 0, 5]"; a list with "..." was cut by the profiler and is unknown. Calls `each` with every
 * number if it is not NULL. */
static sizes read_list(const char *s, void (*each)(void *user, uint64_t at, uint64_t v), void *user)
{
	sizes z = { 0 };
	s += *s == '[';
	while (isdigit((unsigned char)*s)) {
		char *end;
		unsigned long long v = strtoull(s, &end, 10);
		if (end - s > 15 || z.sum + v > TIDE_ABSURD_BYTES)
			return (sizes){ 0 };
		if (each)
			each(user, z.n, v);
		z.n++;
		z.sum += v;
		z.zero |= !v;
		s = end + strspn(end, ", ");
	}
	z.known = z.n && *s == ']' && !s[1];
	return z;
}

struct adding {
	finder *f;
	uint32_t pg, received;
	uint64_t unit; /* bytes of one entry of the list */
};

static void add_split(void *user, uint64_t peer, uint64_t v)
{
	struct adding *a = user;
	finder *f = a->f;
	uint64_t key = peer << 24 | (uint64_t)a->pg << 1 | a->received;
	uint32_t row = tide__map_get(&f->splits, key);
	if (!row) {
		tide_hta_split *s = TIDE_HTA_PUSH(f->h, splits);
		row = (uint32_t)f->h->splits.n;
		if (!s || !tide__map_put(&f->splits, key, row)) {
			f->h->failed = true;
			return;
		}
		*s = (tide_hta_split){ .pg = a->pg, .received = a->received, .peer = peer };
	}
	tide_hta_split *s = &f->h->splits.v[row - 1];
	s->calls++;
	if (s->bytes < INT64_MAX - TIDE_ABSURD_BYTES)
		s->bytes += v * a->unit;
}

/* Adds the split sizes of one direction. Returns false if there are none that can be used. */
static bool take_split(finder *f, uint32_t at, uint32_t pg, tide_str key, int64_t elements,
		       unsigned each, uint32_t received, bool *zero)
{
	const char *s = tide__text(f->in->m, tide__attr_text(f->in->m, at, key), NULL);
	sizes z = read_list(s, NULL, NULL);
	int64_t size = f->h->pgs.v[pg - 1].size;
	if (!z.known || elements < 0 || !each || elements > TIDE_ABSURD_BYTES / 16 ||
	    (size > 0 && (uint64_t)size != z.n) || (z.sum && (uint64_t)elements % z.sum) ||
	    (!z.sum && elements))
		return false;
	*zero |= z.zero;
	struct adding a = { f, pg, received, z.sum ? (uint64_t)elements / z.sum * each : 0 };
	read_list(s, add_split, &a);
	return true;
}

/* Without split sizes every rank gets the same. */
static void take_splits(finder *f, uint32_t at, tide_hta_call *c)
{
	const tide_model *m = f->in->m;
	tide_str lists[] = { tide__attr_text(m, at, f->k.in_split),
			     tide__attr_text(m, at, f->k.out_split) };
	unsigned each = tide__collective_dtype_bytes(
		tide__text(m, tide__attr_text(m, at, f->k.dtype), NULL));
	int64_t counts[] = { tide__attr_number(m, at, f->k.in),
			     tide__attr_number(m, at, f->k.out) };
	tide_str keys[] = { f->k.in_split, f->k.out_split };
	bool zero = false, unknown = false;
	for (uint32_t d = 0; d < 2; d++) {
		const char *s = tide__text(m, lists[d], NULL);
		if (!lists[d].i || !strcmp(s, "[]"))
			continue;
		unknown |= !c->pg || !take_split(f, at, c->pg, keys[d], counts[d], each, d, &zero);
	}
	f->h->h.splits_unknown += unknown;
	if (zero || unknown) /* a rank without data for another need not wait for it */
		c->flags &= ~(uint32_t)TIDE_CALL_SYNC;
}

static bool is_barrier(const char *name)
{
	return strstr(name, "barrier") || strstr(name, "Barrier");
}

/* Returns true if no rank can end before every rank began. */
static bool synchronises(const tide_collective_kind *kind, const char *name)
{
	static const char *const all[] = { "reducescatter", "allreduce", "allgather", "alltoall" };
	for (size_t i = 0; kind && i < sizeof all / sizeof *all; i++)
		if (!strcmp(kind->name, all[i]))
			return true;
	return is_barrier(name);
}

/* Fills what the arguments say: sizes and group. */
static void read_args(finder *f, uint32_t at, const tide_collective_kind *kind, tide_hta_call *c)
{
	const tide_model *m = f->in->m;
	tide_str dtype = tide__attr_text(m, at, f->k.dtype);
	unsigned each = tide__collective_dtype_bytes(tide__text(m, dtype, NULL));
	int64_t n = kind ? tide__attr_number(m, at, kind->out ? f->k.out : f->k.in) : -1;
	c->pg = pg_of(f, at);
	c->dtype = tide__hta_take(f->h, m, dtype);
	if (n >= TIDE_ABSURD_BYTES / 16)
		c->flags |= TIDE_CALL_ODD;
	if (n < 0 || !each || n >= TIDE_ABSURD_BYTES / 16)
		return;
	int64_t size = c->pg ? f->h->pgs.v[c->pg - 1].size : -1;
	c->bytes = n * each;
	c->bus_bytes = size > 0 || !kind->num
			       ? (int64_t)tide__bus_bytes(kind, (uint64_t)c->bytes, (uint64_t)size)
			       : -1;
	if (!c->bytes)
		c->flags &= ~(uint32_t)TIDE_CALL_SYNC;
	if (!strcmp(kind->name, "alltoall"))
		take_splits(f, at, c);
}

/* ---- one call ---- */

static bool add_call(finder *f, tide_hta_call c)
{
	uint64_t key = tide__mix((uint64_t)c.pg << 32 | (c.seq < 0 ? c.name.i : 0));
	key = tide__mix(key ^ (uint64_t)(c.seq < 0 ? c.step : c.seq)) + (c.seq < 0);
	c.ordinal = tide__map_get(&f->ordinal, key);
	tide_hta_call *row = TIDE_HTA_PUSH(f->h, calls);
	if (!row || !tide__map_put(&f->ordinal, key, c.ordinal + 1))
		return false;
	if (c.pg >= f->n_last) {
		if (!TIDE_ROOM(f->last, f->cap_last, (size_t)c.pg + 1))
			return false;
		while (f->n_last <= c.pg)
			f->last[f->n_last++] = -1;
	}
	c.since = f->last[c.pg] <= c.t0 ? f->last[c.pg] : -1; /* calls overlap: unknown */
	if (c.t1 > f->last[c.pg])
		f->last[c.pg] = c.t1;
	int64_t inner = 0, from = c.since;
	for (int u = 0; c.since >= 0 && u < UNIONS; u++) {
		int64_t ns = tide__interval_set_before_ns(&f->unions[u], f->sums[u], c.t0) -
			     tide__interval_set_before_ns(&f->unions[u], f->sums[u], from);
		c.before[u] = ns - inner;
		inner = ns;
	}
	if (c.since >= 0)
		c.before[TIDE_BEFORE_LAUNCH] = c.t0 - from - inner;
	*row = c;
	return true;
}

static bool device_call(finder *f, size_t i)
{
	const tide_hta_input *in = f->in;
	const tide_model *m = in->m;
	uint32_t at = tide__collective_carrier(in, &f->k, i), step = in->rows->step[i];
	const char *text = at ? tide__text(m, tide__attr_text(m, at, f->k.name), NULL) : "";
	const tide_collective_kind *kind =
		at ? tide__collective_kind(text) : tide__collective_guess(in, i);
	if (kind && kind->pair) {
		f->h->h.pairs++;
		return true;
	}
	if (!at)
		text = kind ? kind->name : tide__text(m, m->spans.name[in->rows->span[i]], NULL);
	tide_hta_call c = { .name = tide__hta_intern(f->h, text, strlen(text)),
			    .flags = synchronises(kind, text) ? TIDE_CALL_SYNC : 0,
			    .step = step ? in->steps->v[step - 1].number : -1,
			    .seq = tide__collective_seq(in, &f->k, i),
			    .t0 = tide__row_t0(in, i),
			    .t1 = tide__row_t1(in, i),
			    .bytes = -1,
			    .bus_bytes = -1 };
	if (at)
		read_args(f, at, kind, &c);
	return add_call(f, c) && !f->h->failed;
}

/* ---- unions ---- */

/* Adds an interval of a part to its union and to the wider ones. */
static bool add_part(finder *f, int part, int64_t t0, int64_t t1)
{
	for (int u = part; u < UNIONS; u++)
		if (!tide__interval_set_add(&f->unions[u], t0, t1))
			return false;
	return true;
}

static int part_of_row(unsigned type)
{
	return type == TIDE_GPU_COMM	 ? TIDE_BEFORE_COMM
	       : type == TIDE_GPU_MEMORY ? TIDE_BEFORE_MEMORY
					 : TIDE_BEFORE_COMPUTE;
}

enum { HOST_COMPUTE = 1, HOST_COLLECTIVE, HOST_DATA, HOST_NONE };

/* Returns what a name says, computed once. */
static uint32_t host_kind(finder *f, uint32_t span)
{
	tide_str name = f->in->m->spans.name[span];
	uint32_t k = tide__map_get(&f->names, name.i);
	if (k)
		return k;
	const char *s = tide__text(f->in->m, name, NULL);
	k = !strncmp(s, "gloo:", 5) || !strncmp(s, "mpi:", 4) || !strncmp(s, "ucc:", 4)
		    ? HOST_COLLECTIVE
	    : tide__names_data_loading(s) ? HOST_DATA
	    : !strncmp(s, "c10d::", 6)	  ? HOST_NONE
					  : HOST_COMPUTE;
	if (!tide__map_put(&f->names, name.i, k))
		f->h->failed = true;
	return k;
}

/* Marks the lanes whose data loading keeps a device waiting. */
static uint8_t *launching_lanes(const finder *f)
{
	const tide_model *m = f->in->m;
	uint8_t *lanes = tide__calloc(m->lanes.n + 1, 1);
	for (size_t i = 0; lanes && i < f->in->n_launches; i++)
		lanes[m->spans.lane[f->in->launches[i].span].i] = 1;
	if (lanes && !f->in->rows->n)
		memset(lanes, 1, m->lanes.n + 1);
	return lanes;
}

static bool host_part(finder *f, const uint8_t *lanes, uint32_t span)
{
	const tide_model *m = f->in->m;
	int64_t a = m->spans.t0[span], b = tide__span_end(m, span);
	if (m->lanes.kind[m->spans.lane[span].i] == TIDE_LANE_STREAM ||
	    tide__cat_is_gpu(m->spans.cat[span]))
		return true;
	uint32_t kind = host_kind(f, span);
	if (kind == HOST_DATA)
		return !lanes[m->spans.lane[span].i] || add_part(f, TIDE_BEFORE_DATA, a, b);
	if (!f->host)
		return true;
	if (kind == HOST_COLLECTIVE)
		return add_part(f, TIDE_BEFORE_COMM, a, b);
	return kind != HOST_COMPUTE || m->spans.cat[span] != TIDE_CAT_OP ||
	       add_part(f, TIDE_BEFORE_COMPUTE, a, b);
}

/* Fills the unions with device rows and host spans, in order of start. */
static bool fill_unions(finder *f)
{
	const tide_model *m = f->in->m;
	const tide_gpu_rows *rows = f->in->rows;
	uint8_t *lanes = launching_lanes(f);
	bool ok = lanes != NULL;
	size_t r = 0;
	for (size_t i = 1; ok && i <= m->spans.n; i++) {
		int64_t now = i < m->spans.n ? m->spans.t0[i] : INT64_MAX;
		for (; ok && r < rows->n && tide__row_t0(f->in, r) <= now; r++)
			ok = add_part(f, part_of_row(rows->type[r]), tide__row_t0(f->in, r),
				      tide__row_t1(f->in, r));
		if (ok && i < m->spans.n)
			ok = host_part(f, lanes, (uint32_t)i);
	}
	for (int u = 0; ok && u < UNIONS; u++)
		ok = (f->sums[u] = tide__interval_set_sums(&f->unions[u])) != NULL;
	tide__free(lanes);
	return ok && !f->h->failed;
}

/* ---- host collectives ---- */

static bool host_call(finder *f, uint32_t span)
{
	const tide_model *m = f->in->m;
	const tide_span_window *w = f->in->window;
	int64_t t0 = m->spans.t0[span], step = tide__steps_at(f->in->steps, t0);
	const char *text = tide__text(m, m->spans.name[span], NULL);
	text = strchr(text, ':') + 1;
	const tide_collective_kind *kind = tide__collective_kind(text);
	if (!w->all && (t0 < w->from || t0 >= w->to))
		return true;
	if (kind && kind->pair) {
		f->h->h.pairs++;
		return true;
	}
	tide_hta_call c = { .name = tide__hta_intern(f->h, text, strlen(text)),
			    .flags = TIDE_CALL_HOST |
				     (synchronises(kind, text) ? TIDE_CALL_SYNC : 0),
			    .step = step < 0 ? -1 : f->in->steps->v[step].number,
			    .seq = -1,
			    .t0 = t0,
			    .t1 = tide__span_end(m, span),
			    .bytes = -1,
			    .bus_bytes = -1 };
	if (tide__attr_text(m, span, f->k.name).i) {
		c.seq = tide__attr_number(m, span, f->k.seq);
		read_args(f, span, kind, &c);
	}
	return add_call(f, c) && !f->h->failed;
}

static bool any_comm(const tide_gpu_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->type[i] == TIDE_GPU_COMM)
			return true;
	return false;
}

bool tide__hta_find_calls(const tide_hta_input *in, tide_hta *h)
{
	finder f = { .in = in, .h = h, .k = tide__collective_keys_find(in->m) };
	f.host = !any_comm(in->rows);
	bool ok = fill_unions(&f);
	for (size_t i = 0; ok && !f.host && i < in->rows->n; i++)
		if (in->rows->type[i] == TIDE_GPU_COMM)
			ok = device_call(&f, i);
	for (size_t i = 1; ok && f.host && i < in->m->spans.n; i++)
		if (tide__map_get(&f.names, in->m->spans.name[i].i) == HOST_COLLECTIVE &&
		    !tide__cat_is_gpu(in->m->spans.cat[i]))
			ok = host_call(&f, (uint32_t)i);
	for (int u = 0; u < UNIONS; u++) {
		tide__interval_set_free(&f.unions[u]);
		tide__free(f.sums[u]);
	}
	tide__map_free(&f.pgs);
	tide__map_free(&f.ordinal);
	tide__map_free(&f.splits);
	tide__map_free(&f.names);
	tide__free(f.last);
	return ok;
}
