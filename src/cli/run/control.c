// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/control.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/run/process_state.h"
#include "format/rings.h"
#include "format/tide.h"

/* Finds the ring file that a process has mapped. Returns false if there is none. */
static bool find_rings(pid_t pid, char *out, size_t n)
{
	char line[PATH_MAX + 128];
	snprintf(line, sizeof line, "/proc/%ld/maps", (long)pid);
	FILE *f = fopen(line, "r");
	bool found = false;
	while (f && !found && fgets(line, sizeof line, f)) {
		char *path = strchr(line, '/');
		size_t k = path ? strcspn(path, "\n") : 0, s = sizeof ".tide" TIDE_RINGS_SUFFIX - 1;
		found = path && k > s && !strncmp(path + k - s, ".tide" TIDE_RINGS_SUFFIX, s);
		if (found)
			snprintf(out, n, "%.*s", (int)k, path);
	}
	if (f)
		fclose(f);
	return found;
}

/* Waits for the answer to request `seq`: as long as the process runs, at most POLLS times. Returns
 * NULL when it came, else the reason why it did not. */
static const char *wait_answer(const tide_rings_head *h, int fd, uint64_t seq, pid_t pid)
{
	enum { POLLS = 1000, POLL_US = 10000 }; /* counted, so a loaded machine has more time */
	for (int i = 0; i < POLLS; i++) {
		struct stat st;
		tide_process_state state = tide__process_state_read(pid);
		bool removed = fstat(fd, &st) == 0 && st.st_nlink == 0;
		/* after the state: an answer just before the end counts */
		if (__atomic_load_n(&h->control_done, __ATOMIC_ACQUIRE) == seq)
			return NULL;
		if (state == TIDE_PROCESS_ENDED)
			return "has ended";
		if (removed)
			return "has ended its recording";
		if (state == TIDE_PROCESS_STOPPED)
			return "is stopped: the request applies when it continues";
		usleep(i < 100 ? POLL_US / 10 : POLL_US);
	}
	return "runs, but did not answer within 10 s: the request applies when it does";
}

/* As wait_answer. One request at a time: another `tidemark ctl` waits for the lock. */
static const char *ask(tide_rings_head *h, int fd, uint64_t command, const char *text, pid_t pid)
{
	flock(fd, LOCK_EX);
	uint64_t seq = __atomic_load_n(&h->control_seq, __ATOMIC_RELAXED) + 1;
	snprintf(h->control_text, sizeof h->control_text, "%s", text ? text : "");
	__atomic_store_n(&h->control, command, __ATOMIC_RELAXED);
	__atomic_store_n(&h->control_seq, seq, __ATOMIC_RELEASE);
	return wait_answer(h, fd, seq, pid);
}

tide_code tide__control_send(pid_t pid, uint64_t command, const char *text, tide_error *err)
{
	char path[PATH_MAX];
	struct stat st;
	if (!find_rings(pid, path, sizeof path))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "process %ld is not recording, or cannot be inspected",
				  (long)pid);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(tide_rings_head)) {
		if (fd >= 0)
			close(fd);
		return tide__fail_errno(err, "%s", path);
	}
	tide_rings_head *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED) {
		close(fd);
		return tide__fail_errno(err, "%s", path);
	}
	bool ours = !memcmp(h->magic, TIDE_RINGS_MAGIC, 8) && h->pid == (uint64_t)pid;
	const char *why =
		ours ? ask(h, fd, command, text, pid) : "does not own the recording that it maps";
	munmap(h, sizeof *h);
	close(fd); /* and unlocks it */
	return why ? tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET, "process %ld %s", (long)pid, why)
		   : TIDE_OK;
}
