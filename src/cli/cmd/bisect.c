// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* bisect: finds the commit that raised the predicted peak of a program. python/hook/tidemark_bisect.py
 * does the work; this file passes its options. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/run/child.h"
#include "cli/run/program_files.h"

enum { O_GOOD, O_BAD, O_LIKE, O_CAPACITY, O_STEPS, O_LIMIT, O_LEAST, O_JSON };
static const tide_option options[] = {
	[O_GOOD] = { "good", 'g', TIDE_OPT_TEXT, "COMMIT", "a commit with the lower peak" },
	[O_BAD] = { "bad", 'b', TIDE_OPT_TEXT, "COMMIT", "a later one with the higher peak",
		    .def = "HEAD" },
	[O_LIKE] = { "like", 'l', TIDE_OPT_TEXT, "NAME",
		     "the device to predict for, e.g. h200, a100, rtx4090" },
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE", "its memory" },
	[O_STEPS] = { "steps", 0, TIDE_OPT_INT, "N",
		      "end each run after this many steps of each optimizer, 0 = never", .def = "2",
		      .most = 1000000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end each run after this time, 0 = never", .def = "0", .most = 1000000 },
	[O_LEAST] = { "least", 0, TIDE_OPT_BYTES, "SIZE", "smaller growth is none", .def = "2MiB",
		      .least = 1 },
	[O_JSON] = TIDE_OPTION_JSON,
};

/* Returns the command line of the search. Owned: tide__free; words are borrowed. */
static char **make_command(const tide_args *a, char *script, char *self, char *least)
{
	static char dashes[] = "--", json[] = "--json";
	static const struct {
		int option;
		const char *name;
	} pairs[] = {
		{ O_GOOD, "--good" },	      { O_BAD, "--bad" },     { O_LIKE, "--like" },
		{ O_CAPACITY, "--capacity" }, { O_STEPS, "--steps" }, { O_LIMIT, "--timeout" }
	};
	char **w = tide__calloc(a->n_files + 32, sizeof *w);
	const char *slash = strrchr(a->files[0], '/');
	bool python = !strncmp(slash ? slash + 1 : a->files[0], "python", 6);
	size_t n = 0;
	if (!w)
		return NULL;
	w[n++] = python ? a->files[0] : tide__python_name();
	w[n++] = script;
	w[n++] = (char *)(uintptr_t) "--tidemark";
	w[n++] = self;
	w[n++] = (char *)(uintptr_t) "--least";
	w[n++] = least;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const tide_value *v = &a->opt[pairs[i].option];
		if (!v->text)
			continue;
		w[n++] = (char *)(uintptr_t)pairs[i].name;
		w[n++] = (char *)(uintptr_t)v->text;
	}
	if (a->opt[O_JSON].set)
		w[n++] = json;
	w[n++] = dashes;
	memcpy(w + n, a->files, a->n_files * sizeof *w);
	return w;
}

static int run(const tide_args *a)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	char hook[PATH_MAX], script[PATH_MAX + 32], self[PATH_MAX], least[32];
	if (!a->opt[O_GOOD].set)
		return tide__cli_fail_usage(a, "--good COMMIT is missing");
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	if (!tide__hook_folder_find(hook, sizeof hook) || len <= 0) {
		tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			   "the Python hook is not installed beside this program");
		return tide__cli_fail(NULL, &err);
	}
	self[len] = 0;
	snprintf(script, sizeof script, "%s/tidemark_bisect.py", hook);
	snprintf(least, sizeof least, "%" PRId64, a->opt[O_LEAST].num);
	tide_child c = { .argv = make_command(a, script, self, least) };
	if (!c.argv)
		return tide__cli_fail(NULL, &err);
	bool ran = tide__child_run("bisect", &c);
	tide__free(c.argv);
	return ran ? c.status : 1;
}

const tide_command tide__cmd_bisect = {
	.name = "bisect",
	.usage = "--good COMMIT [--bad COMMIT] [--like NAME] -- PROGRAM [ARGUMENT]...",
	.summary = "find the commit that raised the predicted peak of a program",
	.help = "Commits of the Git repository in this folder are checked out into a worktree in a "
		"temporary folder, and the program runs there on virtual devices, as with `tidemark "
		"predict`: no GPU is needed, and the checkout stays as it is. The commit at which the "
		"peak crosses the middle between the two is found by halving. Its recording and that "
		"of its parent are compared: by line, module and op. Commits at which the program fails "
		"are left out. The exit status is 1 if the peak did not grow.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "program",
	.run = run,
	.passes_status = true,
};
