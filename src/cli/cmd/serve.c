// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* serve: the dashboard. Lists files, prints the address, waits for a signal. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job/ranks.h"
#include "serve/http/listen.h"
#include "serve/server.h"

enum { O_PORT, O_BIND, O_TOKEN, O_NO_TOKEN, O_HOST, O_LINKS };
static const tide_option options[] = {
	[O_PORT] = { "port", 'p', TIDE_OPT_INT, "N", "port, 0 = any free one", .def = "6970",
		     .most = 65535 },
	[O_BIND] = { "bind", 'b', TIDE_OPT_TEXT, "ADDR",
		     "address to listen on (default 127.0.0.1: this machine only)" },
	[O_TOKEN] = { "token", 't', TIDE_OPT_TEXT, "TOKEN",
		      "token that clients must send; by default one is created and stored for "
		      "this user" },
	[O_NO_TOKEN] = { "no-token", 0, TIDE_OPT_FLAG, NULL,
			 "require no token: every user of this machine can read the recordings" },
	[O_HOST] = { "host", 0, TIDE_OPT_TEXT, "NAME",
		     "a name that clients may use for this machine, in addition to addresses" },
	[O_LINKS] = { "follow-links", 0, TIDE_OPT_FLAG, NULL,
		      "also serve files of a folder that are links out of it" },
};

/* Returns true if the file, with links resolved, is in the folder. A file given as an argument
 * may be a link; a file in a folder must not lead out of it, unless --follow-links allows it. */
static bool inside(const char *folder, const char *path)
{
	char *in = realpath(folder, NULL), *real = realpath(path, NULL);
	size_t n = in ? strlen(in) : 0;
	bool ok =
		in && real && !strncmp(real, in, n) && (real[n] == '/' || (n && in[n - 1] == '/'));
	free(in);
	free(real);
	return ok;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Says once that files are left out: other commands read them. */
static void tell_outside(const char *folder, size_t n)
{
	static bool said; /* one thread lists */
	if (!said && n)
		tide__cli_note("tidemark serve: %s: %zu file%s not served: %s out of the folder "
			       "(--follow-links serves them)",
			       folder, n, n == 1 ? " is" : "s are",
			       n == 1 ? "a link that leads" : "links that lead");
	said |= n != 0;
}

/* Adds every file of one argument. An empty folder or a missing file is not an error: recordings
 * may appear later. */
static bool list_one(char *arg, bool links, bool (*add)(void *to, const char *path),
		     void (*folder)(void *to, const char *path), void *to)
{
	tide_rank_files files;
	tide_error err;
	bool ok = true;
	tide_code rc = tide__ranks_find_in_folders(&arg, 1, folder, to, &files, &err);
	if (rc != TIDE_OK)
		return rc == TIDE_ENOTFOUND;
	bool in_folder = !links && is_folder(arg);
	size_t outside = 0;
	for (size_t i = 0; ok && i < files.n; i++)
		if (in_folder && !inside(arg, files.v[i].path))
			outside++;
		else
			ok = add(to, files.v[i].path);
	tell_outside(arg, outside);
	tide__ranks_free(&files);
	return ok;
}

static bool list(void *user, bool (*add)(void *to, const char *path),
		 void (*folder)(void *to, const char *path), void *to)
{
	const tide_args *a = user;
	static char here[] = ".";
	bool ok = true, links = a->opt[O_LINKS].set;
	if (!a->n_files)
		return list_one(here, links, add, folder, to);
	for (size_t i = 0; ok && i < a->n_files; i++)
		ok = list_one(a->files[i], links, add, folder, to);
	return ok;
}

static void note(void *user, const char *line)
{
	tide__cli_note("tidemark serve: %s", line);
}

/* Reports arguments that do not exist at once. */
static int check_files(const tide_args *a)
{
	struct stat st;
	for (size_t i = 0; i < a->n_files; i++)
		if (stat(a->files[i], &st) && !strpbrk(a->files[i], "*?[")) {
			tide__cli_note("tidemark serve: %s: no such file or folder", a->files[i]);
			return 1;
		}
	return 0;
}

static int wait_for_end(tide_server *s, const sigset_t *ends)
{
	int sig;
	char url[512];
	printf("serving at %s\n", tide__server_url(s, url, sizeof url));
	fflush(stdout);
	while (sigwait(ends, &sig))
		;
	if (!tide__server_stop(s)) {
		fflush(stdout);
		_exit(0); /* a thread is still reading: its data must not be freed */
	}
	return 0;
}

static int run(const tide_args *a)
{
	const tide_value *v = a->opt;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_server *s;
	sigset_t ends;
	if (v[O_TOKEN].set && !tide__token_fine(v[O_TOKEN].text))
		return tide__cli_fail_usage(a, "--token needs %d to %d letters, digits, - or _",
					    TIDE_TOKEN_LEAST, TIDE_TOKEN_MOST);
	if (v[O_TOKEN].set && v[O_NO_TOKEN].set)
		return tide__cli_fail_usage(a, "--token and --no-token exclude each other");
	if (check_files(a))
		return 1;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* block them in all threads: we wait for them */
	signal(SIGPIPE, SIG_IGN);
	tide_server_options opt = { .address = v[O_BIND].text,
				    .port = (uint16_t)v[O_PORT].num,
				    .token = v[O_TOKEN].text,
				    .no_token = v[O_NO_TOKEN].set,
				    .host = v[O_HOST].text,
				    .max_bytes = tide__mem_budget_now(),
				    .list = list,
				    .note = note,
				    .user = (void *)(uintptr_t)a };
	tide_code rc = tide__server_start(&opt, &s, &err);
	if (rc == TIDE_EUSAGE)
		return tide__cli_fail_usage(a, "%s", err.text);
	return rc == TIDE_OK ? wait_for_end(s, &ends) : tide__cli_fail(NULL, &err);
}

const tide_command tide__cmd_serve = {
	.name = "serve",
	.usage = "[FILE|FOLDER]... [--port N] [--bind ADDR] [--token TOKEN|--no-token]",
	.summary = "show recordings in a browser, also live ones",
	.help = "Serves a page and a JSON API over the given recordings, those in the given "
		"folders, or those below the current folder. A recording is read on the first "
		"request, and again when its file changes; one that is still being written is "
		"followed. Only this machine can connect unless --bind names another address. "
		"Clients need the token in the printed address; it is stored for this user, so "
		"that the address still works after a restart.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 0,
	.max_files = SIZE_MAX,
	.run = run,
};
