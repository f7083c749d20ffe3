// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Modules against their definition: for every module and every span or allocation the oracle
 * climbs. */
#include <string.h>

#include "analyze/memory/groups.h"
#include "analyze/ops/modules.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

static bool named(const tide_model *m, uint32_t s, const char *prefix)
{
	return s && !strncmp(tide__text(m, m->spans.name[s], NULL), prefix, strlen(prefix));
}

static bool module(const tide_model *m, uint32_t s)
{
	return named(m, s, "nn.Module: ");
}

/* ---- the oracle ---- */

/* Returns the forward op of backward span i, or of the engine's span i around one, by the last
 * flow. */
static uint32_t forward(const tide_model *m, uint32_t i)
{
	uint32_t found = 0;
	for (size_t k = 0; k < m->flows.n; k++) {
		uint32_t from = m->flows.from[k].i, to = m->flows.to[k].i;
		uint32_t around = m->spans.parent[to].i;
		if (m->flows.kind[k] != TIDE_FLOW_FWD_BWD || from >= to)
			continue;
		bool engine = around > from && named(m, around, "autograd::engine::");
		if (i == (engine ? around : to))
			found = from;
	}
	return found;
}

static uint32_t innermost(const tide_model *m, uint32_t s)
{
	while (s && !module(m, s))
		s = forward(m, s) ? forward(m, s) : m->spans.parent[s].i;
	return s;
}

static bool within(const tide_model *m, uint32_t s, uint32_t outer)
{
	while (s && s != outer)
		s = m->spans.parent[s].i;
	return s;
}

/* 0 forward, 1 in a backward op, 2 in a module call that repeats a forward one. */
static int where(const tide_model *m, uint32_t s)
{
	if (!s)
		return 0;
	if (forward(m, s) || named(m, s, "autograd::engine::"))
		return 1;
	int around = where(m, m->spans.parent[s].i);
	return module(m, s) && around == 1 ? 2 : around;
}

static bool repeats(const tide_model *m, uint32_t s)
{
	return where(m, s) == 2 && where(m, m->spans.parent[s].i) == 1;
}

/* The call that a recomputed one repeats, 0 = not recorded. */
static uint32_t repeated(const tide_model *m, uint32_t s)
{
	for (uint32_t i = s; i-- > 1;)
		if (m->spans.name[i].i == m->spans.name[s].i && where(m, i) == 0)
			return i;
	return 0;
}

static uint64_t bytes_in(const tide_model *m, uint32_t s)
{
	uint64_t n = 0;
	for (uint32_t a = 1; a < m->allocs.n; a++)
		n += within(m, m->allocs.span[a].i, s) ? m->allocs.size[a] : 0;
	return n;
}

/* Returns whether c is in b, and in no other recomputed call between them. */
static bool right_in(const tide_model *m, uint32_t c, uint32_t b)
{
	if (!within(m, c, b))
		return false;
	for (uint32_t p = m->spans.parent[c].i; p && p != b; p = m->spans.parent[p].i)
		if (repeats(m, p))
			return false;
	return !repeats(m, b);
}

static void add_backward(const tide_model *m, uint32_t b, tide_module_row *r)
{
	const tide_spans *s = &m->spans;
	r->backward_ops++;
	r->backward_ns += s->t1[b] - s->t0[b];
	r->backward_bytes += bytes_in(m, b);
	for (uint32_t c = 1; c < s->n; c++)
		if (repeats(m, c) && right_in(m, c, b)) {
			r->backward_ns -= s->t1[c] - s->t0[c];
			r->backward_bytes -= bytes_in(m, c);
		}
}

static tide_module_row row_by_hand(const tide_model *m, tide_str name)
{
	tide_module_row r = { .name = name };
	const tide_spans *s = &m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		if (s->name[i].i != name.i)
			continue;
		bool again = where(m, i) == 2;
		r.calls += !again;
		r.again_calls += again;
		uint32_t around = innermost(m, s->parent[i].i);
		if (!repeats(m, i) && around && s->name[around].i == name.i)
			continue;
		*(again ? &r.again_ns : &r.forward_ns) += s->t1[i] - s->t0[i];
		*(again ? &r.again_bytes : &r.forward_bytes) += bytes_in(m, i);
		for (uint32_t b = 1; b < s->n; b++)
			if (forward(m, b) && within(m, forward(m, b), i))
				add_backward(m, b, &r);
		for (uint32_t c = 1; c < s->n; c++)
			if (repeats(m, c) && repeated(m, c) &&
			    within(m, s->parent[repeated(m, c)].i, i)) {
				r.again_ns += s->t1[c] - s->t0[c];
				r.again_bytes += bytes_in(m, c);
			}
	}
	return r;
}

