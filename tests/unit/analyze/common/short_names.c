// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/short_names.h"

#include <string.h>

#include "model/strings.h"
#include "testing.h"

/* Each row: a path, outermost first, separated by '|'; its short name, and the folded one. */
static const struct row {
	const char *path, *name, *folded;
} one_model[] = {
	{ "nn.Module: W|nn.Module: W.layers|nn.Module: W.layers.0|nn.Module: W.layers.0.fc1|"
	  "aten::linear|aten::addmm",
	  "layers.0.fc1  addmm", "layers.*.fc1  addmm" },
	{ "nn.Module: W|nn.Module: W.layers.0|aten::add", "layers.0  add", "layers.*  add" },
	{ "nn.Module: W|nn.Module: W.net.2|aten::relu", "net.2  relu", "net.2  relu" },
	{ "nn.Module: W|aten::mul", "W  mul", "W  mul" },
	{ "nn.Module: W|nn.Module: W.net.2", "net.2", "net.2" },
	{ "nn.Module: W|my range|aten::mul", "W  my range  mul", "W  my range  mul" },
	{ "autograd::engine::evaluate_function: MulBackward0|MulBackward0|aten::mul",
	  "MulBackward0  mul", "MulBackward0  mul" },
	{ "autograd::engine::evaluate_function: MulBackward0|MulBackward0", "MulBackward0",
	  "MulBackward0" },
	{ "autograd::engine::evaluate_function: X|nn.Module: W|nn.Module: W.layers.0.fc1|aten::mm",
	  "layers.0.fc1  mm  (recomputed)", "layers.*.fc1  mm  (recomputed)" },
	{ "train|forward|aten::linear|aten::addmm", "forward  addmm", "forward  addmm" },
	{ "aten::square|aten::pow", "square  pow", "square  pow" },
	{ "aten::div|aten::div", "div", "div" },
	{ "ProfilerStep#3|aten::div", "div", "div" },
	{ "job/gen.py(7): step|torch/nn/functional.py(9): linear|aten::addmm",
	  "gen.py(7): step  addmm", "gen.py(7): step  addmm" },
	{ "", "", "" },
};
static const struct row profiler[] = {
	/* names of torch.profiler: a class and a number */
	{ "nn.Module: GPT_0|nn.Module: Block_3|nn.Module: Linear_5|aten::addmm",
	  "GPT_0.Block_3.Linear_5  addmm", "GPT_0.Block_3.Linear_5  addmm" },
};

static uint32_t add_path(tide_model *m, tide_paths *p, const char *path)
{
	uint32_t node = 0;
	for (size_t n; *path; path += n + (path[n] == '|')) {
		n = strcspn(path, "|");
		uint32_t id = tide__strings_add(m->strings, path, n);
		node = tide__paths_add_child(p, node, (tide_str){ id });
	}
	return node;
}

static void check(const struct row *rows, size_t n)
{
	tide_model *m = tide__model_new();
	tide_short_names names;
	tide_paths p;
	char text[TIDE_SHORT_NAME];
	assert_true(tide__paths_init(&p));
	for (size_t i = 0; i < n; i++)
		add_path(m, &p, rows[i].path);
	assert_true(tide__short_names_init(&names, m));
	for (size_t i = 0; i < n; i++) {
		uint32_t node = add_path(m, &p, rows[i].path);
		size_t len = tide__short_path(&names, &p, node, false, text, NULL);
		assert_string_equal(text, rows[i].name);
		assert_int_equal(len, strlen(text));
		tide__short_path(&names, &p, node, true, text, NULL);
		assert_string_equal(text, rows[i].folded);
	}
	tide__short_names_free(&names);
	tide__paths_free(&p);
	tide__model_free(m);
}

static void paths(void **state)
{
	(void)state;
	check(one_model, sizeof one_model / sizeof *one_model);
	check(profiler, sizeof profiler / sizeof *profiler);
}

static void long_names_are_cut_between_characters(void **state)
{
	(void)state;
	char path[2000] = "nn.Module: W|nn.Module: W.", text[TIDE_SHORT_NAME];
	for (int i = 0; i < 400; i++)
		strcat(path, "é");
	strcat(path, "|aten::mul");
	tide_model *m = tide__model_new();
	tide_short_names names;
	tide_paths p;
	assert_true(tide__paths_init(&p));
	uint32_t node = add_path(m, &p, path);
	assert_true(tide__short_names_init(&names, m));
	size_t n = tide__short_path(&names, &p, node, true, text, NULL);
	assert_true(n < TIDE_SHORT_NAME && n >= TIDE_SHORT_NAME - 4);
	assert_int_equal((unsigned char)text[n - 1] & 0xc0, 0x80); /* the end of an é */
	tide__short_names_free(&names);
	tide__paths_free(&p);
	tide__model_free(m);
}

static void nested(void **state)
{
	(void)state;
	static const struct {
		const char *name, *around, *want;
	} rows[] = {
		{ "nn.Module: W.encoder.layers.0", "nn.Module: W.encoder", "layers.0" },
		{ "nn.Module: W.encoder", "nn.Module: W.enc", "W.encoder" },
		{ "nn.Module: W", NULL, "W" },
		{ "aten::mul", "nn.Module: W", "aten::mul" },
		{ "autograd::engine::evaluate_function: X", NULL, "evaluate_function: X" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].name);
		const char *got = tide__short_nested(rows[i].name, &n, rows[i].around,
						     rows[i].around ? strlen(rows[i].around) : 0);
		assert_int_equal(n, strlen(rows[i].want));
		assert_memory_equal(got, rows[i].want, n);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(nested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
