// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/select_names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render/text/format.h"

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

int tide__no_device(const tide_args *a, const tide_model *m, const char *text)
{
	char list[300] = "", name[64];
	for (uint32_t d = 1; d < m->devices.n && strlen(list) < 200; d++) {
		tide__device_name(m, d, name, sizeof name);
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", d > 1 ? ", " : "",
			 name);
	}
	return tide__cli_usage(a, "the trace has no device '%.60s'%s%s%s", text,
			       *list ? " (it has " : "", list, *list ? ")" : "");
}

void tide__name_cell(tide_grid *g, const tide_model *m, tide_str s)
{
	tide__grid_name(g, m->strings, s.i);
}

void tide__known_cell(tide_grid *g, uint64_t v)
{
	if (v)
		tide__grid_uint(g, v);
	else
		tide__grid_none(g);
}

void tide__put_text(const tide_args *a, const char *text)
{
	tide__put_name(a->out, text, strlen(text), 0, a->style.ascii);
}

const char *tide__wall_text(int64_t wall_ns, char *buf, size_t n)
{
	char day[40];
	struct tm tm;
	int64_t part = wall_ns % 1000000000;
	time_t s = (time_t)(wall_ns / 1000000000 - (part < 0));
	if (!gmtime_r(&s, &tm) || !strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, n, "%" PRId64 " ns", wall_ns);
	else
		snprintf(buf, n, "%s.%09" PRId64 " UTC", day, part < 0 ? part + 1000000000 : part);
	return buf;
}

void tide__start_json(tide_json *j, const tide_model *m)
{
	if (m->wall_known)
		tide__json_kint(j, "start_wall_ns", m->wall0_ns);
	else
		tide__json_knull(j, "start_wall_ns");
}

void tide__heading(const tide_args *a, const char *fmt, ...)
{
	va_list ap;
	fputs(a->style.color ? "\033[1m" : "", a->out);
	va_start(ap, fmt);
	vfprintf(a->out, fmt, ap);
	va_end(ap);
	fputs(a->style.color ? "\033[0m\n" : "\n", a->out);
}
