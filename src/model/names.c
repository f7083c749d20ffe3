// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const char *tide__device_name(const tide_model *m, uint32_t d, char *buf, size_t n)
{
	if (!d || d >= m->devices.n)
		snprintf(buf, n, "?");
	else if (m->devices.kind[d] == TIDE_DEVICE_HOST && !m->devices.index[d])
		snprintf(buf, n, "cpu");
	else
		snprintf(buf, n, "%s:%" PRId64, tide__device_kind_name(m, d), m->devices.index[d]);
	return buf;
}

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

/* ---- frames ---- */

char *tide__lane_name_in_process(const tide_model *m, tide_lane_id lane, char *buf, size_t n)
{
	enum { PROCESS = 40 }; /* bytes kept for it */
	size_t at = strlen(tide__lane_name(m, lane, buf, n - PROCESS));
	snprintf(buf + at, n - at, " of process %" PRId64,
		 m->processes.pid[m->lanes.process[lane.i].i]);
	return buf;
}

size_t tide__bare_name(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (s[i] == '(' && (n - i < 21 || memcmp(s + i, "(anonymous namespace)", 21) != 0))
			return i;
	return n;
}

char *tide__frame_name(const tide_model *m, tide_frame_id f, char *buf, size_t n)
{
	size_t n_file, n_function; /* texts too long for the buffer are not examined */
	const char *file = tide__text(m, m->frames.file[f.i], &n_file);
	const char *function = tide__text(m, m->frames.function[f.i], &n_function);
	const char *base = file + n_file, *far = file + (n_file > n ? n_file - n : 0);

	while (base > far && !((base[-1] == '/' || base[-1] == '\\') && *base))
		base--;
	if (n_function > n)
		n_function = n;
	if (!f.i)
		snprintf(buf, n, "unknown");
	else if (*base && strcmp(base, "??") && m->frames.line[f.i])
		snprintf(buf, n, "%.*s (%s:%u)", (int)n_function, function, base,
			 m->frames.line[f.i]);
	else
		snprintf(buf, n, "%.*s", (int)tide__bare_name(function, n_function), function);
	return buf;
}

/* ---- tensors ---- */

/* Appends a text of a frame, truncated if its bytes are used up (names.h), and returns its end. */
static char *put_part(const tide_model *m, char *to, tide_str id, uint64_t *long_bytes)
{
	enum { LONG = 512, CUT = 200, WHOLE = 16 << 20 };
	size_t n;
	const char *s = tide__text(m, id, &n);
	if (n > LONG && (*long_bytes += n) > WHOLE) {
		for (n = CUT; n > CUT - 4 && ((unsigned char)s[n] & 0xc0) == 0x80;)
			n--; /* not inside a character */
		memcpy(to, s, n);
		return to + n + sprintf(to + n, "... #%" PRIu32, id.i);
	}
	memcpy(to, s, n);
	return to + n;
}

char *tide__frame_full_name(const tide_model *m, tide_frame_id f, bool line, uint64_t *long_bytes,
			    size_t *n)
{
	tide_str fn = m->frames.function[f.i], src = m->frames.file[f.i];
	size_t nf, ns;
	tide__text(m, fn, &nf);
	tide__text(m, src, &ns);
	char *s = tide__alloc(nf + ns + 16, 1), *p = s;
	if (!s)
		return NULL;
	p = put_part(m, p, fn, long_bytes);
	if (ns) {
		p = put_part(m, p + sprintf(p, " ("), src, long_bytes);
		if (m->frames.line[f.i] && line)
			p += snprintf(p, 12, ":%" PRIu32, m->frames.line[f.i]);
		*p++ = ')';
	}
	*n = (size_t)(p - s);
	return s;
}

static size_t shape_text(const tide_model *m, tide_str name, unsigned dtype, uint64_t dims,
			 uint32_t ndim, char *buf, size_t n)
{
	size_t len, at;
	const char *text = tide__text(m, name, &len);
	at = len < n / 2 ? len : n / 2;
	memcpy(buf, text, at);
	at += (size_t)snprintf(buf + at, n - at, "%s%s[", at ? " " : "", tide__dtype_text(dtype));
	for (uint32_t k = 0; k < ndim && at + 32 < n; k++)
		at += (size_t)snprintf(buf + at, n - at, "%s%" PRIu64, k ? ", " : "",
				       m->dims[dims + k]);
	return at + (size_t)snprintf(buf + at, n - at, "]");
}

size_t tide__tensor_name(const tide_model *m, uint32_t t, char *buf, size_t n)
{
	const tide_tensors *x = &m->tensors;
	return shape_text(m, x->name[t], x->dtype[t], x->dims[t], x->ndim[t], buf, n);
}

size_t tide__view_name(const tide_model *m, uint32_t view, char *buf, size_t n)
{
	const tide_views *v = &m->views;
	return shape_text(m, v->name[view], v->dtype[view], v->dims[view], v->ndim[view], buf, n);
}

size_t tide__storage_name(uint8_t role, size_t tensors, char *buf, size_t n)
{
	static const char *const what[] = {
		[TIDE_ROLE_PARAMETER] = "flattened parameters",
		[TIDE_ROLE_GRADIENT] = "gradient bucket",
		[TIDE_ROLE_OPTIMIZER] = "flattened optimizer state",
		[TIDE_ROLE_BUFFER] = "flattened buffers",
	};
	const char *text =
		role < sizeof what / sizeof *what && what[role] ? what[role] : "shared storage";
	return (size_t)snprintf(buf, n, "%s, %zu tensor%s", text, tensors, tensors == 1 ? "" : "s");
}
