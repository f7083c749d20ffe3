// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Inner nodes hold, per child, a lower bound of its keys; a bound stays when the key it came from
 * is removed. Leaves are linked both ways and never empty (but for an only one), so a neighbour is
 * at most one leaf away. */
#include "base/ordered.h"

#include <string.h>

#include "base/mem.h"

enum { WIDTH = TIDE_ORDERED_WIDTH, LEVELS = 12 };

/* Functions that take `pairs` are compiled twice, for keys of one part and of two: every caller
 * passes a constant. */
#define TWICE static inline __attribute__((always_inline))

typedef tide_ordered_node node;

typedef struct key {
	uint64_t major, minor; /* minor: unused if keys have one part */
} key;

/* Returns true if key `at` of node i is <= k. */
TWICE bool at_most(const tide_ordered *o, uint32_t i, unsigned at, key k, const bool pairs)
{
	uint64_t major = o->nodes[i].key[at];
	if (!pairs)
		return major <= k.major;
	return (major < k.major) | ((major == k.major) & (o->minor[i][at] <= k.minor));
}

/* Number of keys of node i that are <= k. */
TWICE unsigned rank(const tide_ordered *o, uint32_t i, key k, const bool pairs)
{
	unsigned at = 0, n = o->nodes[i].n;
	while (n > 1) { /* a conditional move, no branch to mispredict */
		unsigned half = n / 2;
		at += at_most(o, i, at + half - 1, k, pairs) ? half : 0;
		n -= half;
	}
	return at + (n && at_most(o, i, at, k, pairs));
}

TWICE bool is_key(const tide_ordered *o, uint32_t i, unsigned at, key k, const bool pairs)
{
	return o->nodes[i].key[at] == k.major && (!pairs || o->minor[i][at] == k.minor);
}

static key key_at(const tide_ordered *o, uint32_t i, unsigned at)
{
	return (key){ o->nodes[i].key[at], o->minor ? o->minor[i][at] : 0 };
}

static uint32_t new_node(tide_ordered *o)
{
	uint32_t i = o->free_node;
	if (i) {
		o->free_node = o->nodes[i].next;
	} else {
		i = (uint32_t)o->n_nodes++;
	}
	memset(&o->nodes[i], 0, offsetof(node, bound));
	o->nodes[i].bound = TIDE_ORDERED_UNBOUNDED;
	return i;
}

/* The minors have the capacity of the nodes. */
static bool grow(tide_ordered *o, size_t want, bool pairs)
{
	size_t cap = o->cap_nodes;
	return want <= UINT32_MAX / 4 && (!pairs || TIDE_ROOM(o->minor, cap, want)) &&
	       TIDE_ROOM(o->nodes, o->cap_nodes, want);
}

