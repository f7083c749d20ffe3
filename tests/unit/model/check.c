// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The checker that every other test relies on can fail: a sound model, one thing broken in it, and
 * the invariant that must be named. Bounds are tried on both sides. */
#include <stdio.h>
#include <string.h>

#include "some_model.h"
#include "base/mem.h"
#include "model/strings.h"
#include "testing.h"

static void add_event(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t at;
	tide__table_push(&m->memory_events, &tide_memory_events_desc, &at);
	m->memory_events.kind[at] = kind;
	m->memory_events.row[at] = row;
}

/* Spans 1 (0..50) > 2 (10..20), 3 (20..40) on lane 1, 4 on lane 3; allocs 1 freed, 2 and 3 alive,
 * side by side; a segment that goes, one that stays; one row at least of every other table. */
static tide_model *sound(void)
{
	tide_model *m = some_machine();
	size_t row;
	some_span(m, 1, TIDE_CAT_OP, "outer", 0, 50);
	some_span(m, 1, TIDE_CAT_OP, "first", 10, 20);
	some_span(m, 1, TIDE_CAT_OP, "second", 20, 40);
	m->spans.cause[some_span(m, 3, TIDE_CAT_KERNEL, "kernel", 30, 60)].i = 3;
	some_stack(m, "main", "step");
	for (int i = 0; i < 2; i++) {
		uint32_t s = tide__push(&m->segments, &tide_segments_desc);
		m->segments.died[s] = i ? TIDE_T_NEVER : 5;
		m->segments.pool[s].i = 1;
		m->segments.born[s] = i ? 5 : 0;
		add_event(m, TIDE_MEMORY_SEG_ALLOC, s);
		if (!i)
			add_event(m, TIDE_MEMORY_SEG_FREE, s);
	}
	uint32_t a = some_alloc(m, 1, 64, 10);
	some_free(m, a, 20);
	for (int i = 0; i < 2; i++) {
		a = some_alloc(m, 1, 64, 20);
		m->allocs.addr[a] = 4096 + 64 * (uint64_t)i;
	}
	m->pendings.alloc[tide__push(&m->pendings, &tide_pendings_desc)].i = a;
	for (int i = 0; i < 2; i++) {
		uint32_t k = tide__push(&m->marks, &tide_marks_desc);
		m->marks.t[k] = 10 + i;
		m->marks.position[k] = m->memory_events.n - 1 + (size_t)i;
		tide__table_push(&m->flows, &tide_flows_desc, &row);
		m->flows.from[row].i = 1;
		m->flows.to[row].i = 2 + (uint32_t)i;
		tide__table_push(&m->attrs, &tide_attrs_desc, &row);
		m->attrs.span[row].i = 2;
		m->attrs.key[row].i = 1 + (uint32_t)i;
	}
	m->dims = tide__alloc(3, sizeof *m->dims);
	m->n_dims = m->cap_dims = 3;
	memset(m->dims, 0, 3 * sizeof *m->dims);
	uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);
	m->tensors.dims[t] = 1;
	m->tensors.ndim[t] = 2;
	tide__push(&m->counters, &tide_counters_desc);
	tide__table_push(&m->samples, &tide_samples_desc, &row);
	tide__table_push(&m->pool_states, &tide_pool_states_desc, &row);
	tide__table_push(&m->uses, &tide_uses_desc, &row);
	m->uses.alloc[row].i = 1;
	m->uses.t[row] = m->allocs.born[1];
	m->uses.position[row] = m->memory_events.n;
	tide__table_push(&m->referrers, &tide_referrers_desc, &row);
	m->referrers.alloc[row].i = 1;
	tide__table_push(&m->documents, &tide_documents_desc, &row);
	tide__table_push(&m->op_totals, &tide_op_totals_desc, &row);
	tide__fact_set_number(m, "fact", 1);
	return m;
}

