// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/interval_set.h"
#include "analyze/ops/flame.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

/* ---- a flame graph as a list of "a;b;c" -> weight, to compare with an oracle's ---- */

struct folded {
	char path[400];
	uint64_t self, count;
};
struct list {
	struct folded v[2000];
	size_t n;
};

static void list_add(struct list *l, const char *path, uint64_t self, uint64_t count)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].path, path)) {
			l->v[i].self += self;
			l->v[i].count += count;
			return;
		}
	assert_true(l->n < 2000);
	assert_true(strlen(path) < sizeof l->v->path);
	strcpy(l->v[l->n].path, path);
	l->v[l->n].self = self;
	l->v[l->n++].count = count;
}

static const struct folded *list_find(const struct list *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].path, path))
			return &l->v[i];
	return NULL;
}

static void path_of(const tide_flame *f, uint32_t node, char *out, size_t n)
{
	char up[400] = "";
	if (!node) {
		*out = 0;
		return;
	}
	path_of(f, f->nodes.parent[node], up, sizeof up);
	snprintf(out, n, "%s%s%s", up, *up ? ";" : "", tide__flame_name(f, node, NULL));
}

static void check_tree(const tide_flame *f)
{
	const tide_nodes *t = &f->nodes;
	uint64_t selves = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		uint64_t total = t->self[i], before = UINT64_MAX;
		for (uint32_t c = t->child[i]; c; c = t->next[c]) {
			assert_int_equal(t->parent[c], i);
			assert_true(t->total[c] <= before);
			before = t->total[c];
			total += before;
		}
		assert_int_equal(t->total[i], total);
		selves += t->self[i];
	}
	assert_int_equal(t->total[0], selves);
}

static void compare(const tide_flame *f, const struct list *want, uint32_t seed)
{
	char path[400];
	size_t seen = 0;
	check_tree(f);
	for (uint32_t i = 1; i < f->nodes.n; i++) {
		if (!f->nodes.count[i] && !f->nodes.self[i])
			continue;
		path_of(f, i, path, sizeof path);
		const struct folded *w = list_find(want, path);
		if (!w || w->self != f->nodes.self[i] || w->count != f->nodes.count[i])
			fail_msg("seed %u: %s: self %llu, expected %lld", seed, path,
				 (unsigned long long)f->nodes.self[i], w ? (long long)w->self : -1);
		seen++;
	}
	assert_int_equal(seen, want->n);
}

/* ---- oracles ---- */

static bool in_path(const tide_model *m, uint32_t i)
{
	return m->spans.cat[i] == TIDE_CAT_USER || tide__side(m, i) != TIDE_SIDE_NONE;
}

static void oracle_path(const tide_model *m, uint32_t span, bool lane, char *out, size_t n)
{
	char up[400] = "";
	uint32_t parent = m->spans.parent[span].i;
	if (parent)
		oracle_path(m, parent, lane, up, sizeof up);
	else if (lane)
		snprintf(up, sizeof up, "thread %d", (int)m->lanes.number[m->spans.lane[span].i]);
	if (!in_path(m, span))
		snprintf(out, n, "%s", up);
	else
		snprintf(out, n, "%s%s%s", up, *up ? ";" : "",
			 tide__text(m, m->spans.name[span], NULL));
}

static bool on_cpu(const tide_model *m, uint32_t i)
{
	return m->spans.cat[i] == TIDE_CAT_USER || tide__side(m, i) == TIDE_SIDE_CPU;
}

static void oracle_cpu(const tide_model *m, bool lanes, struct list *l)
{
	char path[400];
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (!on_cpu(m, i))
			continue;
		oracle_path(m, i, lanes, path, sizeof path);
		list_add(l, path, 0, 1);
	}
	for (uint32_t lane = 1; lane <= SOME_THREADS; lane++)
		for (int64_t t = 0; t < m->t_end; t++) {
			uint32_t owner = 0;
			for (uint32_t i = 1; i < m->spans.n; i++)
				if (m->spans.lane[i].i == lane && on_cpu(m, i) &&
				    m->spans.t0[i] <= t && t < m->spans.t1[i])
					owner = i; /* rows are in order of start */
			if (!owner)
				continue;
			oracle_path(m, owner, lanes, path, sizeof path);
			list_add(l, path, 1, 0);
		}
}

