// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Costs of ops from the texts of their arguments: known values, shapes that no tensor can have, texts
 * cut at every byte; lists of an optimizer; peaks of devices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline/device_peaks.h"
#include "analyze/roofline/list_sizes.h"
#include "analyze/roofline/op_cost.h"
#include "testing.h"

static const tide_op_rule *rule_of(const char *name)
{
	for (size_t i = 0; i < tide__op_rules_count; i++)
		if (!strcmp(tide__op_rules[i].name, name))
			return &tide__op_rules[i];
	fail_msg("no rule of %s", name);
	return NULL;
}

#define UNKNOWN (-1)
#define BF	"\"c10::BFloat16\""
#define F	"\"float\""
static const struct known {
	const char *name, *dims, *types, *strides, *concrete;
	double flops, read, written;
} known[] = {
	{ "aten::mm", "[[3, 4], [4, 5]]", "[" F ", " F "]", NULL, NULL, 120, 4 * 32, 4 * 15 },
	{ "aten::mm", "[[3, 4], [4, 5]]", NULL, NULL, NULL, 120, UNKNOWN, UNKNOWN },
	{ "aten::addmm", "[[5], [3, 4], [4, 5], [], []]",
	  "[" BF "," BF "," BF ",\"Scalar\",\"Scalar\"]", NULL, NULL, 120, 2 * 37, 2 * 15 },
	/* a bias that is expanded is read once */
	{ "aten::addmm", "[[3, 5], [3, 4], [4, 5]]", "[" F "," F "," F "]",
	  "[[0, 1], [4, 1], [5, 1]]", NULL, 120, 4 * 37, 4 * 15 },
	{ "aten::bmm", "[[2,3,4],[2,4,5]]", "[" F "," F "]", NULL, NULL, 240, 4 * 64, 4 * 30 },
	{ "aten::_scaled_mm", "[[16, 32], [32, 8], [], []]",
	  "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", " F ", " F "]", NULL,
	  "[\"\", \"\", \"\", \"\", \"\", \"\", \"15\", \"True\"]", 2 * 16 * 32 * 8,
	  16 * 32 + 32 * 8, 2 * 16 * 8 },
	{ "aten::_grouped_mm", "[[6, 4], [3, 4, 5], [3]]", "[" BF "," BF ",\"int\"]", NULL, NULL,
	  2 * 6 * 4 * 5, 2 * (24 + 60) + 12, 2 * 30 },
	{ "aten::_grouped_mm", "[[6, 7], [7, 5], [3]]", "[" BF "," BF ",\"int\"]", NULL, NULL,
	  2 * 6 * 7 * 5, 2 * (42 + 35) + 12, 2 * 3 * 30 },
	{ "aten::convolution", "[[1, 2, 5], [3, 2, 3], [3], [], [], [], [], [], []]",
	  "[" F "," F "," F ",\"\",\"\",\"\",\"\",\"\",\"\"]", NULL,
	  "[\"\", \"\", \"\", \"[2]\", \"[1]\", \"[1]\", \"False\", \"[0]\", \"1\"]",
	  2 * 3 * 3 * 2 * 3, 4 * (10 + 18 + 3), 4 * 9 },
	{ "aten::convolution", "[[1, 2, 5], [2, 3, 3], []]", "[" F "," F ",\"\"]", NULL,
	  "[\"\", \"\", \"\", \"[2]\", \"[0]\", \"[1]\", \"True\", \"[1]\", \"1\"]", 2 * 5 * 18,
	  4 * (10 + 18), 4 * 3 * 12 },
	{ "aten::convolution_backward", "[[1, 3, 3], [1, 2, 5], [3, 2, 3]]", "[" F "," F "," F "]",
	  NULL,
	  "[\"\", \"\", \"\", \"[3]\", \"[2]\", \"[1]\", \"[1]\", \"False\", \"[0]\", \"1\", "
	  "\"[False, True, True]\"]",
	  2 * 3 * 3 * 2 * 3, 4 * (9 + 10), 4 * (18 + 3) },
	{ "aten::_scaled_dot_product_flash_attention",
	  "[[2, 3, 16, 8], [2, 3, 20, 8], [2, 3, 20, 4], [], []]",
	  "[" BF "," BF "," BF ",\"Scalar\",\"Scalar\"]", NULL, "[\"\",\"\",\"\",\"0.\",\"False\"]",
	  2 * 2 * 3 * 16 * 20 * 12, 2 * 6 * (16 * 8 + 20 * 8 + 20 * 4), 2 * 6 * 16 * 4 },
	/* query i sees keys 0..i: 1 + 2 + 3 + 4 scores; two heads share keys */
	{ "aten::_scaled_dot_product_flash_attention",
	  "[[1, 4, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8], [], []]",
	  "[" BF "," BF "," BF ",\"Scalar\",\"Scalar\"]", NULL, "[\"\",\"\",\"\",\"0.\",\"True\"]",
	  2 * 4 * 10 * 16, 2 * 8 * 4 * (4 + 2 + 2), 2 * 4 * 4 * 8 },
	/* sequences of one length, then of several */
	{ "flash_attn::_flash_attn_varlen_forward",
	  "[[8, 2, 4], [8, 2, 4], [8, 2, 4], [3], [3], [], [], [], [], []]",
	  "[" BF "," BF "," BF ",\"int\",\"int\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\","
	  "\"Scalar\"]",
	  NULL, "[\"\",\"\",\"\",\"\",\"\",\"4\",\"4\",\"0.\",\"0.5\",\"False\"]",
	  2 * 2 * 2 * 16 * 8, 2 * 3 * 64, 2 * 64 },
	{ "flash_attn::_flash_attn_varlen_forward",
	  "[[8, 2, 4], [8, 2, 4], [8, 2, 4], [3], [3], [], [], [], [], []]",
	  "[" BF "," BF "," BF ",\"int\",\"int\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\","
	  "\"Scalar\"]",
	  NULL, "[\"\",\"\",\"\",\"\",\"\",\"5\",\"5\",\"0.\",\"0.5\",\"False\"]", UNKNOWN,
	  2 * 3 * 64, 2 * 64 },
	{ "aten::add", "[[2, 3], [3], []]", "[" F "," BF ",\"Scalar\"]", NULL, NULL, 6, 24 + 6,
	  24 },
	{ "aten::mul", "[[2, 3], []]", "[" BF "," F "]", NULL, NULL, 6, 12, 12 },
	{ "aten::eq", "[[2, 3], [2, 1]]", "[" F "," F "]", NULL, NULL, 6, 24 + 8, 6 },
	{ "aten::native_dropout", "[[8], [], []]", "[" F ",\"Scalar\",\"Scalar\"]", NULL, NULL, 24,
	  32, 40 },
	{ "aten::copy_", "[[4, 2], [4, 2], []]", "[" BF "," F ",\"Scalar\"]", NULL, NULL, 0, 32,
	  16 },
	{ "aten::zero_", "[[4, 2]]", "[" F "]", NULL, NULL, 0, 0, 32 },
	{ "aten::sum", "[[4, 8], [], [], []]", "[" F ",\"ScalarList\",\"Scalar\",\"\"]", NULL,
	  "[\"\", \"[-1]\", \"True\", \"\"]", 32, 128, 16 },
	{ "aten::argmax", "[[4, 8], [], []]", "[" F ",\"Scalar\",\"Scalar\"]", NULL,
	  "[\"\", \"1\", \"False\"]", 32, 128, 32 },
	{ "aten::native_layer_norm", "[[2, 3, 8], [], [8], [8], []]",
	  "[" BF ",\"ScalarList\"," BF "," BF ",\"Scalar\"]", NULL,
	  "[\"\", \"[8]\", \"\", \"\", \"1e-05\"]", 8 * 48, 2 * 64, 2 * 48 + 4 * 12 },
	{ "aten::embedding", "[[100, 8], [2, 3]]", "[" F ",\"long int\"]", NULL, NULL, 0,
	  6 * 8 + 4 * 48, 4 * 48 },
	{ "aten::embedding", "[[2, 8], [2, 3]]", "[" F ",\"long int\"]", NULL, NULL, 0,
	  6 * 8 + 4 * 16, 4 * 48 }, /* at most the table */
	{ "aten::index_select", "[[4, 10], [], [3]]", "[" F ",\"Scalar\",\"long int\"]", NULL,
	  "[\"\", \"-1\", \"\"]", 0, 24 + 4 * 12, 4 * 12 },
	{ "aten::nll_loss_backward", "[[], [4, 10], [4], [], [], [], []]",
	  "[" F "," F ",\"long int\",\"\",\"Scalar\",\"Scalar\"," F "]", NULL, NULL, 4, 32, 160 },
	{ "aten::max_pool2d_with_indices", "[[1, 2, 5, 5], [], [], [], [], []]",
	  "[" F ",\"\",\"\",\"\",\"\",\"\"]", NULL,
	  "[\"\", \"[3, 3]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"False\"]", 2 * 9 * 9, 200,
	  18 * 12 },
	{ "_C::silu_and_mul", "[[4, 8], [4, 16]]", "[" BF "," BF "]", NULL, NULL, 96, 128, 64 },
	{ "_C::fused_add_rms_norm", "[[4, 8], [4, 8], [8], []]",
	  "[" BF "," BF "," BF ",\"Scalar\"]", NULL, NULL, 160, 2 * 72, 2 * 64 },
	{ "aten::_foreach_mul", "[[[4], [2, 3]], []]", "[\"TensorList\",\"Scalar\"]", NULL, NULL,
	  10, 40, 40 },
};

