// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The balanced scanner, on texts of the runtime and on texts that try to mislead it. */
#include "base/mlir.h"

#include <stdlib.h>
#include <string.h>

#include "testing.h"

#define LAYOUT(tiles, tile, buffer)                                    \
	"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<" tiles \
	"x!ttcore.tile<32x32, " tile ">, #ttnn.buffer_type<" buffer ">>, <interleaved>>"

#define SHARDED(grid, tiles, tile, how)                                     \
	"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <" grid ">, memref<" tiles \
	"x!ttcore.tile<32x32, " tile ">, #ttnn.buffer_type<l1>>, <" how "_sharded>>"

static void is(tide_slice s, const char *text)
{
	if (!text) {
		assert_null(s.s);
		return;
	}
	assert_non_null(s.s);
	char *got = strndup(s.s, s.n);
	assert_string_equal(got, text);
	free(got);
}

static const struct row {
	const char *name, *text;
	const char *results, *op, *operands, *attrs, *in, *out, *loc;
	bool whole;
} rows[] = {
	{ "with attributes",
	  "%4 = \"ttnn.typecast\"(%3) <{dtype = #ttcore.supportedDataTypes<bf16>}> : (tensor<2xf32>) -> "
	  "tensor<2xbf16> loc(\"convert.80\")",
	  "%4", "ttnn.typecast", "%3", "dtype = #ttcore.supportedDataTypes<bf16>", "tensor<2xf32>",
	  "tensor<2xbf16>", "\"convert.80\"", true },
	{ "nested attributes, a string with brackets",
	  "%1 = \"a.b\"(%0) <{x = {y = {z = 1}}, s = \")}>\\\"(\"}> {q = 2} : (i1) -> i1 loc(\"l\")",
	  "%1", "a.b", "%0", "x = {y = {z = 1}}, s = \")}>\\\"(\"", "i1", "i1", "\"l\"", true },
	{ "no result",
	  "\"ttnn.deallocate\"(%3) <{force = false}> : (tensor<2xf32>) -> () loc(\"c\")", NULL,
	  "ttnn.deallocate", "%3", "force = false", "tensor<2xf32>", "()", "\"c\"", true },
	{ "unquoted, a list of operands, unknown location",
	  "%7 = ttcore.load_cached(@main_const_eval_0, [%arg1, %arg2]) : (tensor<2xf32>) -> tensor<2xf32> "
	  "loc(unknown)",
	  "%7", "ttcore.load_cached", "@main_const_eval_0, [%arg1, %arg2]", NULL, "tensor<2xf32>",
	  "tensor<2xf32>", "unknown", true },
	{ "arrows in layouts",
	  "%1 = \"t.x\"(%0) : (tensor<2x2xf32, " LAYOUT(
		  "1x1", "f32",
		  "dram") ">) -> tensor<2x2xf32, " LAYOUT("1x1", "f32",
							  "l1") "> loc(\"outer\"(\"inner\"))",
	  "%1", "t.x", "%0", NULL, "tensor<2x2xf32, " LAYOUT("1x1", "f32", "dram") ">",
	  "tensor<2x2xf32, " LAYOUT("1x1", "f32", "l1") ">", "\"outer\"(\"inner\")", true },
	{ "several results", "%1, %2 = \"t.split\"(%0) : (i1) -> (i1, i1) loc(#loc3)", "%1, %2",
	  "t.split", "%0", NULL, "i1", "(i1, i1)", "#loc3", true },
	{ "cut in the types", "%1 = \"t.x\"(%0) : (tensor<2x2xf32, #ttnn.ttnn", "%1", "t.x", "%0",
	  NULL, "(tensor<2x2xf32, #ttnn.ttnn", NULL, NULL, false },
	{ "cut in the operands", "%1 = \"t.x\"(%0, %", "%1", "t.x", "%0, %", NULL, NULL, NULL, NULL,
	  false },
};

static void test_ops(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		tide_mlir_op p;
		print_message("%s\n", r->name);
		assert_true(tide__mlir_parse_op(r->text, strlen(r->text), &p));
		is(p.results, r->results);
		is(p.name, r->op);
		is(p.operands, r->operands);
		is(p.attrs, r->attrs);
		is(p.in_types, r->in);
		is(p.out_types, r->out);
		is(p.loc, r->loc);
		assert_int_equal(p.whole, r->whole);
		assert_int_equal(p.closed, r->whole);
	}
	tide_mlir_op p;
	static const char unlocated[] = "%1 = \"t.x\"(%0) : (i1) -> i1";
	assert_true(tide__mlir_parse_op(unlocated, sizeof unlocated - 1, &p));
	assert_true(p.closed && !p.whole);
	static const char *const none[] = {
		"", " ", "%1 =", "name", "\"open(", "(", "%1 = %2 = x"
	};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(tide__mlir_parse_op(none[i], strlen(none[i]), &p));
}

