// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Both traces are counted into one tree of names and paths; a row of a table is a node of it. */
#include "analyze/compare/diff.h"

#include <math.h>
#include "analyze/common/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/diff_impl.h"
#include "analyze/live/live_set.h"
#include "analyze/common/interval_set.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"
#include "analyze/timeline/timeline.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"

const tide_metric_info tide__metrics[TIDE_N_METRICS] = {
#define X(name, key, unit, what) { key, TIDE_UNIT_##unit, what },
	TIDE_METRICS(X)
#undef X
};

const char *tide__diff_kind_key(tide_diff_kind k)
{
	static const char *const keys[] = {
#define X(name, key) key,
		TIDE_DIFF_KINDS(X)
#undef X
	};
	return keys[k];
}

const char *tide__diff_status_text(tide_diff_status s)
{
	static const char *const texts[] = { "same", "changed", "added", "removed" };
	return texts[s];
}

tide_diff_status tide__diff_status(const tide_diff_row *r)
{
	if (!r->count[0] && r->count[1])
		return TIDE_DIFF_ADDED;
	if (r->count[0] && !r->count[1])
		return TIDE_DIFF_REMOVED;
	bool same = r->count[0] == r->count[1] && r->value[0] == r->value[1] &&
		    r->total[0] == r->total[1];
	return same ? TIDE_DIFF_SAME : TIDE_DIFF_CHANGED;
}

typedef tide_differ differ;

tide_diff_row *tide__diff_row_of(tide_differ *d, tide_diff_kind kind, uint32_t node)
{
	tide_diff_table *t = &d->out->table[kind];
	uint32_t at = tide__map_get(&d->rows[kind], node);
	if (at)
		return &t->rows[at - 1];
	if (!TIDE_ROOM(t->rows, d->cap[kind], t->n + 1))
		return NULL;
	if (!tide__map_put(&d->rows[kind], node, (uint32_t)t->n + 1))
		return NULL;
	t->rows[t->n] = (tide_diff_row){ .node = node };
	return &t->rows[t->n++];
}

/* Returns the length of "0x" and at least 6 hexadecimal digits at s, else 0. */
static size_t address(const char *s, size_t n)
{
	size_t k = 2;
	if (n < 8 || s[0] != '0' || s[1] != 'x')
		return 0;
	while (k < n && isxdigit((unsigned char)s[k]))
		k++;
	return k >= 8 ? k : 0;
}

static bool is_step(const char *s, size_t n)
{
	static const char step[] = "ProfilerStep#";
	return n >= sizeof step - 1 && !memcmp(s, step, sizeof step - 1);
}

/* Calls whose names differ by more than their first letters. */
static const char *const pairs[][2] = {
	{ "hipModuleLaunchKernel", "cuLaunchKernel" },
	{ "hipExtModuleLaunchKernel", "cuLaunchKernelEx" },
	{ "hipExtLaunchKernel", "cudaLaunchKernelExC" },
	{ "hipMemcpyWithStream", "cudaMemcpyAsync" },
};

/* Returns true for "hipMalloc", "cudaMalloc": the word and a capital letter. */
static bool is_call(const char *s, size_t n, const char *word)
{
	size_t k = strlen(word);
	return n > k && !memcmp(s, word, k) && isupper((unsigned char)s[k]);
}

bool tide__diff_equates(const tide_strings *a, const tide_strings *b)
{
	const tide_strings *const of[] = { a, b };
	bool hip[2] = { false, false }, cuda[2] = { false, false };
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 1; i <= tide__strings_count(of[side]); i++) {
			size_t n;
			const char *s = tide__strings_get(of[side], i, &n);
			hip[side] |= is_call(s, n, "hip");
			cuda[side] |= is_call(s, n, "cuda");
		}
	return (hip[0] && cuda[1] && !cuda[0]) || (hip[1] && cuda[0] && !cuda[1]);
}

