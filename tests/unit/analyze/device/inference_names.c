// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of a server's ranges: known ones, all of their beginnings, and names that are no iteration. */
#include <stdlib.h>
#include <string.h>

#include "analyze/device/inference.h"
#include "testing.h"

static const struct known {
	const char *name;
	tide_iteration_kind kind;
	tide_iteration_counts of;
} known[] = {
	{ "execute_context_1(512)_generation_8(9)", TIDE_ITERATION_MIXED, { 1, 512, 8, 9, -1 } },
	{ "execute_context_0(0)_generation_64(64)", TIDE_ITERATION_DECODE, { 0, 0, 64, 64, -1 } },
	{ "execute_context_2(700)_generation_0(0)", TIDE_ITERATION_PREFILL, { 2, 700, 0, 0, -1 } },
	{ "execute_40_context_1(sq32sk50sqsq3sqsk4)_generation_8(sq8sk100sqsq5sqsk6)",
	  TIDE_ITERATION_MIXED,
	  { 1, 32, 8, 8, 150 } },
	{ "step[DECODE bs=32]", TIDE_ITERATION_DECODE, { 0, 0, 32, 32, -1 } },
	{ "step[EXTEND bs=15 toks=15360]", TIDE_ITERATION_PREFILL, { 15, 15360, 0, 0, -1 } },
	{ "step[MIXED bs=4 toks=99]", TIDE_ITERATION_MIXED, { -1, -1, -1, -1, -1 } },
	{ "step[IDLE bs=0]", TIDE_ITERATION_OTHER, { -1, -1, -1, -1, -1 } },
};

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		tide_iteration_counts c;
		tide_iteration_kind kind;
		if (!tide__iteration_parse(known[i].name, strlen(known[i].name), &c, &kind))
			fail_msg("'%s' is refused", known[i].name);
		if (kind != known[i].kind || memcmp(&c, &known[i].of, sizeof c) != 0)
			fail_msg("'%s' is read wrongly", known[i].name);
	}
}

static void test_none(void **state)
{
	(void)state;
	static const char *const none[] = {
		"",
		"execute",
		"execute_",
		"execute_context_1",
		"execute_context_-1(2)_generation_0(0)",
		"execute_context_1(99999999999999999999)_generation_0(0)",
		"execute_context_1(2)_generation_0(0)x",
		"execute_context_1(sq1)_generation_0(0)",
		"execute_model",
		"step",
		"step[",
		"step[DECODE]",
		"step[DECODE bs=]",
		"step[DECODE bs=9223372036854775808]",
		"step 3",
		"ProfilerStep#1",
	};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		tide_iteration_counts c;
		tide_iteration_kind kind;
		if (tide__iteration_parse(none[i], strlen(none[i]), &c, &kind))
			fail_msg("'%s' is taken", none[i]);
	}
}

/* Copies of exactly the text, so that a byte read behind it is found. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (size_t n = 0; n <= strlen(known[i].name); n++) {
			char *cut = malloc(n ? n : 1);
			tide_iteration_counts c;
			tide_iteration_kind kind;
			memcpy(cut, known[i].name, n);
			tide__iteration_parse(cut, n, &c, &kind);
			free(cut);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known),
					    cmocka_unit_test(test_none),
					    cmocka_unit_test(test_cut) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
