// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/wide.h"
#include "analyze/memory/initial_state.h"
#include "analyze/live/live_set.h"
#include "analyze/live/usage.h"
#include "render/text/grid.h"
#include "render/text/labels.h"

uint32_t tide__device_find(const tide_model *m, const char *text)
{
	char name[64];
	char *end;
	text = strcmp(text, "host") ? text : "cpu"; /* one device, which PyTorch names */
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

bool tide__lacks_unit(const char *text)
{
	return *text && !text[strspn(text, "0123456789.")] && strspn(text, "0.") != strlen(text);
}

/* Returns true if an option was written on a command line. */
static bool on_command_line(const char *option)
{
	return !strncmp(option, "--", 2);
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
	tide_u128 whole = 0, part = 0, scale = 1;
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
	tide_u128 v = (whole << shift) + (part << shift) / scale;
	if (v > INT64_MAX)
		return false;
	*out = (int64_t)v;
	return true;
}

/* ---- options ---- */

static tide_code no_device(const char *text, const tide_model *m, tide_error *err)
{
	char list[300] = "", name[64];
	for (uint32_t d = 1; d < m->devices.n && strlen(list) < 200; d++) {
		tide__device_name(m, d, name, sizeof name);
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", d > 1 ? ", " : "",
			 name);
	}
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			  "the trace has no device '%.60s'%s%s%s", text, *list ? " (it has " : "",
			  list, *list ? ")" : "");
}

tide_code tide__take_device(const char *option, const char *text, const tide_model *m,
			    uint32_t *out, tide_error *err)
{
	(void)option; /* the message names the device */
	*out = text ? tide__device_find(m, text) : TIDE_ANY;
	return *out ? TIDE_OK : no_device(text, m, err);
}

tide_code tide__take_one_device(const char *option, const char *text, const tide_model *m,
				uint32_t *out, tide_error *err)
{
	tide_usage u = { 0 };
	tide_code rc = tide__take_device(option, text, m, out, err);
	if (rc != TIDE_OK || text)
		return rc;
	rc = tide__find_usage(m, UINT64_MAX, 0, &u, err);
	if (rc == TIDE_OK)
		*out = tide__usage_highest(&u);
	tide__usage_free(&u);
	return rc;
}

/* "#1000": after that many memory events. */
static tide_code take_position(const char *option, const char *text, const tide_model *m,
			       tide_moment *out, tide_error *err)
{
	if (out->position > m->memory_events.n)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "%s %.60s is after the last of %zu memory events", option, text,
				  m->memory_events.n);
	out->position = tide__after_initial(m, out->position);
	out->t = out->position ? tide__memory_event_time(m, (size_t)out->position - 1) : 0;
	return TIDE_OK;
}

/* Parses "op 7", "op7" and "7" on an axis of ops. */
static bool parse_op(const char *text, const tide_model *m, uint64_t *out)
{
	bool op = !strncmp(text, "op", 2);
	return m->axis == TIDE_AXIS_OPS &&
	       tide__parse_position(text + (op ? 2 + (text[2] == ' ') : 0),
				    (uint64_t)(m->t_end / TIDE_OP_NS), out);
}

tide_code tide__take_moment(const char *option, const char *text, const tide_model *m,
			    tide_moment *out, tide_error *err)
{
	char end[32];
	*out = (tide_moment){ .chosen = text, .position = UINT64_MAX, .t = m->t_end };
	if (!text)
		return TIDE_OK;
	out->at_peak = !strcmp(text, "peak");
	if (out->at_peak)
		return TIDE_OK;
	if (*text == '#' && tide__parse_position(text + 1, SIZE_MAX, &out->position))
		return take_position(option, text, m, out, err);
	if (parse_op(text, m, &out->position))
		out->t = (int64_t)out->position * TIDE_OP_NS;
	else if (on_command_line(option) && tide__lacks_unit(text))
		return tide__fail(
			err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			"%s needs a unit: %.40ss, %.40sms or %.40sns; #%.40s counts memory "
			"events",
			option, text, text, text, text);
	else if (!tide__parse_time(text, m->t_end, &out->t))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "%s needs a time such as 1.5s, 200ms, 50%%, a number of memory "
				  "events such as #1000, or peak, not '%.60s'",
				  option, text);
	if (out->t > m->t_end)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "%s %.60s is after the end of the trace, %s", option, text,
				  tide__fmt_at(end, sizeof end, (double)m->t_end));
	out->position = tide__position_at(m, out->t);
	return TIDE_OK;
}