static void oracle_gpu(const tide_model *m, struct list *l)
{
	char up[400], path[500];
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (tide__side(m, i) != TIDE_SIDE_GPU)
			continue;
		snprintf(up, sizeof up, "[launch not recorded]");
		if (m->spans.cause[i].i)
			oracle_path(m, m->spans.cause[i].i, false, up, sizeof up);
		snprintf(path, sizeof path, "%s%s%s", up, *up ? ";" : "",
			 tide__text(m, m->spans.name[i], NULL));
		list_add(l, path, (uint64_t)(m->spans.t1[i] - m->spans.t0[i]), 1);
	}
}

static uint64_t oracle_live(const tide_model *m, size_t events, uint8_t *alive)
{
	uint64_t sum = 0;
	memset(alive, 0, m->allocs.n);
	for (size_t i = 0; i < events; i++)
		alive[m->memory_events.row[i]] = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
	for (size_t i = 1; i < m->allocs.n; i++)
		sum += alive[i] ? m->allocs.size[i] : 0;
	return sum;
}

static uint64_t oracle_peak(const tide_model *m, uint8_t *alive)
{
	uint64_t peak = 0;
	size_t at = 0;
	for (size_t i = 1; i <= m->memory_events.n; i++) {
		uint64_t live = oracle_live(m, i, alive);
		if (live > peak) {
			peak = live;
			at = i;
		}
	}
	oracle_live(m, at, alive);
	return peak;
}

static void oracle_memory(const tide_model *m, bool by_stack, const uint8_t *alive, struct list *l)
{
	for (uint32_t i = 1; i < m->allocs.n; i++) {
		char path[400];
		tide_stack_id s = m->allocs.stack[i];
		if (!alive[i])
			continue;
		if (by_stack && s.i) {
			tide_stack_id outer = m->stacks.parent[s.i];
			tide_str a = m->frames.function[m->stacks.frame[outer.i].i];
			tide_str b = m->frames.function[m->stacks.frame[s.i].i];
			snprintf(path, sizeof path, "%.99s (model.py:10);%.99s (model.py:20)",
				 tide__text(m, a, NULL), tide__text(m, b, NULL));
		} else if (!by_stack && m->allocs.span[i].i) {
			oracle_path(m, m->allocs.span[i].i, false, path, sizeof path);
		} else {
			snprintf(path, sizeof path, "%s",
				 by_stack ? "[no stack recorded]" : "[outside any op]");
		}
		list_add(l, path, m->allocs.size[i], 1);
	}
}

/* ---- tests ---- */

static void cpu_against_oracle(void **state)
{
	static struct list want;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		for (int merge = 0; merge < 2; merge++) {
			tide_model *m = some_model(seed, seed, 0);
			tide_flame *f;
			tide_flame_options o = { .kind = TIDE_FLAME_CPU, .merge = merge };
			want.n = 0;
			assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
			oracle_cpu(m, !merge, &want);
			compare(f, &want, seed);
			tide__flame_free(f);
			tide__model_free(m);
		}
	}
}

static void gpu_against_oracle(void **state)
{
	static struct list want;
	for (uint32_t seed = 1; seed <= 100; seed++) {
		tide_model *m = some_model(seed, seed, 0);
		tide_flame *f;
		tide_flame_options o = { .kind = TIDE_FLAME_GPU };
		want.n = 0;
		assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
		oracle_gpu(m, &want);
		/* kernels right below the root happen when an invisible span launched them */
		compare(f, &want, seed);
		tide__flame_free(f);
		tide__model_free(m);
	}
}

