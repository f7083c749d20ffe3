// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Operations of ops from the texts of their shapes: known values, and texts that are no shapes, cut at every byte. */
#include <stdlib.h>
#include <string.h>

#include "analyze/device/flop_rules.h"
#include "analyze/device/flops.h"
#include "testing.h"

static tide_flop_rule *rule_of(const char *name)
{
	for (size_t i = 0; i < tide__flop_ops_count; i++)
		if (!strcmp(tide__flop_ops[i].name, name))
			return tide__flop_ops[i].rule;
	fail_msg("no rule of %s", name);
	return NULL;
}

static const struct known {
	const char *name, *dims, *concrete;
	double flops, elements;
} known[] = {
	{ "aten::mm", "[[3, 4], [4, 5]]", NULL, 120, 12 + 20 + 15 },
	{ "aten::addmm", "[[5], [3, 4], [4, 5], [], []]", NULL, 120, 5 + 12 + 20 + 15 },
	{ "aten::bmm", "[[2,3,4],[2,4,5]]", NULL, 240, 2 * 47 },
	{ "aten::convolution", "[[1, 2, 5], [3, 2, 3], [3], [], [], [], [], [], []]",
	  "[\"\", \"\", \"\", \"[2]\", \"[1]\", \"[1]\", \"False\", \"[0]\", \"1\"]",
	  2 * 3 * 3 * 2 * 3, 10 + 18 + 9 },
	{ "aten::convolution_backward", "[[1, 3, 3], [1, 2, 5], [3, 2, 3]]",
	  "[\"\", \"\", \"\", \"[3]\", \"[2]\", \"[1]\", \"[1]\", \"False\", \"[0]\", \"1\", \"[False, True, True]\"]",
	  2 * 3 * 3 * 2 * 3, 9 + 10 + 18 + 18 },
	{ "aten::_scaled_dot_product_flash_attention",
	  "[[2, 3, 16, 8], [2, 3, 20, 8], [2, 3, 20, 4]]", NULL, 2 * 2 * 3 * 16 * 20 * 12,
	  2 * 3 * (16 * 8 + 20 * 8 + 20 * 4 + 16 * 4) },
};

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		tide_flop_text t = { known[i].dims, known[i].concrete };
		tide_flop_cost c = { 0 };
		assert_true(rule_of(known[i].name)(&t, &c));
		assert_true(c.flops == known[i].flops);
		assert_true(c.elements == known[i].elements);
	}
}

/* Copies of exactly the text, so that a byte read behind it is found. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (size_t r = 0; r < tide__flop_ops_count; r++)
			for (size_t n = 0; n <= strlen(known[i].dims); n++) {
				char *dims = strndup(known[i].dims, n),
				     *concrete = known[i].concrete ? strndup(known[i].concrete, n)
								   : NULL;
				tide_flop_cost c;
				tide__flop_ops[r].rule(&(tide_flop_text){ dims, known[i].concrete },
						       &c);
				tide__flop_ops[r].rule(&(tide_flop_text){ known[i].dims, concrete },
						       &c);
				free(dims);
				free(concrete);
			}
}

static void test_peaks(void **state)
{
	(void)state;
	assert_true(tide__device_peak("NVIDIA H200")->gb_s == 4800);
	assert_true(tide__device_peak("NVIDIA A100-SXM4-80GB")->gb_s == 2039);
	assert_true(tide__device_peak("NVIDIA A100 80GB PCIe")->gb_s == 1935);
	assert_true(tide__device_peak("NVIDIA A100-SXM4-40GB")->gb_s == 1555);
	assert_true(tide__device_peak("NVIDIA A10")->tflops_16 == 125);
	assert_true(tide__device_peak("Tesla T4")->tflops_16 == 65);
	assert_null(tide__device_peak("Some GPU"));
	assert_null(tide__device_peak(""));
	assert_null(tide__device_peak(NULL));
	const tide_device_peak *p = tide__device_peak("NVIDIA H100 80GB HBM3");
	assert_true(p->gb_s == 3350);
	assert_true(tide__device_peak_of(p, "float32", 10) == 67);
	assert_true(tide__device_peak_of(p, "float32", 100) == 494.7);
	assert_true(tide__device_peak_of(p, "float16", 10) == 989.4);
	assert_true(tide__device_peak_of(p, NULL, 10) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known),
					    cmocka_unit_test(test_cut),
					    cmocka_unit_test(test_peaks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