static bool find_cost(const char *name, const tide_op_texts *t, tide_op_cost *c)
{
	static tide_op_inputs x;
	size_t n = strlen(name);
	tide_cost_context context = { .in_place = name[n - 1] == '_', .type = TIDE_NUM_FLOAT32 };
	return tide__op_inputs_read(t, &x) && tide__op_cost(rule_of(name), &x, &context, c);
}

static void assert_cost(const char *name, const char *what, double got, double want)
{
	if (want == UNKNOWN ? !isnan(got) : got != want)
		fail_msg("%s: %s %g, not %g", name, what, got, want);
}

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const struct known *k = &known[i];
		tide_op_cost c;
		if (!find_cost(k->name,
			       &(tide_op_texts){ k->dims, k->types, k->strides, k->concrete }, &c))
			fail_msg("%s %s: no cost", k->name, k->dims);
		assert_cost(k->name, "operations", c.flops, k->flops);
		assert_cost(k->name, "read", c.bytes_read, k->read);
		assert_cost(k->name, "written", c.bytes_written, k->written);
	}
}

/* With --count-masked the mask leaves nothing out. */
static void test_masked(void **state)
{
	(void)state;
	tide_op_inputs x;
	tide_op_cost c;
	const tide_op_texts t = { .dims = "[[1, 4, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8], [], []]",
				  .concrete = "[\"\",\"\",\"\",\"0.\",\"True\"]" };
	assert_true(tide__op_inputs_read(&t, &x));
	assert_true(tide__op_cost(rule_of("aten::_scaled_dot_product_flash_attention"), &x,
				  &(tide_cost_context){ .masked = true }, &c));
	assert_true(c.flops == 2 * 4 * 16 * 16);
}

