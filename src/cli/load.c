// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loads a trace for a command, with progress on a terminal. "-" is standard input. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/device/hta_job.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/run/child.h"
#include "cli/cli.h"
#include "cli/output/progress.h"
#include "format/recording_owner.h"
#include "model/losses.h"

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

int tide__cli_copy_to_file(const char *file, char *path, size_t n, tide_error *err)
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

/* Reads the beginning of a recording that does not fit: as many events as fit; the rest is counted
 * as a loss. */
static tide_code load_beginning(const char *path, tide_load_options *opt, tide_model **m,
				tide_error *err)
{
	enum { EVENT_BYTES = 256, LEAST_EVENTS = 1000, SMALLER = 8 };
	tide_code rc = TIDE_ENOMEM;
	uint64_t n = tide__mem_budget_now() / EVENT_BYTES;
	for (; rc == TIDE_ENOMEM && n >= LEAST_EVENTS && tide__recording_began(path) != 0;
	     n /= SMALLER) {
		opt->max_events = n;
		tide__mem_forgive();
		rc = tide__load(path, opt, m, err);
	}
	return rc;
}

static bool incomplete;

/* A log of the Tenstorrent runtime is incomplete with any loss of its own. Its JSON files lack
 * deallocates, which is not damage. */
void tide__cli_remember(const tide_model *m)
{
	bool log = tide__fact_find(m, "tt.lines") >= 0;
	tide_loss x;
	for (size_t i = 0; i < m->facts.n; i++)
		if (tide__loss_at(m, i, &x))
			incomplete |= tide__loss_is_damage(x.key) ||
				      (log && !strncmp(x.key, "tt_", 3) &&
				       strcmp(x.key, "tt_results_only") != 0);
}

void tide__cli_remember_ranks(const tide_hta_job *job)
{
	for (size_t i = 0; i < job->sum->losses.n; i++)
		incomplete |= tide__loss_is_damage(
			tide__hta_str(job->sum, job->sum->losses.v[i].key, NULL));
}

bool tide__cli_incomplete(void)
{
	return incomplete;
}

tide_model *tide__cli_load(const tide_args *a, const char *file, unsigned what)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_get_model(file, what);
	tide_progress p;
	tide_load_options opt = { .what = what, .progress = tide__progress_read, .user = &p };
	char path[512];
	bool piped = tide__cli_is_pipe(file);
	int fd = -1;
	tide__fmt_axis(m ? m->axis : TIDE_AXIS_TIME);
	if (m)
		return m;
	if (tide__is_script(file) && access(file, F_OK) == 0) {
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
		file = strcmp(file, "-") ? file : "standard input";
		if ((fd = tide__cli_copy_to_file(from, path, sizeof path, &err)) < 0) {
			tide__cli_fail(file, &err);
			return NULL;
		}
	}
	tide__progress_begin(&p, file);
	tide_code rc = tide__load(piped ? path : file, &opt, &m, &err);
	if (rc == TIDE_ENOMEM && tide__mem_refused())
		rc = load_beginning(piped ? path : file, &opt, &m, &err);
	tide__progress_end(&p);
	if (rc != TIDE_OK) { /* else a spooled input stays open: the model may read from it later */
		if (fd >= 0)
			close(fd);
		tide__cli_fail(file, &err);
		return NULL;
	}
	tide__fmt_axis(m->axis);
	tide__cli_remember(m);
	return m;
}
