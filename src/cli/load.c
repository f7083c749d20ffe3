// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Loads a trace for a command, with progress on a terminal. "-" is standard input, a URL is fetched. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "analyze/device/hta_job.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/run/child.h"
#include "cli/run/remote.h"
#include "cli/cli.h"
#include "cli/output/progress.h"
#include "format/recording_owner.h"
#include "import/source.h"
#include "model/losses.h"
#include "render/text/grid.h"

static bool incomplete; /* an input is cut off or damaged */

/* ---- standard input, pipes and other machines ---- */

bool tide__cli_is_pipe(const char *file)
{
	struct stat st;
	return !strcmp(file, "-") || tide__remote_is(file) ||
	       (!stat(file, &st) && S_ISFIFO(st.st_mode));
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	for (ssize_t put; n; p += put, n -= (size_t)put)
		if ((put = write(fd, p, n)) < 0)
			return false;
	return true;
}

/* Returns how much may be copied into the folder of fd: half of the free space, so that a pipe or a
 * server without an end does not fill the disk of others. */
static uint64_t room_for_copy(int fd)
{
	struct statvfs st;
	return fstatvfs(fd, &st) || !st.f_blocks ? UINT64_MAX
						 : (uint64_t)st.f_bavail * st.f_frsize / 2;
}

/* Copies the rest of a pipe behind its head. */
static tide_code copy_rest(int from, int fd, const void *head, size_t n_head, tide_error *err)
{
	char buf[1 << 16], most[32];
	uint64_t room = room_for_copy(fd), n = n_head;
	ssize_t got = 0;
	bool ok = write_all(fd, head, n_head);
	while (ok && n <= room && (got = read(from, buf, sizeof buf)) > 0) {
		ok = write_all(fd, buf, (size_t)got);
		n += (uint64_t)got;
	}
	if (!ok || got < 0)
		return tide__fail_errno(err, "cannot copy it into a temporary file");
	if (n <= room)
		return TIDE_OK;
	tide__fmt_bytes(most, sizeof most, (double)room);
	return tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
			  "longer than %s, half of the free space for temporary files; TMPDIR "
			  "names a folder with more",
			  most);
}

/* Copies the head and what follows it in a pipe into an unlinked temporary file, for importers that
 * seek. */
static int copy_pipe(const void *head, size_t n_head, int from, char *path, size_t n,
		     tide_error *err)
{
	const char *dir = getenv("TMPDIR");
	snprintf(path, n, "%s/tidemark-XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkstemp(path);
	if (fd < 0) {
		tide__fail_errno(err, "cannot make a temporary file in %s",
				 dir && *dir ? dir : "/tmp");
		return -1;
	}
	unlink(path);
	if (copy_rest(from, fd, head, n_head, err)) {
		close(fd);
		return -1;
	}
	snprintf(path, n, "/proc/self/fd/%d", fd);
	return fd;
}

/* Loads what comes from a descriptor, which is closed. */
static tide_code load_from(int from, const char *file, const tide_load_options *opt, tide_piped *p,
			   tide_model **m, tide_error *err)
{
	tide_source *s = NULL;
	size_t n;
	tide_code rc = tide__source_open_fd(from, opt->max_expanded, &s, err);
	if (rc)
		return rc;
	tide_load_options own = *opt;
	if (tide__load_streams(s, opt)) {
		own.from = s;
	} else {
		const uint8_t *head = tide__source_head(s, &n);
		p->fd = copy_pipe(head, n, from, p->path, sizeof p->path, err);
	}
	if (own.from || p->fd >= 0)
		rc = tide__load(own.from ? file : p->path, &own, m, err);
	else
		rc = err->code;
	tide__source_close(s);
	return rc;
}

/* Loads a trace of another machine. A transfer that failed explains a trace that cannot be read;
 * what arrived before it failed is shown, and counts as incomplete. */
static tide_code load_remote(const char *url, const tide_load_options *opt, tide_piped *p,
			     tide_model **m, tide_error *err)
{
	tide_remote curl;
	tide_error why = { .offset = TIDE_NO_OFFSET };
	int from = tide__remote_open(url, &curl, err);
	if (from < 0)
		return err->code;
	tide_code rc = load_from(from, url, opt, p, m, err);
	if (tide__remote_close(&curl, &why) == TIDE_OK)
		return rc;
	if (rc != TIDE_OK) {
		*err = why;
		return why.code;
	}
	tide__cli_note("note: %s: %s; what arrived before is shown", url, why.text);
	incomplete = true;
	return TIDE_OK;
}

tide_code tide__cli_load_pipe(const char *file, const tide_load_options *opt, tide_piped *p,
			      tide_model **m, tide_error *err)
{
	*p = (tide_piped){ .fd = -1 };
	if (tide__remote_is(file))
		return load_remote(file, opt, p, m, err);
	int from = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC)
				     : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	return from < 0 ? tide__fail_errno(err, "cannot open")
			: load_from(from, file, opt, p, m, err);
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
	tide_piped pipe = { .fd = -1 };
	tide_code rc;
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
	bool piped = tide__cli_is_pipe(file);
	const char *from = file;
	file = strcmp(file, "-") ? file : "standard input";
	tide__progress_begin(&p, file);
	rc = piped ? tide__cli_load_pipe(from, &opt, &pipe, &m, &err)
		   : tide__load(file, &opt, &m, &err);
	if (rc == TIDE_ENOMEM && tide__mem_refused() && (!piped || pipe.fd >= 0))
		rc = load_beginning(piped ? pipe.path : file, &opt, &m, &err);
	tide__progress_end(&p);
	if (rc != TIDE_OK) { /* else a copied input stays open: the model may read from it later */
		if (pipe.fd >= 0)
			close(pipe.fd);
		tide__cli_fail(file, &err);
		return NULL;
	}
	tide__fmt_axis(m->axis);
	tide__cli_remember(m);
	return m;
}