/* No tensor has these shapes: every rule refuses them, or calls the cost unknown. */
static void test_hostile(void **state)
{
	(void)state;
	static const char *const dims[] = {
		"[[-1, 4], [4, 5]]",
		"[[9223372036854775808, 4], [4, 5]]",
		"[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]",
		"[[\"a\", 4], [4, 5]]",
		"x",
		"",
		"[",
		"[[",
		"[[3 4], [4, 5]]",
		"[[3, 4] [4, 5]]",
		"[[3, 4,], [4, 5]]",
		"[[3, [4]], [4, 5]]",
		"[3, 4]",
		"[[1e3, 4], [4, 5]]",
		"[[8000000000000000, 8000000000000000, 8000000000000000], "
		"[8000000000000000, 8000000000000000, 8000000000000000]]",
	};
	for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
		for (size_t r = 0; r < tide__op_rules_count; r++) {
			tide_op_cost c;
			if (!find_cost(tide__op_rules[r].name,
				       &(tide_op_texts){ dims[i], "[" F "," F "]", NULL, NULL },
				       &c))
				continue;
			assert_true(isnan(c.flops) || c.flops <= 9007199254740992.0);
			assert_true(isnan(c.bytes_read) || c.bytes_read <= 9007199254740992.0);
			assert_true(isnan(c.bytes_written) ||
				    c.bytes_written <= 9007199254740992.0);
		}
	tide_op_cost c;
	for (size_t i = 0; i < sizeof dims / sizeof *dims - 1; i++)
		assert_false(find_cost("aten::mm", &(tide_op_texts){ .dims = dims[i] }, &c));
}