static void memory_against_oracle(void **state)
{
	static struct list want;
	static uint8_t alive[1000];
	for (uint32_t seed = 1; seed <= 60; seed++) {
		for (int by_stack = 0; by_stack < 2; by_stack++) {
			tide_model *m = some_model(seed, 40, 3 * seed);
			tide_flame *f;
			tide_flame_options o = { .kind = TIDE_FLAME_MEMORY,
						 .by = by_stack ? TIDE_FLAME_BY_STACK
								: TIDE_FLAME_BY_OP };
			want.n = 0;
			uint64_t peak = oracle_peak(m, alive);
			assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
			assert_int_equal(f->nodes.total[0], peak);
			oracle_memory(m, by_stack, alive, &want);
			/* an invisible span at the top gives the root itself weight */
			uint64_t root = f->nodes.self[0];
			const struct folded *none = list_find(&want, "");
			assert_int_equal(root, none ? none->self : 0);
			if (none)
				want.v[none - want.v] = want.v[--want.n];
			compare(f, &want, seed);
			tide__flame_free(f);
			tide__model_free(m);
		}
	}
}

static void folding_keeps_the_total(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		tide_model *m = some_model(seed, 3 * seed, 0);
		for (unsigned kind = 0; kind < 2; kind++) {
			tide_flame *all, *f;
			tide_flame_options o = { .kind = (tide_flame_kind)kind };
			assert_int_equal(tide__find_flame(m, &o, &all, NULL), TIDE_OK);
			o.min_value = some_random(20);
			o.max_depth = 1 + some_random(4);
			o.small_ppm = some_random(200000);
			assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
			check_tree(f);
			assert_int_equal(f->nodes.total[0], all->nodes.total[0]);
			for (uint32_t i = 1; i < f->nodes.n; i++) {
				assert_true(f->nodes.depth[i] <= o.max_depth);
				assert_true(f->nodes.type[i] == TIDE_NODE_NOTE ||
					    f->nodes.total[i] >= o.min_value);
			}
			tide__flame_free(all);
			tide__flame_free(f);
		}
		tide__model_free(m);
	}
}

static void small_kernels(void **state)
{
	tide_model *m = some_machine();
	tide_flame *f;
	uint32_t op = some_span(m, 1, TIDE_CAT_OP, "mm", 0, 50);
	static const int64_t ns[] = { 900, 60, 39, 1 };
	for (int i = 0; i < 4; i++) {
		char name[] = "k0";
		name[1] = (char)('0' + i);
		uint32_t k = some_span(m, 3, TIDE_CAT_KERNEL, name, 100 + i * 1000,
				       100 + i * 1000 + ns[i]);
		m->spans.cause[k].i = op;
	}
	tide_flame_options o = { .kind = TIDE_FLAME_GPU, .small_ppm = 50000 };
	assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
	assert_int_equal(f->nodes.total[0], 1000);
	uint32_t mm = f->nodes.child[0], k0 = f->nodes.child[mm];
	uint32_t k1 = f->nodes.next[k0], small = f->nodes.next[k1];
	assert_string_equal(tide__flame_name(f, k0, NULL), "k0");
	assert_string_equal(tide__flame_name(f, small, NULL), "[small kernels]");
	assert_int_equal(f->nodes.total[small], 40);
	assert_int_equal(f->nodes.count[small], 2);
	assert_int_equal(f->folded, 2);
	assert_int_equal(f->nodes.next[small], 0);
	tide__flame_free(f);
	tide__model_free(m);
}

static void steps_merge(void **state)
{
	tide_model *m = some_machine();
	tide_flame *f;
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#1", 0, 10);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#2", 10, 30);
	tide_flame_options o = { .merge_steps = true, .merge = true };
	assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
	assert_int_equal(f->nodes.n, 2);
	assert_int_equal(f->nodes.total[1], 30);
	assert_string_equal(tide__flame_name(f, 1, NULL), "ProfilerStep#*");
	tide__flame_free(f);
	tide__model_free(m);
}

