// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/inference.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/common/interval_set.h"
#include "analyze/common/span_args.h"
#include "analyze/device/gpu_rows.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

const char *const tide__iteration_text[TIDE_N_ITERATIONS] = {
#define X(name, text) [TIDE_ITERATION_##name] = text,
	TIDE_ITERATIONS(X)
#undef X
};

static const tide_iteration_counts unknown = { -1, -1, -1, -1, -1 };

static int64_t end_of(const tide_model *m, uint32_t span)
{
	return tide__span_end(m, span);
}

static bool is_range(const tide_model *m, uint32_t i)
{
	return m->spans.cat[i] == TIDE_CAT_USER;
}

static bool add(tide_inference *x, uint32_t span, tide_iteration_kind kind,
		const tide_iteration_counts *of)
{
	if (!TIDE_ROOM(x->v, x->cap, x->n + 1))
		return false;
	x->v[x->n++] = (tide_iteration){ .span = span, .kind = (uint8_t)kind, .of = *of };
	return true;
}

/* ---- 1: ranges of servers ---- */

static void fill(int64_t *to, int64_t from)
{
	*to = *to < 0 ? from : *to;
}

/* Two ranges of one iteration: each may know what the other does not. */
static void merge(tide_iteration *to, const tide_iteration_counts *from, tide_iteration_kind kind)
{
	fill(&to->of.prefill_requests, from->prefill_requests);
	fill(&to->of.prefill_tokens, from->prefill_tokens);
	fill(&to->of.decode_requests, from->decode_requests);
	fill(&to->of.decode_tokens, from->decode_tokens);
	fill(&to->of.context_tokens, from->context_tokens);
	if (to->kind == TIDE_ITERATION_OTHER)
		to->kind = (uint8_t)kind;
}

static bool find_servers(const tide_model *m, tide_inference *x)
{
	tide_iteration_counts c;
	tide_iteration_kind kind;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		size_t n;
		const char *name = is_range(m, i) ? tide__text(m, m->spans.name[i], &n) : NULL;
		if (!name || m->lanes.kind[m->spans.lane[i].i] != TIDE_LANE_THREAD ||
		    !tide__iteration_parse(name, n, &c, &kind))
			continue;
		tide_iteration *last = x->n ? &x->v[x->n - 1] : NULL;
		if (last && m->spans.t0[i] < end_of(m, last->span) &&
		    m->spans.lane[i].i == m->spans.lane[last->span].i)
			merge(last, &c, kind);
		else if (!add(x, i, kind, &c))
			return false;
	}
	return true;
}

/* ---- 2: words ---- */

static tide_iteration_kind kind_of_words(const char *name)
{
	bool prefill = strcasestr(name, "prefill"), decode = strcasestr(name, "decode");
	return prefill	? (decode ? TIDE_ITERATION_MIXED : TIDE_ITERATION_PREFILL)
	       : decode ? TIDE_ITERATION_DECODE
			: TIDE_ITERATION_OTHER;
}

static bool find_words(const tide_model *m, tide_inference *x)
{
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (!is_range(m, i) || m->lanes.kind[m->spans.lane[i].i] != TIDE_LANE_THREAD)
			continue;
		tide_iteration_kind kind = kind_of_words(tide__text(m, m->spans.name[i], NULL));
		if (kind == TIDE_ITERATION_OTHER)
			continue;
		tide_iteration *last = x->n ? &x->v[x->n - 1] : NULL;
		if (last && m->spans.t0[i] < end_of(m, last->span) &&
		    m->spans.lane[i].i == m->spans.lane[last->span].i)
			x->n--; /* it holds this one */
		if (!add(x, i, kind, &unknown))
			return false;
	}
	return true;
}

/* ---- 3: modules ---- */

static bool is_module(const tide_model *m, uint32_t i)
{
	return !strncmp(tide__text(m, m->spans.name[i], NULL), "nn.Module: ", 11);
}

