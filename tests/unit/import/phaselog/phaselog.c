// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Summaries in logs: random ones come back as they were written, the three relations hold, and the
 * sizes made of them equal a plain calculation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/predict/training_sizes.h"
#include "base/mem.h"
#include "import/phaselog/phaselog.h"
#include "testing.h"

#define MB 1048576.0

static uint32_t seed = 7;
static unsigned draw(unsigned below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static tide_code read_text(const char *text, tide_phase_summaries *all, tide_error *err)
{
	tide_source *s;
	*all = (tide_phase_summaries){ 0 };
	assert_int_equal(tide__source_open_memory(text, strlen(text), 0, &s, err), TIDE_OK);
	tide_code rc = tide__phaselog_read(s, all, err);
	tide__source_close(s);
	return rc;
}

struct row {
	double seg, up, down, peak, now;
};

/* Figures in hundredths of a MB, so that printing loses nothing and the relations are exact. */
static void make_rows(struct row *r, size_t n)
{
	double now = 0, peak = 0;
	for (size_t i = 0; i < n; i++) {
		r[i].up = draw(500000) / 100.0;
		r[i].down = draw((unsigned)(now * 100) + 1) / 100.0;
		r[i].seg = r[i].up - draw((unsigned)(r[i].up * 100) + 1) / 100.0;
		double change = r[i].up - r[i].down;
		r[i].seg = r[i].seg > change ? r[i].seg : change > 0 ? change : 0;
		peak = peak > now + r[i].seg ? peak : now + r[i].seg;
		now += change;
		r[i].now = now;
		r[i].peak = peak;
	}
}

static char *write_log(const struct row *r, size_t n, const char *const *names, const char *before)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	fprintf(f, "%s=== Memory Usage Summary ===\n\n", before);
	for (size_t i = 0; i < n; i++)
		fprintf(f,
			"--- %s ---\n  DRAM: Segment Peak %.2f MB, Allocations %.2f MB, Deallocations %.2f MB, "
			"Segment Change %+.2f MB\n  DRAM: Cumulative Peak %.2f MB, Cumulative Current %.2f MB\n"
			"  L1: Peak CB 0.25 MB, Peak Buffer 0.50 MB, Peak Total 0.75 MB\nnoise %zu\n",
			names[i % 4], r[i].seg, r[i].up, r[i].down, r[i].up - r[i].down, r[i].peak,
			r[i].now, i);
	fprintf(f,
		"\n=== Final Totals ===\nOverall DRAM Peak: %.2f MB, Final DRAM Usage: %.2f MB\n",
		r[n - 1].peak, r[n - 1].now);
	fclose(f);
	return text;
}

static int64_t bytes(double mb)
{
	return (int64_t)(mb * MB + (mb < 0 ? -0.5 : 0.5));
}

static void test_round_trip(void **state)
{
	static const char *const names[] = { "MODEL_CREATION", "OPTIMIZER_CREATION",
					     "FORWARD_PASS__000001", "BACKWARD_PASS" };
	for (int k = 0; k < 200; k++) {
		struct row r[12];
		tide_error err = { 0 };
		tide_phase_summaries all;
		size_t n = 4 + draw(9), at;
		make_rows(r, n);
		char *text = write_log(r, n, names, "Total parameters: 1,000,000\nthe title\n");
		assert_int_equal(read_text(text, &all, &err), TIDE_OK);
		assert_int_equal(all.n, 1);
		const tide_phase_summary *s = &all.v[0];
		assert_int_equal(s->n, n);
		assert_int_equal(s->parameters, 1000000);
		assert_string_equal(s->title, "the title");
		assert_true(s->whole);
		for (size_t i = 0; i < n; i++) {
			assert_string_equal(s->rows[i].name, names[i % 4]);
			assert_int_equal(s->rows[i].bytes[TIDE_FIGURE_SEGMENT_PEAK],
					 bytes(r[i].seg));
			assert_int_equal(s->rows[i].bytes[TIDE_FIGURE_CURRENT], bytes(r[i].now));
			assert_int_equal(s->rows[i].bytes[TIDE_FIGURE_L1_TOTAL], bytes(0.75));
			assert_int_equal(s->rows[i].known, (1u << TIDE_FIGURES_N) - 1);
		}
		assert_true(tide__phase_summary_off(s, &at) <=
			    3); /* bytes: each figure is rounded to one */
		free(text);
		tide__phase_summaries_free(&all);
	}
}

