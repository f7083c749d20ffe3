// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A recording compressed as a whole: it is expanded up to the limit, and recover restores all
 * readable events, wherever the compressed bytes end or are damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "format/rewrite.h"
#include "import/tide/unpack.h"
#include "models.h"
#include "testing.h"

static char path[64], out[80];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-unpack-%d.zst", (int)getpid());
	snprintf(out, sizeof out, "%s.out", path);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(out);
	return 0;
}

/* Compresses a recording as several frames of 100 bytes, so that a truncated one still has data. */
static bytes compressed(size_t zeros)
{
	static const uint8_t none[1 << 16];
	tidefile f;
	bytes b = { 0 };
	tidefile_some_of_everything(&f);
	tidefile_end(&f);
	for (size_t i = 0; i < zeros; i += sizeof none)
		bytes_add(&f.b, none, sizeof none);
	size_t step = zeros ? f.b.n : 100;
	uint8_t *z = malloc(ZSTD_compressBound(step));
	for (size_t at = 0; at < f.b.n; at += step) {
		size_t n = f.b.n - at < step ? f.b.n - at : step;
		bytes_add(&b, z, ZSTD_compress(z, ZSTD_compressBound(step), f.b.p + at, n, 3));
	}
	free(z);
	tidefile_free(&f);
	return b;
}

static void save(const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_true(f && fwrite(p, 1, n, f) == n && !fclose(f));
}

/* Recovers a file as the program does. */
static tide_code recover(tide_rewrite *w, tide_error *err)
{
	static const tide_load_options opt = { 0 };
	tide_unpacked u;
	tide_code rc = tide__unpack(path, &opt, &u, err);
	if (!rc) {
		tide_rewrite_from from = { u.fd < 0 ? path : u.path, NULL, u.stored, u.ends };
		rc = tide__rewrite(&from, out, -1, w, err);
	}
	tide__unpacked_close(&u);
	return rc;
}

static void test_cuts(void **state)
{
	bytes b = compressed(0);
	uint64_t events = 0;
	size_t good = 0;
	for (size_t n = 4; n <= b.n; n += n + 3 <= b.n ? 3 : 1) {
		tide_error err = { .offset = TIDE_NO_OFFSET };
		tide_rewrite w;
		save(b.p, n);
		tide_code rc = recover(&w, &err);
		const tide_error *why = rc ? &err : &w.damage;
		bool between = why->code == TIDE_ETRUNC && strstr(why->text, "the file ends");
		if (n < b.n && !between && why->code && why->offset != n)
			fail_msg("cut at %zu: %s (byte %llu)", n, why->text,
				 (unsigned long long)why->offset);
		if (rc && rc != TIDE_ETRUNC)
			fail_msg("cut at %zu: code %d, %s", n, rc, err.text);
		good += !rc;
		if (!rc && w.events < events)
			fail_msg("cut at %zu: %llu events, there were %llu", n,
				 (unsigned long long)w.events, (unsigned long long)events);
		events = rc ? events : w.events;
	}
	assert_int_equal(events, 76);
	assert_true(good > b.n / 6); /* half of them gave something */
	bytes_free(&b);
}

static void test_damage(void **state)
{
	bytes b = compressed(0);
	for (size_t i = 4; i < b.n; i += 5) {
		tide_error err = { .offset = TIDE_NO_OFFSET };
		tide_rewrite w;
		b.p[i] ^= 0x55;
		save(b.p, b.n);
		b.p[i] ^= 0x55;
		tide_code rc = recover(&w, &err);
		if (rc && (!*err.text || err.offset == TIDE_NO_OFFSET))
			fail_msg("byte %zu: code %d '%s' says not where", i, rc, err.text);
	}
	bytes_free(&b);
}

/* 64 MiB of zeros after a recording: exactly the number of bytes that the caller allows is
 * expanded. */
static void test_bomb(void **state)
{
	bytes b = compressed(64 << 20);
	tide_load_options opt = { .max_expanded = 1 << 20 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_unpacked u;
	struct stat st;
	save(b.p, b.n);
	assert_int_equal(tide__unpack(path, &opt, &u, &err), TIDE_ELIMIT);
	assert_true(err.offset <= b.n);
	assert_true(u.fd >= 0 && !fstat(u.fd, &st) && st.st_size <= 1 << 20);
	tide__unpacked_close(&u);
	bytes_free(&b);
}

/* A file that is not a recording is not expanded. */
static void test_stranger(void **state)
{
	static const uint8_t zeros[1 << 20];
	uint8_t z[1 << 12];
	tide_load_options opt = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_unpacked u;
	struct stat st;
	save(z, ZSTD_compress(z, sizeof z, zeros, sizeof zeros, 3));
	assert_int_equal(tide__unpack(path, &opt, &u, &err), TIDE_EFORMAT);
	assert_int_equal(err.offset, 0);
	assert_true(u.fd >= 0 && !fstat(u.fd, &st) && !st.st_size);
	tide__unpacked_close(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_stranger),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
