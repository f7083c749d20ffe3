// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tensors that share an allocation: read from a file, split by view, each byte once. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/memory/groups.h"
#include "import/import.h"
#include "model/names.h"
#include "models.h"
#include "render/text/labels.h"
#include "testing.h"

enum { F32 = 1, PARAM = 1, GRAD = 2 };
static char path[64];

static int teardown(void **state)
{
	unlink(path);
	return 0;
}

static tide_model *load(tidefile *f)
{
	tide_model *m;
	tide_error err = { 0 };
	snprintf(path, sizeof path, "/tmp/tide-views-%d.tide", (int)getpid());
	tidefile_end(f);
	tidefile_save(f, path);
	tidefile_free(f);
	if (tide__load(path, NULL, &m, &err) || tide__model_check(m, &err))
		fail_msg("%s", err.text);
	return m;
}

/* Bytes of the role; 0 without a group of it. */
static uint64_t bytes_of(const tide_model *m, tide_group_by by, uint64_t key)
{
	tide_live_set a;
	tide_groups g;
	assert_int_equal(tide__live_set_at(m, m->memory_events.n, TIDE_ANY, TIDE_ANY, &a, NULL),
			 TIDE_OK);
	assert_int_equal(tide__find_groups(m, &a, by, &g, NULL), TIDE_OK);
	uint64_t sum = 0, want = 0;
	for (size_t i = 0; i < g.n; i++)
		sum += g.rows[i].bytes;
	for (size_t i = 0; i < a.n; i++)
		want += m->allocs.size[a.rows[i]];
	assert_int_equal(sum, want); /* nothing is lost, nothing counts twice */
	size_t at = tide__groups_find(&g, key);
	uint64_t found = at == SIZE_MAX ? 0 : g.rows[at].bytes;
	tide__groups_free(&g);
	tide__live_set_free(&a);
	return found;
}

static const char *text_of(const tide_model *m, uint32_t alloc)
{
	static char buf[200];
	tide_view_parts p;
	assert_true(tide__view_parts_find(m, &p));
	size_t n;
	uint8_t role = tide__view_parts_role(&p, m, alloc, &n);
	buf[n ? tide__storage_name(role, n, buf, sizeof buf) : 0] = 0;
	tide__view_parts_free(&p);
	return buf;
}

static void test_bucket(void **state)
{
	const uint64_t eight[] = { 8 }, rows[] = { 4, 8 };
	tidefile f;
	tidefile_start_full(&f);
	ev_alloc(&f, 1, 10, 1, 0x1000, 512);
	ev_view(&f, 1, 11, 1, 0x1000, 0, 1, F32, GRAD, 1, eight);  /* 32 bytes */
	ev_view(&f, 1, 12, 1, 0x1000, 32, 2, F32, GRAD, 2, rows);  /* 128 */
	ev_view(&f, 1, 13, 1, 0x1000, 160, 3, F32, GRAD, 2, rows); /* 128 */
	ev_view(&f, 1, 14, 1, 0x1000, 160, 3, F32, GRAD, 2, rows); /* said again */
	ev_alloc(&f, 1, 15, 1, 0x2000, 100);
	tide_model *m = load(&f);
	assert_int_equal(m->views.n, 4);
	assert_string_equal(text_of(m, 1), "gradient bucket, 3 tensors");
	assert_string_equal(text_of(m, 2), "");
	assert_int_equal(m->allocs.role[1], GRAD);
	assert_int_equal(bytes_of(m, TIDE_BY_ROLE, GRAD), 512); /* padding is its bucket's */
	assert_int_equal(m->views.bytes[2], 128);
	assert_int_equal(m->dims[m->views.dims[2] + 1], 8);
	tide__model_free(m);
}

static void test_mixed(void **state)
{
	const uint64_t eight[] = { 8 }, sixteen[] = { 16 };
	tidefile f;
	tidefile_start_full(&f);
	ev_alloc(&f, 1, 10, 1, 0x1000, 128);
	ev_view(&f, 1, 11, 1, 0x1000, 0, 1, F32, PARAM, 1, eight); /* 0 .. 32 */
	ev_view(&f, 1, 12, 1, 0x1000, 16, 2, F32, GRAD, 1,
		sixteen); /* 16 .. 80: 48 of it are left */
	tide_model *m = load(&f);
	assert_string_equal(text_of(m, 1), "shared storage, 2 tensors");
	assert_int_equal(m->allocs.role[1], GRAD); /* most bytes */
	assert_int_equal(bytes_of(m, TIDE_BY_ROLE, PARAM), 32);
	assert_int_equal(bytes_of(m, TIDE_BY_ROLE, GRAD), 96);
	tide__model_free(m);
}

static void test_outside(void **state)
{
	const uint64_t eight[] = { 8 }, huge[] = { UINT64_C(1) << 40, UINT64_C(1) << 40 };
	tidefile f;
	tidefile_start_full(&f);
	ev_alloc(&f, 1, 10, 1, 0x1000, 64);
	ev_view(&f, 1, 11, 1, 0x1000, 40, 1, F32, GRAD, 1, eight);
	ev_view(&f, 1, 12, 1, 0x1000, 0, 1, F32, GRAD, 2, huge);
	ev_view(&f, 1, 13, 1, 0x1000, UINT64_MAX, 1, F32, GRAD, 1, eight);
	ev_view(&f, 1, 14, 1, 0x9000, 0, 1, F32, GRAD, 1, eight);
	tide_model *m = load(&f);
	assert_int_equal(m->views.n, 1);
	assert_int_equal(fact_of(m, "loss.view_outside"), 3);
	assert_int_equal(fact_of(m, "loss.tensor_unknown"), 1);
	tide__model_free(m);
}

/* A slow oracle: which view has each byte. */
static void test_each_byte(void **state)
{
	enum { SIZE = 256, ROUNDS = 200 };
	uint32_t seed = 1;
	for (int round = 0; round < ROUNDS; round++) {
		tide_model *m = tide__model_new();
		tide_view_parts p;
		uint32_t a = tide__push(&m->allocs, &tide_allocs_desc), byte[SIZE] = { 0 };
		uint64_t want[10] = { 0 };
		m->allocs.size[a] = SIZE;
		for (int i = 0; i < 8; i++) {
			uint32_t v = tide__push(&m->views, &tide_views_desc);
			seed = seed * 1103515245 + 12345;
			m->views.alloc[v].i = a;
			m->views.offset[v] = (seed >> 8) % SIZE;
			m->views.bytes[v] = (seed >> 16) % (SIZE - m->views.offset[v]);
		}
		for (int at = 0; at < SIZE; at++)
			for (uint32_t v = 1; v < m->views.n; v++) {
				uint64_t from = m->views.offset[v];
				bool in = at >= (int)from && at < (int)(from + m->views.bytes[v]);
				if (in && (!byte[at] || from < m->views.offset[byte[at]]))
					byte[at] = v;
			}
		for (int at = 0; at < SIZE; at++)
			want[byte[at]]++;
		assert_true(tide__view_parts_find(m, &p));
		for (size_t i = 0; i < p.n; i++)
			assert_int_equal(p.v[i].bytes, want[p.v[i].view]);
		tide__view_parts_free(&p);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_bucket, teardown),
		cmocka_unit_test_teardown(test_mixed, teardown),
		cmocka_unit_test_teardown(test_outside, teardown),
		cmocka_unit_test(test_each_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
