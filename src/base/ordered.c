// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Inner nodes hold, per child, a lower bound of its keys; a bound stays when the key it came from
 * is removed. Leaves are linked both ways and never empty, so a neighbour is at most one leaf away.
 */
#include "base/ordered.h"

#include <string.h>

#include "base/mem.h"

enum { WIDTH = TIDE_ORDERED_WIDTH, LEVELS = 12 };

typedef tide_ordered_node node;

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
		i = (uint32_t)o->n_nodes++;
	}
	memset(&o->nodes[i], 0, offsetof(node, key));
	return i;
}

/* Ensures space for one more node per level and a new root. */
static bool make_room(tide_ordered *o)
{
	size_t want = (o->n_nodes ? o->n_nodes : 1) + LEVELS + 1;
	if (want > UINT32_MAX / 4 || !TIDE_ROOM(o->nodes, o->cap_nodes, want))
		return false;
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
		i = x->to[c];
	}
	return i;
}

static void insert_at(node *x, unsigned at, uint64_t key, uint32_t to)
{
	memmove(x->key + at + 1, x->key + at, (x->n - at) * sizeof *x->key);
	memmove(x->to + at + 1, x->to + at, (x->n - at) * sizeof *x->to);
	x->key[at] = key;
	x->to[at] = to;
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
	memcpy(y->to, x->to + x->n, y->n * sizeof *y->to);
	if (!inner) {
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
	t->to[0] = left;
	t->to[1] = right;
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
					  right);
			else
				insert_at(&o->nodes[i], at, o->nodes[right].key[0], right);
		} else {
			insert_at(&o->nodes[i], at, o->nodes[right].key[0], right);
			return;
		}
		right = other;
	}
	grow_root(o, right);
}

bool tide__ordered_put(tide_ordered *o, uint64_t key, uint32_t val)
{
	struct path way;
	if (!make_room(o))
		return false;
	uint32_t i = descend(o, key, &way);
	unsigned at = rank(&o->nodes[i], key);
	if (at && o->nodes[i].key[at - 1] == key) {
		o->nodes[i].to[at - 1] = val;
		return true;
	}
	for (unsigned l = 0; l < o->height; l++) { /* below every bound: the leftmost gives way */
		uint64_t *bound = &o->nodes[way.node[l]].key[way.at[l]];
		*bound = key < *bound ? key : *bound;
	}
	o->n++;
	if (o->nodes[i].n < WIDTH) {
		insert_at(&o->nodes[i], at, key, val);
		return true;
	}
	uint32_t j = split(o, i, false);
	unsigned left = o->nodes[i].n;
	if (at > left)
		insert_at(&o->nodes[j], at - left, key, val);
	else
		insert_at(&o->nodes[i], at, key, val);
	hang(o, &way, o->height, j);
	return true;
}

static void remove_at(node *x, unsigned at)
{
	x->n--;
	memmove(x->key + at, x->key + at + 1, (x->n - at) * sizeof *x->key);
	memmove(x->to + at, x->to + at + 1, (x->n - at) * sizeof *x->to);
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
		remove_at(x, way->at[l]);
		if (x->n)
			return;
		drop(o, way->node[l]);
	}
	o->root = 0;
	o->height = 0;
}

void tide__ordered_del_at(tide_ordered *o, tide_ordered_pos p)
{
	struct path way;
	node *x = &o->nodes[p.leaf];
	o->n--;
	if (x->n > 1) {
		remove_at(x, p.at);
		return;
	}
	descend(o, x->key[0], &way);
	drop_leaf(o, p.leaf, &way);
}

bool tide__ordered_del(tide_ordered *o, uint64_t key)
{
	tide_ordered_pos p = tide__ordered_floor(o, key);
	if (!p.leaf || tide__ordered_key(o, p) != key)
		return false;
	tide__ordered_del_at(o, p);
	return true;
}

tide_ordered_pos tide__ordered_floor(const tide_ordered *o, uint64_t key)
{
	struct path way;
	if (!o->root)
		return (tide_ordered_pos){ 0 };
	uint32_t i = descend(o, key, &way);
	unsigned at = rank(&o->nodes[i], key);
	if (at)
		return (tide_ordered_pos){ i, at - 1 };
	return tide__ordered_prev(o, (tide_ordered_pos){ i, 0 });
}

tide_ordered_pos tide__ordered_ceil(const tide_ordered *o, uint64_t key)
{
	struct path way;
	if (!o->root)
		return (tide_ordered_pos){ 0 };
	uint32_t i = descend(o, key, &way);
	unsigned at = rank(&o->nodes[i], key);
	if (at && o->nodes[i].key[at - 1] == key)
		return (tide_ordered_pos){ i, at - 1 };
	return at < o->nodes[i].n ? (tide_ordered_pos){ i, at }
				  : (tide_ordered_pos){ o->nodes[i].next, 0 };
}

bool tide__ordered_below(const tide_ordered *o, uint64_t k, uint64_t *key)
{
	tide_ordered_pos p = k ? tide__ordered_floor(o, k - 1) : (tide_ordered_pos){ 0 };
	if (p.leaf)
		*key = tide__ordered_key(o, p);
	return p.leaf;
}

bool tide__ordered_above(const tide_ordered *o, uint64_t k, uint64_t *key)
{
	tide_ordered_pos p =
		k < UINT64_MAX ? tide__ordered_ceil(o, k + 1) : (tide_ordered_pos){ 0 };
	if (p.leaf)
		*key = tide__ordered_key(o, p);
	return p.leaf;
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