/* Reads the second shape of "[[151936, 1024], [16, 559], ...". Returns its dimensions, at most 2. */
static int read_indices(const char *s, int64_t *d)
{
	int n = 0;
	s = s ? strchr(s, ']') : NULL;
	s = s ? strchr(s, '[') : NULL;
	for (s = s ? s + 1 : "x"; n < 2 && *s >= '0' && *s <= '9'; n++) {
		char *end;
		d[n] = strtoll(s, &end, 10);
		if (d[n] < 0 || d[n] > (int64_t)1 << 40)
			return 0;
		s = end + (*end == ',');
		s += *s == ' ';
	}
	return *s == ']' ? n : 0;
}

/* Takes requests and tokens from the first embedding in an iteration. */
static void take_embedding(tide_iteration *it, const char *dims)
{
	int64_t d[2];
	if (it->of.context_tokens != -2)
		return;
	it->of.context_tokens = -1;
	if (read_indices(dims, d) != 2)
		return;
	bool decode = d[1] == 1;
	it->kind = decode ? TIDE_ITERATION_DECODE : TIDE_ITERATION_PREFILL;
	it->of = (tide_iteration_counts){ decode ? 0 : d[0], decode ? 0 : d[0] * d[1],
					  decode ? d[0] : 0, decode ? d[0] : 0, -1 };
}

static bool find_modules(const tide_model *m, tide_inference *x)
{
	tide_str dims = tide__attr_key(m, "Input Dims"), op = tide__attr_key(m, "aten::embedding");
	tide_iteration_counts open = unknown;
	open.context_tokens = -2; /* no embedding yet */
	for (uint32_t i = 1; i < m->spans.n; i++) {
		tide_iteration *last = x->n ? &x->v[x->n - 1] : NULL;
		bool inside = last && m->spans.t0[i] < end_of(m, last->span);
		if (!inside && is_module(m, i)) {
			if (!add(x, i, TIDE_ITERATION_OTHER, &open))
				return false;
		} else if (inside && op.i && m->spans.name[i].i == op.i &&
			   m->spans.lane[i].i == m->spans.lane[last->span].i) {
			tide_str s = tide__attr_text(m, i, dims);
			take_embedding(last, s.i ? tide__text(m, s, NULL) : NULL);
		}
	}
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].of.context_tokens == -2)
			x->v[i].of.context_tokens = -1;
	return true;
}

/* ---- device work ---- */

/* Returns the iteration that contains time t, or NULL: the last that began before it. */
static tide_iteration *find_at(const tide_model *m, tide_inference *x, int64_t t)
{
	size_t lo = 0, hi = x->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->spans.t0[x->v[mid].span] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && t < end_of(m, x->v[lo - 1].span) ? &x->v[lo - 1] : NULL;
}

static void add_row(const tide_model *m, tide_inference *x, uint32_t span)
{
	int64_t t0 = m->spans.t0[span], t1 = end_of(m, span);
	uint32_t launch = m->spans.cause[span].i;
	tide_iteration *it = launch ? find_at(m, x, m->spans.t0[launch]) : NULL;
	x->device_ns = tide__add_sat(x->device_ns, t1 - t0);
	if (!it) {
		x->outside_ns = tide__add_sat(x->outside_ns, t1 - t0);
		return;
	}
	it->device_rows++;
	it->device_ns = tide__add_sat(it->device_ns, t1 - t0);
	int64_t from = it->device_rows > 1 && it->busy_to > t0 ? it->busy_to : t0;
	if (t1 > from)
		it->busy_ns = tide__add_sat(it->busy_ns, t1 - from);
	it->busy_to = it->device_rows == 1 || t1 > it->busy_to ? t1 : it->busy_to;
}

static void add_launches(const tide_model *m, tide_inference *x)
{
	uint8_t *graph = NULL;
	uint32_t names = tide__strings_count(m->strings);
	for (uint32_t i = 1; i <= names; i++) {
		const char *s = tide__text(m, (tide_str){ i }, NULL);
		if (!strstr(s, "GraphLaunch"))
			continue;
		if (!graph && !(graph = tide__calloc((size_t)names + 1, 1)))
			return;
		graph[i] = 1;
	}
	for (uint32_t i = 1; graph && i < m->spans.n; i++) {
		bool call =
			m->spans.cat[i] == TIDE_CAT_RUNTIME || m->spans.cat[i] == TIDE_CAT_DRIVER;
		tide_iteration *it =
			call && graph[m->spans.name[i].i] ? find_at(m, x, m->spans.t0[i]) : NULL;
		if (it)
			it->graph_launches++;
	}
	tide__free(graph);
}