static void agree(const tide_model *m)
{
	tide_modules x;
	assert_int_equal(tide__find_modules(m, &x, NULL), TIDE_OK);
	for (uint32_t i = 1; i < m->spans.n; i++)
		assert_int_equal(x.of[i].i, m->spans.name[innermost(m, i)].i);
	for (size_t i = 0; i < x.n; i++) {
		tide_module_row w = row_by_hand(m, x.rows[i].name);
		const tide_module_row *r = &x.rows[i];
		assert_int_equal(w.calls, r->calls);
		assert_int_equal(w.forward_ns, r->forward_ns);
		assert_int_equal(w.backward_ns, r->backward_ns);
		assert_int_equal(w.forward_bytes, r->forward_bytes);
		assert_int_equal(w.backward_bytes, r->backward_bytes);
		assert_int_equal(w.backward_ops, r->backward_ops);
		assert_int_equal(w.again_calls, r->again_calls);
		assert_int_equal(w.again_ns, r->again_ns);
		assert_int_equal(w.again_bytes, r->again_bytes);
	}
	tide__modules_free(&x);
}

/* ---- models ---- */

static void link_spans(tide_model *m, uint32_t from, uint32_t to)
{
	size_t row;
	tide__table_push(&m->flows, &tide_flows_desc, &row);
	m->flows.from[row].i = from;
	m->flows.to[row].i = to;
	m->flows.kind[row] = TIDE_FLOW_FWD_BWD;
}

static void in(tide_model *m, uint32_t span, uint64_t size)
{
	uint32_t row = some_alloc(m, 1, size, m->spans.t0[span]); /* first: the columns may move */
	m->allocs.span[row].i = span;
}

static void by_hand(void **state)
{
	tide_model *m = some_machine();
	uint32_t net = some_span(m, 1, TIDE_CAT_OP, "nn.Module: Net", 0, 100);
	uint32_t up = some_span(m, 1, TIDE_CAT_OP, "nn.Module: Net.up", 10, 40);
	uint32_t mm = some_span(m, 1, TIDE_CAT_OP, "aten::mm", 20, 30);
	uint32_t engine = some_span(m, 2, TIDE_CAT_OP,
				    "autograd::engine::evaluate_function: MmBackward0", 200, 260);
	uint32_t back = some_span(m, 2, TIDE_CAT_OP, "MmBackward0", 210, 250);
	link_spans(m, mm, back);
	in(m, mm, 1000);
	in(m, net, 1);
	in(m, back, 500);
	in(m, engine, 20);
	tide_modules x;
	assert_int_equal(tide__find_modules(m, &x, NULL), TIDE_OK);
	assert_int_equal(x.n, 2);
	assert_int_equal(x.of[engine].i, m->spans.name[up].i);
	assert_string_equal(tide__module_text(m, x.rows[1].name), "Net.up");
	assert_int_equal(x.rows[0].forward_bytes, 1001);
	assert_int_equal(x.rows[1].forward_bytes, 1000);
	assert_int_equal(x.rows[0].backward_bytes, 520);
	assert_int_equal(x.rows[0].backward_ns, 60);
	assert_int_equal(x.rows[1].backward_ops, 1);
	tide__modules_free(&x);
	tide_live_set set;
	tide_groups g;
	assert_int_equal(tide__live_set_at(m, m->memory_events.n, TIDE_ANY, TIDE_ANY, &set, NULL),
			 TIDE_OK);
	assert_int_equal(tide__find_groups(m, &set, TIDE_BY_MODULE, &g, NULL), TIDE_OK);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.rows[0].bytes, 1520);
	tide__groups_free(&g);
	tide__live_set_free(&set);
	agree(m);
	tide__model_free(m);
}

/* Activation checkpointing: the forward of `Net.up` runs again inside the backward of an op of its
 * own, as PyTorch's non-reentrant checkpoint has it. */
