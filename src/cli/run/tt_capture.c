// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The program is started directly, without a shell, so its exit status is passed through. */
#include "cli/run/tt_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/now.h"
#include "cli/cli.h"
#include "cli/run/child.h"

/* ---- the folder ---- */

static bool make_parents(const char *path)
{
	char part[4096];
	if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
		return false;
	for (char *c = part + 1; *c; c++)
		if (*c == '/') {
			*c = 0;
			if (mkdir(part, 0777) && errno != EEXIST)
				return false;
			*c = '/';
		}
	return !mkdir(part, 0777) || errno == EEXIST;
}

tide_code tide__tt_create_folder(const char *base, const char *name, char *out, size_t n,
				 tide_error *err)
{
	enum { TRIES = 3600 };
	time_t now = time(NULL);
	if (!make_parents(base))
		return tide__fail_errno(err, "cannot make the folder %s", base);
	for (int i = 0; i < TRIES; i++) {
		time_t t = now + i;
		struct tm tm;
		char stamp[32];
		strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", gmtime_r(&t, &tm));
		if ((size_t)snprintf(out, n, "%s/%s_%s", base, name, stamp) >= n)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "the path is too long");
		if (!mkdir(out, 0777))
			return TIDE_OK;
		if (errno != EEXIST)
			return tide__fail_errno(err, "cannot make the folder %s", out);
	}
	return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "every name of a folder is taken in %s",
			  base);
}

/* ---- the program ---- */

static void become(char **argv, int out)
{
	static const char *const set[][2] = {
		{ "TTMLIR_RUNTIME_LOGGER_LEVEL", "DEBUG" },
		{ "TT_RUNTIME_MEMORY_LOG_LEVEL", "operation" },
		{ "TTXLA_LOGGER_LEVEL", "DEBUG" },
		{ "PYTHONUNBUFFERED", "1" },
	};
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		setenv(set[i][0], set[i][1], 1);
	unsetenv("TTMLIR_RUNTIME_LOGGER_FILE");	 /* remove it, so that the log comes here */
	unsetenv("TTMLIR_RUNTIME_LOGGER_TYPES"); /* lines of every type */
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	tide__cli_note("tidemark tt: %s: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static bool put_all(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t k = write(fd, s, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		s += k;
		n -= (size_t)k;
	}
	return true;
}

typedef struct copy {
	int from, log, shown; /* shown: where the output is passed on to */
	FILE *times;
	uint64_t bytes;
	bool mute; /* our output is closed: only the log is written */
} copy;

/* Copies one piece of output. Returns false at the end. */
static bool pass(copy *c, tide_code *rc, tide_error *err)
{
	static char buf[1 << 16];
	ssize_t n = read(c->from, buf, sizeof buf);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	fprintf(c->times, "%llu\t%lld\n", (unsigned long long)c->bytes,
		(long long)tide__now_ns(CLOCK_REALTIME));
	c->bytes += (uint64_t)n;
	if (*rc == TIDE_OK && !put_all(c->log, buf, (size_t)n))
		*rc = tide__fail_errno(err, "cannot write the log");
	c->mute = c->mute || !put_all(c->shown, buf, (size_t)n);
	return true;
}

/* Reads until the pipe ends; a grandchild that keeps it open has 0.5 s after the program's end. */
static tide_code pass_all(copy *c, pid_t child, int *status, tide_error *err)
{
	tide_code rc = TIDE_OK;
	bool over = false, more = true;
	while (more) {
		struct pollfd p = { c->from, POLLIN, 0 };
		int n = poll(&p, 1, over ? 500 : 200);
		if (n > 0)
			more = pass(c, &rc, err);
		else if (n == 0 && over)
			more = false;
		if (!over)
			over = waitpid(child, status, WNOHANG) == child;
	}
	if (over)
		tide__child_gone();
	else
		*status = tide__child_wait(child);
	return rc;
}

tide_code tide__tt_capture_run(char **argv, const char *log, const char *times, int shown,
			       int *status, tide_error *err)
{
	int ends[2] = { -1, -1 }, how = 0;
	copy c = { .shown = shown,
		   .log = open(log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) };
	if (c.log < 0)
		return tide__fail_errno(err, "cannot write %s", log);
	c.times = fopen(times, "wxe");
	if (!c.times || pipe2(ends, O_CLOEXEC)) {
		tide_code rc = tide__fail_errno(err, "cannot write %s", times);
		close(c.log);
		if (c.times)
			fclose(c.times);
		return rc;
	}
	signal(SIGPIPE, SIG_IGN);
	pid_t child = tide__child_fork();
	if (child == 0) {
		signal(SIGPIPE, SIG_DFL);
		become(argv, ends[1]);
	}
	close(ends[1]);
	c.from = ends[0];
	tide_code rc = child < 0 ? tide__fail_errno(err, "fork") : pass_all(&c, child, &how, err);
	close(ends[0]);
	bool wrote = !fclose(c.times);
	wrote &= !close(c.log);
	if (rc == TIDE_OK && !wrote)
		rc = tide__fail_errno(err, "cannot write the log");
	*status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
	return rc;
}
