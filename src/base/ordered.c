// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Inner nodes hold, per child, a lower bound of its keys; a bound stays when the key it came from
 * is removed. Leaves are linked both ways and never empty, so a neighbour is at most one leaf away.
 */
#include "base/ordered.h"

#include <string.h>

#include "base/mem.h"

enum { WIDTH = 64, LEVELS = 12 };

struct tide_ordered_node {
	uint32_t n;
	uint32_t prev, next; /* leaves: neighbours; free nodes: next = the next free one */
	uint64_t key[WIDTH];
	uint32_t child[WIDTH]; /* inner nodes only */
};
typedef struct tide_ordered_node node;

/* Number of keys <= k. */
static unsigned rank(const node *x, uint64_t k)
{
	unsigned at = 0, n = x->n;
	while (n > 1) { /* a conditional move, no branch to mispredict */
		unsigned half = n / 2;
		at += x->key[at + half - 1] <= k ? half : 0;
		n -= half;
	}
	return at + (n && x->key[at] <= k);
}

static uint32_t new_node(tide_ordered *o)
{
	uint32_t i = o->free_node;
	if (i) {
		o->free_node = o->nodes[i].next;
	} else {
		i = o->n_nodes++;
	}
	memset(&o->nodes[i], 0, offsetof(node, key));
	return i;
}

/* Ensures space for one more node per level and a new root. */
static bool make_room(tide_ordered *o)
{
	uint32_t want = (o->n_nodes ? o->n_nodes : 1) + LEVELS + 1;
	if (want > o->cap_nodes) {
		uint32_t cap = o->cap_nodes + o->cap_nodes / 2 + 32;
		node *p = cap > UINT32_MAX / 4 ? NULL : tide__realloc(o->nodes, cap, sizeof *p);
		if (!p)
			return false;
		o->nodes = p;
		o->cap_nodes = cap;
	}
	if (!o->n_nodes)
		o->n_nodes = 1;
	if (!o->root) {
		o->root = new_node(o);
		o->height = 0;
	}
	return true;
}

struct path {
	uint32_t node[LEVELS];
	unsigned at[LEVELS]; /* child taken */
};

/* Finds the leaf where k is or would be, and records the path to it. */
static uint32_t descend(const tide_ordered *o, uint64_t k, struct path *way)
{
	uint32_t i = o->root;
	for (unsigned l = 0; l < o->height; l++) {
		const node *x = &o->nodes[i];
		unsigned r = rank(x, k);
		unsigned c = r ? r - 1 : 0;
		way->node[l] = i;
		way->at[l] = c;
		i = x->child[c];
	}
	return i;
}

static void insert_at(node *x, unsigned at, uint64_t key, uint32_t child, bool inner)
{
	memmove(x->key + at + 1, x->key + at, (x->n - at) * sizeof *x->key);
	x->key[at] = key;
	if (inner) {
		memmove(x->child + at + 1, x->child + at, (x->n - at) * sizeof *x->child);
		x->child[at] = child;
	}
	x->n++;
}

/* Moves the upper half of node i to a new right neighbour. */
static uint32_t split(tide_ordered *o, uint32_t i, bool inner)
{
	uint32_t j = new_node(o);
	node *x = &o->nodes[i], *y = &o->nodes[j];
	y->n = x->n / 2;
	x->n -= y->n;
	memcpy(y->key, x->key + x->n, y->n * sizeof *y->key);
	if (inner) {
		memcpy(y->child, x->child + x->n, y->n * sizeof *y->child);
	} else {
		y->prev = i;
		y->next = x->next;
		if (y->next)
			o->nodes[y->next].prev = j;
		x->next = j;
	}
	return j;
}

static void grow_root(tide_ordered *o, uint32_t right)
{
	uint32_t left = o->root, top = new_node(o);
	node *t = &o->nodes[top];
	t->n = 2;
	t->child[0] = left;
	t->child[1] = right;
	t->key[0] = o->nodes[left].key[0];
	t->key[1] = o->nodes[right].key[0];
	o->root = top;
	o->height++;
}

