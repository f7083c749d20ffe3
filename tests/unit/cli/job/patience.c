// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What TIDEMARK_GIVE_UP may say. */
#include <stdlib.h>

#include "cli/job/patience.h"
#include "testing.h"

static void test_seconds(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} rows[] = {
		{ "", 60 },
		{ "x", 60 },
		{ "5x", 60 },
		{ "-1", 60 },
		{ "0", 0 },
		{ "5", 5 },
		{ "1000000", 1000000 },
		/* times 10^9 above 2^63 */
		{ "9223372037", 1000000 },
		{ "9223372036854775807", 1000000 },
		{ "99999999999999999999", 1000000 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		setenv("TIDEMARK_GIVE_UP", rows[i].text, 1);
		assert_int_equal(tide__patience_s(), rows[i].seconds);
	}
	unsetenv("TIDEMARK_GIVE_UP");
	assert_int_equal(tide__patience_s(), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