/* The broken rule, the checker's message ("" = still valid), the code that breaks it. */
#define ROWS(R)                                                                                    \
	R("as it is", "", (void)m)                                                                 \
	R("no none row", "ids: devices row 0", m->devices.n = 0)                                   \
	R("stack: a later parent", "ids: stacks row 2", m->stacks.parent[2].i = 2)                 \
	R("use: of nothing", "U1: uses row 0", m->uses.alloc[0].i = 0)                             \
	R("use: after the life", "U1: uses row 0", m->uses.t[0] = TIDE_T_NEVER)                    \
	R("use: beyond the events", "U1: uses row 0", m->uses.position[0]++)                       \
	R("dims: begin at the end", "ids: tensors row 1", m->tensors.dims[1] = 3)                  \
	R("dims: one too many", "ids: tensors row 1", m->tensors.ndim[1] = 3)                      \
	R("dims: past the end", "ids: tensors row 1", m->tensors.dims[1] = 9)                      \
	R("span: ends early", "S1: spans row 2: it ends", m->spans.t1[2] = 9)                      \
	R("span: no time at all", "", m->spans.t1[2] = 10)                                         \
	R("span: out of order", "S1: spans row 3: it starts", m->spans.t0[3] = 9)                  \
	R("span: its own parent", "S1: spans row 2: its parent comes", m->spans.parent[2].i = 2)   \
	R("span: another lane", "S1: spans row 2: its parent is on", m->spans.lane[2].i = 2)       \
	R("span: longer than its parent", "S1: spans row 3: its parent does not",                  \
	  m->spans.t1[3] = 51)                                                                     \
	R("span: as long as its parent", "", m->spans.t1[3] = 50)                                  \
	R("span: its own cause", "S2: spans row 4", m->spans.cause[4].i = 4)                       \
	R("alloc: died first", "A1: allocs row 1: it died", m->allocs.born[1] = 21)                \
	R("alloc: more requested", "A1: allocs row 2: more", m->allocs.requested[2] = 65)          \
	R("segment: died first", "A1: segments row 1: it died", m->segments.born[1] = 6)           \
	R("event: unknown kind", "M1: memory_events row 3: unknown", m->memory_events.kind[3] = 5) \
	R("event: row none", "M1: memory_events row 3: its row", m->memory_events.row[3] = 0)      \
	R("event: no such alloc", "M1: memory_events row 3: its row", m->memory_events.row[3] = 4) \
	R("event: no such segment", "M1: memory_events row 0: its row",                            \
	  m->memory_events.row[0] = 3)                                                             \
	R("event: time goes back", "M1: memory_events row 5: time", m->allocs.born[2] = 19)        \
	R("alloc: twice", "M2: allocs row 2: it has two", m->memory_events.row[6] = 2)             \
	R("alloc: freed twice", "M2: allocs row 1: it is freed twice",                             \
	  (m->memory_events.kind[5] = TIDE_MEMORY_FREE, m->memory_events.row[5] = 1))              \
	R("alloc: freed only", "M2: allocs row 2: it is freed twice, or before",                   \
	  (m->memory_events.kind[5] = TIDE_MEMORY_FREE, m->allocs.died[2] = 20))                   \
	R("alloc: dead, not freed", "M2: allocs row 3: its memory events", m->allocs.died[3] = 30) \
	R("alloc: freed, not dead", "M2: allocs row 3: its memory events",                         \
	  add_event(m, TIDE_MEMORY_FREE, 3))                                                       \
	R("segment: twice", "M2: segments row 2: it has two",                                      \
	  (m->memory_events.kind[1] = TIDE_MEMORY_SEG_ALLOC, m->memory_events.row[1] = 2,          \
	   m->segments.born[2] = 0))                                                               \
	R("overlap: same place", "M3: allocs row 3: it is where", m->allocs.addr[3] = 4096)        \
	R("overlap: from above", "M3: allocs row 3: it begins", m->allocs.addr[3] = 4096 + 63)     \
	R("overlap: from below", "M3: allocs row 3: it reaches", m->allocs.addr[3] = 4096 - 63)    \
	R("beside, below", "", m->allocs.addr[3] = 4096 - 64)                                      \
	R("another pool", "", (m->allocs.addr[3] = 4096, m->allocs.pool[3].i = 0))                 \
	R("overlaps and says so", "",                                                              \
	  (m->allocs.addr[3] = 4096, m->allocs.flags[3] = TIDE_ALLOC_OVERLAPS))                    \
	R("where a freed one was", "", m->allocs.addr[3] = m->allocs.addr[1])                      \
	R("mark: time goes back", "K1: marks row 2: time", m->marks.t[2] = 9)                      \
	R("mark: position goes back", "K1: marks row 2: its position goes",                        \
	  m->marks.position[2] = 1)                                                                \
	R("mark: no such position", "K1: marks row 2: its position is", m->marks.position[2]++)    \
	R("attrs: keys", "T1: attrs row 1", m->attrs.key[0].i = 3)                                 \
	R("attrs: spans", "T1: attrs row 1", m->attrs.span[0].i = 3)                               \
	R("attrs: keys, another span", "", (m->attrs.key[0].i = 3, m->attrs.span[1].i = 3))        \
	R("flows: from", "T1: flows row 1", m->flows.from[0].i = 2)                                \
	R("flows: to", "T1: flows row 1", m->flows.to[0].i = 4)                                    \
	R("flows: to, another from", "", (m->flows.to[0].i = 4, m->flows.from[1].i = 2))

