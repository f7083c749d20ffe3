// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See remote.h. */
#include "cli/run/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/job/patience.h"

enum { NOT_FOUND = 127, WRITE_FAILED = 23 /* curl: its output was closed */ };

bool tide__remote_is(const char *file)
{
	return !strncmp(file, "http://", 7) || !strncmp(file, "https://", 8);
}

/* Becomes curl, which writes the file to `out` and its messages to `said`, and which ends when
 * `parent` does, also by a signal. */
static void become_curl(const char *url, int out, int said, pid_t parent)
{
	char quiet[24];
	long long s = tide__patience_s();
	snprintf(quiet, sizeof quiet, "%lld", s ? s : 1000000);
	int none = open("/dev/null", O_RDONLY);
	signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent || none < 0 ||
	    dup2(none, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(said, STDERR_FILENO) < 0)
		_exit(NOT_FOUND);
	execlp("curl", "curl", "--silent", "--show-error", "--fail", "--location", "--globoff",
	       "--proto", "=http,https", "--max-redirs", "10", "--netrc-optional",
	       "--connect-timeout", quiet, "--speed-limit", "1", "--speed-time", quiet, "--url",
	       url, (char *)NULL);
	_exit(NOT_FOUND);
}

int tide__remote_open(const char *url, tide_remote *r, tide_error *err)
{
	int ends[2];
	*r = (tide_remote){ .said = memfd_create("curl", MFD_CLOEXEC) };
	if (r->said < 0 || pipe2(ends, O_CLOEXEC)) {
		tide__fail_errno(err, "cannot start curl");
		if (r->said >= 0)
			close(r->said);
		return -1;
	}
	pid_t self = getpid();
	r->pid = fork();
	if (r->pid == 0)
		become_curl(url, ends[1], r->said, self);
	close(ends[1]);
	if (r->pid > 0)
		return ends[0];
	tide__fail_errno(err, "cannot start curl");
	close(ends[0]);
	close(r->said);
	r->pid = 0;
	return -1;
}

/* Copies curl's first message, without its line end. */
static void read_message(int said, char *text, size_t n)
{
	ssize_t got = pread(said, text, n - 1, 0);
	text[got > 0 ? got : 0] = 0;
	text[strcspn(text, "\r\n")] = 0;
}

tide_code tide__remote_close(tide_remote *r, tide_error *err)
{
	char text[160];
	int status = 0;
	if (!r->pid)
		return TIDE_OK;
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	read_message(r->said, text, sizeof text);
	close(r->said);
	*r = (tide_remote){ .said = -1 };
	bool unread = WIFSIGNALED(status) ? WTERMSIG(status) == SIGPIPE
					  : WEXITSTATUS(status) == WRITE_FAILED;
	if (status == 0 || unread)
		return TIDE_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND && !*text)
		return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
				  "reading from the network needs the program curl");
	return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "%s",
			  *text ? text : "curl was ended by a signal");
}
