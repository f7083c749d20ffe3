// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs of the Tenstorrent runtime as a log, as JSON files and as a .tide file of tables: every
 * allocation failing in turn, and the file has every row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/tenstorrent/tt.h"
#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "import/tide/tables.h"
#include "testing.h"

#define STATE(pool, banks, total, used, free, most)                                  \
	"                 Always |     INFO | Device " pool                          \
	" memory state: MemoryView{numBanks: " banks ", totalBytesPerBank: " total   \
	" MB, totalBytesAllocatedPerBank: " used " MB, totalBytesFreePerBank: " free \
	" MB, largestContiguousBytesFreePerBank: " most " MB}\n"
#define BLOCK(when, used, free)                                                     \
	"                 Always |     INFO | Device memory state " when            \
	"\n" STATE("DRAM", "12", "1024.000", used, free, free)                      \
		STATE("L1", "64", "1.270", "0.000", "1.270", "1.270")               \
			STATE("L1_SMALL", "64", "0.031", "0.000", "0.031", "0.031") \
				STATE("TRACE", "12", "0.000", "0.000", "0.000", "0.000")
#define SAY(text) "            RuntimeTTNN |    DEBUG | " text "\n"
#define TYPES	  " : (tensor<32x32xf32>) -> tensor<32x32xf32> loc(\"here\")"

static const char log_text[] = /* constructed */
	SAY("Starting execution of program: main")
		SAY("Executing operation: %1 = \"ttnn.relu\"(%arg0)" TYPES) BLOCK(
			"before operation EltwiseUnaryOp", "0.000",
			"1024.000") SAY("Executing operation: %2 = \"ttnn.exp\"(%1)" TYPES)
			BLOCK("before operation EltwiseUnaryOp", "1.500", "1022.500") SAY(
				"Executing operation: \"ttnn.deallocate\"(%1) <{force = false}> : (tensor<32x32xf32>) -> () loc(\"here\")")
				BLOCK("before operation DeallocateOp", "3.000", "1021.000")
					SAY("Finished execution of program: main")
						BLOCK("after submit", "1.500", "1022.500");

#define VIEW(used)                                                                            \
	"{\"num_banks\": 12, \"total_bytes_per_bank\": 65536, "                               \
	"\"total_bytes_allocated_per_bank\": " used ", \"total_bytes_free_per_bank\": 1000, " \
	"\"block_table\": [{\"allocated\": \"yes\", \"size\": \"100\", \"address\": \"0\"}, " \
	"{\"allocated\": \"no\", \"size\": \"300\", \"address\": \"100\"}, "                  \
	"{\"allocated\": \"no\", \"size\": \"50\", \"address\": \"400\"}, "                   \
	"{\"allocated\": \"yes\", \"size\": \"10\", \"address\": \"450\"}, "                  \
	"{\"allocated\": \"no\", \"size\": \"20\", \"address\": \"460\"}]}"
static const char results_text[] =
	"{\"0\": {\"loc\": \"a\", \"debug_str\": \"%1 = \\\"ttnn.relu\\\"(%arg0) : (tensor<32x32xf32>) -> "
	"tensor<32x32xf32>\", \"dram\": " VIEW(
		"4097") "}, "
			"\"1\": {\"loc\": \"b\", \"debug_str\": \"%2 = \\\"ttnn.exp\\\"(%1) : (tensor<32x32xf32>) -> "
			"tensor<32x32xf32>\", \"dram\": " VIEW("8193") "}}";

static tide_code load_log(tide_model *m, tide_error *err)
{
	return tide__ttlog_import(log_text, sizeof log_text - 1, m, err);
}

static tide_code load_results(tide_model *m, tide_error *err)
{
	tt_results in = { .main = results_text, .n_main = sizeof results_text - 1 };
	return tide__ttresults_import(&in, m, err);
}

/* Three ranks that run the program twice, their lines alternating; rank 2 comes first. */
static tide_code load_ranks(tide_model *m, tide_error *err)
{
	static const char names[] = "201";
	char *text = calloc(12, sizeof log_text), *to = text;
	const char *at[] = { log_text, log_text, log_text };
	unsigned turns[] = { 2, 2, 2 };
	assert_non_null(text);
	for (unsigned i = 0, k = 0; turns[0] | turns[1] | turns[2]; i++, k = i % 3) {
		for (unsigned lines = k + 1; lines && turns[k]; lines--) {
			const char *nl = strchr(at[k], '\n');
			to += sprintf(to, "[1,%c]<stdout>: %.*s\n", names[k], (int)(nl - at[k]),
				      at[k]);
			at[k] = nl + 1;
			if (!*at[k]) {
				at[k] = log_text;
				turns[k]--;
			}
		}
	}
	tide_code rc = tide__ttlog_import(text, (size_t)(to - text), m, err);
	free(text);
	return rc;
}

/* Through a file of tables and back. */
static tide_model *through_file(const tide_model *m, tide_error *err)
{
	char path[] = "/tmp/tide-tables-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "wb");
	tide_model *back = NULL;
	assert_non_null(f);
	tide_code rc = tide__tables_write(m, f, err);
	fclose(f);
	if (rc == TIDE_OK)
		tide__load(path, NULL, &back, err);
	unlink(path);
	return back;
}

