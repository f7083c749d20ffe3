// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	SPARE_MB = 256, /* always left free */
	COLUMNS = 6,	/* other columns of a growing table grow too before the next check */
};

/* Reads the number in a one-number file, or after a key at the start of a line. Returns 0 if
 * absent. */
static int number(const char *path, const char *key, uint64_t *out)
{
	char line[256];
	int found = 0;
	size_t n = strlen(key);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = !strncmp(line, key, n) && sscanf(line + n, "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return found;
}

/* Returns the bytes a control group still allows; UINT64_MAX = no limit. */
static uint64_t group_room(const char *folder)
{
	static const char *const names[][2] = { { "memory.max", "memory.current" },
						{ "memory.limit_in_bytes",
						  "memory.usage_in_bytes" } };
	uint64_t most, used, cache = 0;
	char path[4200];
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i][0]);
		if (!number(path, "", &most)) /* "max": no limit */
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, names[i][1]);
		if (!number(path, "", &used))
			continue;
		snprintf(path, sizeof path, "%s/memory.stat", folder);
		(void)(number(path, "file ", &cache) || number(path, "cache ", &cache));
		used -= cache < used ? cache : used; /* the kernel reclaims page cache first */
		return most - (used < most ? used : most);
	}
	return UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Applies this process's control group and its ancestors: "0::/a/b" in /proc/self/cgroup is
 * /sys/fs/cgroup/a/b. */
static uint64_t groups_room(const char *root, const char *key)
{
	char line[4096], folder[4096 + 64];
	uint64_t room = group_room(root);
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof line, f)) {
		char *path = strstr(line, key);
		if (!path)
			continue;
		path += strlen(key);
		path[strcspn(path, "\n")] = 0;
		for (char *slash; *path && (slash = strrchr(path, '/')); *slash = 0) {
			snprintf(folder, sizeof folder, "%s%s", root, path);
			room = least(room, group_room(folder));
		}
	}
	if (f)
		fclose(f);
	return room;
}

/* Returns the bytes of address space that RLIMIT_AS (ulimit -v) leaves; UINT64_MAX = no limit. */
static uint64_t address_room(void)
{
	struct rlimit lim;
	uint64_t pages;
	if (getrlimit(RLIMIT_AS, &lim) || lim.rlim_cur == RLIM_INFINITY ||
	    !number("/proc/self/statm", "", &pages))
		return UINT64_MAX;
	uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return lim.rlim_cur - (used < lim.rlim_cur ? used : lim.rlim_cur);
}

uint64_t tide__memory_limit(void)
{
	uint64_t room = UINT64_MAX, v2 = groups_room("/sys/fs/cgroup", "0::"),
		 v1 = groups_room("/sys/fs/cgroup/memory", ":memory:");
	if (number("/proc/meminfo", "MemAvailable:", &room))
		room *= 1024;
	return least(least(room, address_room()), least(v1, v2));
}

uint64_t tide__memory_limit_share(void)
{
	uint64_t room = tide__memory_limit();
	return room == UINT64_MAX ? room : room / 5 * 4;
}

int tide__memory_limit_for(size_t bytes, int grows)
{
	uint64_t room = tide__memory_limit(), spare = (uint64_t)SPARE_MB << 20;
	return room == UINT64_MAX ||
	       (room > spare && bytes <= (room - spare) / (grows ? COLUMNS : 1));
}
