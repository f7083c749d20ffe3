// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Last use on random traces, beside an oracle that looks at every allocation for itself and replays
 * the trace event by event. */
#include "analyze/memory/stale.h"
#include "some_model.h"
#include "testing.h"

enum { EVENTS = 120, GRACE = 8 };

static void some_use(tide_model *m, uint32_t alloc, int64_t t)
{
	size_t row;
	tide__table_push(&m->uses, &tide_uses_desc, &row);
	m->uses.alloc[row].i = alloc;
	m->uses.t[row] = t;
	m->uses.position[row] = m->memory_events.n;
}

/* Allocates, frees and uses at random. */
static tide_model *random_trace(void)
{
	tide_model *m = some_machine();
	uint32_t live[EVENTS];
	size_t n = 0;
	for (int64_t t = 1; t <= EVENTS; t++) {
		uint32_t what = some_random(8);
		if (!n || what == 0) {
			live[n++] = some_alloc(m, 1, 512 * (1 + some_random(64)), t);
			continue;
		}
		size_t k = what > 3 ? n - 1 : some_random((uint32_t)n); /* most uses are early */
		if (what == 1) {
			some_free(m, live[k], t);
			live[k] = live[--n];
		} else if (live[k] % 5) { /* some are never used */
			some_use(m, live[k], t);
		}
	}
	m->t_end = EVENTS + 1;
	return m;
}

struct truth {
	bool used, stale;
	size_t last;
};

/* Returns the uses before the event that makes or ends an allocation; all of them without one. */
static size_t uses_until(const tide_model *m, uint32_t a, unsigned kind)
{
	for (size_t e = 0; e < m->memory_events.n; e++)
		if (m->memory_events.row[e] == a && m->memory_events.kind[e] == kind) {
			size_t n = 0;
			while (n < m->uses.n && m->uses.position[n] <= e)
				n++;
			return n;
		}
	return m->uses.n;
}

/* Whether the allocation is one that leaves at its last use, by the rules of a trace without
 * steps. */
static struct truth look(const tide_model *m, uint32_t a)
{
	size_t since = uses_until(m, a, TIDE_MEMORY_ALLOC), gap = 0;
	struct truth r = { .used = false };
	for (size_t i = 0; i < m->uses.n; i++)
		if (m->uses.alloc[i].i == a) {
			gap = i - since > gap ? i - since : gap;
			since = r.last = i;
			r.used = true;
		}
	size_t idle = uses_until(m, a, TIDE_MEMORY_FREE) - r.last;
	r.stale = r.used && idle >= GRACE && idle >= 2 * gap;
	return r;
}

/* Returns the highest live bytes if stale allocations leave at their last use. */
static uint64_t replay(const tide_model *m, bool leave)
{
	uint64_t most = 0;
	for (size_t e = 1; e <= m->memory_events.n; e++) {
		uint64_t live = 0;
		for (uint32_t a = 1; a < m->allocs.n; a++) {
			size_t born = 0, died = SIZE_MAX;
			for (size_t i = 0; i < m->memory_events.n; i++)
				if (m->memory_events.row[i] == a)
					*(m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? &born
											: &died) =
						i;
			struct truth r = look(m, a);
			bool gone = leave && r.stale && m->uses.position[r.last] < e;
			if (born < e && died >= e && !gone)
				live += m->allocs.size[a];
		}
		most = live > most ? live : most;
	}
	return most;
}

static void like_the_oracle(void **state)
{
	size_t named = 0;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		some_seed = seed;
		tide_model *m = random_trace();
		tide_stale s;
		assert_int_equal(tide__model_check(m, NULL), TIDE_OK);
		assert_int_equal(tide__stale_find(m, 1, TIDE_BY_OP, TIDE_NAMES_WHOLE, &s, NULL),
				 TIDE_OK);
		assert_true(s.known);
		assert_int_equal(s.level->peak, replay(m, false));
		assert_int_equal(s.bytes[0] + s.bytes[1] + s.bytes[2] + s.bytes[3], s.level->peak);
		for (size_t i = 0; i < s.stale.set.n; i++) {
			struct truth r = look(m, s.stale.set.rows[i]);
			assert_true(r.stale && m->uses.position[r.last] < s.level->peak_position);
		}
		if (s.stale.groups.n) { /* one group: nothing has an op */
			assert_int_equal(s.level->peak - s.stale.saving, replay(m, true));
			assert_int_equal(s.stale.rows[0].saving, s.stale.saving);
			named++;
		}
		tide__stale_free(&s);
		tide__model_free(m);
	}
	assert_true(named > 10);
}

static uint64_t stale_bytes(tide_model *m)
{
	tide_stale s;
	assert_int_equal(tide__stale_find(m, 1, -1, TIDE_NAMES_WHOLE, &s, NULL), TIDE_OK);
	uint64_t bytes = s.known ? s.bytes[TIDE_IDLE_STALE] : UINT64_MAX;
	tide__stale_free(&s);
	tide__model_free(m);
	return bytes;
}

/* One allocation is used, then 20 uses of another one follow, and the peak. */
static tide_model *held(uint8_t role)
{
	tide_model *m = some_machine();
	uint32_t a = some_alloc(m, 1, 4096, 1), b = some_alloc(m, 1, 512, 2);
	m->allocs.role[a] = role;
	if (role)
		m->tensors.role[tide__push(&m->tensors, &tide_tensors_desc)] = role;
	some_use(m, a, 3);
	for (int64_t t = 4; t < 24; t++)
		some_use(m, b, t);
	some_alloc(m, 1, 512, 24);
	m->t_end = 30;
	return m;
}

static void what_is_not_accused(void **state)
{
	assert_int_equal(stale_bytes(held(0)), 4096);
	assert_int_equal(stale_bytes(held(TIDE_ROLE_PARAMETER)), 0);
	assert_int_equal(stale_bytes(held(TIDE_ROLE_OPTIMIZER)), 0);

	tide_model *m = held(0); /* an event is missing, perhaps a use */
	tide__fact_set_number(m, "loss.events", 1);
	assert_int_equal(stale_bytes(m), UINT64_MAX);
	m = held(0);
	tide__fact_text(m, "uses.unseen", "triton");
	assert_int_equal(stale_bytes(m), UINT64_MAX);
	m = held(0); /* used again after the peak */
	some_use(m, 1, 25);
	assert_int_equal(stale_bytes(m), 0);
	m = held(0); /* nothing is known */
	m->uses.n = 0;
	assert_int_equal(stale_bytes(m), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_the_oracle),
		cmocka_unit_test(what_is_not_accused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
