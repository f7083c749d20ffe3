// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "api/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render/text/labels.h"

uint32_t tide__device_find(const tide_model *m, const char *text)
{
	char name[64];
	char *end;
	for (uint32_t d = 1; d < m->devices.n; d++)
		if (!strcmp(tide__device_name(m, d, name, sizeof name), text))
			return d;
	unsigned long v = strtoul(text, &end, 10);
	return *text && !*end && v < m->devices.n ? (uint32_t)v : 0;
}

bool tide__parse_time(const char *text, int64_t end, int64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *rest;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	long long whole = strtoll(text, &rest, 10);
	bool exact = !errno && *rest != '.'; /* whole numbers stay exact */
	if (strpbrk(text, "eExXpP"))
		return false; /* strtod would also accept exponents and hexadecimal numbers */
	double v = strtod(text, &rest);
	while (*rest == ' ')
		rest++;
	double scale = !strcmp(rest, "%") ? (double)end / 100 : 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(rest, units[i].name))
			scale = units[i].ns;
	if (exact && scale == 1) {
		*out = whole;
		return true;
	}
	if (scale == 0 || v * scale >= 9.2e18)
		return !strcmp(rest, "%") && end == 0 ? (*out = 0, true) : false;
	*out = (int64_t)(v * scale + 0.5);
	return true;
}

bool tide__parse_position(const char *text, size_t all, uint64_t *out)
{
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return !*end && !errno && *out <= all;
}

__extension__ typedef unsigned __int128 wide;

/* Returns the shift of a unit, or -1: B, K, KB, KiB, M ... in any case. */
static int unit_shift(const char *u)
{
	static const char prefixes[] = "kmgtp";
	if (!*u || !strcasecmp(u, "b"))
		return 0;
	const char *p = strchr(prefixes, tolower((unsigned char)*u));
	if (!p || (u[1] && strcasecmp(u + 1, "b") && strcasecmp(u + 1, "ib")))
		return -1;
	return 10 * (int)(p - prefixes + 1);
}

bool tide__parse_bytes(const char *text, int64_t *out)
{
	const char *s = text;
	wide whole = 0, part = 0, scale = 1;
	for (; isdigit((unsigned char)*s); s++)
		if ((whole = whole * 10 + (unsigned)(*s - '0')) > INT64_MAX)
			return false;
	if (s == text)
		return false;
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s); s++)
			if (scale < 1000000000000) {
				part = part * 10 + (unsigned)(*s - '0');
				scale *= 10;
			}
	while (*s == ' ')
		s++;
	int shift = unit_shift(s);
	if (shift < 0)
		return false;
	wide v = (whole << shift) + (part << shift) / scale;
	if (v > INT64_MAX)
		return false;
	*out = (int64_t)v;
	return true;
}
