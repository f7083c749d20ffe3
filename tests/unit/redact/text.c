// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Words are replaced one to one, of the same length and shape, and what is public stays. */
#include "testing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "redact/marks.h"
#include "redact/public.h"
#include "redact/text.h"

static tide_redactor start(const char *key)
{
	return (tide_redactor){ .cipher = tide__cipher_make(key, strlen(key)),
				.keep = TIDE_PUBLIC_DEFAULT };
}

static const char *redacted(tide_redactor *r, const char *text)
{
	static char out[4][512];
	static int turn;
	char *at = out[turn++ % 4];
	snprintf(at, sizeof out[0], "%s", text);
	assert_true(tide__redact_text(r, at, strlen(at)));
	return at;
}

static void siphash_has_its_published_value(void **state)
{
	(void)state;
	uint8_t text[15];
	for (int i = 0; i < 15; i++)
		text[i] = (uint8_t)i;
	const tide_cipher c = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
	assert_true(tide__siphash(&c, text, 15) == UINT64_C(0xa129ca6149be45e5));
}

/* Every word of 3 letters becomes another one, and no two the same. */
static void words_are_replaced_one_to_one(void **state)
{
	(void)state;
	tide_redactor r = start("a key of 16 bytes");
	uint8_t *seen = calloc(1, 26 * 26 * 26);
	for (int i = 0; i < 26 * 26 * 26; i++) {
		uint32_t v[3] = { (uint32_t)i / 676, (uint32_t)i / 26 % 26, (uint32_t)i % 26 };
		const uint32_t radix[3] = { 26, 26, 26 };
		tide__cipher_values(&r.cipher, v, radix, 3);
		assert_true(v[0] < 26 && v[1] < 26 && v[2] < 26);
		size_t at = v[0] * 676 + v[1] * 26 + v[2];
		assert_int_equal(seen[at], 0);
		seen[at] = 1;
	}
	free(seen);
	tide__redactor_fini(&r);
}

static void shapes_stay(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"trainer.history[17].loss",
		"/home/jane/Acme_Model/run-3.py(12): loadBatch",
		"a: 0x7f00 128x64 1e-05 3.5",
		"n\xc3\xa4h \xe4\xb8\xad\xe6\x96\x87",
	};
	tide_redactor r = start("a key of 16 bytes");
	for (size_t i = 0; i < 4; i++) {
		const char *to = redacted(&r, texts[i]);
		assert_string_not_equal(to, texts[i]);
		assert_int_equal(strlen(to), strlen(texts[i]));
		for (size_t k = 0; texts[i][k]; k++) {
			uint8_t a = (uint8_t)texts[i][k], b = (uint8_t)to[k];
			if (!isalpha(a) && a < 0x80)
				assert_int_equal(a, b);
			else
				assert_true(!islower(a) == !islower(b) &&
					    !isupper(a) == !isupper(b));
		}
	}
	tide__redactor_fini(&r);
}

static void rows_of_names(void **state)
{
	static const struct {
		const char *text;
		bool stays;
	} rows[] = {
		{ "aten::mm", true },
		{ "aten::acme_op", false },
		{ "myteam::mm", false },
		{ "ProfilerStep#12", true },
		{ "Memcpy HtoD (Pageable -> Device)", true },
		{ "nn.Module: Linear_0", true },
		{ "nn.Module: AcmeBlock_0", false },
		{ "torch/optim/adam.py(12): anything", true },
		{ "/x/site-packages/torch/optim/adam.py", false },
		{ "/home/torch/secret.py", false },
		{ "cudaLaunchKernel", true },
		{ "cudaAcmeKernel", false },
		{ "torch::autograd::CppNode", true },
		{ "acme::torch::Node", false },
		{ "CumsumBackward0", true },
		{ "AcmeBackward0", false },
		{ "[1, 2.5, 1e-05, 0x7f12ab]", true },
		{ "12.4.5", true },
		{ "10.4.5.6", false },
	};
	(void)state;
	tide_redactor r = start("a key of 16 bytes");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(redacted(&r, rows[i].text), rows[i].text) != rows[i].stays)
			fail_msg("%s: %s", rows[i].text, redacted(&r, rows[i].text));
	tide__redactor_fini(&r);
}

static void rows_of_secrets(void **state)
{
	static const struct {
		const char *text, *gone; /* no byte of it stays where it was but separators */
	} rows[] = {
		{ "--token abc123", "abc123" },
		{ "HF_TOKEN=hf_abc", "hf_abc" },
		{ "password: p4ss", "p4ss" },
		{ "Authorization: Bearer q1w2", "q1w2" },
		{ "see https://me:pw1@host/", "me:pw1" },
		{ "key ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		  "ghp_16C7e42F292c6912E7710c838347Ae178B4a" },
	};
	(void)state;
	tide_redactor r = start("a key of 16 bytes");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t at = (size_t)(strstr(rows[i].text, rows[i].gone) - rows[i].text);
		const char *to = redacted(&r, rows[i].text);
		for (size_t k = 0; rows[i].gone[k]; k++)
			if (isalnum((uint8_t)rows[i].gone[k]) && to[at + k] != 'x')
				fail_msg("%s: %s", rows[i].text, to);
	}
	assert_true(r.secrets >= sizeof rows / sizeof *rows); /* some are found by two rules */
	assert_string_equal(redacted(&r, "num_tokens=128") + 10, "=128");
	assert_string_equal(redacted(&r, "token: 128") + 5, ": 128");
	tide__redactor_fini(&r);
}

static void keys_decide(void **state)
{
	(void)state;
	tide_redactor a = start("a key of 16 bytes"), b = start("b key of 16 bytes"),
		      c = start("a key of 16 bytes");
	assert_string_equal(redacted(&a, "load_batch"), redacted(&c, "load_batch"));
	assert_string_not_equal(redacted(&a, "load_batch"), redacted(&b, "load_batch"));
	tide__redactor_fini(&a);
	tide__redactor_fini(&b);
	tide__redactor_fini(&c);
}

/* Parts by which kernels are sorted stay, and no others appear by chance. */
static void technical_parts(void **state)
{
	(void)state;
	tide_redactor r = start("a key of 16 bytes");
	char name[64];
	assert_non_null(strstr(redacted(&r, "acme_fancy_gemm_v2"), "_gemm_v"[0] ? "gemm" : ""));
	assert_null(strstr(redacted(&r, "acme_fancy_gemm_v2"), "acme"));
	srand(1);
	for (int i = 0; i < 20000; i++) {
		for (int k = 0; k < 12; k++)
			name[k] = (char)('a' + rand() % 26);
		name[12] = 0;
		bool had = false, has = false;
		for (int k = 0; k < 12; k++)
			had |= tide__public_part(name + k, 12 - (size_t)k) != 0;
		const char *to = redacted(&r, name);
		for (int k = 0; k < 12; k++)
			has |= tide__public_part(to + k, 12 - (size_t)k) != 0;
		if (had != has)
			fail_msg("%s: %s", name, to);
	}
	tide__redactor_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_has_its_published_value),
		cmocka_unit_test(words_are_replaced_one_to_one),
		cmocka_unit_test(shapes_stay),
		cmocka_unit_test(rows_of_names),
		cmocka_unit_test(rows_of_secrets),
		cmocka_unit_test(keys_decide),
		cmocka_unit_test(technical_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
