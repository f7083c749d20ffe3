// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Bytes and tiles of live values against a plain count, on random logs: values in DRAM, L1 and
 * without a layout, made again under one name, deallocated once or twice, in several runs; and a cached
 * value, which outlives its run. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "testing.h"

enum { VALUES = 8, OPS = 60, ROOM = 1 << 20 };

static uint32_t seed;
static unsigned draw(unsigned below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static char text[ROOM];
static size_t n_text;

static __attribute__((format(printf, 1, 2))) void say(const char *form, ...)
{
	va_list ap;
	va_start(ap, form);
	n_text += (size_t)vsnprintf(text + n_text, ROOM - n_text, form, ap);
	va_end(ap);
	assert_true(n_text < ROOM);
}

static void state(const char *when)
{
	static const char *const pools[] = { "DRAM", "L1", "L1_SMALL", "TRACE" };
	say("                 Always |     INFO | Device memory state %s\n", when);
	for (int i = 0; i < 4; i++)
		say("                 Always |     INFO | Device %s memory state: MemoryView{numBanks: 12, "
		    "totalBytesPerBank: 1024.000 MB, totalBytesAllocatedPerBank: 0.000 MB, "
		    "totalBytesFreePerBank: 1024.000 MB, largestContiguousBytesFreePerBank: 1024.000 MB}\n",
		    pools[i]);
}

/* ---- the plain count ---- */

static struct value {
	bool live;
	unsigned pool;
	uint64_t bytes, padded;
} values[VALUES + 1]; /* the last is the cached one */

static tide_tt_live sum(unsigned pool)
{
	tide_tt_live s = { 0 };
	for (int i = 0; i <= VALUES; i++)
		if (values[i].live && values[i].pool == pool) {
			s.bytes += values[i].bytes;
			s.padded += values[i].padded;
			s.n++;
		}
	return s;
}

/* ---- a random log ---- */

static void operation(void)
{
	unsigned k = draw(VALUES), rows = 1 + draw(70), cols = 1 + draw(70), pool = draw(3);
	unsigned down = (rows + 31) / 32, across = (cols + 31) / 32;
	say("            RuntimeTTNN |    DEBUG | Executing operation: %%%u = \"ttnn.relu\"(%%arg0) : "
	    "(tensor<32x32xf32>) -> tensor<%ux%uxf32",
	    k, rows, cols);
	if (pool < 2)
		say(", #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<%ux%ux!ttcore.tile<32x32, "
		    "f32>, #ttnn.buffer_type<%s>>, <interleaved>>",
		    down, across, pool ? "l1" : "dram");
	say("> loc(\"here\")\n");
	state("before operation EltwiseUnaryOp");
	if (pool < 2)
		values[k] = (struct value){ true, pool, (uint64_t)rows * cols * 4,
					    (uint64_t)down * across * 4096 };
}

static void load_cached(void)
{
	say("            RuntimeTTNN |    DEBUG | Executing operation: %%90 = "
	    "ttcore.load_cached(@main_const_eval_0, [%%arg1]) : (tensor<40x40xf32>) -> "
	    "tensor<40x40xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
	    "memref<2x2x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>> "
	    "loc(\"here\")\n");
	state("before operation LoadCachedOp");
	values[VALUES] = (struct value){ true, 0, 40 * 40 * 4, 2 * 2 * 4096 };
}

static void deallocate(void)
{
	unsigned k = draw(VALUES);
	say("            RuntimeTTNN |    DEBUG | Executing operation: \"ttnn.deallocate\"(%%%u) <{force = "
	    "false}> : (tensor<32x32xf32>) -> () loc(\"here\")\n",
	    k);
	state("before operation DeallocateOp");
	values[k].live = false;
}

static void test_random(void **unused)
{
	for (uint32_t round = 1; round <= 40; round++) {
		seed = round * 7919;
		tide_tt_live wanted[2 * OPS];
		size_t ops = 0;
		n_text = 0;
		memset(values, 0, sizeof values);
		for (unsigned run = 1 + draw(3); run; run--) {
			say("            RuntimeTTNN |    DEBUG | Starting execution of program: main\n");
			memset(values, 0, VALUES * sizeof *values); /* they end with their run */
			for (unsigned i = 1 + draw(OPS / 3 - 1); i; i--) {
				while (!draw(3))
					deallocate();
				if (draw(5))
					operation();
				else
					load_cached();
				wanted[2 * ops] = sum(0);
				wanted[2 * ops++ + 1] = sum(1);
			}
			say("            RuntimeTTNN |    DEBUG | Finished execution of program: main\n");
			state("after submit");
		}
		tide_model *m = tide__model_new();
		tide_error err;
		tide_tt *t = NULL;
		assert_int_equal(tide__ttlog_import(text, n_text, m, &err), TIDE_OK);
		assert_int_equal(tide__tt_find(m, NULL, &t, &err), TIDE_OK);
		assert_int_equal(t->n, ops);
		tide_tt_live *got = calloc(2 * ops, sizeof *got);
		assert_int_equal(tide__tt_find_padding(t, false, got, &err), TIDE_OK);
		for (size_t i = 0; i < 2 * ops; i++) {
			assert_int_equal(got[i].n, wanted[i].n);
			assert_int_equal(got[i].bytes, wanted[i].bytes);
			assert_int_equal(got[i].padded, wanted[i].padded);
		}
		free(got);
		tide__tt_free(t);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
