// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records of a device log: they are read back as written, and damage ends the walk. */
#include "format/device_log.h"

#include <string.h>

#include "testing.h"

static void there_and_back(void **state)
{
	tide_device_log l = { .n = 0 };
	const int64_t times[] = { 1700000000000000000, 1700000000000000500, 1699999999999999000, 0,
				  INT64_MAX };
	uint64_t v[TIDE_DEVICE_FIELDS];
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < TIDE_DEVICE_FIELDS; k++)
			v[k] = k % 3 ? UINT64_MAX >> (4 * k) : i * 1000 + k;
		assert_true(tide__device_log_put(&l, (unsigned)i + 1, times[i], v, 14));
	}
	size_t at = 0;
	int64_t t = 0;
	tide_device_rec r;
	for (size_t i = 0; i < 5; i++) {
		assert_true(tide__device_log_next(l.bytes, l.n, &at, &t, &r));
		assert_int_equal(r.kind, i + 1);
		assert_true(r.t == times[i]);
		for (size_t k = 0; k < 14; k++)
			assert_true(r.v[k] == (k % 3 ? UINT64_MAX >> (4 * k) : i * 1000 + k));
		assert_int_equal(r.v[14], 0);
	}
	assert_false(tide__device_log_next(l.bytes, l.n, &at, &t, &r));
	assert_int_equal(at, l.n);
}

static void full(void **state)
{
	tide_device_log l = { .n = 0 };
	uint64_t v[TIDE_DEVICE_FIELDS] = { 0 };
	size_t n = 0;
	while (tide__device_log_put(&l, 1, (int64_t)n, v, TIDE_DEVICE_FIELDS))
		n++;
	assert_true(n > 20 && l.n <= sizeof l.bytes);
}

/* Every prefix, and every byte changed: never a read beyond the end, and the walk ends. */
static void damaged(void **state)
{
	tide_device_log l = { .n = 0 };
	uint64_t v[] = { 300, 0, 7, 12345, 99, 1 << 20 };
	tide_device_rec r;
	for (int i = 0; i < 4; i++)
		tide__device_log_put(&l, 2, 1700000000000000000 + i, v, 6);
	for (size_t n = 0; n <= l.n; n++)
		for (unsigned flip = 0; flip < 256; flip += 17) {
			uint8_t *copy = test_malloc(n ? n : 1);
			memcpy(copy, l.bytes, n);
			if (n)
				copy[(flip * 31) % n] ^= (uint8_t)flip;
			size_t at = 0, steps = 0;
			int64_t t = 0;
			while (tide__device_log_next(copy, n, &at, &t, &r))
				assert_true(++steps <= n);
			assert_true(at <= n);
			test_free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(there_and_back),
					    cmocka_unit_test(full), cmocka_unit_test(damaged) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
