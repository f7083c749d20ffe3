// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Comparing the two files of a Tenstorrent run: equal ones in any layout and size, and each way in
 * which they can differ. */
#include "cli/cmd/tt_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#define A "{\"index\": 0, \"loc\": \"a\", \"input_shapes\": [\"2x2\"], \"output_shapes\": []}"
#define B "{\"loc\": \"b\", \"index\":1, \"input_shapes\": [ ], \"output_shapes\": []}"

static void write_file(char *path, const char *head, const char *body, size_t repeat,
		       const char *tail)
{
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	assert_non_null(f);
	fputs(head, f);
	for (size_t i = 0; i < repeat; i++)
		fprintf(f, "%s%s", i ? "," : "", body);
	fputs(tail, f);
	assert_int_equal(fclose(f), 0);
}

static tide_code check(const char *memory, const char *operations, size_t repeat, size_t *n,
		       size_t *no_shapes, tide_error *err)
{
	char m[] = "/tmp/tt_check_XXXXXX", o[] = "/tmp/tt_check_XXXXXX";
	write_file(m, "{\"metadata\": {\"programs\": []},\n \"operations\": [", memory, repeat,
		   "]}");
	write_file(o, "[", operations, repeat, "]\n");
	tide_code rc = tide__tt_check(m, o, n, no_shapes, err);
	unlink(m);
	unlink(o);
	return rc;
}

static void rows(void **state)
{
	static const struct {
		const char *memory, *operations, *error;
		size_t repeat, n, no_shapes;
	} rows[] = {
		{ "", "", "", 0, 0, 0 },
		{ A "," B, A ", \n" B, "", 1, 2, 1 },
		{ A, A, "", 9000, 9000, 0 }, /* more than one read */
		{ A, A "," B, "Mismatched lengths - one file ends after 1 operations", 1, 1, 0 },
		{ A "," A, A "," B, "Index mismatch at position 1", 1, 1, 0 },
		{ A, "{\"index\": 0, \"loc\": \"b\"}", "Location mismatch at index 0", 1, 0, 0 },
		{ A, "{\"index\": 0", "cannot read it back: not JSON", 1, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n, no_shapes;
		tide_error err = { 0 };
		tide_code rc = check(rows[i].memory, rows[i].operations, rows[i].repeat, &n,
				     &no_shapes, &err);
		if ((rc != TIDE_OK) != (*rows[i].error != 0) || n != rows[i].n ||
		    no_shapes != rows[i].no_shapes || strcmp(err.text, rows[i].error))
			fail_msg("row %zu: %d, %zu, %zu, %s", i, rc, n, no_shapes, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
