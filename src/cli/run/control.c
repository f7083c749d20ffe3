// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/control.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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

static bool ask(tide_rings_head *h, uint64_t command, const char *text)
{
	uint64_t seq = __atomic_load_n(&h->control_seq, __ATOMIC_RELAXED) + 1;
	snprintf(h->control_text, sizeof h->control_text, "%s", text ? text : "");
	__atomic_store_n(&h->control, command, __ATOMIC_RELAXED);
	__atomic_store_n(&h->control_seq, seq, __ATOMIC_RELEASE);
	for (int i = 0; i < 1000; i++) {
		if (__atomic_load_n(&h->control_done, __ATOMIC_ACQUIRE) == seq)
			return true;
		usleep(1000);
	}
	return false;
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
	close(fd);
	if (h == MAP_FAILED)
		return tide__fail_errno(err, "%s", path);
	bool ours = !memcmp(h->magic, TIDE_RINGS_MAGIC, 8) && h->pid == (uint64_t)pid;
	bool done = ours && ask(h, command, text);
	munmap(h, sizeof *h);
	if (done)
		return TIDE_OK;
	return tide__fail(err, TIDE_EBUSY, TIDE_NO_OFFSET,
			  ours ? "process %ld does not answer"
			       : "the recording does not belong to process %ld",
			  (long)pid);
}
