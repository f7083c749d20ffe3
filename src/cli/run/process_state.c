// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/process_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

tide_process_state tide__process_state_read(pid_t pid)
{
	char path[48], text[512], state = 0;
	long threads = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = 0;
	const char *name_end = strrchr(text, ')'); /* "17 (name) Z 1 ...", threads: field 20 */
	if (!name_end)
		return kill(pid, 0) && errno == ESRCH ? TIDE_PROCESS_ENDED : TIDE_PROCESS_RUNS;
	sscanf(name_end + 1,
	       " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld", &state,
	       &threads);
	if (state == 'X' || (state == 'Z' && threads <= 1))
		return TIDE_PROCESS_ENDED;
	return state == 'T' || state == 't' ? TIDE_PROCESS_STOPPED : TIDE_PROCESS_RUNS;
}

void tide__pids_add(tide_pids *s, long pid)
{
	enum { MOST = sizeof s->v / sizeof *s->v };
	for (size_t i = 0; i < s->n && i < MOST; i++)
		if (s->v[i] == pid)
			return;
	if (s->n < MOST)
		s->v[s->n] = pid;
	s->n++;
}
