// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Roles on traces made by hand: each row is a string of letters (allocations with their place, and
 * frees) and the expected role of every allocation. Upper case makes: M in a module, F in a forward
 * pass, B in a backward pass, G accumulating a gradient, O in an optimizer step, S optimizer state,
 * W workspace, I input, U nowhere known. A lower-case letter frees the oldest one alive of its
 * kind. */
#include <ctype.h>
#include <string.h>

#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"
#include "analyze/common/stacks.h"
#include "base/mem.h"
#include "testing.h"
#include "model/names.h"

static const struct frame {
	char letter;
	const char *function, *file;
} frames[] = {
	{ 'M', "_apply", "/x/site-packages/torch/nn/modules/module.py" },
	{ 'F', "_call_impl", "/x/site-packages/torch/nn/modules/module.py" },
	{ 'B', "torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)",
	  "??" },
	{ 'G', "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "??" },
	{ 'O', "step", "/x/site-packages/torch/optim/adamw.py" },
	{ 'S', "_init_group", "/x/site-packages/torch/optim/adamw.py" },
	{ 'W', "at::cuda::setWorkspaceForHandle(cublasContext*)", "??" },
	{ 'I', "fetch", "/x/site-packages/torch/utils/data/_utils/fetch.py" },
	{ 'U', "main", "/home/me/train.py" },
	{ 'X', "prefetch", "/home/me/data.py" }, /* on a thread of its own */
};

/* p parameter, g gradient, o optimizer, a activation, i input, t temporary, w workspace, ? unknown
 */
static const struct row {
	const char *name, *script, *roles;
} rows[] = {
	{ "nothing", "", "" },
	{ "a module's weights", "MF", "p?" },
	{ "copied and dropped while moving", "Mm", "t" },
	{ "weights replaced after a step", "MFBm", "p??" },
	{ "an activation dies in the backward pass", "FBfb", "at" },
	{ "and after it", "FBbUf", "at?" },
	{ "but not when it lives through two", "FBbUBf", "?t??" },
	{ "gone before the backward pass", "FfFB", "t??" },
	{ "inference only", "FfFf", "tt" },
	{ "a gradient outlives its pass", "FBUfb", "ag?" },
	{ "activation gradients do not", "FBBbbU", "?tt?" },
	{ "accumulated", "GgU", "g?" },
	{ "cut off in the backward pass", "FB", "??" },
	{ "optimizer state", "S", "o" },
	{ "scratch of a step", "OoU", "t?" },
	{ "kept by a step", "OUo", "o?" },
	{ "a thread that takes no part: of a step", "OXoU", "t??" },
	{ "of a backward pass", "FBXbUf", "at??" },
	{ "its own", "Xx", "?" },
	{ "workspace, wherever", "W", "w" },
	{ "input", "Ii", "i" },
	{ "nothing known", "Uu", "?" },
};

static const char letters[] = {
	[TIDE_ROLE_UNKNOWN] = '?',   [TIDE_ROLE_PARAMETER] = 'p',  [TIDE_ROLE_GRADIENT] = 'g',
	[TIDE_ROLE_OPTIMIZER] = 'o', [TIDE_ROLE_ACTIVATION] = 'a', [TIDE_ROLE_INPUT] = 'i',
	[TIDE_ROLE_TEMPORARY] = 't', [TIDE_ROLE_BUFFER] = 'b',	   [TIDE_ROLE_KV_CACHE] = 'k',
	[TIDE_ROLE_WORKSPACE] = 'w'
};

static tide_stack_id stack_of(tide_model *m, char letter)
{
	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
		if (frames[i].letter == letter) {
			tide_stack_id base = tide__stack_intern(
				m, (tide_stack_id){ 0 },
				tide__frame_intern(m, tide__intern(m, "run"),
						   tide__intern(m, "/home/me/train.py"), 1));

			return tide__stack_intern(
				m, base,
				tide__frame_intern(m, tide__intern(m, frames[i].function),
						   tide__intern(m, frames[i].file), 7));
		}
	fail_msg("no frame for %c", letter);
	return (tide_stack_id){ 0 };
}

static void add_event(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t i;

	tide__table_push(&m->memory_events, &tide_memory_events_desc, &i);
	m->memory_events.kind[i] = kind;
	m->memory_events.row[i] = row;
}

static tide_model *play(const char *script)
{
	tide_model *m = tide__model_new();
	char kind[64] = "";
	uint32_t trainer = tide__push(&m->lanes, &tide_lanes_desc),
		 loader = tide__push(&m->lanes, &tide_lanes_desc);

	for (int64_t t = 1; *script; script++, t++) {
		if (isupper((unsigned char)*script)) {
			uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);

			m->allocs.size[a] = 512;
			m->allocs.born[a] = t;
			m->allocs.died[a] = TIDE_T_NEVER;
			m->allocs.stack[a] = stack_of(m, *script);
			m->allocs.lane[a] = (tide_lane_id){ *script == 'X' ? loader : trainer };
			kind[a] = *script;
			add_event(m, TIDE_MEMORY_ALLOC, a);
			continue;
		}
		for (uint32_t a = 1; a < m->allocs.n; a++)
			if (kind[a] == toupper((unsigned char)*script) &&
			    m->allocs.died[a] == TIDE_T_NEVER) {
				m->allocs.died[a] = t;
				add_event(m, TIDE_MEMORY_FREE, a);
				break;
			}
	}
	return m;
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = play(rows[i].script);
		tide_roles r;
		char got[64] = "";
		uint64_t count = 0;

		assert_int_equal(tide__find_roles(m, &r), TIDE_OK);
		for (uint32_t a = 1; a < m->allocs.n; a++)
			got[a - 1] = letters[r.role[a]];
		for (size_t k = 0; k < TIDE_RULES_N; k++)
			count += r.count[k];
		if (strcmp(got, rows[i].roles))
			fail_msg("%s: %s gives %s, not %s", rows[i].name, rows[i].script, got,
				 rows[i].roles);
		assert_int_equal(count, m->allocs.n - 1);
		tide__roles_free(&r);
		tide__model_free(m);
	}
}