/* Copies of exactly the text, so that a byte read behind it is found. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const char *own[] = { known[i].dims, known[i].types, known[i].strides,
				      known[i].concrete };
		for (size_t which = 0; which < 4; which++)
			for (size_t n = 0; own[which] && n <= strlen(own[which]); n++) {
				char *cut = strndup(own[which], n);
				const char *t[] = { own[0], own[1], own[2], own[3] };
				tide_op_cost c;
				t[which] = cut;
				find_cost(known[i].name, &(tide_op_texts){ t[0], t[1], t[2], t[3] },
					  &c);
				free(cut);
			}
	}
}

static void test_lists(void **state)
{
	(void)state;
	tide_list_sizes s = { 0 };
	double elements, bytes;
	const tide_op_tensor matrix = { .n = 2, .elements = 100000 },
			     vector = { .n = 1, .elements = 7 };
	assert_false(tide__list_sizes_find(&s, 1, &elements, &bytes));
	for (int i = 0; i < 3; i++) { /* 2 chunks and 1 */
		tide__list_sizes_add(&s, &matrix, TIDE_NUM_FLOAT32);
		tide__list_sizes_add(&s, &vector, TIDE_NUM_FLOAT32);
	}
	assert_true(tide__list_sizes_find(&s, 9, &elements, &bytes));
	assert_true(elements == 3 * 100007 && bytes == 4 * elements);
	assert_true(tide__list_sizes_find(&s, 6, &elements, &bytes)); /* those that decay */
	assert_true(elements == 300000);
	assert_true(tide__list_sizes_find(&s, 3, &elements, &bytes)); /* three passes */
	assert_true(elements == 100007);
	assert_false(tide__list_sizes_find(&s, 5, &elements, &bytes));
	assert_false(tide__list_sizes_find(&s, 0, &elements, &bytes));
	assert_false(tide__list_sizes_find(&s, (double)NAN, &elements, &bytes));
	tide__list_sizes_add(&s, &vector, TIDE_NUM_BFLOAT16); /* of two types: unknown */
	assert_false(tide__list_sizes_find(&s, 10, &elements, &bytes));
}

