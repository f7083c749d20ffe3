// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tide__place(char *out, size_t n, const char *in_tree, const char *installed)
{
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (len <= 0)
		return false;
	exe[len] = 0;
	*strrchr(exe, '/') = 0;
	if ((size_t)snprintf(out, n, "%s/%s", exe, in_tree) < n && access(out, R_OK) == 0)
		return true;
	bool whole = installed[0] == '/';
	return (size_t)snprintf(out, n, "%s%s%s", whole ? "" : exe, whole ? "" : "/", installed) <
		       n &&
	       access(out, R_OK) == 0;
}

void tide__prepend(const char *name, const char *value, char between)
{
	const char *old = getenv(name);
	char *both = NULL;
	if (old && *old && asprintf(&both, "%s%c%s", value, between, old) < 0)
		return; /* as the program has it, rather than without that */
	setenv(name, both ? both : value, 1);
	free(both);
}
