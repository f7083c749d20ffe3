// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <string.h>

#include "analyze/compare/thresholds.h"
#include "testing.h"

enum { FINE, CROSSED, UNKNOWN };

struct row {
	const char *text;
	uint64_t a, b; /* value of the metric `peak` or `time`, whichever the text names */
	int result;
};

static const struct row rows[] = {
	{ "peak>+2%", 100, 102, FINE },
	{ "peak>+2%", 100, 103, CROSSED },
	{ "peak>=+2%", 100, 102, CROSSED },
	{ "peak>+2.5%", 1000, 1025, FINE },
	{ "peak>+2.5%", 1000, 1026, CROSSED },
	{ "peak>+0%", 0, 0, FINE },
	{ "peak>+50%", 0, 1, CROSSED },
	{ "peak<-10%", 100, 90, FINE },
	{ "peak<-10%", 100, 89, CROSSED },
	{ "peak>-10%", 100, 95, CROSSED },
	{ "peak>+1KiB", 0, 1024, FINE },
	{ "peak>+1KiB", 0, 1025, CROSSED },
	{ "peak>1.5MB", 0, 1572864, FINE },
	{ "peak>1.5MB", 0, 1572865, CROSSED },
	{ "peak>100B", 0, 101, CROSSED },
	{ "  peak  >=  100 B ", 0, 100, CROSSED },
	{ "peak > + 2 %", 100, 102, FINE },
	{ "peak > + 2 %", 100, 103, CROSSED },
	{ "peak<100B", 0, 100, FINE },
	{ "peak<=100B", 0, 100, CROSSED },
	{ "time>100ms", 0, 100000000, FINE },
	{ "time>100ms", 0, 100000001, CROSSED },
	{ "time>+0.001us", 5, 6, FINE },
	{ "time>+0.001us", 5, 7, CROSSED },
	{ "time>0", 0, 1, CROSSED },
	/* exact where doubles are not: 2^63 - 1 against one more than a percent of it */
	{ "peak>+0%", INT64_MAX - 1, INT64_MAX, CROSSED },
	{ "peak>+100%", UINT64_MAX / 2, UINT64_MAX, CROSSED },
	{ "peak>+100%", UINT64_MAX / 2, UINT64_MAX - 1, FINE },
};

/* One of each unit: so many bytes or ns, and not one less. */
static void units(void **state)
{
	static const struct {
		const char *text;
		uint64_t is;
	} all[] = {
		{ "time>1ns", 1 },
		{ "time>1us", 1000 },
		{ "time>1ms", 1000 * 1000 },
		{ "time>1s", 1000 * 1000 * 1000 },
		{ "peak>1B", 1 },
		{ "peak>1KiB", 1ull << 10 },
		{ "peak>1MiB", 1ull << 20 },
		{ "peak>1GiB", 1ull << 30 },
		{ "peak>1TiB", 1ull << 40 },
		{ "peak>1KB", 1ull << 10 },
		{ "peak>1MB", 1ull << 20 },
		{ "peak>1GB", 1ull << 30 },
		{ "peak>1TB", 1ull << 40 },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (int more = 0; more < 2; more++) {
			tide_diff d = { 0 };
			tide_failif f;
			assert_int_equal(tide__failif_parse(all[i].text, &f, NULL), TIDE_OK);
			d.metric[f.metric][1] = all[i].is + (uint64_t)more;
			d.known[f.metric][0] = d.known[f.metric][1] = true;
			if (tide__failif_check(&f, &d).crossed != more)
				fail_msg("%s: is not %llu", all[i].text,
					 (unsigned long long)all[i].is);
		}
}

static void decisions(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_diff d = { 0 };
		tide_failif f;
		tide_error err;
		if (tide__failif_parse(rows[i].text, &f, &err) != TIDE_OK)
			fail_msg("%s: %s", rows[i].text, err.text);
		d.metric[f.metric][0] = rows[i].a;
		d.metric[f.metric][1] = rows[i].b;
		d.known[f.metric][0] = d.known[f.metric][1] = true;
		tide_fail_result r = tide__failif_check(&f, &d);
		if (!r.decided || r.crossed != (rows[i].result == CROSSED))
			fail_msg("%s: A %llu B %llu: crossed is %d", rows[i].text,
				 (unsigned long long)rows[i].a, (unsigned long long)rows[i].b,
				 r.crossed);
	}
}