/* Returns the id of a call of HIP as CUDA names it. */
static uint32_t cuda_text(tide_flame *tree, const char *s, size_t n)
{
	char name[128] = "cuda";
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strlen(pairs[i][0]) == n && !memcmp(s, pairs[i][0], n))
			return tide__flame_text(tree, pairs[i][1], strlen(pairs[i][1]));
	if (n + 1 >= sizeof name)
		return tide__flame_text(tree, s, n);
	memcpy(name + 4, s + 3, n - 3);
	return tide__flame_text(tree, name, n + 1);
}

uint32_t tide__diff_text(tide_flame *tree, const char *s, size_t n, bool equate)
{
	if (equate && is_call(s, n, "hip"))
		return cuda_text(tree, s, n);
	static const char any[] = "ProfilerStep#*";
	if (is_step(s, n))
		return tide__flame_text(tree, any, sizeof any - 1);
	if (!memmem(s, n, "0x", 2))
		return tide__flame_text(tree, s, n);
	char *plain = tide__alloc(n, 1);
	size_t k = 0;
	for (size_t i = 0; plain && i < n;) {
		size_t skip = address(s + i, n - i);
		if (skip)
			memcpy(plain + k, "0x*", 3);
		else
			plain[k] = s[i];
		k += skip ? 3 : 1;
		i += skip ? skip : 1;
	}
	uint32_t id = plain ? tide__flame_text(tree, plain, k) : 0;
	tide__free(plain);
	return id;
}

tide_diff_row *tide__diff_row_named(tide_differ *d, tide_diff_kind kind, const char *s, size_t n)
{
	tide_flame *f = d->out->tree;
	uint32_t name = tide__diff_text(f, s, n, d->equate);
	uint32_t node = name ? tide__flame_get_child(f, d->branch[kind], name, TIDE_NODE_SPAN) : 0;
	return node ? tide__diff_row_of(d, kind, node) : NULL;
}

/* ---- single figures ---- */

static void metric(differ *d, tide_metric k, int side, uint64_t v, bool known)
{
	d->out->metric[k][side] = v;
	d->out->known[k][side] = known;
}

static tide_code time_metrics(differ *d, int side)
{
	tide_timeline t;
	bool timed = d->out->timed; /* else ops have no durations */
	tide_code rc = tide__find_timeline(d->m[side], NULL, &t, d->err);
	if (rc != TIDE_OK)
		return rc;
	uint64_t sum = 0;
	for (size_t i = 0; i < t.n_lanes; i++)
		if (t.lanes[i].side == TIDE_SIDE_GPU)
			sum += (uint64_t)t.lanes[i].sum_ns;
	bool cpu = t.cpu_count, gpu = t.gpu_count;
	tide_steps steps;
	rc = tide__steps_find(d->m[side], &steps, d->err);
	if (rc != TIDE_OK) {
		tide__timeline_free(&t);
		return rc;
	}
	metric(d, TIDE_METRIC_STEP_TIME, side, (uint64_t)tide__steps_median(&steps),
	       timed && steps.n);
	tide__steps_free(&steps);
	metric(d, TIDE_METRIC_TIME, side, (uint64_t)t.total_ns, timed && (cpu || gpu));
	metric(d, TIDE_METRIC_CPU_TIME, side, (uint64_t)t.cpu_ns, timed && cpu);
	metric(d, TIDE_METRIC_GPU_TIME, side, (uint64_t)t.gpu_ns, timed && gpu);
	metric(d, TIDE_METRIC_OVERLAP, side, (uint64_t)t.overlap_ns, timed && cpu && gpu);
	metric(d, TIDE_METRIC_KERNEL_TIME, side, sum, timed && gpu);
	metric(d, TIDE_METRIC_OPS, side, t.cpu_count, cpu);
	metric(d, TIDE_METRIC_KERNELS, side, t.gpu_count, gpu);
	tide__timeline_free(&t);
	return TIDE_OK;
}

