// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/lane_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the text contains the number, not as part of a longer one. */
static bool holds(const char *text, const char *number)
{
	size_t n = strlen(number);
	for (const char *at = text; (at = strstr(at, number)); at++)
		if ((at == text || !isdigit((unsigned char)at[-1])) &&
		    !isdigit((unsigned char)at[n]))
			return true;
	return false;
}

char *tide__lane_name(const tide_model *m, tide_lane_id lane, char *buf, size_t n)
{
	const char *name = tide__text(m, m->lanes.name[lane.i], NULL);
	const char *kind = tide__lane_kind_text(m->lanes.kind[lane.i]);
	char number[24];
	int len = (int)strlen(name);
	snprintf(number, sizeof number, "%" PRId64, m->lanes.number[lane.i]);
	while (len && name[len - 1] == ' ')
		len--;
	if (!len && m->lanes.kind[lane.i] == TIDE_LANE_OTHER &&
	    m->lanes.number[lane.i] == UINT32_MAX)
		snprintf(buf, n, "all streams"); /* CUPTI: no stream, the whole context */
	else if (!len)
		snprintf(buf, n, "%s %s", kind, number);
	else if (m->lanes.kind[lane.i] == TIDE_LANE_OTHER || holds(name, number))
		snprintf(buf, n, "%.*s", len, name);
	else
		snprintf(buf, n, "%s %s (%.*s)", kind, number, len, name);
	return buf;
}