static void unknown_is_not_fine(void **state)
{
	tide_diff d = { 0 };
	tide_failif f;
	assert_int_equal(tide__failif_parse("peak>+2%", &f, NULL), TIDE_OK);
	assert_false(tide__failif_check(&f, &d).decided);
	d.known[TIDE_METRIC_PEAK][1] = true;
	assert_false(tide__failif_check(&f, &d).decided);
	assert_int_equal(tide__failif_parse("peak>2B", &f, NULL), TIDE_OK);
	assert_true(tide__failif_check(&f, &d).decided); /* needs B alone */
}

static const struct {
	const char *text;
	uint64_t at;
} wrong[] = {
	{ "", 0 },
	{ "   ", 3 },
	{ ">5", 0 },
	{ "Peak>5", 0 },
	{ "height>5", 0 },
	{ "peak", 4 },
	{ "peak=5", 4 },
	{ "peak>", 5 },
	{ "peak>x", 5 },
	{ "peak>+", 6 },
	{ "peak>.", 5 },
	{ "peak>2%", 6 },
	{ "peak>+2ms", 7 },
	{ "time>+2", 7 },
	{ "time>2MiB", 6 },
	{ "kernels>2B", 9 },
	{ "peak>5 5", 7 },
	{ "peak>+2% more", 9 },
	{ "count(>5", 5 },
	{ "count()>5", 6 },
	{ "volume(x)>5", 0 },
	{ "pek>5", 0 },
	{ "peak(activaton)>5", 5 },
	{ "peak(acti)>5", 5 },
	{ "peak(*x)>5", 5 },
	{ "peak>1234567890123456B", 5 },
	{ "count(a)", 8 },
};

static void errors_have_a_place(void **state)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		tide_failif f;
		tide_error err;
		tide_code rc = tide__failif_parse(wrong[i].text, &f, &err);
		if (rc != TIDE_EUSAGE || err.offset != wrong[i].at)
			fail_msg("'%s': code %d at %llu: %s", wrong[i].text, rc,
				 (unsigned long long)err.offset, err.text);
	}
}

static void names_may_hold_anything(void **state)
{
	static const char text[] = "count(void f<(int)3>(float*))>=+10";
	tide_failif f;
	assert_int_equal(tide__failif_parse(text, &f, NULL), TIDE_OK);
	assert_int_equal(f.n_pattern, strlen("void f<(int)3>(float*)"));
	assert_true(f.change && f.or_equal && f.number == 10);
}

static void globs(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} g[] = {
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "aten::*", "aten::mm", true },
		{ "*mm", "aten::mm", true },
		{ "*m*m", "aten::mm", true },
		{ "*x*", "aten::mm", false },
		{ "a*b*c", "a123b45c", true },
		{ "a*b*c", "a123b45", false },
		{ "", "", true },
		{ "", "a", false },
		{ "**", "a", true },
		{ "*ab", "aab", true },
	};
	for (size_t i = 0; i < sizeof g / sizeof *g; i++)
		if (tide__glob_match(g[i].pattern, strlen(g[i].pattern), g[i].text,
				     strlen(g[i].text)) != g[i].match)
			fail_msg("'%s' on '%s'", g[i].pattern, g[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(units),
		cmocka_unit_test(unknown_is_not_fine),
		cmocka_unit_test(errors_have_a_place),
		cmocka_unit_test(names_may_hold_anything),
		cmocka_unit_test(globs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
