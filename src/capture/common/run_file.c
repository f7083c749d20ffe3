// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/common/run_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/recording_owner.h"

bool tide__run_file(char *out, size_t n)
{
	const char *path = getenv("TIDEMARK_RECORD"), *pid = getenv("TIDEMARK_RECORD_PID");
	const char *run = getenv("TIDEMARK_RUN");
	int64_t since = run ? strtoll(run, NULL, 10) : 0;
	if (!path || !*path || strlen(path) + 48 > n)
		return false;
	bool ours = !pid || strtol(pid, NULL, 10) == (long)getpid();
	if (ours && !(since && tide__recording_began(path) >= since))
		snprintf(out, n, "%s", path);
	else
		tide__ranks_make_name(out, n, path, since);
	return true;
}
