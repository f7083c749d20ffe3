// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See child.h. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"

bool tide__hook_folder(char *out, size_t n)
{
	static const char *const places[] = { TIDE_TREE "/python/hook",
					      TIDE_DATADIR "/tidemark/hook" };
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (len <= 0)
		return false;
	exe[len] = 0;
	*strrchr(exe, '/') = 0;
	for (size_t i = 0; i < 2; i++) {
		bool whole = places[i][0] == '/';
		int used =
			snprintf(out, n, "%s%s%s", whole ? "" : exe, whole ? "" : "/", places[i]);
		if (used > 0 && (size_t)used < n && access(out, R_OK) == 0)
			return true;
	}
	return false;
}

static bool is_script(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && !strcmp(name + n - 3, ".py");
}

/* Only returns when it could not: the errno. */
static int become(const tide_child *c)
{
	size_t n = 0;
	while (c->argv[n])
		n++;
	if (!is_script(c->argv[0])) {
		execvp(c->argv[0], c->argv);
		return errno;
	}
	char **v = malloc((n + 2) * sizeof *v);
	if (access(c->argv[0], R_OK) || !v)
		return errno;
	static char python[] = "python3";
	char *own = getenv("TIDEMARK_PYTHON");
	v[0] = own && *own ? own : python;
	memcpy(v + 1, c->argv, (n + 1) * sizeof *v);
	execvp(v[0], v);
	fprintf(stderr, "tidemark: %s: ", v[0]);
	return errno;
}

static void child_side(const char *command, const tide_child *c, int told)
{
	for (const char *const *e = c->env; e && e[0]; e += 2)
		setenv(e[0], e[1], 1);
	if (c->hook) {
		const char *old = getenv("PYTHONPATH");
		char path[2 * PATH_MAX];
		snprintf(path, sizeof path, "%s%s%s", c->hook, old && *old ? ":" : "",
			 old ? old : "");
		setenv("PYTHONPATH", path, 1);
	}
	int why = become(c);
	fprintf(stderr, "tidemark %s: %s: %s\n", command, c->argv[0], strerror(why));
	ssize_t sent = write(told, "x", 1);
	(void)sent;
	_exit(why == ENOENT ? 127 : 126);
}

static volatile pid_t child;

static void hand_on(int sig)
{
	int saved = errno;
	if (child > 0)
		kill(child, sig);
	errno = saved;
}

static void keep(int sig)
{
	(void)sig; /* the terminal's Ctrl+C went to the child as well: it decides */
}

static void watch_signals(struct sigaction old[4], bool on)
{
	static const int sigs[4] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	for (size_t i = 0; i < 4; i++) {
		struct sigaction act = { .sa_handler = i < 2 ? hand_on : keep,
					 .sa_flags = SA_RESTART };
		if (on)
			sigaction(sigs[i], &act, &old[i]);
		else
			sigaction(sigs[i], &old[i], NULL);
	}
}

static int64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Wait for the end at most ms milliseconds (-1 = for ever); whether it came. */
static bool ended(int pidfd, int64_t ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int64_t until = tide__now_ms() + ms;
	while (pidfd >= 0) {
		int64_t left = ms < 0 ? -1 : until - tide__now_ms();
		if (ms >= 0 && left <= 0)
			return false;
		int got = poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left);
		if (got > 0)
			return true;
		if (got < 0 && errno != EINTR)
			return true;
	}
	return true;
}

static void wait_end(tide_child *c, pid_t pid)
{
	int status = 0;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->limit_s > 0 && !ended(pidfd, c->limit_s * 1000)) {
		c->timed_out = true;
		kill(pid, SIGTERM);
		if (!ended(pidfd, 5000))
			kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool tide__child_run(const char *command, tide_child *c)
{
	struct sigaction old[4];
	int told[2];
	char x;
	c->started = c->timed_out = false;
	if (pipe2(told, O_CLOEXEC))
		return false;
	fflush(NULL);
	int64_t t0 = now_ns();
	watch_signals(old, true);
	child = fork();
	if (child == 0) {
		watch_signals(old, false);
		child_side(command, c, told[1]);
	}
	close(told[1]);
	bool forked = child > 0;
	if (forked) {
		wait_end(c, child);
		c->wall_ns = now_ns() - t0;
		c->started = read(told[0], &x, 1) != 1;
	}
	child = 0;
	watch_signals(old, false);
	close(told[0]);
	return forked;
}