/* Grouping by role gives the roles of the rules. */
static void test_groups(void **state)
{
	static const tide_live_set none = { 0 };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = play(rows[i].script);
		tide_groups g;

		assert_int_equal(tide__find_groups(m, &none, TIDE_BY_ROLE, &g, NULL), TIDE_OK);
		for (uint32_t a = 1; a < m->allocs.n; a++)
			if (letters[tide__groups_key(&g, m, a)] != rows[i].roles[a - 1])
				fail_msg("%s: allocation %u", rows[i].name, a);
		tide__groups_free(&g);
		tide__model_free(m);
	}
}

/* A label wins over every rule; the last tensor's label counts. */
static void test_labels(void **state)
{
	tide_model *m = play("FfB");
	tide_roles r;

	for (int i = 0; i < 2; i++) {
		uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);

		m->tensors.alloc[t].i = 1;
		m->tensors.role[t] = i ? TIDE_ROLE_KV_CACHE : TIDE_ROLE_BUFFER;
	}
	m->allocs.role[2] = TIDE_ROLE_PARAMETER;
	assert_int_equal(tide__find_roles(m, &r), TIDE_OK);
	assert_int_equal(r.role[1], TIDE_ROLE_KV_CACHE);
	assert_int_equal(r.role[2], TIDE_ROLE_PARAMETER);
	assert_int_equal(r.count[TIDE_RULE_LABEL], 2);
	tide__roles_free(&r);
	tide__model_free(m);
}

/* The frame that names a stack, and its text. */
static void test_faces(void **state)
{
	tide_model *m = tide__model_new();
	char buf[200];
	tide_stack_id s = { 0 };
	static const struct {
		const char *function, *file;
		uint32_t line;
		const char *face; /* after pushing it */
	} push[] = {
		{ "__libc_start_main", "??", 0, "__libc_start_main" },
		{ "torch::autograd::generated::MulBackward0::apply(int)", "??", 0,
		  "torch::autograd::generated::MulBackward0::apply" },
		{ "<module>", "/home/me/train.py", 9, "<module> (train.py:9)" },
		{ "forward", "/x/site-packages/torch/nn/modules/linear.py", 125,
		  "<module> (train.py:9)" },
		{ "step", "C:\\me\\loop.py", 3, "step (loop.py:3)" },
		{ "at::_ops::mm::call(at::Tensor const&)", "??", 0, "step (loop.py:3)" },
		{ "at::_ops::empty::call(int)", "??", 0, "step (loop.py:3)" },
		{ "c10::cuda::CUDACachingAllocator::malloc()", "x.cpp", 0, "step (loop.py:3)" },
	};

	for (size_t i = 0; i < sizeof push / sizeof *push; i++) {
		s = tide__stack_intern(m, s,
				       tide__frame_intern(m, tide__intern(m, push[i].function),
							  tide__intern(m, push[i].file),
							  push[i].line));
		assert_string_equal(
			tide__frame_name(m, tide__stack_main_frame(m, s), buf, sizeof buf),
			push[i].face);
	}
	tide_frame_id *all = tide__stack_main_frames_find(m);

	assert_non_null(all);
	for (uint32_t i = 0; i < m->stacks.n; i++)
		assert_int_equal(all[i].i, tide__stack_main_frame(m, (tide_stack_id){ i }).i);
	tide__free(all);
	size_t n;
	const char *op = tide__stack_op(m, s, &n);

	assert_true(op && n == 2 && !memcmp(op, "mm", 2));
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
					    cmocka_unit_test(test_groups),
					    cmocka_unit_test(test_labels),
					    cmocka_unit_test(test_faces) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