/* Ensures space for one more node per level and a new root. */
TWICE bool make_room(tide_ordered *o, const bool pairs)
{
	size_t want = (o->n_nodes ? o->n_nodes : 1) + o->height + 2;
	if (want > o->cap_nodes && !grow(o, want, pairs))
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

/* Finds the leaf where k is or would be. */
TWICE uint32_t find_leaf(const tide_ordered *o, key k, const bool pairs)
{
	uint32_t i = o->root;
	for (unsigned l = 0; l < o->height; l++) {
		unsigned r = rank(o, i, k, pairs);
		i = o->nodes[i].to[r ? r - 1 : 0];
	}
	return i;
}

/* The same, and records the path to it. */
TWICE uint32_t descend(const tide_ordered *o, key k, struct path *way, const bool pairs)
{
	uint32_t i = o->root;
	for (unsigned l = 0; l < o->height; l++) {
		unsigned r = rank(o, i, k, pairs);
		way->node[l] = i;
		way->at[l] = r ? r - 1 : 0;
		i = o->nodes[i].to[way->at[l]];
	}
	return i;
}

TWICE void insert_at(tide_ordered *o, uint32_t i, unsigned at, key k, uint32_t to, const bool pairs)
{
	node *x = &o->nodes[i];
	size_t rest = x->n - at;
	if (rest) { /* small sets often have none */
		memmove(x->key + at + 1, x->key + at, rest * sizeof *x->key);
		memmove(x->to + at + 1, x->to + at, rest * sizeof *x->to);
		if (pairs)
			memmove(o->minor[i] + at + 1, o->minor[i] + at, rest * sizeof *x->key);
	}
	if (pairs)
		o->minor[i][at] = k.minor;
	x->key[at] = k.major;
	x->to[at] = to;
	x->n++;
	x->bound = TIDE_ORDERED_UNBOUNDED;
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
	if (o->minor)
		memcpy(o->minor[j], o->minor[i] + x->n, y->n * sizeof *y->key);
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
	if (o->minor) {
		o->minor[top][0] = o->minor[left][0];
		o->minor[top][1] = o->minor[right][0];
	}
	o->root = top;
	o->height++;
}

/* Inserts an entry into node i, or into its new right half. */
static void insert_half(tide_ordered *o, uint32_t i, uint32_t right, unsigned at, key k,
			uint32_t to)
{
	unsigned left = o->nodes[i].n;
	uint32_t in = at > left ? right : i;
	at -= at > left ? left : 0;
	if (o->minor)
		insert_at(o, in, at, k, to, true);
	else
		insert_at(o, in, at, k, to, false);
}

/* Inserts the new right half of a split child into its parent, splitting upwards as needed. */
static void hang(tide_ordered *o, const struct path *way, unsigned level, uint32_t right)
{
	while (level-- > 0) {
		uint32_t i = way->node[level];
		uint32_t other = o->nodes[i].n == WIDTH ? split(o, i, true) : 0;
		key k = key_at(o, right, 0);
		insert_half(o, i, other ? other : i, way->at[level] + 1, k, right);
		if (!other)
			return;
		right = other;
	}
	grow_root(o, right);
}

/* Bounds above a key that is now the smallest become that key. */
TWICE void lower_bounds(tide_ordered *o, const struct path *way, key k, const bool pairs)
{
	for (unsigned l = 0; l < o->height; l++) {
		uint32_t i = way->node[l];
		unsigned at = way->at[l];
		if (at || at_most(o, i, 0, k, pairs))
			continue;
		o->nodes[i].key[0] = k.major;
		if (pairs)
			o->minor[i][0] = k.minor;
	}
}

TWICE bool put(tide_ordered *o, key k, uint32_t val, const bool pairs)
{
	struct path way;
	if (!make_room(o, pairs))
		return false;
	uint32_t i = descend(o, k, &way, pairs);
	unsigned at = rank(o, i, k, pairs);
	if (at && is_key(o, i, at - 1, k, pairs)) {
		o->nodes[i].to[at - 1] = val;
		return true;
	}
	if (!at)
		lower_bounds(o, &way, k, pairs);
	o->n++;
	if (o->nodes[i].n < WIDTH) {
		insert_at(o, i, at, k, val, pairs);
		return true;
	}
	uint32_t right = split(o, i, false);
	insert_half(o, i, right, at, k, val);
	hang(o, &way, o->height, right);
	return true;
}

bool tide__ordered_put(tide_ordered *o, uint64_t k, uint32_t val)
{
	return put(o, (key){ k, 0 }, val, false);
}

bool tide__ordered_put2(tide_ordered *o, uint64_t major, uint64_t minor, uint32_t val)
{
	return put(o, (key){ major, minor }, val, true);
}

TWICE void remove_at(tide_ordered *o, uint32_t i, unsigned at, const bool pairs)
{
	node *x = &o->nodes[i];
	size_t rest = --x->n - at;
	if (!rest)
		return;
	memmove(x->key + at, x->key + at + 1, rest * sizeof *x->key);
	memmove(x->to + at, x->to + at + 1, rest * sizeof *x->to);
	if (pairs)
		memmove(o->minor[i] + at, o->minor[i] + at + 1, rest * sizeof *x->key);
}

static void drop(tide_ordered *o, uint32_t i)
{
	node *x = &o->nodes[i];
	x->n = 0;
	x->next = o->free_node;
	o->free_node = i;
}

/* Drops a leaf with its last entry, and the inner nodes above it that it was the last child of. */
static void drop_leaf(tide_ordered *o, uint32_t i)
{
	struct path way;
	if (o->minor)
		descend(o, key_at(o, i, 0), &way, true);
	else
		descend(o, key_at(o, i, 0), &way, false);
	uint32_t prev = o->nodes[i].prev, next = o->nodes[i].next;
	if (prev)
		o->nodes[prev].next = next;
	if (next)
		o->nodes[next].prev = prev;
	drop(o, i);
	for (unsigned l = o->height; l-- > 0;) {
		if (o->minor)
			remove_at(o, way.node[l], way.at[l], true);
		else
			remove_at(o, way.node[l], way.at[l], false);
		if (o->nodes[way.node[l]].n)
			return;
		drop(o, way.node[l]);
	}
	o->root = 0;
	o->height = 0;
}

TWICE void del_at(tide_ordered *o, tide_ordered_pos p, const bool pairs)
{
	o->n--;
	if (o->nodes[p.leaf].n > 1 || !o->height) /* an only leaf stays: the next put is near */
		remove_at(o, p.leaf, p.at, pairs);
	else
		drop_leaf(o, p.leaf);
}

void tide__ordered_del_at(tide_ordered *o, tide_ordered_pos p)
{
	if (o->minor)
		del_at(o, p, true);
	else
		del_at(o, p, false);
}

TWICE tide_ordered_pos find_floor(const tide_ordered *o, key k, const bool pairs)
{
	if (!o->root)
		return (tide_ordered_pos){ 0 };
	uint32_t i = find_leaf(o, k, pairs);
	unsigned at = rank(o, i, k, pairs);
	if (at)
		return (tide_ordered_pos){ i, at - 1 };
	return tide__ordered_prev(o, (tide_ordered_pos){ i, 0 });
}

TWICE tide_ordered_pos find_ceil(const tide_ordered *o, key k, const bool pairs)
{
	if (!o->root)
		return (tide_ordered_pos){ 0 };
	uint32_t i = find_leaf(o, k, pairs);
	unsigned at = rank(o, i, k, pairs);
	if (at && is_key(o, i, at - 1, k, pairs))
		return (tide_ordered_pos){ i, at - 1 };
	return at < o->nodes[i].n ? (tide_ordered_pos){ i, at }
				  : (tide_ordered_pos){ o->nodes[i].next, 0 };
}

TWICE bool del(tide_ordered *o, key k, const bool pairs)
{
	if (!o->root)
		return false;
	uint32_t i = find_leaf(o, k, pairs);
	unsigned at = rank(o, i, k, pairs);
	if (!at || !is_key(o, i, at - 1, k, pairs))
		return false;
	del_at(o, (tide_ordered_pos){ i, at - 1 }, pairs);
	return true;
}

bool tide__ordered_del(tide_ordered *o, uint64_t k)
{
	return del(o, (key){ k, 0 }, false);
}

bool tide__ordered_del2(tide_ordered *o, uint64_t major, uint64_t minor)
{
	return del(o, (key){ major, minor }, true);
}

tide_ordered_pos tide__ordered_floor(const tide_ordered *o, uint64_t k)
{
	return find_floor(o, (key){ k, 0 }, false);
}

tide_ordered_pos tide__ordered_ceil(const tide_ordered *o, uint64_t k)
{
	return find_ceil(o, (key){ k, 0 }, false);
}

tide_ordered_pos tide__ordered_floor2(const tide_ordered *o, uint64_t major, uint64_t minor)
{
	return find_floor(o, (key){ major, minor }, true);
}

tide_ordered_pos tide__ordered_ceil2(const tide_ordered *o, uint64_t major, uint64_t minor)
{
	return find_ceil(o, (key){ major, minor }, true);
}

tide_ordered_pos tide__ordered_first(const tide_ordered *o)
{
	uint32_t i = o->n ? o->root : 0;
	for (unsigned l = 0; i && l < o->height; l++)
		i = o->nodes[i].to[0];
	return (tide_ordered_pos){ i, 0 };
}

tide_ordered_pos tide__ordered_last(const tide_ordered *o)
{
	uint32_t i = o->n ? o->root : 0;
	for (unsigned l = 0; i && l < o->height; l++)
		i = o->nodes[i].to[o->nodes[i].n - 1];
	return (tide_ordered_pos){ i, i ? o->nodes[i].n - 1 : 0 };
}

bool tide__ordered_below(const tide_ordered *o, uint64_t k, uint64_t *major)
{
	tide_ordered_pos p = k ? tide__ordered_floor(o, k - 1) : (tide_ordered_pos){ 0 };
	if (p.leaf)
		*major = tide__ordered_key(o, p);
	return p.leaf;
}

bool tide__ordered_above(const tide_ordered *o, uint64_t k, uint64_t *major)
{
	tide_ordered_pos p =
		k < UINT64_MAX ? tide__ordered_ceil(o, k + 1) : (tide_ordered_pos){ 0 };
	if (p.leaf)
		*major = tide__ordered_key(o, p);
	return p.leaf;
}

bool tide__ordered_overlaps(const tide_ordered *o, uint64_t addr, uint64_t size)
{
	tide_ordered_pos above = tide__ordered_ceil2(o, addr, 0);
	tide_ordered_pos below =
		addr ? tide__ordered_floor2(o, addr - 1, UINT64_MAX) : (tide_ordered_pos){ 0 };
	return (above.leaf && tide__ordered_key(o, above) - addr < size) ||
	       (below.leaf && addr - tide__ordered_key(o, below) < tide__ordered_minor(o, below));
}

bool tide__ordered_copy(tide_ordered *to, const tide_ordered *from)
{
	*to = (tide_ordered){ 0 };
	if (!from->n)
		return true;
	if (!grow(to, from->n_nodes, from->minor)) {
		tide__ordered_free(to);
		return false;
	}
	memcpy(to->nodes, from->nodes, from->n_nodes * sizeof *to->nodes);
	if (from->minor)
		memcpy(to->minor, from->minor, from->n_nodes * sizeof *to->minor);
	to->n_nodes = from->n_nodes;
	to->free_node = from->free_node;
	to->root = from->root;
	to->height = from->height;
	to->n = from->n;
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
	tide__free(o->minor);
	*o = (tide_ordered){ 0 };
}