/* Inserts the new right half of a split child into its parent, splitting upwards as needed. */
static void hang(tide_ordered *o, const struct path *way, unsigned level, uint32_t right)
{
	while (level-- > 0) {
		uint32_t i = way->node[level];
		unsigned at = way->at[level] + 1;
		uint32_t other = 0;
		if (o->nodes[i].n == WIDTH) {
			other = split(o, i, true);
			unsigned left = o->nodes[i].n;
			if (at > left)
				insert_at(&o->nodes[other], at - left, o->nodes[right].key[0],
					  right, true);
			else
				insert_at(&o->nodes[i], at, o->nodes[right].key[0], right, true);
		} else {
			insert_at(&o->nodes[i], at, o->nodes[right].key[0], right, true);
			return;
		}
		right = other;
	}
	grow_root(o, right);
}

bool tide__ordered_add(tide_ordered *o, uint64_t key)
{
	struct path way;
	if (!make_room(o))
		return false;
	uint32_t i = descend(o, key, &way);
	unsigned at = rank(&o->nodes[i], key);
	if (at && o->nodes[i].key[at - 1] == key)
		return true;
	for (unsigned l = 0; l < o->height;
	     l++) { /* below every bound: the leftmost one gives way */
		uint64_t *bound = &o->nodes[way.node[l]].key[way.at[l]];
		*bound = key < *bound ? key : *bound;
	}
	o->n++;
	if (o->nodes[i].n < WIDTH) {
		insert_at(&o->nodes[i], at, key, 0, false);
		return true;
	}
	uint32_t j = split(o, i, false);
	unsigned left = o->nodes[i].n;
	if (at > left)
		insert_at(&o->nodes[j], at - left, key, 0, false);
	else
		insert_at(&o->nodes[i], at, key, 0, false);
	hang(o, &way, o->height, j);
	return true;
}

static void drop(tide_ordered *o, uint32_t i)
{
	node *x = &o->nodes[i];
	x->n = 0;
	x->next = o->free_node;
	o->free_node = i;
}

static void drop_leaf(tide_ordered *o, uint32_t i, const struct path *way)
{
	uint32_t prev = o->nodes[i].prev, next = o->nodes[i].next;
	if (prev)
		o->nodes[prev].next = next;
	if (next)
		o->nodes[next].prev = prev;
	drop(o, i);
	for (unsigned l = o->height; l-- > 0;) {
		node *x = &o->nodes[way->node[l]];
		unsigned at = way->at[l];
		x->n--;
		memmove(x->key + at, x->key + at + 1, (x->n - at) * sizeof *x->key);
		memmove(x->child + at, x->child + at + 1, (x->n - at) * sizeof *x->child);
		if (x->n)
			return;
		drop(o, way->node[l]);
	}
	o->root = 0;
	o->height = 0;
}

void tide__ordered_del(tide_ordered *o, uint64_t key)
{
	struct path way;
	if (!o->root)
		return;
	uint32_t i = descend(o, key, &way);
	node *x = &o->nodes[i];
	unsigned at = rank(x, key);
	if (!at || x->key[at - 1] != key)
		return;
	o->n--;
	x->n--;
	memmove(x->key + at - 1, x->key + at, (x->n - (at - 1)) * sizeof *x->key);
	if (!x->n)
		drop_leaf(o, i, &way);
}

bool tide__ordered_below(const tide_ordered *o, uint64_t k, uint64_t *key)
{
	struct path way;
	if (!o->root || k == 0)
		return false;
	const node *x = &o->nodes[descend(o, k - 1, &way)];
	unsigned at = rank(x, k - 1);
	if (!at) {
		if (!x->prev)
			return false;
		x = &o->nodes[x->prev];
		at = x->n;
	}
	*key = x->key[at - 1];
	return true;
}

bool tide__ordered_above(const tide_ordered *o, uint64_t k, uint64_t *key)
{
	struct path way;
	if (!o->root)
		return false;
	const node *x = &o->nodes[descend(o, k, &way)];
	unsigned at = rank(x, k);
	if (at == x->n) {
		if (!x->next)
			return false;
		x = &o->nodes[x->next];
		at = 0;
	}
	*key = x->key[at];
	return true;
}

void tide__ordered_clear(tide_ordered *o)
{
	o->n_nodes = o->cap_nodes ? 1 : 0;
	o->free_node = o->root = 0;
	o->height = 0;
	o->n = 0;
}

void tide__ordered_free(tide_ordered *o)
{
	tide__free(o->nodes);
	*o = (tide_ordered){ 0 };
}
