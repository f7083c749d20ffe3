// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loading a trace for a command, with progress on a terminal. "-" is standard input. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"
#include "cli/cli.h"
#include "format/written.h"

/* ---- progress ---- */

struct progress {
	const char *file;
	int64_t next_ms; /* when to show the next line */
	bool shown;
};

static void on_progress(void *user, uint64_t done, uint64_t total)
{
	struct progress *p = user;
	char name[64], bytes[32];
	int64_t now = tide__now_ms();
	if (now < p->next_ms)
		return;
	p->next_ms = now + 100;
	p->shown = true;
	tide__fmt_name(name, sizeof name, p->file, strlen(p->file), 40);
	tide__fmt_bytes(bytes, sizeof bytes, (double)done);
	if (total)
		fprintf(stderr, "\rreading %s: %3.0f %% (%s)\033[K", name,
			100.0 * (double)done / (double)total, bytes);
	else
		fprintf(stderr, "\rreading %s: %s\033[K", name, bytes);
}

/* ---- standard input and pipes ---- */

bool tide__cli_is_pipe(const char *file)
{
	struct stat st;
	return !strcmp(file, "-") || (!stat(file, &st) && S_ISFIFO(st.st_mode));
}

/* Importers seek, so a pipe is first copied into an unlinked temporary file. */
static int copy_pipe(int from, char *path, size_t n, tide_error *err)
{
	const char *dir = getenv("TMPDIR");
	char buf[1 << 16];
	ssize_t got;
	snprintf(path, n, "%s/tidemark-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkstemp(path);
	if (fd < 0) {
		tide__fail_errno(err, "cannot make a temporary file in %s",
				 dir && *dir ? dir : "/tmp");
		return -1;
	}
	unlink(path);
	while ((got = read(from, buf, sizeof buf)) > 0)
		for (ssize_t at = 0, put; at < got; at += put)
			if ((put = write(fd, buf + at, (size_t)(got - at))) < 0) {
				got = -1;
				break;
			}
	if (got < 0) {
		tide__fail_errno(err, "cannot copy it into a temporary file");
		close(fd);
		return -1;
	}
	snprintf(path, n, "/proc/self/fd/%d", fd);
	return fd;
}

int tide__cli_spool(const char *file, char *path, size_t n, tide_error *err)
{
	if (!strcmp(file, "-"))
		return copy_pipe(STDIN_FILENO, path, n, err);
	int from = open(file, O_RDONLY | O_CLOEXEC);
	if (from < 0) {
		tide__fail_errno(err, "cannot open");
		return -1;
	}
	int fd = copy_pipe(from, path, n, err);
	close(from);
	return fd;
}

/* The beginning of a recording that does not fit: as many events as do, the rest counted as a loss. */
static tide_code load_beginning(const char *path, tide_load_options *opt, tide_model **m,
				tide_error *err)
{
	enum { EVENT_BYTES = 256, LEAST_EVENTS = 1000, SMALLER = 8 };
	tide_code rc = TIDE_ENOMEM;
	uint64_t n = tide__mem_budget_now() / EVENT_BYTES;
	for (; rc == TIDE_ENOMEM && n >= LEAST_EVENTS && tide__begun(path) != 0; n /= SMALLER) {
		opt->max_events = n;
		tide__mem_forgive();
		rc = tide__load(path, opt, m, err);
	}
	return rc;
}

static bool is_script(const char *file)
{
	size_t n = strlen(file);
	return n > 3 && !strcmp(file + n - 3, ".py") && access(file, F_OK) == 0;
}

tide_model *tide__cli_load(const tide_args *a, const char *file, unsigned what)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_model(file, what);
	struct progress p = { .file = file, .next_ms = tide__now_ms() + 1000 };
	tide_load_options opt = { .what = what, .user = &p };
	char path[512];
	bool piped = tide__cli_is_pipe(file);
	int fd = -1;
	tide__fmt_axis(m ? m->axis : TIDE_AXIS_TIME);
	if (m)
		return m;
	if (is_script(file)) {
		tide__fail(&err, TIDE_EFORMAT, TIDE_NO_OFFSET,
			   "a Python script, not a trace; try: tidemark profile%s %s",
			   !strcmp(a->cmd->name, "memory") ? " --memory" : "", file);
		tide__cli_fail(file, &err);
		return NULL;
	}
	if (a->shared[TIDE_SHARED_FORMAT].set)
		opt.format = a->shared[TIDE_SHARED_FORMAT].text;
	if (piped) {
		const char *from = file;
		p.file = file = strcmp(file, "-") ? file : "standard input";
		if ((fd = tide__cli_spool(from, path, sizeof path, &err)) < 0) {
			tide__cli_fail(file, &err);
			return NULL;
		}
	}
	if (tide__cli_errors() == stderr && isatty(STDERR_FILENO))
		opt.progress = on_progress;
	tide_code rc = tide__load(piped ? path : file, &opt, &m, &err);
	if (rc == TIDE_ENOMEM && tide__mem_refused())
		rc = load_beginning(piped ? path : file, &opt, &m, &err);
	if (p.shown)
		fputs("\r\033[K", stderr);
	if (rc != TIDE_OK) { /* else a spooled input stays open: the model may read from it later */
		if (fd >= 0)
			close(fd);
		tide__cli_fail(file, &err);
		return NULL;
	}
	tide__fmt_axis(m->axis);
	return m;
}