static const char *const expected[][2] = {
#define R(name, says, how) { name, says },
	ROWS(R)
#undef R
};

static void break_it(tide_model *m, size_t row)
{
	size_t at = 0;
#define R(name, says, how) \
	if (at++ == row)   \
		how;
	ROWS(R)
#undef R
}

static void every_invariant_is_checked(void **state)
{
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		tide_model *m = sound();
		tide_error err = { 0 };
		break_it(m, i);
		tide_code rc = tide__model_check(m, &err);
		const char *says = expected[i][1];
		if (rc != (*says ? TIDE_ECORRUPT : TIDE_OK) ||
		    strncmp(rc ? err.text : "", says, strlen(says)))
			fail_msg("%s: \"%s\"", expected[i][0], rc ? err.text : "sound");
		tide__model_free(m);
	}
}

/* Every column of ids, from the tables' own descriptions: the checker refuses an id one past the
 * last row, and all ones. */
static void every_id_is_checked(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		const tide_table_desc *d;
	} tables[] = {
#define T(st, member, COLUMNS, none, doc) { #member, offsetof(tide_model, member), &st##_desc },
		TIDE_TABLES(T)
#undef T
	};
	char wanted[96];
	unsigned columns = 0;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		for (size_t c = 0; c < tables[i].d->n_columns; c++) {
			const tide_column *column = &tables[i].d->columns[c];
			if (column->type != TIDE_COL_ID)
				continue;
			tide_model *m = sound();
			tide_error err = { 0 };
			char *table = (char *)m + tables[i].at;
			size_t row = *(size_t *)(void *)table - 1;
			uint32_t *ids = *(uint32_t **)(void *)(table + column->at);
			ids[row] = UINT32_MAX;
			snprintf(wanted, sizeof wanted, "ids: %s row %zu: %s %u is out of range",
				 tables[i].name, row, column->name, UINT32_MAX);
			if (tide__model_check(m, &err) != TIDE_ECORRUPT)
				fail_msg("%s.%s is not checked", tables[i].name, column->name);
			assert_string_equal(err.text, wanted);
			tide__model_free(m);
			columns++;
		}
	assert_true(columns > 40);
	tide_model *m = sound();
	m->spans.stack[1].i = (uint32_t)m->stacks.n;
	assert_int_equal(tide__model_check(m, NULL), TIDE_ECORRUPT);
	m->spans.stack[1].i--;
	assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
	m->facts.text[0].i = tide__strings_count(m->strings);
	assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
	m->facts.text[0].i++;
	assert_int_equal(tide__model_check(m, NULL), TIDE_ECORRUPT);
	tide__model_free(m);
}

static void random_models_are_sound(void **state)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		tide_model *m = some_model(seed, 20, 20);
		assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_invariant_is_checked),
		cmocka_unit_test(every_id_is_checked),
		cmocka_unit_test(random_models_are_sound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
