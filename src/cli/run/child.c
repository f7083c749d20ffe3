// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See child.h. */
#include "cli/run/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/cli.h"
#include "cli/run/program_files.h"

bool tide__is_script(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && !strcmp(name + n - 3, ".py");
}

char *tide__python_name(void)
{
	static char python[] = "python3";
	char *own = getenv("TIDEMARK_PYTHON");
	return own && *own ? own : python;
}

char **tide__child_make_command(char **program, const char *file, const char *const *options)
{
	static char self[PATH_MAX], run[] = "run", o[] = "-o", dashes[] = "--";
	size_t n = 0, n_options = 0, at = 0;
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	while (program[n])
		n++;
	while (options && options[n_options])
		n_options++;
	char **v = len > 0 ? calloc(n + n_options + 7, sizeof *v) : NULL;
	if (!v)
		return NULL;
	self[len] = 0;
	v[at++] = self;
	v[at++] = run;
	v[at++] = o;
	v[at++] = (char *)(uintptr_t)file;
	for (size_t i = 0; i < n_options; i++)
		v[at++] = (char *)(uintptr_t)options[i];
	v[at++] = dashes;
	if (tide__is_script(program[0]) && access(program[0], R_OK) == 0)
		v[at++] = tide__python_name();
	memcpy(v + at, program, n * sizeof *v);
	return v;
}

/* Returns only on failure, with the errno. */
static int become(const tide_child *c)
{
	size_t n = 0;
	while (c->argv[n])
		n++;
	if (!tide__is_script(c->argv[0])) {
		execvp(c->argv[0], c->argv);
		return errno;
	}
	char **v = malloc((n + 2) * sizeof *v);
	if (access(c->argv[0], R_OK) || !v)
		return errno;
	v[0] = tide__python_name();
	memcpy(v + 1, c->argv, (n + 1) * sizeof *v);
	execvp(v[0], v);
	fprintf(stderr, "tidemark: %s: ", v[0]);
	return errno;
}

static void child_side(const char *command, const tide_child *c, int told)
{
	for (const char *const *e = c->env; e && e[0]; e += 2)
		setenv(e[0], e[1], 1);
	if (c->out_to_err)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (c->hook)
		tide__prepend("PYTHONPATH", c->hook, ':');
	int why = become(c);
	tide__cli_note("tidemark %s: %s: %s", command, c->argv[0], strerror(why));
	ssize_t sent = write(told, "x", 1);
	(void)sent;
	_exit(why == ENOENT ? 127 : 126);
}

/* ---- a child that gets our signals ---- */

static const int handed[] = {
	SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGINT, SIGQUIT
};
enum { HANDED = sizeof handed / sizeof *handed };
static struct sigaction before[HANDED]; /* previous signal handlers */
static volatile pid_t child;

/* Forwards a signal of another process to the child. A terminal's signal (Ctrl+C) reaches the child
 * anyway. */
static void hand_on(int sig, siginfo_t *from, void *context)
{
	(void)context;
	int saved = errno;
	if (child > 0 && (from->si_code <= 0 || (sig != SIGINT && sig != SIGQUIT)))
		kill(child, sig);
	errno = saved;
}

pid_t tide__child_fork(void)
{
	struct sigaction on = { .sa_sigaction = hand_on, .sa_flags = SA_RESTART | SA_SIGINFO };
	sigset_t these, was;
	sigemptyset(&these);
	for (size_t i = 0; i < HANDED; i++)
		sigaddset(&these, handed[i]);
	fflush(NULL);
	sigprocmask(SIG_BLOCK, &these, &was); /* a signal that comes too early is delayed */
	child = fork();
	for (size_t i = 0; child > 0 && i < HANDED; i++)
		sigaction(handed[i], &on, &before[i]);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return child;
}

void tide__child_gone(void)
{
	if (child <= 0)
		return;
	child = 0;
	for (size_t i = 0; i < HANDED; i++)
		sigaction(handed[i], &before[i], NULL);
}

int tide__child_wait(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	tide__child_gone();
	return status;
}

/* ---- a child that is run to its end ---- */

static int64_t now_ns(void)
{
	return tide__now_ns(CLOCK_MONOTONIC);
}

/* Waits at most ms milliseconds for the end (-1 = forever). Returns whether it came. */
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

/* Returns a child of this process, or 0. */
static pid_t any_child(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;
	while (d && !found && (e = readdir(d))) {
		char path[300], line[512];
		if (*e->d_name < '1' || *e->d_name > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
		FILE *f = fopen(path, "re");
		size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
		line[n] = 0;
		const char *name_end = strrchr(line, ')'); /* then state and parent */
		int parent;
		if (name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 && parent == getpid())
			found = (pid_t)atoi(e->d_name);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* Kills everything that the program started. Its orphans are our children (PR_SET_CHILD_SUBREAPER),
 * and so are theirs once they are dead. */
static void kill_rest(void)
{
	pid_t pid;
	while ((pid = any_child()) > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

int tide__child_wait_limit(pid_t pid, int64_t limit_s, bool *timed_out)
{
	int pidfd = limit_s > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	*timed_out = pidfd >= 0 && !ended(pidfd, limit_s * 1000);
	if (*timed_out) {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		kill(pid, SIGTERM);
		if (!ended(pidfd, 5000))
			kill(pid, SIGKILL);
	}
	int status = tide__child_wait(pid);
	if (pidfd >= 0)
		close(pidfd);
	if (*timed_out)
		kill_rest();
	return status;
}

static void wait_end(tide_child *c, pid_t pid)
{
	int status = tide__child_wait_limit(pid, c->limit_s, &c->timed_out);
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool tide__child_run(const char *command, tide_child *c)
{
	int told[2];
	char x;
	c->started = c->timed_out = false;
	if (pipe2(told, O_CLOEXEC))
		return false;
	int64_t t0 = now_ns();
	pid_t pid = tide__child_fork();
	if (pid == 0)
		child_side(command, c, told[1]);
	close(told[1]);
	if (pid > 0) {
		wait_end(c, pid);
		c->wall_ns = now_ns() - t0;
		c->started = read(told[0], &x, 1) != 1;
	}
	close(told[0]);
	return pid > 0;
}
