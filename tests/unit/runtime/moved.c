// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A recording whose path no longer leads to it: its folder is moved, or the program changes its
 * root. The file is complete where it is now, and tide_stop names the ring file that stays there.
 * Each case runs in its own child. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/record.h>

#include "import/import.h"
#include "testing.h"

enum { SKIP = 77, EVENTS = 1000 };

static char top[64];

static void in_top(char *out, size_t n, const char *name)
{
	snprintf(out, n, "%s/%s", top, name);
}

static bool move_folder(void)
{
	char from[96], to[96];
	in_top(from, sizeof from, "before");
	in_top(to, sizeof to, "after");
	return rename(from, to) == 0;
}

static bool change_root(void)
{
	char to[96];
	in_top(to, sizeof to, "before");
	if (chroot(to) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(to) != 0))
		exit(SKIP); /* neither root nor allowed to become it in a name space */
	return chdir("/") == 0;
}

static bool stay(void)
{
	return true;
}

/* Records in TOP/before, calls `leave` half-way, and stops. Prints the error of tide_stop. */
static int record(bool (*leave)(void))
{
	char path[96];
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error err = { 0 };
	in_top(path, sizeof path, "before/t.tide");
	if (tide_start(path, &o, &err) != TIDE_OK)
		return 10;
	for (int i = 0; i < EVENTS; i++) {
		tide_mark(TIDE_STEP, tide_intern("step"), (uint64_t)i);
		if (i == EVENTS / 2 && !leave())
			return 11;
	}
	tide_code rc = tide_stop(&err);
	if (rc == TIDE_OK)
		return 0;
	bool named = strstr(err.text, "no longer at that path") && strstr(err.text, "t.tide-rings");
	return rc == TIDE_EIO && named ? 1 : 12;
}

/* Returns the marks in the file that is in `folder` now; 0 if it cannot be read. */
static size_t marks_in(const char *folder)
{
	char path[128];
	tide_load_options opt = { 0 };
	tide_model *m = NULL;
	snprintf(path, sizeof path, "%s/%s/t.tide", top, folder);
	size_t n = tide__load(path, &opt, &m, NULL) == TIDE_OK ? m->marks.n - 1 : 0;
	tide__model_free(m);
	return n;
}

static bool rings_in(const char *folder)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s/t.tide-rings", top, folder);
	return access(path, F_OK) == 0;
}

static void test_left_behind(void **state)
{
	static const struct {
		const char *name;
		bool (*leave)(void);
		const char *folder; /* where the files are at the end */
		bool left;	    /* the ring file stays, and tide_stop says so */
	} rows[] = { { "stay", stay, "before", false },
		     { "folder moved", move_folder, "after", true },
		     { "root changed", change_root, "before", true } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char folder[96];
		int status;
		snprintf(top, sizeof top, "/tmp/tide_moved_XXXXXX");
		assert_non_null(mkdtemp(top));
		in_top(folder, sizeof folder, "before");
		assert_int_equal(mkdir(folder, 0700), 0);
		pid_t pid = fork();
		if (!pid)
			_exit(record(rows[i].leave));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP) {
			print_message("skipped: this user may not change its root\n");
		} else {
			if (status != rows[i].left << 8)
				fail_msg("%s: status %x", rows[i].name, (unsigned)status);
			assert_int_equal(rings_in(rows[i].folder), rows[i].left);
			assert_int_equal(marks_in(rows[i].folder), EVENTS);
		}
		char command[128];
		snprintf(command, sizeof command, "rm -rf '%s'", top);
		assert_int_equal(system(command), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_left_behind) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
