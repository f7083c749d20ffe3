// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages as bytes: names never appear outside base64, equal input gives equal bytes, failing memory
 * and a failing disk are told, and the page's code stays small. What the data says is checked by
 * web/test and, in a browser, by tests/e2e/page.mjs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../analyze/some_model.h"
#include "base/mem.h"
#include "render/page.h"
#include "render/page_parts.h"

enum { MOST_CODE = 150 * 1000 };

static char *page(const tide_model *m, size_t *n, tide_code *rc)
{
	const tide_page_options opt = { .losses = "" };
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	*rc = tide__page(m, &opt, f, NULL);
	fclose(f);
	return text;
}

static void code_is_small(void **state)
{
	if (!tide__page_built())
		skip();
	assert_true(tide__page_shell_size < tide__page_code_size);
	if (tide__page_code_size > MOST_CODE)
		fail_msg("the page's code has %zu bytes, at most %d", tide__page_code_size,
			 MOST_CODE);
}

static void names_stay_packed(void **state)
{
	size_t n, again;
	tide_code rc;
	if (!tide__page_built())
		skip();
	tide_model *m = some_model(11, 150, 50);
	static const char evil[] = "</script><img src=x onerror=alert(1)>";
	m->spans.name[1] = tide__str(m, evil);
	char *a = page(m, &n, &rc);
	assert_int_equal(rc, TIDE_OK);
	assert_null(memmem(a, n, "onerror", 7));
	char *b = page(m, &again, &rc);
	assert_int_equal(n, again);
	assert_memory_equal(a, b, n);
	free(a);
	free(b);
	tide__model_free(m);
}

static void memory_fails(void **state)
{
	tide_code rc;
	size_t n;
	if (!tide__page_built())
		skip();
	tide_model *m = some_model(5, 60, 30);
	for (uint64_t at = 1;; at++) {
		tide__mem_fail_at(at);
		char *text = page(m, &n, &rc);
		tide__mem_fail_at(0);
		free(text);
		if (rc == TIDE_OK) {
			assert_true(at > 20);
			break;
		}
		if (rc != TIDE_ENOMEM)
			fail_msg("allocation %d: code %d", (int)at, rc);
	}
	tide__model_free(m);
}

static void empty_model(void **state)
{
	tide_model *m = tide__model_new();
	tide_code rc;
	size_t n;
	if (!tide__page_built())
		skip();
	free(page(m, &n, &rc));
	assert_int_equal(rc, TIDE_OK);
	tide__model_free(m);
}

static void disk_is_full(void **state)
{
	const tide_page_options opt = { .losses = "" };
	FILE *f = fopen("/dev/full", "w");
	if (!tide__page_built() || !f)
		skip();
	tide_model *m = some_model(11, 150, 50);
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(tide__page(m, &opt, f, NULL), TIDE_EIO);
	fclose(f);
	tide__model_free(m);
}

static void not_built(void **state)
{
	size_t n;
	tide_code rc;
	if (tide__page_built())
		skip();
	tide_model *m = some_model(11, 150, 50);
	free(page(m, &n, &rc));
	assert_int_equal(rc, TIDE_EUNSUPPORTED);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_small), cmocka_unit_test(names_stay_packed),
		cmocka_unit_test(memory_fails),	 cmocka_unit_test(empty_model),
		cmocka_unit_test(disk_is_full),	 cmocka_unit_test(not_built),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