static void same_rows(const void *a, const void *b, const tide_table_desc *d)
{
	size_t n, k;
	memcpy(&n, a, sizeof n);
	memcpy(&k, b, sizeof k);
	assert_int_equal(n, k);
	for (size_t i = 0; i < d->n_columns; i++) {
		const void *x, *y;
		memcpy(&x, (const char *)a + d->columns[i].at, sizeof x);
		memcpy(&y, (const char *)b + d->columns[i].at, sizeof y);
		assert_memory_equal(x, y, n * d->columns[i].size);
	}
}

static void every_row(void **state)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	(void)state;
	assert_int_equal(load_log(m, &err), TIDE_OK);
	tide_model *back = through_file(m, &err);
	assert_non_null(back);
#define T(st, member, COLUMNS, none, doc) same_rows(&m->member, &back->member, &st##_desc);
	TIDE_TABLES(T)
#undef T
	assert_int_equal(back->n_dims, m->n_dims);
	assert_int_equal(back->t_end, m->t_end);
	assert_int_equal(back->axis, TIDE_AXIS_OPS);
	tide__model_free(m);
	tide__model_free(back);
}

static void block_table(void **state)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	(void)state;
	assert_int_equal(load_results(m, &err), TIDE_OK);
	assert_int_equal(m->pool_states.n, 3); /* after relu, before exp, and at the end */
	assert_int_equal(m->pool_states.when[0], TIDE_STATE_AFTER);
	assert_int_equal(m->pool_states.allocated[0], 4097);
	assert_int_equal(m->pool_states.free[0], 370);	  /* not what the field says */
	assert_int_equal(m->pool_states.largest[0], 350); /* 300 and 50 touch */
	tide__model_free(m);
}

static void ranks_side_by_side(void **state)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	size_t phases = 0;
	(void)state;
	assert_int_equal(load_ranks(m, &err), TIDE_OK);
	assert_int_equal(tide__model_check(m, &err), TIDE_OK);
	for (size_t i = 1; i < m->processes.n; i++) {
		assert_int_equal(m->processes.rank[i], i - 1);
		assert_int_equal(m->devices.index[i], i - 1);
	}
	for (size_t i = 1; i < m->marks.n; i++)
		phases += m->marks.kind[i] == TIDE_MARK_PHASE;
	assert_int_equal(phases, 2);
	assert_int_equal(m->t_end, 4 * TIDE_OP_NS); /* of each rank, not of all together */
	for (size_t i = 1; i < m->spans.n; i++)
		if (!strcmp(tide__text(m, m->spans.name[i], NULL), "ttnn.relu"))
			assert_int_equal(m->spans.t0[i] % (2 * TIDE_OP_NS), 0);
	tide__model_free(m);
}

static void out_of_memory(tide_code (*load)(tide_model *, tide_error *))
{
	for (uint64_t n = 1; n < 10000; n++) {
		tide_error err = { 0 };
		tide_tt *t = NULL;
		tide_model *m = tide__model_new(), *back = NULL;
		assert_non_null(m);
		tide__mem_fail_at(n);
		bool whole = load(m, &err) == TIDE_OK && (back = through_file(m, &err)) &&
			     tide__tt_find(back, NULL, &t, &err) == TIDE_OK;
		uint64_t made = tide__mem_count();
		tide__mem_fail_at(0);
		if (back && !whole)
			assert_int_equal(tide__model_check(back, NULL), TIDE_OK);
		tide__tt_free(t);
		tide__model_free(back);
		tide__model_free(m);
		if (made < n) {
			assert_true(whole);
			return;
		}
		assert_false(whole);
		assert_string_not_equal(err.text, "");
	}
	fail_msg("it never had enough");
}

static void log_without_memory(void **state)
{
	(void)state;
	out_of_memory(load_log);
}

static void ranks_without_memory(void **state)
{
	(void)state;
	out_of_memory(load_ranks);
}

static void results_without_memory(void **state)
{
	(void)state;
	out_of_memory(load_results);
}

/* A line is a repeat only if every byte is the same; its rank is that of the new line. */
static void repeats(void **state)
{
	static const char text[] =
		"[1,7]<stdout>:" STATE("DRAM", "12", "1024.000", "1.500", "1022.500", "1022.000");
	size_t n = sizeof text - 2; /* without the newline */
	tt_repeats *v = calloc(1, sizeof *v);
	char room[sizeof text], copy[sizeof text];
	tt_line l, again;
	tide_slice rest;
	assert_non_null(v);
	assert_false(tide__ttlog_find_repeat(v, text, n, &again));
	tide__ttlog_parse_line(text, n, false, room, &l, &rest);
	tide__ttlog_remember(v, text, n, &l);
	memcpy(copy, text, sizeof text);
	assert_true(tide__ttlog_find_repeat(v, copy, n, &again));
	assert_true(again.rank.s == copy + 1 && again.rank.n == 3 && again.what == TT_STATE);
	assert_true(again.pool == TT_DRAM && again.state.allocated == 1572864 &&
		    again.state.banks == 12);
	for (size_t i = 0; i < n; i++) {
		copy[i] ^= 1;
		assert_false(tide__ttlog_find_repeat(v, copy, n, &again));
		copy[i] ^= 1;
	}
	l.cut = true; /* a part of a line is not a state */
	tide__ttlog_remember(v, copy, n - 1, &l);
	assert_false(tide__ttlog_find_repeat(v, copy, n - 1, &again));
	free(v);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeats),
		cmocka_unit_test(every_row),
		cmocka_unit_test(block_table),
		cmocka_unit_test(ranks_side_by_side),
		cmocka_unit_test(log_without_memory),
		cmocka_unit_test(ranks_without_memory),
		cmocka_unit_test(results_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
