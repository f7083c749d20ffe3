// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reports of watched folders: names that are added, removed and renamed, changed content, lost
 * events, limits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/store/watch.h"
#include "testing.h"

static char folder[64];
static char seen[4096]; /* names of reported files, each once, with spaces around */

static void on_file(void *user, const char *path)
{
	char name[300];
	snprintf(name, sizeof name, " %s ", path + strlen(folder) + 1);
	if (!strstr(seen, name) && strlen(seen) + strlen(name) < sizeof seen)
		strcat(seen, name);
}

static bool take(tide_watch *w)
{
	seen[0] = 0;
	return tide__watch_take(w, on_file, NULL);
}

static char *in(const char *name)
{
	static char path[4][400];
	static int at;
	at = (at + 1) % 4;
	snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
	return path[at];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in(name), "a");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	strcpy(folder, "/tmp/tidemark-watch-XXXXXX");
	assert_non_null(mkdtemp(folder));
	tide_watch *w = tide__watch_new();
	assert_non_null(w);
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_end(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	char command[128];
	tide__watch_free(*state);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

/* Ends the test if other processes hold every instance or watch of inotify: the list polls then, and
 * says so. */
static void needs_events(tide_watch *w)
{
	const char *why;
	if (!tide__watch_polls(w, &why))
		return;
	assert_true(!strcmp(why, "the kernel has no inotify instance left for this user") ||
		    !strcmp(why, "the limit fs.inotify.max_user_watches is reached"));
	put("a.tide", "x");
	assert_false(take(w));
	assert_string_equal(seen, "");
	print_message("skipped: events of folders: %s\n", why);
	skip();
}

static void names_and_content(void **state)
{
	tide_watch *w = *state;
	needs_events(w);
	assert_false(take(w)); /* nothing happened */
	put("a.tide", "x");
	assert_true(take(w)); /* came */
	put("a.tide", "y");
	assert_false(take(w)); /* changed: no new list, but this file is reported */
	assert_string_equal(seen, " a.tide ");
	assert_int_equal(rename(in("a.tide"), in("b.tide")), 0);
	assert_true(take(w));
	unlink(in("b.tide"));
	assert_true(take(w));
	put(".hidden", "x");
	assert_false(take(w));
	assert_string_equal(seen, "");
}

static void folders_come_and_go(void **state)
{
	tide_watch *w = *state;
	const char *why;
	needs_events(w);
	mkdir(in("sub"), 0700);
	assert_true(take(w));
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_add_folder(w, in("sub"));
	tide__watch_add_folder(w, in("not there"));
	tide__watch_end(w);
	assert_false(tide__watch_polls(w, &why));
	put("sub/c.tide", "x");
	assert_true(take(w));
	assert_int_equal(rename(in("sub"), in("moved")), 0);
	assert_true(take(w));
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_add_folder(w, in("moved"));
	tide__watch_end(w);
	take(w);
	put("moved/c.tide", "y");
	assert_false(take(w));
	assert_string_equal(seen, " moved/c.tide "); /* by its current name */
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_end(w); /* the other is no longer watched */
	take(w);
	put("moved/c.tide", "z");
	assert_false(take(w));
	assert_string_equal(seen, "");
	assert_int_equal(unlink(in("moved/c.tide")) | rmdir(in("moved")), 0);
	assert_true(take(w));
}

/* More events than the kernel keeps: the list has to be made again. */
static void overflow(void **state)
{
	tide_watch *w = *state;
	long most = 16384;
	needs_events(w);
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	if (f && fscanf(f, "%ld", &most) != 1)
		most = 16384;
	if (f)
		fclose(f);
	if (most > 100000)
		skip();
	put("a.tide", "x");
	put("b.tide", "x");
	assert_true(take(w));
	for (long i = 0; i < most / 2 + 100;
	     i++) { /* attributes of two files alternately, so that no events merge */
		chmod(in("a.tide"), 0600);
		chmod(in("b.tide"), 0600);
	}
	assert_true(take(w));
	put("a.tide", "x"); /* and continues */
	assert_false(take(w));
	assert_string_equal(seen, " a.tide ");
}

/* Polls without a descriptor for inotify, and for files whose folder is not watched. */
static void polls(void **state)
{
	struct rlimit was, none;
	const char *why = NULL;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	tide_watch *w = tide__watch_new();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_end(w);
	assert_true(tide__watch_polls(w, &why));
	assert_non_null(why);
	assert_false(take(w));
	tide__watch_free(w);
	w = *state;
	needs_events(w);
	tide__watch_begin(w);
	tide__watch_add_folder(w, folder);
	tide__watch_add_unknown(w);
	tide__watch_end(w);
	assert_true(tide__watch_polls(w, &why));
	assert_null(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_and_content, setup, teardown),
		cmocka_unit_test_setup_teardown(folders_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(polls, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