static void deep_chain(void **state)
{
	tide_model *m = some_machine();
	tide_flame *f;
	enum { DEEP = 100000 };
	for (uint32_t i = 1; i <= DEEP; i++) { /* not some_span: its search is quadratic */
		uint32_t s = tide__push(&m->spans, &tide_spans_desc);
		m->spans.lane[s].i = 1;
		m->spans.cat[s] = TIDE_CAT_PYTHON;
		m->spans.name[s] = tide__intern(m, "recurse");
		m->spans.t0[s] = i;
		m->spans.t1[s] = 2 * DEEP + 1 - i;
		m->spans.parent[s].i = i - 1;
	}
	m->t_end = 2 * DEEP;
	tide_flame_options o = { .max_depth = 100 };
	assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
	assert_int_equal(f->nodes.n, 101);
	assert_int_equal(f->nodes.total[0], 2 * DEEP - 1);
	tide__flame_free(f);
	tide__model_free(m);
}

static void no_memory(void **state)
{
	tide_model *m = some_model(5, 60, 60);
	for (unsigned kind = 0; kind < 3; kind++)
		for (uint64_t n = 1;; n++) {
			tide_flame *f;
			tide_flame_options o = { .kind = (tide_flame_kind)kind, .min_value = 3 };
			tide__mem_fail_at(n);
			tide_code rc = tide__find_flame(m, &o, &f, NULL);
			tide__mem_fail_at(0);
			if (rc == TIDE_OK) {
				assert_true(n > 5);
				tide__flame_free(f);
				break;
			}
			assert_int_equal(rc, TIDE_ENOMEM);
			assert_null(f);
		}
	tide__model_free(m);
}

/* ---- order of time: rows made from paths as texts, one weight after another ---- */

struct naive {
	struct {
		char path[400];
		uint32_t parent;
		uint64_t self, count;
	} v[4000];
	size_t n;
	uint32_t at[SOME_THREADS + 1][64]; /* per lane and level: row */
	size_t levels[SOME_THREADS + 1];
};

static size_t prefix(const char *path, size_t level)
{
	const char *p = path;
	for (size_t i = 0; i <= level; i++) {
		p = strchr(p + (i > 0), ';');
		if (!p)
			return strlen(path);
	}
	return (size_t)(p - path);
}

static void naive_add(struct naive *x, uint32_t lane, const char *path, uint64_t self,
		      uint64_t count)
{
	size_t depth = 1;
	uint32_t row = 0;
	for (const char *p = path; (p = strchr(p, ';')); p++)
		depth++;
	assert_true(depth < 64);
	for (size_t level = 0; level < depth; level++) {
		size_t n = prefix(path, level);
		uint32_t *at = &x->at[lane][level];
		bool same = level < x->levels[lane] && strlen(x->v[*at].path) == n &&
			    !memcmp(x->v[*at].path, path, n);
		if (!same) {
			assert_true(x->n < 4000);
			*at = (uint32_t)x->n++;
			snprintf(x->v[*at].path, sizeof x->v->path, "%.*s", (int)n, path);
			x->v[*at].parent = row;
			x->v[*at].self = x->v[*at].count = 0;
			x->levels[lane] = level + 1;
		}
		row = *at;
	}
	x->v[row].self += self;
	x->v[row].count += count;
}