static void memory_metrics(differ *d, int side, const tide_level *l)
{
	metric(d, TIDE_METRIC_PEAK, side, l->peak, true);
	metric(d, TIDE_METRIC_PEAK_REQUESTED, side, l->peak_requested, true);
	metric(d, TIDE_METRIC_RESERVED, side, l->reserved_peak,
	       l->reserved_peak != TIDE_RESERVED_NONE);
	metric(d, TIDE_METRIC_LIVE_END, side, l->bytes, true);
	metric(d, TIDE_METRIC_ALLOCATED, side, l->alloc_bytes, true);
	metric(d, TIDE_METRIC_ALLOCS, side, l->allocs, true);
}

/* ---- host spans by name ---- */

/* Maps texts of `f` to ids of the diff; names that differ only by an address share one. NULL if
 * memory runs out. */
static uint32_t *plain_names(differ *d, const tide_flame *f)
{
	uint32_t n = tide__strings_count(f->strings);
	uint32_t *plain = tide__calloc((size_t)n + 1, sizeof *plain);
	bool ok = plain;
	for (uint32_t i = 1; ok && i <= n; i++) {
		size_t len;
		const char *s = tide__strings_get(f->strings, i, &len);
		ok = (plain[i] = tide__diff_text(d->out->tree, s, len, d->equate)) != 0;
	}
	if (!ok)
		tide__free(plain);
	return ok ? plain : NULL;
}

/* Sums totals by name: a node counts unless one of the same name is around it. */
static bool op_totals(const tide_flame *f, const uint32_t *plain, size_t names, uint64_t *totals)
{
	const tide_nodes *t = &f->nodes;
	uint32_t *open = tide__calloc(names, sizeof *open);
	uint32_t node = 0;
	while (open) {
		if (!open[plain[t->name[node]]]++)
			totals[plain[t->name[node]]] += t->total[node];
		if (t->child[node]) {
			node = t->child[node];
			continue;
		}
		for (; node && !t->next[node]; node = t->parent[node])
			open[plain[t->name[node]]]--;
		if (!node)
			break;
		open[plain[t->name[node]]]--;
		node = t->next[node];
	}
	tide__free(open);
	return open != NULL;
}

static tide_diff_row *op_row(differ *d, uint32_t name)
{
	uint32_t node =
		tide__flame_get_child(d->out->tree, d->branch[TIDE_DIFF_OP], name, TIDE_NODE_SPAN);
	return node ? tide__diff_row_of(d, TIDE_DIFF_OP, node) : NULL;
}

static bool add_ops(differ *d, int side, const tide_flame *f)
{
	uint32_t *plain = plain_names(d, f);
	size_t names = (size_t)tide__strings_count(d->out->tree->strings) + 1;
	uint64_t *totals = tide__calloc(names, sizeof *totals);
	bool ok = plain && totals && op_totals(f, plain, names, totals);
	for (uint32_t i = 1; ok && i < f->nodes.n; i++) {
		uint32_t name = plain[f->nodes.name[i]];
		tide_diff_row *r = op_row(d, name);
		ok = r != NULL;
		if (!ok)
			break;
		r->count[side] += f->nodes.count[i];
		r->value[side] += d->out->timed ? f->nodes.self[i] : 0;
		r->total[side] += d->out->timed ? totals[name] : 0;
		totals[name] = 0; /* once a name */
	}
	tide__free(plain);
	tide__free(totals);
	return ok;
}

static tide_code ops(differ *d, int side)
{
	tide_flame *f;
	tide_flame_options o = { .kind = TIDE_FLAME_CPU, .merge = true };
	tide_code rc = tide__find_flame(d->m[side], &o, &f, d->err);
	if (rc == TIDE_OK && !add_ops(d, side, f))
		rc = tide__nomem(d->err);
	d->out->host[side] = f;
	return rc;
}

/* ---- device work by name ---- */