/* The parts add up to the peak, and each is what its definition says. */
static void test_sizes(void **state)
{
	static const char *const names[] = { "MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS",
					     "BACKWARD_PASS" };
	for (int k = 0; k < 200; k++) {
		struct row r[4];
		tide_error err = { 0 };
		tide_phase_summaries all;
		tide_training_sizes t;
		tide_sizes_options o = { .actual = k & 1, .parameters = k & 2 ? 1000 : 0 };
		int64_t sum = 0;
		make_rows(r, 4);
		char *text = write_log(r, 4, names, "");
		assert_int_equal(read_text(text, &all, &err), TIDE_OK);
		assert_int_equal(tide__training_sizes_find(&all.v[0], &o, &t, &err), TIDE_OK);
		assert_int_equal(t.actual[TIDE_PART_MODEL].bytes, bytes(r[0].up - r[0].down));
		assert_int_equal(t.actual[TIDE_PART_ACTIVATIONS].bytes, bytes(r[2].up - r[2].down));
		assert_int_equal(t.actual[TIDE_PART_GRADIENTS].bytes,
				 bytes(r[3].now) - bytes(r[1].now));
		for (int p = 0; p < TIDE_PARTS_N; p++)
			sum += t.part[p].bytes;
		assert_int_equal(sum, t.peak);
		bool forward = !strcmp(t.peak_phase, "FORWARD_PASS");
		assert_int_equal(t.part[TIDE_PART_ACTIVATIONS].bytes,
				 forward ? bytes(r[2].seg) : bytes(r[2].up - r[2].down));
		assert_true(forward != t.part[TIDE_PART_GRADIENTS].known);
		assert_true(t.expected[TIDE_PART_MODEL].known == (o.parameters != 0));
		free(text);
		tide__phase_summaries_free(&all);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text;
		tide_code code;
		bool whole;
	} rows[] = {
		{ "nothing here\n", TIDE_ENOTFOUND, false },
		{ "=== Memory Usage Summary ===\n", TIDE_ENOTFOUND, false },
		{ "=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak 1.00 MB\n", TIDE_OK,
		  false },
		{ "=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak -1.00 MB\n",
		  TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak nan MB\n",
		  TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak 1e9 MB\n",
		  TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak 99999999999999999999 MB\n",
		  TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\n--- A ---\n  Segment Change: +2.50 MB  # weights\n"
		  "Overall DRAM Peak: 8.00 MB\n",
		  TIDE_OK, true },
		{ "=== Memory Usage Summary ===\nOverall Peak: 8.00 MB\n", TIDE_OK, true },
		{ "=== Memory Usage Summary ===\nOverall Peak\n", TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\nOverall  Peak Peak: x\n", TIDE_EFORMAT, false },
		{ "=== Memory Usage Summary ===\nOverall", TIDE_ENOTFOUND, false },
		{ "=== Memory Usage Summary ===\n Peak Overall \n", TIDE_ENOTFOUND, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_error err = { 0 };
		tide_phase_summaries all;
		assert_int_equal(read_text(rows[i].text, &all, &err), rows[i].code);
		if (rows[i].code == TIDE_OK)
			assert_int_equal(all.v[0].whole, rows[i].whole);
		tide__phase_summaries_free(&all);
	}
}

/* Totals without a memory's name belong to the memory whose lines came last; a summary that another
 * rank interrupts keeps its memories apart. */
static void test_scopes(void **state)
{
	static const char text[] =
		"[1,0]<stdout>:=== Memory Usage Summary ===\n[1,0]<stdout>:--- A ---\n"
		"[1,0]<stdout>:cuda:0 DRAM: Segment Peak 1 MB\n"
		"[1,1]<stdout>:=== Memory Usage Summary ===\n[1,1]<stdout>:--- A ---\n"
		"[1,1]<stdout>:cuda:0 DRAM: Segment Peak 2 MB\n"
		"[1,0]<stdout>:heap: Segment Peak 3 MB\n"
		"[1,0]<stdout>:cuda:0 DRAM: Cumulative Peak 4 MB\n"
		"[1,1]<stdout>:Overall Peak: 5 MB, Final DRAM Usage: 6 MB\n"
		"[1,0]<stdout>:Overall Peak: 7 MB\n[1,0]<stdout>:Overall heap Peak: 8 MB\n";
	static const struct {
		const char *rank, *scope;
		int64_t overall, final;
	} want[] = { { "[1,0]", "cuda:0 DRAM", 7, 0 },
		     { "[1,1]", "cuda:0 DRAM", 5, 6 },
		     { "[1,0]", "heap", 8, 0 } };
	tide_error err = { 0 };
	tide_phase_summaries all;
	assert_int_equal(read_text(text, &all, &err), TIDE_OK);
	assert_int_equal(all.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(all.v[i].rank, want[i].rank);
		assert_string_equal(all.v[i].scope, want[i].scope);
		assert_int_equal(all.v[i].overall, want[i].overall << 20);
		assert_int_equal(all.v[i].final, want[i].final << 20);
		assert_int_equal(all.v[i].n, 1);
	}
	tide__phase_summaries_free(&all);
}

/* Every allocation fails once: TIDE_ENOMEM and nothing leaks. */
static void test_nomem(void **state)
{
	static const char text[] =
		"t\n=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak 1 MB\n"
		"--- B ---\n DRAM: Segment Peak 1 MB\nOverall DRAM Peak: 2 MB\n";
	tide_code rc = TIDE_ENOMEM;
	for (uint64_t n = 1; rc == TIDE_ENOMEM && n < 100; n++) {
		tide_phase_summaries all = { 0 };
		tide_error err = { 0 };
		tide_source *s = NULL;
		tide__mem_fail_at(n);
		rc = tide__source_open_memory(text, sizeof text - 1, 0, &s, &err);
		if (rc == TIDE_OK)
			rc = tide__phaselog_read(s, &all, &err);
		tide__mem_fail_at(0);
		tide__phase_summaries_free(&all);
		tide__source_close(s);
	}
	assert_int_equal(rc, TIDE_OK);
}

/* A value between two summaries belongs to the later one, before both to both; after the last one,
 * to those that have none. */
static void test_whose_values(void **state)
{
#define SUMMARY \
	"=== Memory Usage Summary ===\n--- A ---\n DRAM: Segment Peak 1 MB\nOverall DRAM Peak: 2 MB\n"
	static const struct {
		const char *name, *text;
		unsigned first, second; /* MB */
	} rows[] = {
		{ "between", SUMMARY "memory  80 MB\n" SUMMARY, 0, 80 },
		{ "before both", "memory  40 MB\n" SUMMARY "x\n" SUMMARY, 40, 40 },
		{ "before each", "memory  40 MB\n" SUMMARY "memory  80 MB\n" SUMMARY, 40, 80 },
		{ "after", SUMMARY "x\n" SUMMARY "memory  20 MB\n", 20, 20 },
		{ "between and after", SUMMARY "memory  80 MB\n" SUMMARY "memory  20 MB\n", 20,
		  80 },
		{ "of another rank", "[1,1]<stdout>:memory  8 MB\n" SUMMARY "x\n" SUMMARY, 8, 8 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_phase_summaries all;
		tide_error err = { 0 };
		assert_int_equal(read_text(rows[i].text, &all, &err), TIDE_OK);
		assert_int_equal(all.n, 2);
		if (all.v[0].capacity != (uint64_t)rows[i].first << 20 ||
		    all.v[1].capacity != (uint64_t)rows[i].second << 20)
			fail_msg("%s: %u and %u MB", rows[i].name,
				 (unsigned)(all.v[0].capacity >> 20),
				 (unsigned)(all.v[1].capacity >> 20));
		tide__phase_summaries_free(&all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bad),	     cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_whose_values), cmocka_unit_test(test_nomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