/* At each moment: the spans that begin then, then the owner of the moment. */
static void naive_cpu(const tide_model *m, uint32_t lane, struct naive *x)
{
	char path[400];
	for (int64_t t = 0; t < m->t_end; t++) {
		uint32_t owner = 0;
		for (uint32_t i = 1; i < m->spans.n; i++) {
			if (m->spans.lane[i].i != lane || !on_cpu(m, i))
				continue;
			oracle_path(m, i, true, path, sizeof path);
			if (m->spans.t0[i] == t)
				naive_add(x, lane, path, 0, 1);
			if (m->spans.t0[i] <= t && t < m->spans.t1[i])
				owner = i;
		}
		if (!owner)
			continue;
		oracle_path(m, owner, true, path, sizeof path);
		naive_add(x, lane, path, 1, 0);
	}
}

/* Rows of a lane of the order, in their own order, against the oracle's. */
static void compare_order(const tide_flame *f, const tide_flame_order *o, const char *lane,
			  const struct naive *x, uint32_t seed)
{
	char path[400];
	size_t k = 1;
	for (size_t i = 1; i < o->n; i++) {
		path_of(f, o->node[i], path, sizeof path);
		if (strncmp(path, lane, strlen(lane)))
			continue;
		assert_true(k < x->n);
		if (strcmp(path, x->v[k].path) || o->self[i] != x->v[k].self ||
		    o->count[i] != x->v[k].count)
			fail_msg("seed %u, row %zu: %s %llu, expected %s %llu", seed, k, path,
				 (unsigned long long)o->self[i], x->v[k].path,
				 (unsigned long long)x->v[k].self);
		k++;
	}
	assert_int_equal(k, x->n);
}

static void check_order(const tide_flame *f, const tide_flame_order *o)
{
	uint64_t sum = 0;
	uint32_t *last = calloc(o->n + 1, sizeof *last);
	for (uint32_t i = 0; i < o->n; i++) {
		sum += o->self[i];
		if (!i)
			continue;
		assert_true(o->parent[i] < i);
		uint32_t before = last[o->parent[i]];
		assert_true(!before || o->node[before] != o->node[i]);
		last[o->parent[i]] = i;
	}
	free(last);
	assert_int_equal(sum, f->nodes.total[0]);
}

static void order_of_time(void **state)
{
	const tide_flame_options opt = { .kind = TIDE_FLAME_CPU, .ordered = true };
	struct naive *x = malloc(sizeof *x);
	for (uint32_t seed = 1; seed < 40; seed++) {
		tide_model *m = some_model(seed, 60, 20);
		tide_flame *f;
		assert_int_equal(tide__find_flame(m, &opt, &f, NULL), TIDE_OK);
		if (f->order.n)
			check_order(f, &f->order);
		for (uint32_t lane = 1; lane <= SOME_THREADS; lane++) {
			char name[64];
			memset(x, 0, sizeof *x);
			x->n = 1;
			naive_cpu(m, lane, x);
			snprintf(name, sizeof name, "thread %d", (int)m->lanes.number[lane]);
			compare_order(f, &f->order, name, x, seed);
		}
		tide__flame_free(f);
		tide__model_free(m);
	}
	free(x);
}

/* Folding keeps the sum, leaves nothing small but the heaps, and keeps what is large. */
static void order_folds(void **state)
{
	for (uint32_t seed = 1; seed < 60; seed++) {
		tide_model *m = some_model(seed, 120, 60);
		for (int kind = 0; kind < 3; kind++) {
			const tide_flame_options opt = { .kind = (tide_flame_kind)kind,
							 .ordered = true };
			tide_flame_order o;
			tide_flame *f;
			assert_int_equal(tide__find_flame(m, &opt, &f, NULL), TIDE_OK);
			uint64_t min = f->nodes.total[0] / (1 + seed % 30);
			assert_true(tide__flame_order_fold(&f->order, min, 0, &o));
			if (o.n)
				check_order(f, &o);
			uint64_t *total = calloc(o.n + 1, sizeof *total);
			for (size_t i = o.n; i-- > 1;) {
				total[i] += o.self[i];
				total[o.parent[i]] += total[i];
				assert_true(total[i] >= min || o.node[i] == TIDE_ORDER_SMALL);
			}
			free(total);
			tide__flame_order_free(&o);
			tide__flame_free(f);
		}
		tide__model_free(m);
	}
}