static tide_code kernels(differ *d, int side)
{
	const tide_model *m = d->m[side];
	for (size_t i = 1; i < m->spans.n; i++) {
		size_t n;
		if (tide__side(m, i) != TIDE_SIDE_GPU)
			continue;
		const char *name = tide__text(m, m->spans.name[i], &n);
		tide_diff_row *r = tide__diff_row_named(d, TIDE_DIFF_KERNEL, name, n);
		if (!r)
			return tide__nomem(d->err);
		r->count[side]++;
		if (d->out->timed)
			r->value[side] += (uint64_t)(tide__span_end(m, i) - m->spans.t0[i]);
	}
	return TIDE_OK;
}

/* ---- memory at the peak ---- */

/* Copies the paths of `f` below the kind's branch and counts the weights there. */
static bool add_paths(differ *d, int side, tide_diff_kind kind, const tide_flame *f)
{
	uint32_t *to = tide__calloc(f->nodes.n, sizeof *to);
	uint32_t *names = tide__flame_names_new(f);
	bool ok = to && names;
	if (ok)
		to[0] = d->branch[kind];
	for (uint32_t i = 0; ok && i < f->nodes.n; i++) {
		size_t n;
		const char *s = tide__flame_name(f, i, &n);
		uint32_t *name = &names[f->nodes.name[i]];
		if (i && !*name) /* once per text: it may be long and shared by many nodes */
			*name = tide__diff_text(d->out->tree, s, n, d->equate);
		if (i)
			to[i] = tide__flame_get_child(d->out->tree, to[f->nodes.parent[i]], *name,
						      f->nodes.type[i]);
		ok = to[i] != 0;
		if (!ok || !f->nodes.count[i])
			continue;
		tide_diff_row *r = tide__diff_row_of(d, kind, to[i]);
		ok = r != NULL;
		if (!ok)
			break;
		r->count[side] += f->nodes.count[i];
		r->value[side] += f->nodes.self[i];
	}
	tide__free(to);
	tide__free(names);
	return ok;
}

static tide_code paths(differ *d, int side, tide_diff_kind kind, tide_flame_by by)
{
	tide_flame *f;
	tide_flame_options o = { .kind = TIDE_FLAME_MEMORY,
				 .by = by,
				 .no_lines = d->opt->no_lines,
				 .max_depth = TIDE_FLAME_DEEP,
				 .device = d->out->device[side].i };
	tide_code rc = tide__find_flame(d->m[side], &o, &f, d->err);
	if (rc == TIDE_OK && !add_paths(d, side, kind, f))
		rc = tide__nomem(d->err);
	tide__flame_free(f);
	return rc;
}

static tide_code roles(differ *d, int side, const tide_live_set *alive)
{
	tide_groups g = { 0 };
	tide_roles r0 = { 0 };
	if (tide__find_roles(d->m[side], &r0) != TIDE_OK)
		return tide__nomem(d->err);
	tide_code rc = tide__groups_find_in_roles(d->m[side], alive, TIDE_BY_ROLE, TIDE_NAMES_WHOLE,
						  r0.role, &g, d->err);
	for (size_t i = 0; rc == TIDE_OK && i < g.n; i++) {
		const char *role = tide__role_text((unsigned)g.rows[i].key);
		tide_diff_row *r = tide__diff_row_named(d, TIDE_DIFF_ROLE, role, strlen(role));
		if (!r) {
			rc = tide__nomem(d->err);
			break;
		}
		r->count[side] += g.rows[i].count;
		r->value[side] += g.rows[i].bytes;
	}
	tide__groups_free(&g);
	tide__roles_free(&r0);
	return rc;
}

