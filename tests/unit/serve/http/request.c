// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdlib.h>
#include <string.h>

#include "serve/routes.h"
#include "serve/http/listen.h"
#include "serve/http/request.h"
#include "testing.h"

static void targets(void **state)
{
	static const struct {
		const char *target;
		bool fine;
		size_t parts, pairs;
	} rows[] = {
		{ "/", true, 0, 0 },
		{ "/api/recordings", true, 2, 0 },
		{ "/api/recordings/", true, 2, 0 },
		{ "/api?", true, 1, 0 },
		{ "/api?a=1&b=2", true, 1, 2 },
		{ "/api?a=1&&b", true, 1, 2 },
		{ "/api?a", true, 1, 1 },
		{ "", false, 0, 0 },
		{ "api", false, 0, 0 },
		{ "//api", false, 0, 0 },
		{ "/..", false, 0, 0 },
		{ "/./x", false, 0, 0 },
		{ "/.../x", true, 2, 0 },
		{ "/a%2fb", false, 0, 0 },
		{ "/a\\b", false, 0, 0 },
		{ "/a b", false, 0, 0 },
		{ "/1/2/3/4/5/6/7", false, 0, 0 },
		{ "/api?=1", false, 0, 0 },
		{ "/api?A=1", false, 0, 0 },
		{ "/api?a=%", false, 0, 0 },
		{ "/api?a=%4", false, 0, 0 },
		{ "/api?a=%zz", false, 0, 0 },
		{ "/api?a=%00", false, 0, 0 },
		{ "/api?a=1&a=2", true, 1, 2 }, /* routes of lists alone take it */
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_request r;
		print_message("%s\n", rows[i].target);
		assert_int_equal(tide__request_parse(rows[i].target, &r), rows[i].fine);
		assert_int_equal(r.wrong == NULL, rows[i].fine);
		if (!rows[i].fine)
			continue;
		assert_int_equal(r.n_parts, rows[i].parts);
		assert_int_equal(r.n_pairs, rows[i].pairs);
	}
}

static void values(void **state)
{
	tide_request r;
	int64_t v = 7;
	size_t k = 9;
	static const char *const words[] = { "cpu", "gpu" };
	assert_true(tide__request_parse(
		"/x?q=a%20b%C3%A9+c&n=42&f=1.25&w=gpu&big=9223372036854775808&neg=-1&e=", &r));
	assert_string_equal(tide__request_get(&r, "q"), "a b\xc3\xa9 c");
	assert_string_equal(tide__request_get(&r, "e"), "");
	assert_null(tide__request_get(&r, "none"));
	assert_true(tide__request_get_int(&r, "n", 0, 42, &v));
	assert_int_equal(v, 42);
	assert_true(tide__request_get_int(&r, "none", 0, 1, &v));
	assert_int_equal(v, 42);
	assert_false(tide__request_get_int(&r, "n", 0, 41, &v));
	assert_false(tide__request_get_int(&r, "n", 43, 99, &v));
	assert_false(tide__request_get_int(&r, "big", 0, INT64_MAX, &v));
	assert_false(tide__request_get_int(&r, "neg", -5, 5, &v));
	assert_false(tide__request_get_int(&r, "e", 0, 5, &v));
	assert_true(tide__request_get_decimal(&r, "f", 3, 2000, &v));
	assert_int_equal(v, 1250);
	assert_false(tide__request_get_decimal(&r, "f", 1, 2000, &v));
	assert_true(tide__request_get_choice(&r, "w", words, 2, &k));
	assert_int_equal(k, 1);
	assert_false(tide__request_get_choice(&r, "q", words, 2, &k));
}

static void hosts(void **state)
{
	static const struct {
		const char *host;
		bool fine;
	} rows[] = {
		{ "localhost", true },
		{ "LOCALHOST:1", true },
		{ "127.0.0.1:6970", true },
		{ "10.1.2.3", true },
		{ "[::1]:80", true },
		{ "[fe80::1]", true },
		{ "our-name:80", true },
		{ NULL, false },
		{ "", false },
		{ ":80", false },
		{ "evil.example", false },
		{ "localhost.evil.example", false },
		{ "localhost:", false },
		{ "localhost:123456", false },
		{ "localhost:80x", false },
		{ "127.0.0.1.evil", false },
		{ "0x7f.1", false },
		{ "2130706433", false },
		{ "[::1", false },
		{ "::1", false },
		{ "[localhost]", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("%s\n", rows[i].host ? rows[i].host : "(none)");
		assert_int_equal(tide__host_allowed(rows[i].host, "our-name"), rows[i].fine);
	}
	assert_true(tide__origin_allowed("http://localhost:1", "localhost:1"));
	assert_false(tide__origin_allowed("http://localhost:2", "localhost:1"));
	assert_false(tide__origin_allowed("null", "null"));
	assert_false(tide__origin_allowed("http://localhost:1", NULL));
}

static void tokens(void **state)
{
	char a[TIDE_TOKEN], b[TIDE_TOKEN], buf[8];
	assert_true(tide__token_make(a) && tide__token_make(b));
	assert_string_not_equal(a, b);
	assert_true(tide__token_fine(a));
	assert_false(tide__token_fine("short"));
	assert_false(tide__token_fine("with; a semicolon in it"));
	assert_true(tide__token_equal("abc", "abc"));
	assert_false(tide__token_equal("abc", "abd"));
	assert_false(tide__token_equal("abc", "ab"));
	assert_false(tide__token_equal("abc", "abcabc"));
	assert_false(tide__token_equal("abc", ""));
	assert_true(tide__cookie_get("x=1; t=val ;y=2", "t", buf, sizeof buf));
	assert_string_equal(buf, "val");
	assert_false(tide__cookie_get("xt=1; ts=2; t", "t", buf, sizeof buf));
	assert_false(tide__cookie_get("t=12345678", "t", buf, sizeof buf));
}

static void routes(void **state)
{
	static const struct {
		const char *target;
		unsigned status; /* 0 = found */
	} rows[] = {
		{ "/api/recordings", 0 },
		{ "/api/recordings/abc/spans?px=3", 0 },
		{ "/api/recordings/abc/spans?pixels=3", 400 },
		{ "/api/recordings/abc/spans?px=3&px=4", 400 },
		{ "/api/recordings/abc/reports/diff?map=a&map=b", 0 },
		{ "/api/recordings/abc/spans?p=3", 400 },
		{ "/api/recordings/abc/none", 404 },
		{ "/api", 404 },
		{ "/", 404 },
		{ "/data/abc/main?g=4", 0 },
		{ "/api/profiler/flame/", 0 },
		{ "/api/profiler/flames", 404 },
		{ "/api/profiler", 404 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_request r;
		unsigned status = 0;
		print_message("%s\n", rows[i].target);
		assert_true(tide__request_parse(rows[i].target, &r));
		assert_int_equal(tide__route_find(&r, &status) == NULL, rows[i].status != 0);
		assert_int_equal(status, rows[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets), cmocka_unit_test(values), cmocka_unit_test(hosts),
		cmocka_unit_test(tokens),  cmocka_unit_test(routes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