/* The rows of `add` without anything folded on the way. */
static void plain_add(tide_flame_order *o, const tide_flame *f, uint32_t *at, size_t *n,
		      uint32_t node, uint64_t self)
{
	uint32_t path[16], row = 0;
	size_t depth = f->nodes.depth[node], level = 0;
	for (size_t k = depth; k; k--, node = f->nodes.parent[node])
		path[k - 1] = node;
	while (level < depth && level < *n && o->node[at[level]] == path[level])
		level++;
	for (; level < depth; level++, o->n++) {
		o->node[o->n] = path[level];
		o->parent[o->n] = level ? at[level - 1] : 0;
		o->self[o->n] = o->count[o->n] = 0;
		at[level] = (uint32_t)o->n;
		*n = level + 1;
	}
	row = depth ? at[depth - 1] : 0;
	o->self[row] += self;
	o->count[row]++;
}

enum { WEIGHTS = 150000, LANES = 3 };

/* A large order that is folded while it is built, and once more at the end, equals one whose rows
 * are all folded at the end. */
static void order_folds_early(void **state)
{
	for (uint32_t seed = 1; seed <= 3; seed++) {
		tide_flame *f = tide__flame_new("root");
		tide_order_path path[LANES] = { 0 };
		uint32_t at[LANES][16], x = seed;
		size_t n[LANES] = { 0 };
		tide_flame_order all = { .n = 1 }, want, got;
		all.node = tide__calloc(WEIGHTS * 8, sizeof *all.node);
		all.parent = tide__calloc(WEIGHTS * 8, sizeof *all.parent);
		all.self = tide__calloc(WEIGHTS * 8, sizeof *all.self);
		all.count = tide__calloc(WEIGHTS * 8, sizeof *all.count);
		for (uint32_t i = 0; i < WEIGHTS; i++) {
			uint32_t lane = i / (seed == 2 ? 1 : 500) % LANES, node = 0;
			char name[8];
			snprintf(name, sizeof name, "lane%u", lane);
			node = tide__flame_get_child(f, 0, tide__flame_text(f, name, 5),
						     TIDE_NODE_LANE);
			for (unsigned d = (x = x * 1103515245 + 12345) >> 16 & 3; d; d--) {
				x = x * 1103515245 + 12345;
				snprintf(name, sizeof name, "n%u", x >> 16 & 3);
				node = tide__flame_get_child(f, node, tide__flame_text(f, name, 2),
							     TIDE_NODE_SPAN);
			}
			x = x * 1103515245 + 12345;
			uint64_t self = (x >> 16) % 4000 ? x >> 20 & 15 : 50000;
			assert_true(tide__flame_order_add(f, &path[lane], node, self, 1));
			plain_add(&all, f, at[lane], &n[lane], node, self);
		}
		uint64_t min = f->order.total / TIDE_ORDER_PARTS;
		assert_true(f->order.folded > 0 && f->order.n < all.n);
		assert_true(tide__flame_order_fold(&all, min, 0, &want));
		assert_true(tide__flame_order_fold(&f->order, min, 0, &got));
		assert_int_equal(got.n, want.n);
		assert_memory_equal(got.node, want.node, want.n * sizeof *want.node);
		assert_memory_equal(got.parent, want.parent, want.n * sizeof *want.parent);
		assert_memory_equal(got.self, want.self, want.n * sizeof *want.self);
		assert_memory_equal(got.count, want.count, want.n * sizeof *want.count);
		tide__flame_order_free(&want);
		tide__flame_order_free(&got);
		tide__flame_order_free(&all);
		tide__flame_free(f);
		for (int k = 0; k < LANES; k++)
			tide__free(path[k].levels);
	}
}

