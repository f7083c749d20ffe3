// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* fit: searches for changes that make a program fit (python/hook/tidemark_fit.py runs it on virtual
 * devices under plans), then reports on the recordings; or reports on recordings that were kept. */
#include "report/predict/fit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/report_run.h"
#include "cli/run/child.h"
#include "cli/run/program_files.h"

enum { O_LIKE, O_STEPS, O_LIMIT, O_CONF, O_BATCH, O_LARGEST, O_JOBS, O_TIMES, O_KEEP, O_PLAN };
static const tide_option options[] = {
	[O_LIKE] = { "like", 'l', TIDE_OPT_TEXT, "NAME",
		     "the device to predict for, e.g. h200, a100, rtx4090" },
	[O_STEPS] = { "steps", 0, TIDE_OPT_INT, "N",
		      "end each run after this many steps of each optimizer, 0 = never", .def = "2",
		      .most = 1000000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end each run after this time, 0 = never", .def = "0", .most = 1000000 },
	[O_CONF] = { "alloc-conf", 0, TIDE_OPT_TEXT, "TEXT",
		     "PYTORCH_CUDA_ALLOC_CONF to simulate (default: the variable)" },
	[O_BATCH] = { "batch", 0, TIDE_OPT_INT, "N",
		      "replaces {} among the program's arguments; micro-batches are parts of it",
		      .least = 1, .most = 1000000000 },
	[O_LARGEST] = { "largest", 0, TIDE_OPT_FLAG, NULL,
			"find the largest number in place of {} that fits, unchanged; from --batch on" },
	[O_JOBS] = { "jobs", 0, TIDE_OPT_INT, "N", "runs at the same time", .def = "2", .least = 1,
		     .most = 64 },
	[O_TIMES] = { "times", 0, TIDE_OPT_FILE, "TRACE",
		      "take times of ops from this trace with shapes; others are scaled or estimated" },
	[O_KEEP] = { "keep", 'k', TIDE_OPT_FILE, "FOLDER", "keep the recordings and plans there" },
	[O_PLAN] = { "plan", 0, TIDE_OPT_FILE, "FILE",
		     "write the plan of the first answer, for `tidemark run --plan FILE`" },
};

struct search {
	const tide_args *a;
	const tide_value *v;
	char folder[PATH_MAX];
	char **files; /* owned: the recordings that it made */
	size_t n;
};

static bool is_recording(const char *name)
{
	size_t n = strlen(name);
	return n > 5 && !strcmp(name + n - 5, ".tide");
}

/* ---- the folder ---- */

static bool make_folder(struct search *s)
{
	const char *dir = getenv("TMPDIR");
	if (s->v[O_KEEP].set) {
		snprintf(s->folder, sizeof s->folder, "%s", s->v[O_KEEP].text);
		return !mkdir(s->folder, 0777) || errno == EEXIST;
	}
	snprintf(s->folder, sizeof s->folder, "%s/tidemark-fit-XXXXXX", dir && *dir ? dir : "/tmp");
	return mkdtemp(s->folder) != NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the recordings, in the order in which they were made. Returns false if memory runs out. */
static bool list_recordings(struct search *s)
{
	size_t cap = 0;
	DIR *d = opendir(s->folder);
	bool all = true;
	for (struct dirent *e; d && all && (e = readdir(d));) {
		if (!is_recording(e->d_name))
			continue;
		all = TIDE_ROOM(s->files, cap, s->n + 1) &&
		      asprintf(&s->files[s->n], "%s/%s", s->folder, e->d_name) >= 0;
		s->n += all;
	}
	if (d)
		closedir(d);
	if (s->n)
		qsort(s->files, s->n, sizeof *s->files, by_name);
	return all;
}

/* Removes what the search left, unless it is kept. */
static void remove_folder(const struct search *s)
{
	char path[PATH_MAX + 300];
	DIR *d = s->v[O_KEEP].set ? NULL : opendir(s->folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", s->folder, e->d_name);
		if (e->d_name[0] != '.')
			unlink(path);
	}
	if (!d)
		return;
	closedir(d);
	rmdir(s->folder);
}

/* ---- the search ---- */

/* Returns the Python that runs the search: the program's, or the one that runs scripts. Borrowed. */
static char *find_python(const tide_args *a)
{
	const char *slash = strrchr(a->files[0], '/');
	bool python = !strncmp(slash ? slash + 1 : a->files[0], "python", 6);
	return python ? a->files[0] : tide__python_name();
}

/* Adds a word and its value. */
static size_t add_pair(char **v, size_t at, const char *name, char *value)
{
	v[at++] = (char *)(uintptr_t)name;
	v[at++] = value;
	return at;
}

/* Returns the command line of the search. Owned: tide__free; words are borrowed. */
static char **make_command(const struct search *s, char *script, char *self, char *capacity)
{
	static char dashes[] = "--", largest[] = "--largest", json[] = "--json";
	const tide_value *v = s->v, *budget = tide__cli_option(s->a, "budget");
	char **w = tide__calloc(s->a->n_files + 32, sizeof *w);
	size_t n = 0;
	if (!w)
		return NULL;
	w[n++] = find_python(s->a);
	w[n++] = script;
	n = add_pair(w, n, "--tidemark", self);
	n = add_pair(w, n, "--dir", (char *)(uintptr_t)s->folder);
	static const struct {
		int option;
		const char *name;
	} pairs[] = { { O_LIKE, "--like" },	  { O_STEPS, "--steps" }, { O_LIMIT, "--timeout" },
		      { O_CONF, "--alloc-conf" }, { O_BATCH, "--batch" }, { O_JOBS, "--jobs" },
		      { O_TIMES, "--times" } };
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (v[pairs[i].option].given)
			n = add_pair(w, n, pairs[i].name,
				     (char *)(uintptr_t)v[pairs[i].option].text);
	if (budget->set)
		n = add_pair(w, n, "--capacity", capacity);
	if (v[O_LARGEST].set)
		w[n++] = largest;
	if (tide__cli_option(s->a, "json")->set)
		w[n++] = json;
	w[n++] = dashes;
	memcpy(w + n, s->a->files, s->a->n_files * sizeof *w);
	return w;
}

static int run_search(const struct search *s)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	char hook[PATH_MAX], script[PATH_MAX + 32], self[PATH_MAX], capacity[32];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	if (!tide__hook_folder_find(hook, sizeof hook) || len <= 0) {
		tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			   "the Python hook is not installed beside this program");
		return tide__cli_fail(NULL, &err);
	}
	self[len] = 0;
	snprintf(script, sizeof script, "%s/tidemark_fit.py", hook);
	snprintf(capacity, sizeof capacity, "%" PRId64, tide__cli_option(s->a, "budget")->num);
	tide_child c = { .argv = make_command(s, script, self, capacity),
			 .out_to_err = !s->v[O_LARGEST].set };
	if (!c.argv)
		return tide__cli_fail(NULL, &err);
	bool ran = tide__child_run("fit", &c);
	tide__free(c.argv);
	return !ran ? 1 : c.status;
}