/* ---- kinds ---- */

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void take_percentiles(int64_t *v, size_t n, int64_t *p50, int64_t *p90, int64_t *p99)
{
	qsort(v, n, sizeof *v, by_size);
	*p50 = v[tide__nearest_rank(n, 50)];
	*p90 = v[tide__nearest_rank(n, 90)];
	*p99 = v[tide__nearest_rank(n, 99)];
}

static int64_t plus(int64_t a, int64_t b, int64_t c)
{
	return a < 0 || b < 0 || c < 0 ? -1 : tide__add_sat(a, tide__add_sat(b, c));
}

static bool sum_kind(tide_inference *x, int kind)
{
	tide_iteration_group *g = &x->kind[kind];
	int64_t *v = tide__alloc(x->n ? 2 * x->n : 1, sizeof *v);
	size_t n = 0;
	if (!v)
		return false;
	for (size_t i = 0; i < x->n; i++) {
		const tide_iteration *it = &x->v[i];
		if (it->kind != kind)
			continue;
		v[n] = it->latency_ns;
		v[x->n + n++] = it->device_ns;
		tide__stat_add(&g->latency, it->latency_ns);
		tide__stat_add(&g->device, it->device_ns);
		g->tokens = plus(g->tokens, it->of.prefill_tokens, it->of.decode_tokens);
		g->requests = plus(g->requests, it->of.prefill_requests, it->of.decode_requests);
	}
	if (n) {
		take_percentiles(v, n, &g->p50, &g->p90, &g->p99);
		take_percentiles(v + x->n, n, &g->device_p50, &g->device_p90, &g->device_p99);
	}
	tide__free(v);
	return true;
}

static bool finish(const tide_model *m, tide_inference *x)
{
	for (size_t i = 0; i < x->n; i++) {
		tide_iteration *it = &x->v[i];
		int64_t t0 = m->spans.t0[it->span], t1 = end_of(m, it->span);
		it->host_ns = t1 - t0;
		it->latency_ns = it->device_rows && it->busy_to > t1 ? it->busy_to - t0 : t1 - t0;
	}
	bool ok = true;
	for (int k = 0; ok && k < TIDE_N_ITERATIONS; k++)
		ok = sum_kind(x, k);
	return ok;
}

/* ---- all of it ---- */

static bool find_iterations(const tide_model *m, tide_inference *x)
{
	static bool (*const from[])(const tide_model *, tide_inference *) = {
		[TIDE_ITERATION_SERVER] = find_servers,
		[TIDE_ITERATION_WORDS] = find_words,
		[TIDE_ITERATION_MODULES] = find_modules,
	};
	for (int s = TIDE_ITERATION_SERVER; s <= TIDE_ITERATION_MODULES && !x->n; s++) {
		if (!from[s](m, x))
			return false;
		x->source = x->n ? (tide_iteration_source)s : TIDE_ITERATION_NONE;
	}
	return true;
}

tide_code tide__find_inference(const tide_model *m, tide_inference *out, tide_error *err)
{
	tide_steps steps = { 0 };
	tide_gpu_rows rows = { 0 };
	const tide_span_window all = { .all = true };
	*out = (tide_inference){ 0 };
	tide_code rc = tide__gpu_rows_find(m, &steps, &all, NULL, 0, &rows, err);
	if (rc == TIDE_OK && !find_iterations(m, out))
		rc = tide__nomem(err);
	if (rc == TIDE_OK) {
		for (size_t i = 0; i < rows.n; i++)
			add_row(m, out, rows.span[i]);
		add_launches(m, out);
		rc = finish(m, out) ? TIDE_OK : tide__nomem(err);
	}
	tide__gpu_rows_free(&rows);
	return rc;
}

void tide__inference_free(tide_inference *x)
{
	tide__free(x->v);
	*x = (tide_inference){ 0 };
}
