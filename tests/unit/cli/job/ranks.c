// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* From arguments to rank files, and files to processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/job/distribute.h"
#include "testing.h"

static void test_rank_in_name(void **state)
{
	static const struct {
		const char *path;
		int64_t rank;
	} rows[] = {
		{ "rank-12.Apr_03.pt.trace.json.gz", 12 },
		{ "dir/trace_rank_3.json", 3 },
		{ "rank7.json", 7 },
		{ "Rank.8.json", 8 },
		{ "rank-5/trace.json", -1 },
		{ "frank.json", -1 },
		{ "rank1_of_rank16.json", 16 },
		{ "x.json", -1 },
		{ "rank99999999999999999999.json", 999999999 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (tide__rank_in_name(rows[i].path) != rows[i].rank)
			fail_msg("%s: %lld", rows[i].path,
				 (long long)tide__rank_in_name(rows[i].path));
}

static void test_assign(void **state)
{
	const uint64_t size[] = { 1, 9, 5, 5, 4, 0 };
	const int want[] = { 0, 0, 1, 1, 0, 1 }; /* 9+4+1 = 14 on 0; 5+5+0 on 1 */
	int owner[6];
	uint64_t load[2] = { 0 };
	assert_true(tide__distribute_assign(size, 6, 2, owner));
	for (int i = 0; i < 6; i++)
		load[owner[i]] += size[i];
	assert_true(load[0] + load[1] == 24 && load[0] <= 14 && load[1] <= 14);
	assert_int_equal(owner[1], want[1]);
	assert_int_equal(owner[2], want[2]);
	assert_true(tide__distribute_assign(size, 6, 1, owner));
	for (int i = 0; i < 6; i++)
		assert_int_equal(owner[i], 0);
	assert_true(tide__distribute_assign(size, 0, 3, owner));
}

static void touch(const char *dir, const char *name)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(name, f);
	fclose(f);
}

typedef tide_code expander(char *const *args, size_t n, tide_rank_files *out, tide_error *err);

static void check_by(expander *expand, const char *row, const char *arg, const char *dir,
		     const char *want)
{
	tide_rank_files f;
	tide_error err;
	char got[500] = "";
	char *args[] = { (char *)(uintptr_t)arg };
	if (expand(args, 1, &f, &err) != TIDE_OK)
		snprintf(got, sizeof got, "error");
	for (size_t i = 0; i < f.n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s ",
			 f.v[i].path + strlen(dir) + 1);
	if (strcmp(got, want))
		fail_msg("%s: got '%s', not '%s'", row, got, want);
	tide__ranks_free(&f);
}

static void check_expand(const char *row, const char *arg, const char *dir, const char *want)
{
	check_by(tide__ranks_expand, row, arg, dir, want);
}

static void test_expand(void **state)
{
	char dir[] = "/tmp/tide-ranks-XXXXXX", path[300];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/sub", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	touch(dir, "rank-10.json");
	touch(dir, "rank-9.json.gz");
	touch(dir, "README");
	touch(dir, "m.pickle.gz");
	touch(dir, ".hidden.json");
	touch(dir, "[odd].json");
	touch(path, "a.tide");
	touch(path, "a.tide-rings");
	snprintf(path, sizeof path, "%s/loop", dir);
	assert_int_equal(symlink(dir, path), 0);
	check_expand("a folder", dir, dir, "[odd].json rank-9.json.gz rank-10.json sub/a.tide ");
	check_by(tide__ranks_expand_all, "a folder with its snapshots", dir, dir,
		 "[odd].json m.pickle.gz rank-9.json.gz rank-10.json sub/a.tide ");
	snprintf(path, sizeof path, "%s/rank*", dir);
	check_expand("a pattern", path, dir, "rank-9.json.gz rank-10.json ");
	snprintf(path, sizeof path, "%s/README", dir);
	check_expand("a file is itself", path, dir, "README ");
	snprintf(path, sizeof path, "%s/[odd].json", dir);
	check_expand("a file that looks like a pattern", path, dir, "[odd].json ");
	snprintf(path, sizeof path, "%s/none*", dir);
	check_expand("nothing matches", path, dir, "error");
	snprintf(path, sizeof path, "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rank_in_name),
		cmocka_unit_test(test_assign),
		cmocka_unit_test(test_expand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
