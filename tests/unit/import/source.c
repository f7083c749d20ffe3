// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Bytes come out the same from file and memory, plain, gzip and zstd, whole and in pieces; every
 * kind of damage ends with its code and never hangs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <isa-l/igzip_lib.h>

#include "base/mem.h"
#include "import/source.h"
#include "testing.h"

enum { N = 200000 };
static uint8_t plain[N], packed[2 * N + 4096], out[4 * N];
static size_t n_packed, magic; /* bytes that say what it is */
static bool zstd;

static size_t pack_zstd(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	size_t made = ZSTD_compress2(c, to, room, from, n);
	ZSTD_freeCCtx(c);
	assert_false(ZSTD_isError(made));
	return made;
}

static size_t pack(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	static struct isal_zstream z;
	static uint8_t level[ISAL_DEF_LVL1_DEFAULT];
	isal_deflate_init(&z);
	z.level = 1;
	z.level_buf = level;
	z.level_buf_size = sizeof level;
	z.gzip_flag = IGZIP_GZIP;
	z.end_of_stream = 1;
	z.next_in = (uint8_t *)(uintptr_t)from;
	z.avail_in = (uint32_t)n;
	z.next_out = to;
	z.avail_out = (uint32_t)room;
	assert_int_equal(isal_deflate(&z), COMP_OK);
	return room - z.avail_out;
}

static int setup(void **state)
{
	for (size_t i = 0; i < N; i++)
		plain[i] = (uint8_t)("0123456789abcdef"[(i * i / 7 + i / 100) % 16]);
	magic = zstd ? 4 : 2;
	n_packed = (zstd ? pack_zstd : pack)(plain, N, packed, sizeof packed);
	return 0;
}

static int setup_zstd(void **state)
{
	zstd = true;
	return setup(state);
}

/* Read everything, `step` bytes at a time. */
static tide_code drain(tide_source *s, size_t step, size_t *n, tide_error *err)
{
	tide_code rc = TIDE_OK;
	size_t got = step;
	*n = 0;
	while (rc == TIDE_OK && got == step && *n + step <= sizeof out) {
		rc = tide__source_read(s, out + *n, step, &got, err);
		*n += got;
	}
	return rc;
}

static tide_code drain_memory(const void *data, size_t size, uint64_t limit, size_t step, size_t *n,
			      tide_error *err)
{
	tide_source *s;
	assert_int_equal(tide__source_open_memory(data, size, limit, &s, err), TIDE_OK);
	tide_code rc = drain(s, step, n, err);
	size_t again;
	if (rc != TIDE_OK) /* a failure stays */
		assert_int_equal(tide__source_read(s, out + *n, 1, &again, NULL), rc);
	tide__source_close(s);
	return rc;
}

static void test_same_bytes(void **state)
{
	static const size_t steps[] = { 1000, 4096, 65537, N };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		size_t n;
		assert_int_equal(drain_memory(plain, N, 0, steps[i], &n, NULL), TIDE_OK);
		assert_true(n == N && !memcmp(out, plain, N));
		assert_int_equal(drain_memory(packed, n_packed, 0, steps[i], &n, NULL), TIDE_OK);
		assert_true(n == N && !memcmp(out, plain, N));
	}
}

static void test_members_and_padding(void **state)
{
	size_t n = n_packed;
	uint8_t *two = calloc(1, 2 * n + 700000);
	memcpy(two, packed, n);
	memcpy(two + n, packed, n);
	size_t got;
	assert_int_equal(drain_memory(two, 2 * n, 0, 777, &got, NULL), TIDE_OK);
	assert_int_equal(got, 2 * N);
	assert_memory_equal(out + N, plain, N);
	if (zstd) { /* has no padding: a frame that begins with zeros is damage */
		assert_int_equal(drain_memory(two, 2 * n + 9, 0, 777, &got, NULL), TIDE_ECORRUPT);
		assert_int_equal(got, 2 * N);
		free(two);
		return;
	}
	assert_int_equal(drain_memory(two, 2 * n + 700000, 0, 777, &got, NULL), TIDE_OK);
	assert_int_equal(got, 2 * N);
	two[2 * n + 5] = 'x';
	tide_error err = { 0 };
	assert_int_equal(drain_memory(two, 2 * n + 9, 0, 777, &got, &err), TIDE_ECORRUPT);
	assert_int_equal(err.offset, 2 * n + 5);
	free(two);
}

