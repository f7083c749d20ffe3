// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of groups, whole and in brief. */
#include <stdlib.h>
#include <string.h>

#include "render/text/labels.h"
#include "analyze/common/stacks.h"
#include "testing.h"

static tide_stack_id frame(tide_model *m, tide_stack_id up, const char *fn, const char *file,
			   uint32_t line)
{
	return tide__stack_intern(
		m, up, tide__frame_intern(m, tide__intern(m, fn), tide__intern(m, file), line));
}

static char *text_of(const tide_groups *g, const tide_model *m, size_t row, bool brief)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	tide_long longs = { 0 };
	(brief ? tide__groups_write_brief : tide__groups_write_label)(g, m, row, &longs, f);
	tide__long_free(&longs);
	fclose(f);
	return text;
}

/* One allocation, grouped: its label and its brief label. */
static void check(tide_model *m, tide_group_by by, const char *want, const char *brief)
{
	uint32_t row = 1;
	tide_live_set set = { &row, 1 };
	tide_groups g;
	assert_int_equal(tide__find_groups(m, &set, by, &g, NULL), TIDE_OK);
	assert_int_equal(g.n, 1);
	char *s = text_of(&g, m, 0, false);
	assert_string_equal(s, want);
	free(s);
	s = text_of(&g, m, 0, true);
	assert_string_equal(s, brief ? brief : want);
	free(s);
	tide__groups_free(&g);
}

static tide_model *one_alloc(void)
{
	tide_model *m = tide__model_new();
	tide__push(&m->devices, &tide_devices_desc);
	uint32_t p = tide__push(&m->pools, &tide_pools_desc);
	m->pools.device[p].i = 1;
	m->pools.kind[p] = TIDE_POOL_PINNED;
	tide__push(&m->lanes, &tide_lanes_desc);
	uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
	m->allocs.pool[a].i = p;
	m->allocs.size[a] = 3 << 20;
	return m;
}

/* Frames around the innermost one are in a brief stack if they are the user's. */
static void user_files(void **state)
{
	static const struct {
		const char *file;
		bool user;
	} rows[] = { { "/home/ml/train.py", true },
		     { "/v/site-packages/torch/nn/module.py", false },
		     { "C:\\v\\torch\\nn\\module.py", false },
		     { "/usr/lib/python3.11/runpy.py", false },
		     { "/p/python/hook/tidemark_compile.py", false },
		     { "/home/ml/hook/tidemark.py", true },
		     { "/home/ml/op.cpp", false },
		     { ".py", false } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (tide__file_is_user(rows[i].file, strlen(rows[i].file)) != rows[i].user)
			fail_msg("%s", rows[i].file);
}

static void bare(void **state)
{
	static const char *const want[] = { "(outside any op)", "(no stack)", "(no tensor)",
					    "unknown",		"pinned",     "(no stream)",
					    "2 MiB - 4 MiB",	"(no stack)" };
	tide_model *m = one_alloc();
	for (int by = TIDE_BY_OP; by <= TIDE_BY_FRAME; by++)
		check(m, (tide_group_by)by, want[by], NULL);
	m->allocs.size[1] = 0;
	check(m, TIDE_BY_SIZE, "0 B", NULL);
	m->allocs.size[1] = UINT64_MAX;
	check(m, TIDE_BY_SIZE, "8 EiB - 16 EiB", NULL);
	m->allocs.size[1] = 1;
	check(m, TIDE_BY_SIZE, "1 B - 2 B", NULL);
	tide__model_free(m);
}

static void described(void **state)
{
	tide_model *m = one_alloc();
	uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);
	static uint64_t dims[] = { 4, 8 };
	m->dims = dims;
	m->tensors.alloc[t].i = 1;
	m->tensors.ndim[t] = 2;
	m->tensors.dtype[t] = TIDE_DTYPE_BF16;
	m->tensors.role[t] = TIDE_ROLE_GRADIENT;
	check(m, TIDE_BY_TENSOR, "bfloat16[4, 8]", NULL);
	m->tensors.name[t] = tide__intern(m, "w");
	m->pools.name[1] = tide__intern(m, "staging");
	m->allocs.stream[1].i = 1;
	m->lanes.number[1] = 7;
	check(m, TIDE_BY_TENSOR, "w bfloat16[4, 8]", NULL);
	check(m, TIDE_BY_ROLE, "gradient", NULL);
	check(m, TIDE_BY_POOL, "staging", NULL);
	check(m, TIDE_BY_STREAM, "stream 7", NULL);
	m->dims = NULL;
	tide__model_free(m);
}

static void stacks(void **state)
{
	tide_model *m = one_alloc();
	tide_stack_id s = frame(m, (tide_stack_id){ 0 }, "<module>", "/home/me/train.py", 5);
	s = frame(m, s, "step", "/home/me/train.py", 9);
	s = frame(m, s, "_call_impl", "/v/site-packages/torch/module.py", 77);
	s = frame(m, s, "forward", "/v/site-packages/torch/linear.py", 134);
	s = frame(m, s, "at::native::mm(at::Tensor const&)", "mm.cpp", 0);
	m->allocs.stack[1] = s;
	check(m, TIDE_BY_STACK,
	      "<module> (/home/me/train.py:5) > step (/home/me/train.py:9) > "
	      "_call_impl (/v/site-packages/torch/module.py:77) > "
	      "forward (/v/site-packages/torch/linear.py:134) > at::native::mm(at::Tensor const&) "
	      "(mm.cpp)",
	      "step (train.py:9), in forward (linear.py:134) < <module> (train.py:5)");
	check(m, TIDE_BY_FRAME, "step (/home/me/train.py:9)", "step (train.py:9)");
	for (int i = 0; i < 300; i++)
		s = frame(m, s, "deep", "/home/me/train.py", (uint32_t)(100 + i));
	m->allocs.stack[1] = s;
	tide_groups g;
	uint32_t row = 1;
	tide_live_set set = { &row, 1 };
	assert_int_equal(tide__find_groups(m, &set, TIDE_BY_STACK, &g, NULL), TIDE_OK);
	char *text = text_of(&g, m, 0, false);
	assert_memory_equal(text, "... > deep", 10);
	free(text);
	text = text_of(&g, m, 0, true);
	assert_non_null(strstr(text, " < ..."));
	free(text);
	tide__groups_free(&g);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_files),
		cmocka_unit_test(bare),
		cmocka_unit_test(described),
		cmocka_unit_test(stacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
