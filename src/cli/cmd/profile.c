// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* profile: run a program, record it, and tell what was slow, what was big and what to do.
 *
 * Recording is `tidemark run` in a process of its own, so that this command never has the
 * program's signals and memory; what follows reads the recording as every command does. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/advice/findings.h"
#include "base/error.h"
#include "cli/run/child.h"
#include "cli/cli.h"

enum { O_RECORDING, O_MEMORY, O_ITERATIONS, O_WARMUP, O_LIMIT, O_TOP, O_HTML, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_RECORDING] = { "recording", 'r', TIDE_OPT_FILE, "FILE", "where to record",
			  .def = "profile.tide" },
	[O_MEMORY] = { "memory", 'm', TIDE_OPT_FLAG, NULL,
		       "record and report memory only: the lowest cost" },
	[O_ITERATIONS] = { "iterations", 0, TIDE_OPT_INT, "N",
			   "runs of the program; the last one is reported, with wall times of all",
			   .def = "1", .least = 1, .most = 10000 },
	[O_WARMUP] = { "warmup", 0, TIDE_OPT_INT, "N", "unrecorded warm-up runs", .def = "0",
		       .most = 10000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end PROGRAM after this time, 0 = "
		      "never",
		      .def = "0" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table", .def = "10", .least = 1 },
	[O_HTML] = { "html", 0, TIDE_OPT_FILE, "FILE", "also write a page of the recording" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

typedef struct runs {
	int64_t n, least, most, sum; /* wall time, ns */
	int status;
	bool timed_out;
} runs;

/* ---- running ---- */

/* Not there, or not readable: said here, so that no message is about `run`. */
static bool missing(const char *name)
{
	bool path = strchr(name, '/') || tide__is_script(name);
	if (!path || access(name, R_OK) == 0)
		return false;
	fprintf(stderr, "tidemark profile: %s: %s\n", name, strerror(errno));
	return true;
}

static void count(runs *r, const tide_child *c)
{
	r->n++;
	r->sum += c->wall_ns;
	r->least = r->n == 1 || c->wall_ns < r->least ? c->wall_ns : r->least;
	r->most = c->wall_ns > r->most ? c->wall_ns : r->most;
	r->status = c->status;
	r->timed_out |= c->timed_out;
}

static void say_end(const tide_args *a, const runs *r)
{
	if (r->timed_out)
		tide__cli_note("%s was ended after %lld s; what was recorded until then is told",
			       a->files[0], (long long)a->opt[O_LIMIT].num);
	else if (r->status > 128)
		tide__cli_note("%s was ended by signal %d", a->files[0], r->status - 128);
	else if (r->status)
		tide__cli_note("%s ended with status %d", a->files[0], r->status);
}

/* 0; or a status that ends the command: nothing was or could be run. */
static int run_all(const tide_args *a, runs *r)
{
	static const char *const env[] = { TIDE_RUN_ASKED, NULL };
	const char *how[] = { a->opt[O_MEMORY].set ? "--no-ops" : NULL, NULL };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (missing(a->files[0]))
		return errno == ENOENT ? 127 : 126;
	unlink(a->opt[O_RECORDING].text);
	for (int64_t i = 0; i < a->opt[O_WARMUP].num + a->opt[O_ITERATIONS].num; i++) {
		bool warm = i < a->opt[O_WARMUP].num;
		char **recorded = tide__child_recorded(a->files, a->opt[O_RECORDING].text, how);
		tide_child c = { .argv = warm ? a->files : recorded,
				 .env = env,
				 .limit_s = a->opt[O_LIMIT].num };
		bool ran = recorded && tide__child_run("profile", &c);
		free(recorded);
		if (!ran) {
			tide__fail_errno(&err, "cannot start a process");
			return tide__cli_fail(NULL, &err);
		}
		if (!c.started)
			return c.status;
		if (!warm)
			count(r, &c);
		if (c.status || c.timed_out) {
			r->status = c.status;
			r->timed_out |= c.timed_out;
			break;
		}
	}
	say_end(a, r);
	return 0;
}

/* ---- telling: other commands on the recording, in this process ---- */

static int ask(const tide_args *a, const char *title, const char *const *words, FILE *out)
{
	char *argv[12];
	int n = 0;
	for (; words[n]; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	argv[n] = NULL;
	(void)a;
	if (title)
		fprintf(out, "\n%s\n", title);
	return tide__cli_ask(n, argv, NULL, out, tide__cli_errors());
}

static void tell_text(const tide_args *a, const runs *r)
{
	char mean[32], least[32], most[32];
	const char *file = a->opt[O_RECORDING].text, *top = a->opt[O_TOP].text;
	fprintf(a->out, "%s: %s of wall time", a->files[0],
		tide__fmt_ns(mean, sizeof mean, (double)r->sum / (double)r->n));
	if (r->n > 1)
		fprintf(a->out, " on average of %" PRId64 " runs (%s to %s)", r->n,
			tide__fmt_ns(least, sizeof least, (double)r->least),
			tide__fmt_ns(most, sizeof most, (double)r->most));
	fprintf(a->out, ", exit status %d, recorded in %s\n", r->status, file);
	if (!a->opt[O_MEMORY].set)
		ask(a, "Ops", (const char *[]){ "ops", "--flat", "--top", top, file, NULL },
		    a->out);
	ask(a, "Memory", (const char *[]){ "memory", file, NULL }, a->out);
	ask(a, "At the peak", (const char *[]){ "peak", "--top", top, file, NULL }, a->out);
	ask(a, "Advice", (const char *[]){ "advice", file, NULL }, a->out);
}

/* A document of another command, as a member. */
static void member(const tide_args *a, tide_json *j, const char *key, const char *const *words)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	int rc = to ? ask(a, NULL, words, to) : 1;
	if (to)
		fclose(to);
	tide__json_kraw(j, key, rc ? NULL : text, n);
	free(text);
}

static int tell_json(const tide_args *a, const runs *r)
{
	const char *file = a->opt[O_RECORDING].text, *top = a->opt[O_TOP].text;
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kstr(&j, "recording", file);
	tide__json_kint(&j, "exit_status", r->status);
	tide__json_kbool(&j, "timed_out", r->timed_out);
	tide__json_kint(&j, "runs", r->n);
	tide__json_kint(&j, "wall_ns", r->sum / r->n);
	tide__json_kint(&j, "wall_min_ns", r->least);
	tide__json_kint(&j, "wall_max_ns", r->most);
	if (!a->opt[O_MEMORY].set)
		member(a, &j, "ops",
		       (const char *[]){ "ops", "--flat", "--json", "--top", top, file, NULL });
	member(a, &j, "memory", (const char *[]){ "memory", "--json", file, NULL });
	member(a, &j, "peak", (const char *[]){ "peak", "--json", "--top", top, file, NULL });
	member(a, &j, "advice", (const char *[]){ "advice", "--json", file, NULL });
	tide__json_object_end(&j);
	return tide__cli_json_end(a, &j);
}

/* `tidemark report` in a process of its own: commands that are asked in this one write no files. */
static int write_page(const tide_args *a)
{
	char self[PATH_MAX];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	char *argv[] = { self,
			 (char *)(uintptr_t) "report",
			 (char *)(uintptr_t)a->opt[O_RECORDING].text,
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t)a->opt[O_HTML].text,
			 NULL };
	tide_child c = { .argv = argv };
	self[len > 0 ? len : 0] = 0;
	if (len > 0 && tide__child_run("profile", &c))
		return c.status;
	tide__fail_errno(&err, "cannot start a process");
	return tide__cli_fail(NULL, &err);
}

static int run(const tide_args *a)
{
	runs r = { 0 };
	int rc = run_all(a, &r);
	if (rc)
		return rc;
	if (access(a->opt[O_RECORDING].text, R_OK) || !r.n) {
		if (r.status != 126 && r.status != 127) /* it never ran, and that was said */
			tide__cli_note("nothing was recorded: %s did not use PyTorch%s",
				       a->files[0], r.status ? " before it ended" : "");
		return r.status ? r.status : 1;
	}
	if (a->opt[O_JSON].set)
		rc = tell_json(a, &r);
	else
		tell_text(a, &r);
	if (a->opt[O_HTML].set) {
		int page = write_page(a);
		rc = rc ? rc : page;
	}
	return r.status ? r.status : rc ? rc : tide__cli_done(a);
}

const tide_command tide__cmd_profile = {
	.name = "profile",
	.usage = "[--memory] [--] PROGRAM|SCRIPT.py [ARGUMENT]...",
	.summary = "run a PyTorch program and report what was slow and large, with advice",
	.help = "Records the program as `tidemark run` does, then shows its ops, its memory, the "
		"allocations alive at the peak, and advice. The program's output and exit status "
		"pass through. Options go first.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "program",
	.rest = true,
	.run = run,
};