/* The default kind of a trace: the first of these that it has. */
static void mostly(void **state)
{
	tide_model *m = some_machine();
	assert_int_equal(tide__flame_mostly(m), TIDE_FLAME_CPU);
	some_alloc(m, 1, 512, 0);
	assert_int_equal(tide__flame_mostly(m), TIDE_FLAME_MEMORY);
	some_span(m, 1, TIDE_CAT_USER, "range", 0, 9);
	assert_int_equal(tide__flame_mostly(m), TIDE_FLAME_MEMORY);
	some_span(m, 1, TIDE_CAT_OP, "op", 0, 9);
	assert_int_equal(tide__flame_mostly(m), TIDE_FLAME_CPU);
	some_span(m, 3, TIDE_CAT_KERNEL, "k", 0, 9);
	assert_int_equal(tide__flame_mostly(m), TIDE_FLAME_GPU);
	tide__model_free(m);
}

/* Threads of two processes that have one number are two. */
static void same_number(void **state)
{
	tide_model *m = some_machine();
	tide_flame *f;
	uint32_t p = tide__push(&m->processes, &tide_processes_desc);
	m->processes.pid[p] = 77;
	uint32_t lane = some_lane(m, TIDE_LANE_THREAD, m->lanes.number[1], 0);
	m->lanes.process[lane].i = p;
	some_span(m, 1, TIDE_CAT_OP, "a", 0, 9);
	some_span(m, lane, TIDE_CAT_OP, "b", 1, 3);
	assert_int_equal(tide__find_flame(m, NULL, &f, NULL), TIDE_OK);
	size_t n;
	uint32_t first = f->nodes.child[0], second = f->nodes.next[first];
	assert_int_equal(f->nodes.total[first], 9);
	assert_int_equal(f->nodes.total[second], 2);
	assert_string_equal(tide__flame_name(f, first, &n), "thread 100");
	assert_string_equal(tide__flame_name(f, second, &n), "thread 100 of process 77");
	tide__flame_free(f);
	tide__model_free(m);
}

/* 2,000 frames that share a function and a file of 64 KiB each: every frame has its own name, and
 * together they take far less memory than 2,000 copies of the texts. */
static void shared_long_texts(void **state)
{
	enum { FRAMES = 2000, LONG = 1 << 16 };
	tide_model *m = some_machine();
	tide_flame *f;
	tide_flame_options o = { .kind = TIDE_FLAME_MEMORY, .by = TIDE_FLAME_BY_STACK };
	char *text = malloc(LONG);
	size_t all = 0;
	memset(text, 'x', LONG);
	tide_str fn = tide__intern_n(m, text, LONG), file = tide__intern_n(m, text, LONG - 1);
	for (uint32_t i = 1; i <= FRAMES; i++) {
		uint32_t a = some_alloc(m, 1, 100, i);
		m->allocs.stack[a] = tide__stack_intern(m, (tide_stack_id){ 0 },
							tide__frame_intern(m, fn, file, i));
	}
	assert_int_equal(tide__find_flame(m, &o, &f, NULL), TIDE_OK);
	assert_int_equal(f->nodes.n, FRAMES + 1);
	for (uint32_t i = 1; i <= tide__strings_count(f->strings); i++) {
		size_t n;
		tide__strings_get(f->strings, i, &n);
		all += n;
	}
	assert_true(all < (20 << 20) + FRAMES * 600);
	tide__flame_free(f);
	tide__model_free(m);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mostly),
		cmocka_unit_test(same_number),
		cmocka_unit_test(order_of_time),
		cmocka_unit_test(order_folds),
		cmocka_unit_test(order_folds_early),
		cmocka_unit_test(cpu_against_oracle),
		cmocka_unit_test(gpu_against_oracle),
		cmocka_unit_test(memory_against_oracle),
		cmocka_unit_test(folding_keeps_the_total),
		cmocka_unit_test(small_kernels),
		cmocka_unit_test(steps_merge),
		cmocka_unit_test(deep_chain),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(shared_long_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