static tide_code memory(differ *d, int side)
{
	tide_usage u = { 0 };
	tide_live_set alive = { 0 };
	const tide_model *m = d->m[side];
	if (m->allocs.n <= 1)
		return TIDE_OK;
	tide_code rc = tide__find_usage(m, UINT64_MAX, 0, &u, d->err);
	uint32_t dev = d->opt->device[side];
	if (rc == TIDE_OK && !dev)
		dev = tide__usage_highest(&u);
	if (rc == TIDE_OK && dev < u.n_devices) {
		d->out->device[side].i = dev;
		memory_metrics(d, side, &u.devices[dev]);
		rc = tide__live_set_at(m, u.devices[dev].peak_position, dev, TIDE_ANY, &alive,
				       d->err);
		if (rc == TIDE_OK)
			rc = roles(d, side, &alive);
		if (rc == TIDE_OK)
			rc = paths(d, side, TIDE_DIFF_STACK, TIDE_FLAME_BY_STACK);
		if (rc == TIDE_OK)
			rc = paths(d, side, TIDE_DIFF_OP_PATH, TIDE_FLAME_BY_OP);
	}
	tide__live_set_free(&alive);
	tide__usage_free(&u);
	return rc;
}

/* ---- order ---- */

static uint64_t effect(const tide_diff_row *r)
{
	return r->value[1] > r->value[0] ? r->value[1] - r->value[0] : r->value[0] - r->value[1];
}

static uint64_t more_calls(const tide_diff_row *r)
{
	return r->count[1] > r->count[0] ? r->count[1] - r->count[0] : r->count[0] - r->count[1];
}

static int by_effect(const void *a, const void *b)
{
	const tide_diff_row *x = a, *y = b;
	uint64_t ex = effect(x), ey = effect(y);
	if (ex != ey)
		return ex > ey ? -1 : 1;
	if (x->value[1] != y->value[1])
		return x->value[1] > y->value[1] ? -1 : 1;
	ex = more_calls(x);
	ey = more_calls(y);
	if (ex != ey)
		return ex > ey ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void order(tide_diff_table *t)
{
	if (t->n)
		qsort(t->rows, t->n, sizeof *t->rows, by_effect);
	for (size_t i = 0; i < t->n; i++)
		t->by_status[tide__diff_status(&t->rows[i])]++;
}

/* ---- all of it ---- */

static tide_code begin(differ *d)
{
	d->out->tree = tide__flame_new("diff");
	bool ok = d->out->tree != NULL;
	for (unsigned k = 0; ok && k < TIDE_N_DIFF_KINDS; k++) {
		const char *key = tide__diff_kind_key((tide_diff_kind)k);
		d->branch[k] = tide__flame_get_child(
			d->out->tree, 0, tide__flame_text(d->out->tree, key, strlen(key)),
			TIDE_NODE_NOTE);
		ok = d->branch[k] != 0;
	}
	return ok ? TIDE_OK : tide__nomem(d->err);
}

tide_code tide__find_diff(const tide_model *a, const tide_model *b, const tide_diff_options *opt,
			  tide_diff *out, tide_error *err)
{
	static const tide_diff_options none;
	static tide_code (*const steps[])(differ *, int) = { time_metrics, ops, kernels,
							     tide__diff_add_device_time, memory };
	differ d = { .m = { a, b }, .opt = opt ? opt : &none, .out = out, .err = err };
	*out = (tide_diff){ .timed = a->axis == TIDE_AXIS_TIME && b->axis == TIDE_AXIS_TIME };
	d.equate = tide__diff_equates(a->strings, b->strings);
	tide_code rc = begin(&d);
	for (size_t s = 0; rc == TIDE_OK && s < 2 * sizeof steps / sizeof *steps; s++)
		rc = steps[s / 2](&d, s % 2);
	if (rc == TIDE_OK)
		rc = tide__diff_add_calls(&d);
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++) {
		tide__map_free(&d.rows[k]);
		order(&out->table[k]);
	}
	if (rc != TIDE_OK)
		tide__diff_free(out);
	return rc;
}

void tide__diff_free(tide_diff *d)
{
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
		tide__free(d->table[k].rows);
	tide__flame_free(d->tree);
	tide__flame_free(d->host[0]);
	tide__flame_free(d->host[1]);
	*d = (tide_diff){ 0 };
}

double tide__change_pct(uint64_t a, uint64_t b)
{
	return a ? 100.0 * ((double)b - (double)a) / (double)a : (double)NAN;
}