static void test_promotion(void **state)
{
	(void)state;
	assert_int_equal(tide__number_promote(TIDE_NUM_FLOAT16, TIDE_NUM_BFLOAT16),
			 TIDE_NUM_FLOAT32);
	assert_int_equal(tide__number_promote(TIDE_NUM_INT64, TIDE_NUM_FLOAT16), TIDE_NUM_FLOAT16);
	assert_int_equal(tide__number_promote(TIDE_NUM_BOOL, TIDE_NUM_UNKNOWN), TIDE_NUM_BOOL);
	assert_int_equal(tide__number_of("c10::Float8_e5m2fnuz", 20), TIDE_NUM_FLOAT8);
	assert_int_equal(tide__number_of("Scalar", 6), TIDE_NUM_UNKNOWN);
}

static void test_peaks(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		double gb_s, half;
	} rows[] = {
		{ "NVIDIA H200", 4800, 989.4 },
		{ "NVIDIA A100-SXM4-80GB", 2039, 312 },
		{ "NVIDIA A100 80GB PCIe", 1935, 312 },
		{ "NVIDIA A100-SXM4-40GB", 1555, 312 },
		{ "NVIDIA A10", 600, 125 },
		{ "Tesla T4", 320, 65 },
		{ "NVIDIA B200", 8000, 2250 },
		{ "NVIDIA GB200", 8000, 2500 },
		{ "NVIDIA GeForce RTX 5090", 1792, 209.5 },
		{ "AMD Instinct MI355X", 8000, 2516.6 },
		{ "AMD Instinct MI300X", 5300, 1307.4 },
		{ "TPU v5e", 819, 197 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const tide_device_peak *p = tide__device_peak(rows[i].name);
		assert_non_null(p);
		assert_true(p->gb_s == rows[i].gb_s && p->half == rows[i].half);
	}
	assert_null(tide__device_peak("Some GPU"));
	assert_null(tide__device_peak(""));
	assert_null(tide__device_peak(NULL));
	const tide_device_peak *p = tide__device_peak("NVIDIA H100 80GB HBM3");
	assert_true(p->gb_s == 3350);
	assert_true(tide__device_peak_of(p, TIDE_NUM_FLOAT32, true, 10) == 67);
	assert_true(tide__device_peak_of(p, TIDE_NUM_FLOAT32, true, 100) == 494.7);
	assert_true(tide__device_peak_of(p, TIDE_NUM_FLOAT32, false, 100) == 67);
	assert_true(tide__device_peak_of(p, TIDE_NUM_FLOAT16, true, 10) == 989.4);
	assert_true(tide__device_peak_of(p, TIDE_NUM_FLOAT16, false, 10) == 67);
	assert_true(tide__device_peak_of(p, TIDE_NUM_UNKNOWN, true, 10) == 0);
	assert_true(tide__device_peak_of(NULL, TIDE_NUM_FLOAT16, true, 10) == 0);
}

static void test_given_peaks(void **state)
{
	(void)state;
	static const char *const wrong[] = { "x",	    ":",	   "a b",
					     "A:bf16",	    "A: bf16=",	   "A: bf16=-1",
					     "A: bf16=1e5", "A: bf16=nan", "A: other=5",
					     " : bf16=5",   "A: bf16=0",   "A: bf16=1\nB bf16=2" };
	tide_device_peak p = { 0 };
	bool found = false;
	tide_error err;
	assert_int_equal(
		tide__device_peaks_read("# mine\n\nMy GPU : bf16=5.5 bandwidth=100\nOther: fp32=1",
					"Vendor My GPU 3", &p, &found, &err),
		TIDE_OK);
	assert_true(found && p.half == 5.5 && p.gb_s == 100 && p.f32 == 0);
	found = false;
	assert_int_equal(tide__device_peaks_read("My: bf16=5", "Mythical", &p, &found, &err),
			 TIDE_OK);
	assert_false(found);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (tide__device_peaks_read(wrong[i], "A", &p, &found, &err) != TIDE_EUSAGE)
			fail_msg("'%s' is taken", wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),	cmocka_unit_test(test_masked),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lists),	cmocka_unit_test(test_promotion),
		cmocka_unit_test(test_peaks),	cmocka_unit_test(test_given_peaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