static void recomputed(void **state)
{
	tide_model *m = some_machine();
	some_span(m, 1, TIDE_CAT_OP, "nn.Module: Net", 0, 100);
	some_span(m, 1, TIDE_CAT_OP, "nn.Module: Net.up", 10, 40);
	uint32_t mm = some_span(m, 1, TIDE_CAT_OP, "aten::mm", 20, 30);
	some_span(m, 2, TIDE_CAT_OP, "autograd::engine::evaluate_function: MmBackward0", 200, 300);
	uint32_t up2 = some_span(m, 2, TIDE_CAT_OP, "nn.Module: Net.up", 205, 235);
	uint32_t mm2 = some_span(m, 2, TIDE_CAT_OP, "aten::mm", 210, 220);
	uint32_t back = some_span(m, 2, TIDE_CAT_OP, "MmBackward0", 240, 290);
	link_spans(m, mm, back);
	in(m, mm, 1000);
	in(m, mm2, 1000);
	in(m, up2, 24);
	in(m, back, 500);
	tide_modules x;
	assert_int_equal(tide__find_modules(m, &x, NULL), TIDE_OK);
	assert_int_equal(x.n, 2);
	for (size_t i = 0; i < 2; i++) { /* the child sums to no more than its parent */
		assert_int_equal(x.rows[i].calls, 1);
		assert_int_equal(x.rows[i].again_calls, i);
		assert_int_equal(x.rows[i].forward_ns, i ? 30 : 100);
		assert_int_equal(x.rows[i].backward_ns, 70);
		assert_int_equal(x.rows[i].again_ns, 30);
		assert_int_equal(x.rows[i].forward_bytes, 1000);
		assert_int_equal(x.rows[i].backward_bytes, 500);
		assert_int_equal(x.rows[i].again_bytes, 1024);
	}
	tide__modules_free(&x);
	agree(m);
	tide__model_free(m);
}

/* Labels name the module of a tensor, independent of the place of its allocation. */
static const struct {
	const char *name;
	uint8_t role;
	const char *owner; /* "" = the place of allocation, outside any module */
} labelled[] = {
	{ "up.weight", TIDE_ROLE_PARAMETER, "Net.up" },
	{ "up.weight.grad", TIDE_ROLE_GRADIENT, "Net.up" },
	{ "up.weight.exp_avg", TIDE_ROLE_OPTIMIZER, "Net.up" },
	{ "blocks.3.up.running_mean", TIDE_ROLE_BUFFER, "Net.blocks.3.up" },
	{ "nosuch.weight", TIDE_ROLE_PARAMETER, "" },
	{ "up.weight", TIDE_ROLE_ACTIVATION, "" },
	{ "both.weight", TIDE_ROLE_PARAMETER, "" }, /* two models have one */
	{ "scale", TIDE_ROLE_PARAMETER, "" },	    /* and both are outermost */
	{ "grad", TIDE_ROLE_GRADIENT, "" },
	{ "", TIDE_ROLE_PARAMETER, "" },
};

static void by_label(void **state)
{
	static const char *const spans[] = {
		"nn.Module: Net",      "nn.Module: Net.up", "nn.Module: Net.blocks.3.up",
		"nn.Module: Net.both", "nn.Module: Other",  "nn.Module: Other.both"
	};
	enum { N = sizeof labelled / sizeof *labelled };
	tide_model *m = some_machine();
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
		some_span(m, 1, TIDE_CAT_OP, spans[i], (int64_t)i * 10, (int64_t)i * 10 + 5);
	uint32_t of[N];
	for (size_t i = 0; i < N; i++) {
		of[i] = some_alloc(m, 1, 8, 100);
		uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);
		m->tensors.alloc[t].i = of[i];
		m->tensors.name[t] = tide__intern(m, labelled[i].name);
		m->tensors.role[t] = labelled[i].role;
	}
	tide_modules x;
	assert_int_equal(tide__modules_find_of_spans(m, &x, NULL), TIDE_OK);
	tide_alloc_modules owners;
	assert_true(tide__find_alloc_modules(m, &x, &owners));
	tide_str *owner = owners.alloc;
	assert_non_null(owner);
	for (size_t i = 0; i < N; i++) {
		const char *got = tide__module_text(m, owner[of[i]]);
		if (strcmp(got, labelled[i].owner))
			fail_msg("%s: \"%s\", not \"%s\"", labelled[i].name, got,
				 labelled[i].owner);
	}
	tide__alloc_modules_free(&owners);
	tide__modules_free(&x);
	tide__model_free(m);
}

static void at_random(void **state)
{
	static const char *const names[] = { "nn.Module: A",   "nn.Module: A.b",
					     "nn.Module: A.c", "autograd::engine::x",
					     "aten::mm",       "B0" };
	for (uint32_t n = 1; n <= 150; n++) {
		some_seed = n;
		tide_model *m = some_model(n, 40, 0);
		for (uint32_t i = 1; i < m->spans.n; i++)
			m->spans.name[i] = tide__intern(m, names[some_random(6)]);
		for (int i = 0; i < 25; i++) {
			uint32_t from = 1 + some_random((uint32_t)m->spans.n - 1);
			uint32_t to = 1 + some_random((uint32_t)m->spans.n - 1);
			if (from < to)
				link_spans(m, from, to);
			in(m, some_random((uint32_t)m->spans.n), some_random(1000));
		}
		agree(m);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(by_label),
					    cmocka_unit_test(recomputed),
					    cmocka_unit_test(at_random) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
