// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/rank_in_name.h"

#include <string.h>

int64_t tide__rank_in_name(const char *path)
{
	const char *name = strrchr(path, '/'), *at, *found = NULL;
	name = name ? name + 1 : path;
	for (at = name; (at = strcasestr(at, "rank")); at += 4) {
		const char *p = at + 4;
		if (*p == '-' || *p == '_' || *p == '.')
			p++;
		if (*p >= '0' && *p <= '9')
			found = p;
	}
	if (!found)
		return -1;
	int64_t v = 0;
	for (; *found >= '0' && *found <= '9' && v < 100000000; found++)
		v = v * 10 + (*found - '0');
	return v;
}