/* Every prefix of a text, and every text with a byte changed: no read beyond it (sanitizers look). */
static void test_prefixes(void **state)
{
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		for (size_t n = 0; n <= strlen(rows[r].text); n++) {
			char *s = malloc(n ? n : 1);
			memcpy(s, rows[r].text, n);
			tide_mlir_op p;
			tide_mlir_tensor t;
			tide_slice one;
			if (tide__mlir_parse_op(s, n, &p))
				for (tide_slice rest = p.in_types; tide__mlir_next(&rest, &one);)
					tide__mlir_parse_tensor(one, &t);
			free(s);
		}
}

static void test_locations(void **state)
{
#define S(text) ((tide_slice){ text, sizeof text - 1 })
	is(tide__mlir_loc_name(S("\"a.1\"")), "a.1");
	is(tide__mlir_loc_name(S("\"outer\"(\"inner\")")), "outer");
	is(tide__mlir_loc_name(S("\"f.py\":3:4")), "f.py");
	is(tide__mlir_loc_name(S("#loc7")), "#loc7");
	is(tide__mlir_loc_name(S("unknown")), NULL);
}

static void test_tensors(void **state)
{
	static const struct {
		const char *type, *shape, *dtype, *buffer;
		uint64_t bytes, padded;
		bool tiled;
	} t[] = {
		{ "tensor<64x128xf32, " LAYOUT("2x4", "f32", "dram") ">", "64x128", "f32", "dram",
		  32768, 32768, true },
		{ "tensor<33x1xbf16, " LAYOUT("2x1", "bf16", "l1") ">", "33x1", "bf16", "l1", 66,
		  4096, true },
		{ "tensor<64x64xbf16, " LAYOUT("2x2", "bfp_bf8", "dram") ">", "64x64", "bf16",
		  "dram", 8192, 4352, true }, /* four tiles of 1088 bytes */
		{ "tensor<32x32xbf16, " LAYOUT("1x1", "bfp_bf4", "dram") ">", "32x32", "bf16",
		  "dram", 2048, 576, true },
		{ "tensor<1x32xf32, #ttnn.ttnn_layout<(d0) -> (d0), <1x1>, memref<1x32xf32, "
		  "#ttnn.buffer_type<system_memory>>>>",
		  "1x32", "f32", "system_memory", 128, 128, false },
		/* a memref of one shard, on 8 x 8 cores, in 64 rows, of elements */
		{ "tensor<256x256xbf16, " SHARDED("8x8", "1x1", "bf16", "block") ">", "256x256",
		  "bf16", "l1", 131072, 131072, true },
		{ "tensor<250x256xbf16, " SHARDED("64x1", "1x2", "bfp_bf8", "height") ">",
		  "250x256", "bf16", "l1", 128000, 139264, true },
		{ "tensor<100x64xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <4x1, (d0, d1) -> (0, d0, d1)>, "
		  "memref<32x64xf32, #l1>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (3,0)>]>>>",
		  "100x64", "f32", "l1", 25600, 32768, false },
		/* elements that are a part of a tile */
		{ "tensor<64x128x!ttcore.tile<32x32, bfp_bf8>, " LAYOUT("2x4", "bfp_bf8",
									"dram") ">",
		  "64x128", "bfp_bf8", "dram", 8704, 8704, true },
		{ "tensor<33x1x!ttcore.tile<32x32, bfp_bf4>, " LAYOUT("2x1", "bfp_bf4", "l1") ">",
		  "33x1", "bfp_bf4", "l1", 19, 1152, true },
		{ "tensor<32x32x!tt.tile<32x32, bfp8>, #ttnn_layout3>", "32x32", "bfp8", NULL, 1088,
		  1088, false },
		{ "tensor<512xf32, #ttnn_layout11>", "512", "f32", NULL, 2048, 2048, false },
		{ "tensor<f32>", NULL, "f32", NULL, 4, 4, false },
		{ "tensor<8xui16>", "8", "ui16", NULL, 16, 16, false },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		tide_mlir_tensor x;
		assert_true(
			tide__mlir_parse_tensor((tide_slice){ t[i].type, strlen(t[i].type) }, &x));
		is(x.shape, t[i].shape);
		is(x.dtype, t[i].dtype);
		is(x.buffer, t[i].buffer);
		assert_int_equal(x.bytes, t[i].bytes);
		assert_int_equal(x.padded, t[i].padded);
		assert_int_equal(x.tiled, t[i].tiled);
	}
	tide_mlir_tensor x;
	assert_false(tide__mlir_parse_tensor(S("!ttnn.device"), &x));
	assert_true(tide__mlir_parse_tensor(S("tensor<4294967296x4294967296x8xf32>"), &x));
	assert_true(x.bytes == UINT64_MAX); /* too many to count */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ops),
					    cmocka_unit_test(test_prefixes),
					    cmocka_unit_test(test_locations),
					    cmocka_unit_test(test_tensors) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
