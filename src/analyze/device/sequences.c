// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/common/statistics.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/seed.h"

/* ---- which ops count ---- */

static bool on_host(const tide_model *m, uint32_t s)
{
	return m->lanes.kind[m->spans.lane[s].i] != TIDE_LANE_STREAM &&
	       !tide__cat_is_gpu(m->spans.cat[s]);
}

/* Computes the depth of every span. Returns the depth of the shallowest match. */
static uint32_t shallowest(const tide_model *m, const char *op, int64_t from, int64_t to,
			   uint32_t *depth, bool *match, uint64_t *matched)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t s = 1; s < m->spans.n; s++) {
		uint32_t parent = m->spans.parent[s].i;
		depth[s] = parent ? depth[parent] + 1 : 0;
		match[s] = on_host(m, s) && m->spans.t0[s] >= from && m->spans.t0[s] < to &&
			   strstr(tide__text(m, m->spans.name[s], NULL), op);
		*matched += match[s];
		if (match[s] && depth[s] < least)
			least = depth[s];
	}
	return least;
}

/* ---- which rows belong to which op ---- */

struct row {
	uint32_t op, span;
};

static int by_op(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return (x->span > y->span) - (x->span < y->span); /* spans are sorted by start */
}

/* Replaces `depth` per span by the match that it is or is inside; 0 = none. */
static void find_ops(const tide_model *m, uint32_t *depth, const bool *match, uint32_t least)
{
	for (uint32_t s = 1; s < m->spans.n; s++)
		depth[s] = depth[s] > least    ? depth[m->spans.parent[s].i]
			   : depth[s] == least ? (match[s] ? s : 0)
					       : 0;
}

static struct row *rows_below(const tide_model *m, const uint32_t *op_of, size_t *n)
{
	struct row *r = tide__alloc(m->spans.n, sizeof *r);
	*n = 0;
	for (uint32_t s = 1; r && s < m->spans.n; s++) {
		uint32_t op = tide__cat_is_gpu(m->spans.cat[s]) ? op_of[m->spans.cause[s].i] : 0;
		if (op)
			r[(*n)++] = (struct row){ op, s };
	}
	if (r)
		qsort(r, *n, sizeof *r, by_op);
	return r;
}

/* ---- patterns ---- */

struct build {
	const tide_model *m;
	tide_sequences *out;
	tide_map at; /* hash of the names -> pattern + 1 */
	size_t n_names, cap_names, cap_v;
};

static bool same(const struct build *b, const tide_sequence *s, uint32_t op, const struct row *r,
		 size_t n)
{
	const tide_str *names = b->out->names + s->first;
	if (s->length != n + 1 || names[0].i != b->m->spans.name[op].i)
		return false;
	for (size_t i = 0; i < n; i++)
		if (names[i + 1].i != b->m->spans.name[r[i].span].i)
			return false;
	return true;
}

static bool room(struct build *b, size_t names)
{
	return TIDE_ROOM(b->out->names, b->cap_names, b->n_names + names) &&
	       TIDE_ROOM(b->out->v, b->cap_v, b->out->n + 1);
}

static tide_sequence *add(struct build *b, uint32_t op, const struct row *r, size_t n)
{
	if (!room(b, n + 1))
		return NULL;
	tide_sequence *s = &b->out->v[b->out->n++];
	*s = (tide_sequence){ .first = b->n_names, .length = n + 1 };
	b->out->names[b->n_names++] = b->m->spans.name[op];
	for (size_t i = 0; i < n; i++)
		b->out->names[b->n_names++] = b->m->spans.name[r[i].span];
	return s;
}

static uint64_t hash_of(const struct build *b, uint32_t op, const struct row *r, size_t n)
{
	uint64_t h = tide__seed() ^ b->m->spans.name[op].i;
	for (size_t i = 0; i < n; i++)
		h = tide__mix(h * 31 + b->m->spans.name[r[i].span].i + 1);
	return h;
}

/* Returns the op's pattern, created if it is new. If unequal patterns have the same hash, the
 * next number is tried. */
static tide_sequence *pattern(struct build *b, uint32_t op, const struct row *r, size_t n)
{
	for (uint64_t h = hash_of(b, op, r, n);; h++) {
		uint32_t k = tide__map_get(&b->at, h);
		if (k && same(b, &b->out->v[k - 1], op, r, n))
			return &b->out->v[k - 1];
		if (!k) {
			tide_sequence *s = add(b, op, r, n);
			return s && tide__map_put(&b->at, h, (uint32_t)b->out->n) ? s : NULL;
		}
	}
}

static bool count_op(struct build *b, uint32_t op, const struct row *r, size_t n)
{
	tide_sequence *s = pattern(b, op, r, n);
	if (!s)
		return false;
	s->count++;
	s->cpu_ns = tide__add_sat(s->cpu_ns, tide__span_end(b->m, op) - b->m->spans.t0[op]);
	for (size_t i = 0; i < n; i++)
		s->gpu_ns = tide__add_sat(s->gpu_ns, tide__span_end(b->m, r[i].span) -
							     b->m->spans.t0[r[i].span]);
	b->out->ops++;
	return true;
}

static int by_names(const struct build *b, const tide_sequence *x, const tide_sequence *y)
{
	for (size_t i = 0; i < x->length && i < y->length; i++) {
		int c = strcmp(tide__text(b->m, b->out->names[x->first + i], NULL),
			       tide__text(b->m, b->out->names[y->first + i], NULL));
		if (c)
			return c;
	}
	return (x->length > y->length) - (x->length < y->length);
}

static int by_count(const void *a, const void *b, void *user)
{
	const tide_sequence *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_names(user, x, y);
}

static bool collect(struct build *b, const struct row *r, size_t n, size_t min_kernels)
{
	bool ok = true;
	for (size_t i = 0, j; i < n && ok; i = j) {
		for (j = i; j < n && r[j].op == r[i].op; j++)
			;
		if (j - i >= min_kernels)
			ok = count_op(b, r[i].op, r + i, j - i);
	}
	if (ok && b->out->n)
		qsort_r(b->out->v, b->out->n, sizeof *b->out->v, by_count, b);
	return ok;
}

tide_code tide__find_sequences(const tide_model *m, const char *op, size_t min_kernels,
			       int64_t from, int64_t to, tide_sequences *out, tide_error *err)
{
	*out = (tide_sequences){ 0 };
	struct build b = { .m = m, .out = out };
	size_t n = 0;
	uint32_t *depth = tide__calloc(m->spans.n, sizeof *depth);
	bool *match = tide__calloc(m->spans.n, sizeof *match);
	struct row *r = NULL;
	bool ok = depth && match;
	if (ok) {
		uint32_t least = shallowest(m, op, from, to, depth, match, &out->matched);
		find_ops(m, depth, match, least);
		r = rows_below(m, depth, &n);
		ok = r && collect(&b, r, n, min_kernels ? min_kernels : 1);
	}
	tide__free(depth);
	tide__free(match);
	tide__free(r);
	tide__map_free(&b.at);
	if (ok)
		return TIDE_OK;
	tide__sequences_free(out);
	return tide__nomem(err);
}

void tide__sequences_free(tide_sequences *s)
{
	tide__free(s->v);
	tide__free(s->names);
	*s = (tide_sequences){ 0 };
}
