// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "serve/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	SPARE_MB = 256, /* that stay free */
	COLUMNS = 6, /* a table's other columns grow as this one does, before anybody is asked again
		      */
};

/* The number in a file of one, or after a key at the start of a line. False when it is not there.
 */
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

uint64_t tide__room(void)
{
	uint64_t room = UINT64_MAX, most, used, cache = 0;
	if (number("/proc/meminfo", "MemAvailable:", &room))
		room *= 1024;
	if (number("/sys/fs/cgroup/memory.max", "", &most) &&
	    number("/sys/fs/cgroup/memory.current", "", &used)) {
		(void)number("/sys/fs/cgroup/memory.stat", "file ", &cache);
		used -= cache < used ? cache : used;
		most -= used < most ? used : most;
		room = most < room ? most : room;
	}
	return room;
}

int tide__room_for(size_t bytes, int grows)
{
	uint64_t room = tide__room(), spare = (uint64_t)SPARE_MB << 20;
	return room == UINT64_MAX ||
	       (room > spare && bytes <= (room - spare) / (grows ? COLUMNS : 1));
}