static void test_truncation(void **state)
{
	for (size_t i = magic; i < n_packed; i += i < 64 || i > n_packed - 32 ? 1 : 997) {
		size_t n;
		tide_error err = { 0 };
		tide_code rc = drain_memory(packed, i, 0, 5000, &n, &err);
		assert_int_equal(rc, TIDE_ETRUNC);
		assert_int_equal(err.offset, i);
		assert_true(n <= N && !memcmp(out, plain, n));
	}
}

static void test_damage(void **state)
{
	uint8_t *bad = malloc(n_packed);
	for (size_t i = magic; i < n_packed; i += i < 64 || i > n_packed - 16 ? 1 : 499) {
		size_t n;
		tide_error err = { 0 };
		memcpy(bad, packed, n_packed);
		bad[i] ^= 0x55;
		tide_code rc = drain_memory(bad, n_packed, 0, 5000, &n, &err);
		if (rc != TIDE_OK)
			assert_true(err.text[0] && err.offset <= n_packed);
		else /* bytes of the header that nothing depends on */
			assert_true(n == N && i < 10);
	}
	free(bad);
}

static void test_limit(void **state)
{
	size_t n;
	tide_error err = { 0 };
	assert_int_equal(drain_memory(packed, n_packed, 12345, 1000, &n, &err), TIDE_ELIMIT);
	assert_int_equal(n, 12345);
	assert_int_equal(drain_memory(packed, n_packed, N, 1000, &n, &err), TIDE_OK);
	assert_int_equal(drain_memory(plain, N, 10, 1000, &n, &err),
			 TIDE_OK); /* not for plain input */
}

/* A decompression bomb: its expansion is never held in memory, and stops at the limit. */
static void test_bomb(void **state)
{
	enum { MB = 1 << 20 };
	uint8_t *zeros = calloc(64, MB), *bomb = malloc(MB);
	size_t n = (zstd ? pack_zstd : pack)(zeros, (size_t)64 * MB, bomb, MB);
	assert_true(n < MB / 2);
	tide_error err = { 0 };
	tide_source *s;
	uint64_t all = 0;
	size_t got = MB;
	assert_int_equal(tide__source_open_memory(bomb, n, 10 * MB, &s, NULL), TIDE_OK);
	while (got == MB) {
		tide_code rc = tide__source_read(s, zeros, MB, &got, &err);
		all += got;
		assert_int_equal(rc, got == MB ? TIDE_OK : TIDE_ELIMIT);
	}
	assert_int_equal(all, 10 * MB);
	assert_non_null(strstr(err.text, "expand to more than"));
	tide__source_close(s);
	free(zeros);
	free(bomb);
}

static void test_file(void **state)
{
	char path[] = "/tmp/tide-source-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, packed, n_packed) == (ssize_t)n_packed);
	close(fd);
	tide_source *s;
	size_t n;
	assert_int_equal(tide__source_open(path, 0, &s, NULL), TIDE_OK);
	assert_true(tide__source_is_packed(s) && tide__source_size(s) == n_packed);
	assert_int_equal(drain(s, 4096, &n, NULL), TIDE_OK);
	assert_true(n == N && tide__source_consumed(s) == n_packed);
	tide__source_close(s);
	unlink(path);
	tide_error err = { 0 };
	assert_int_equal(tide__source_open(path, 0, &s, &err), TIDE_EIO);
	assert_null(s);
	assert_int_equal(tide__source_open("/", 0, &s, &err), TIDE_EIO);
}

static void test_exhaustion(void **state)
{
	for (uint64_t i = 1; i < (zstd ? 3 : 4); i++) {
		tide_source *s;
		tide__mem_fail_at(i);
		assert_int_equal(tide__source_open_memory(packed, n_packed, 0, &s, NULL),
				 TIDE_ENOMEM);
		assert_null(s);
	}
	tide__mem_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_members_and_padding),
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_limit),	   cmocka_unit_test(test_file),
		cmocka_unit_test(test_exhaustion), cmocka_unit_test(test_bomb),
	};
	return cmocka_run_group_tests_name("gzip", tests, setup, NULL) ||
	       cmocka_run_group_tests_name("zstd", tests, setup_zstd, NULL);
}
