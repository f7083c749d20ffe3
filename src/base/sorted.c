// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/sorted.h"

#include <string.h>

#include "base/mem.h"

/* Index of the first of n sorted keys that is > key, by halving. */
static size_t upper(const uint64_t *keys, size_t n, uint64_t key)
{
	const uint64_t *base = keys;
	while (n > 0) {
		size_t half = n / 2;
		bool right = base[half] <= key;
		base = right ? base + half + 1 : base;
		n = right ? n - half - 1 : half;
	}
	return (size_t)(base - keys);
}

tide_sorted_pos tide__sorted_floor(const tide_sorted *s, uint64_t key)
{
	size_t leaf = upper(s->first, s->n_leaves, key);
	if (!leaf)
		return tide__sorted_none(s);
	const tide_sorted_leaf *l = s->leaves[--leaf];
	return (tide_sorted_pos){ leaf, upper(l->keys, l->n, key) - 1 };
}

tide_sorted_pos tide__sorted_ceil(const tide_sorted *s, uint64_t key)
{
	tide_sorted_pos p = tide__sorted_floor(s, key);
	if (!tide__sorted_ok(s, p))
		return (tide_sorted_pos){ 0, 0 };
	return tide__sorted_key(s, p) == key ? p : tide__sorted_next(s, p);
}

/* Room for one more leaf pointer. */
static bool more_leaves(tide_sorted *s)
{
	if (s->n_leaves < s->cap_leaves)
		return true;
	size_t cap = s->cap_leaves * 2 + 8;
	tide_sorted_leaf **leaves = tide__realloc(s->leaves, cap, sizeof(tide_sorted_leaf *));
	if (!leaves)
		return false;
	s->leaves = leaves;
	uint64_t *first = tide__realloc(s->first, cap, sizeof *first);
	if (!first)
		return false;
	s->first = first;
	s->cap_leaves = cap;
	return true;
}

static void insert_leaf(tide_sorted *s, size_t at, tide_sorted_leaf *l)
{
	memmove(s->leaves + at + 1, s->leaves + at,
		(s->n_leaves - at) * sizeof(tide_sorted_leaf *));
	memmove(s->first + at + 1, s->first + at, (s->n_leaves - at) * sizeof *s->first);
	s->leaves[at] = l;
	s->first[at] = l->keys[0];
	s->n_leaves++;
}

/* Split a full leaf in two halves. */
static bool split(tide_sorted *s, size_t at)
{
	tide_sorted_leaf *new = more_leaves(s) ? tide__alloc(1, sizeof *new) : NULL;
	if (!new)
		return false;
	tide_sorted_leaf *old = s->leaves[at];
	old->n = TIDE__LEAF / 2;
	new->n = TIDE__LEAF - old->n;
	memcpy(new->keys, old->keys + old->n, new->n * sizeof *new->keys);
	memcpy(new->vals, old->vals + old->n, new->n * sizeof *new->vals);
	insert_leaf(s, at + 1, new);
	return true;
}

static bool first_leaf(tide_sorted *s, uint64_t key, uint32_t val)
{
	tide_sorted_leaf *l = more_leaves(s) ? tide__alloc(1, sizeof *l) : NULL;
	if (!l)
		return false;
	l->n = 1;
	l->keys[0] = key;
	l->vals[0] = val;
	insert_leaf(s, 0, l);
	s->n = 1;
	return true;
}

bool tide__sorted_put(tide_sorted *s, uint64_t key, uint32_t val)
{
	if (!s->n_leaves)
		return first_leaf(s, key, val);
	size_t leaf = upper(s->first, s->n_leaves, key);
	leaf -= leaf > 0;
	tide_sorted_leaf *l = s->leaves[leaf];
	size_t at = upper(l->keys, l->n, key);
	if (at && l->keys[at - 1] == key) {
		l->vals[at - 1] = val;
		return true;
	}
	if (l->n == TIDE__LEAF) {
		if (!split(s, leaf))
			return false;
		if (at > l->n) {
			at -= l->n;
			l = s->leaves[++leaf];
		}
	}
	memmove(l->keys + at + 1, l->keys + at, (l->n - at) * sizeof *l->keys);
	memmove(l->vals + at + 1, l->vals + at, (l->n - at) * sizeof *l->vals);
	l->keys[at] = key;
	l->vals[at] = val;
	l->n++;
	s->first[leaf] = l->keys[0];
	s->n++;
	return true;
}

void tide__sorted_del_at(tide_sorted *s, tide_sorted_pos p)
{
	tide_sorted_leaf *l = s->leaves[p.leaf];
	l->n--;
	s->n--;
	memmove(l->keys + p.at, l->keys + p.at + 1, (l->n - p.at) * sizeof *l->keys);
	memmove(l->vals + p.at, l->vals + p.at + 1, (l->n - p.at) * sizeof *l->vals);
	if (l->n) {
		s->first[p.leaf] = l->keys[0];
		return;
	}
	tide__free(l);
	s->n_leaves--;
	memmove(s->leaves + p.leaf, s->leaves + p.leaf + 1,
		(s->n_leaves - p.leaf) * sizeof(tide_sorted_leaf *));
	memmove(s->first + p.leaf, s->first + p.leaf + 1,
		(s->n_leaves - p.leaf) * sizeof *s->first);
}

bool tide__sorted_del(tide_sorted *s, uint64_t key)
{
	tide_sorted_pos p = tide__sorted_floor(s, key);
	if (!tide__sorted_ok(s, p) || tide__sorted_key(s, p) != key)
		return false;
	tide__sorted_del_at(s, p);
	return true;
}

void tide__sorted_free(tide_sorted *s)
{
	for (size_t i = 0; i < s->n_leaves; i++)
		tide__free(s->leaves[i]);
	tide__free(s->leaves);
	tide__free(s->first);
	*s = (tide_sorted){ 0 };
}
