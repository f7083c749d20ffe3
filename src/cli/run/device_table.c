// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/run/device_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "cli/options.h"

static bool parse_row(char *line, tide_device_row *r)
{
	char memory[32], cublas[32], context[32], processors[16];
	int at = 0;
	*r = (tide_device_row){ .cublas = -1 };
	if (sscanf(line, "%63s %31s %15s %15s %31s %31s %n", r->key, memory, r->capability,
		   processors, cublas, context, &at) < 6 ||
	    !at || !line[at])
		return false;
	snprintf(r->name, sizeof r->name, "%s", line + at);
	r->processors = strtol(processors, NULL, 10);
	return tide__parse_bytes(memory, &r->capacity) && tide__parse_bytes(context, &r->context) &&
	       r->processors > 0 && r->processors < 100000 && strchr(r->capability, '.') &&
	       (!strcmp(cublas, "-") || tide__parse_bytes(cublas, &r->cublas));
}

/* Searches one file; its names are added to `names`. A missing file has no rows. */
static tide_code search(const char *path, const char *key, tide_device_row *out, char *names,
			size_t room, tide_error *err)
{
	char line[512];
	FILE *f = fopen(path, "re");
	tide_code rc = TIDE_ENOTFOUND;
	for (unsigned n = 1; f && rc == TIDE_ENOTFOUND && fgets(line, sizeof line, f); n++) {
		tide_device_row r;
		line[strcspn(line, "\r\n")] = 0;
		if (!line[strspn(line, " \t")] || line[0] == '#')
			continue;
		if (!parse_row(line, &r)) {
			rc = tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
					"%.100s:%u: not a row of the device table", path, n);
			break;
		}
		snprintf(names + strlen(names), room - strlen(names), "%s%s", *names ? ", " : "",
			 r.key);
		if (!strcasecmp(r.key, key)) {
			*out = r;
			rc = TIDE_OK;
		}
	}
	if (f)
		fclose(f);
	return rc;
}

tide_code tide__device_table_find(const char *shipped, const char *key, tide_device_row *out,
				  tide_error *err)
{
	char own[4096] = "", names[140] = "";
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (base && *base)
		snprintf(own, sizeof own, "%s/tidemark/devices.txt", base);
	else if (home && *home)
		snprintf(own, sizeof own, "%s/.config/tidemark/devices.txt", home);
	tide_code rc = search(own, key, out, names, sizeof names, err);
	if (rc == TIDE_ENOTFOUND)
		rc = search(shipped, key, out, names, sizeof names, err);
	if (rc == TIDE_ENOTFOUND)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "--like: no device '%.20s'; there are %s", key, names);
	return rc;
}
