// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of losses: rows refer to rows, renamed keys are found in both directions, and a fact is
 * a loss only with a value. */
#include <string.h>

#include "model/losses.h"
#include "testing.h"

static void test_rows_refer_to_rows(void **state)
{
	(void)state;
	for (size_t i = 0; tide__loss_kind_at(i); i++) {
		const tide_loss_kind *k = tide__loss_kind_at(i);
		if (tide__loss_kind_of(k->key) != k)
			fail_msg("two rows for %s", k->key);
		if (k->why && !tide__loss_kind_of(k->why))
			fail_msg("%s: no row for its reason %s", k->key, k->why);
		if (!!k->why != (k->text && strstr(k->text, "%t")))
			fail_msg("%s: the sentence and the reason do not fit", k->key);
		for (size_t c = 0; c < 3 && k->covered_by[c]; c++)
			if (!tide__loss_kind_of(k->covered_by[c]))
				fail_msg("%s: no row for %s", k->key, k->covered_by[c]);
		size_t n = strlen(k->key);
		if (k->place != (n > 3 && !strcmp(k->key + n - 3, "_at")))
			fail_msg("%s: positions, and only they, end in _at", k->key);
	}
	assert_null(tide__loss_kind_of("nothing"));
}

static void test_facts(void **state)
{
	static const struct {
		const char *key;
		int64_t number;
		bool loss;
	} rows[] = {
		{ "loss.events", 3, true },
		{ "loss.gaps", 0, false },
		{ "lossy", 3, false },
		{ "recorder.lost", 3, false },
	};
	tide_model *m = tide__model_new();
	tide_loss x;
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_true(tide__fact_set_number(m, rows[i].key, rows[i].number));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (tide__loss_at(m, (size_t)tide__fact_find(m, rows[i].key), &x) != rows[i].loss)
			fail_msg("%s", rows[i].key);
	assert_true(tide__fact_text(m, "loss.damage", "cut"));
	assert_true(tide__loss_at(m, (size_t)tide__fact_find(m, "loss.damage"), &x));
	assert_string_equal(x.key, "damage");
	assert_memory_equal(x.text, "cut", x.n);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_refer_to_rows),
		cmocka_unit_test(test_facts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
