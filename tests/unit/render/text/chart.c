// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The text chart: shapes, scale, and that nothing but zero shows as nothing. */
#include <stdlib.h>
#include <string.h>

#include "render/text/chart.h"
#include "testing.h"

static char *drawn(const tide_chart *c, const tide_style *style)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	tide__chart_print(c, f, style, 1);
	fclose(f);
	return text;
}

static void blocks(void **state)
{
	const uint64_t live[] = { 0, 1, 512, 1024, 768 };
	tide_chart c = { .live = live, .n = 5, .height = 2, .t1 = 5000 };
	char *s = drawn(&c, &(tide_style){ 0 });
	assert_string_equal(s, "    1.00 KiB │   █▄\n"
			       "         0 B │ ▁███\n"
			       "             └─────\n"
			       "              0 ns 5.000 us\n");
	free(s);
}

static void reserved_ascii(void **state)
{
	const uint64_t live[] = { 0, 1024, 2048 }, reserved[] = { 0, 2048, 2048 };
	tide_chart c = { .live = live, .reserved = reserved, .n = 3, .height = 2, .t1 = 1 };
	char *s = drawn(&c, &(tide_style){ .ascii = true });
	assert_string_equal(s, "    2.00 KiB | -#\n"
			       "         0 B | ##\n"
			       "             +---\n"
			       "              0 ns 1 ns\n");
	free(s);
}

static void nothing(void **state)
{
	const uint64_t live[] = { 0, 0 };
	tide_chart c = { .live = live, .n = 2, .height = 1 };
	char *s = drawn(&c, &(tide_style){ .ascii = true });
	assert_non_null(strstr(s, "1 B |  \n"));
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(reserved_ascii),
		cmocka_unit_test(nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