/* Writes the plan of the best answer; one without changes if none are needed. */
static int write_plan(const struct search *s, const tide_report *r)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const char *plan = tide__fit_plan(r), *name = s->v[O_PLAN].text;
	if (!plan && !tide__fit_fits(r)) {
		tide__cli_note("tidemark fit: %s is not written: no plan fits", name);
		return 1;
	}
	FILE *f = fopen(name, "w");
	if (f)
		fprintf(f, "# tidemark run --plan %s -- PROGRAM\n%s", name,
			plan ? plan : "# It fits as it is: nothing has to change.\n");
	if (f && !fclose(f))
		return 0;
	tide__fail_errno(&err, "cannot be written");
	return tide__cli_fail(name, &err);
}

static int report_on(const struct search *s, char **files, size_t n)
{
	tide_report *r = NULL;
	int rc = tide__cli_answer_all(s->a, files, NULL, n, &r);
	if (!rc && s->v[O_PLAN].set)
		rc = write_plan(s, r);
	if (!rc && !tide__fit_fits(r))
		rc = 1;
	tide_report_free(r);
	return rc;
}

static int search(struct search *s)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	if (!make_folder(s)) {
		tide__fail_errno(&err, "cannot make a folder for recordings");
		return tide__cli_fail(s->folder, &err);
	}
	int rc = run_search(s);
	if (!rc && !s->v[O_LARGEST].set)
		rc = list_recordings(s) ? report_on(s, s->files, s->n) : tide__cli_fail(NULL, &err);
	remove_folder(s);
	for (size_t i = 0; i < s->n; i++)
		free(s->files[i]);
	tide__free(s->files);
	return rc;
}

static int run(const tide_args *a)
{
	struct search s = { .a = a, .v = tide__cli_more(a) };
	bool braces = false;
	if (is_recording(a->files[0]))
		return report_on(&s, a->files, a->n_files);
	for (size_t i = 0; i < a->n_files; i++)
		braces |= strstr(a->files[i], "{}") != NULL;
	if (braces && !s.v[O_BATCH].set)
		return tide__cli_fail_usage(a, "{} is replaced by a size: give --batch N");
	if (!braces && (s.v[O_BATCH].set || s.v[O_LARGEST].set))
		return tide__cli_fail_usage(
			a, "write {} among the program's arguments, where the size goes");
	if (!tide__cli_option(a, "budget")->set && !s.v[O_LIKE].set)
		return tide__cli_fail_usage(a, "give --budget SIZE, or --like NAME");
	return search(&s);
}

const tide_command tide__cmd_fit = {
	.usage =
		"--budget SIZE [--like NAME] [--apply] [--plan FILE] -- PROGRAM [ARGUMENT]... | RECORDING...",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.wants = "program or recordings",
	.max_files = SIZE_MAX,
	.run = run,
};
