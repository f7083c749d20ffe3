// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Walks the document. Nothing recurses: the sections define the depth. */
#include <string.h>

#include "base/error.h"
#include "import/json/compact.h"
#include "import/json/number.h"
#include "import/tracker/tracker_impl.h"

static bool fail(trk *t, size_t p)
{
	if (t->rc == TIDE_OK)
		t->rc = t->c.why == JSONR_NOMEM ? tide__nomem(t->err)
			: t->c.why == JSONR_MORE
				? tide__fail(t->err, TIDE_ETRUNC, t->c.s.n,
					     "the profile is truncated")
				: tide__fail(t->err, TIDE_ECORRUPT, p, "not JSON from here on");
	return false;
}

bool tide__tracker_fail(trk *t, size_t p)
{
	jsonr_fail(&t->c, p);
	return fail(t, p);
}

bool tide__tracker_nomem(trk *t)
{
	t->c.why = JSONR_NOMEM;
	return fail(t, 0);
}

jsonr_walk tide__tracker_walk(const trk *t, jsonr_slice v)
{
	(void)t;
	return tide__jsonr_begin_walk(v);
}

bool tide__tracker_next(trk *t, jsonr_walk *w, jsonr_slice *key, jsonr_slice *value)
{
	if (t->rc != TIDE_OK)
		return false;
	return tide__jsonr_next(&t->c, w, key, value) || (w->bad && fail(t, w->p));
}

bool tide__tracker_is(const trk *t, jsonr_slice s, const char *text)
{
	return strlen(text) == s.n && !memcmp(t->c.s.b + s.at, text, s.n);
}

bool tide__tracker_find_fields(trk *t, jsonr_slice object, const char *const *names, size_t n,
			       jsonr_slice *out)
{
	jsonr_slice key, value;
	jsonr_walk w = tide__tracker_walk(t, object);
	memset(out, 0, n * sizeof *out);
	while (tide__tracker_next(t, &w, &key, &value))
		for (size_t i = 0; w.object && i < n; i++)
			if (tide__tracker_is(t, key, names[i]))
				out[i] = value;
	return t->rc == TIDE_OK;
}

/* ---- values ---- */

bool tide__tracker_parse_number(const trk *t, jsonr_slice v, int64_t scale, int64_t *out)
{
	return v.type == '0' && tide__jsonr_parse_scaled(t->c.s.b + v.at, v.n, scale, out);
}

/* Parses `n` digits at s; -1 if they are not all digits. */
static int64_t digits_at(const char *s, size_t left, size_t n)
{
	int64_t v = 0;
	for (size_t i = 0; i < n; i++) {
		if (i >= left || s[i] < '0' || s[i] > '9')
			return -1;
		v = v * 10 + (s[i] - '0');
	}
	return v;
}

static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* Parses Z or +HH:MM to seconds east of UTC. Returns false if there is no zone. */
static bool zone_at(const char *s, size_t n, int64_t *east)
{
	*east = 0;
	if (n == 1 && *s == 'Z')
		return true;
	int64_t h = n == 6 ? digits_at(s + 1, n - 1, 2) : -1,
		m = n == 6 ? digits_at(s + 4, n - 4, 2) : -1;
	if (n != 6 || (*s != '+' && *s != '-') || h < 0 || m < 0 || s[3] != ':')
		return false;
	*east = (*s == '-' ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

bool tide__tracker_parse_iso(const trk *t, jsonr_slice v, int64_t *ns, bool *zoned)
{
	static const struct {
		size_t at, n;
		int64_t least, most;
		char after;
	} parts[] = { { 0, 4, 1970, 2261, '-' }, { 5, 2, 1, 12, '-' },	{ 8, 2, 1, 31, 'T' },
		      { 11, 2, 0, 23, ':' },	 { 14, 2, 0, 59, ':' }, { 17, 2, 0, 60, 0 } };
	const char *s = t->c.s.b + v.at;
	int64_t f[6], part = 0, east;
	if (v.type != '"' || v.n < 19)
		return false;
	for (size_t i = 0; i < 6; i++) {
		f[i] = digits_at(s + parts[i].at, v.n - parts[i].at, parts[i].n);
		char after = s[parts[i].at + parts[i].n];
		if (f[i] < parts[i].least || f[i] > parts[i].most ||
		    (parts[i].after && after != parts[i].after && !(i == 2 && after == ' ')))
			return false;
	}
	size_t p = 19, unit = 100000000;
	if (p < v.n && s[p] == '.')
		for (p++; p < v.n && s[p] >= '0' && s[p] <= '9'; p++, unit /= 10)
			part += (s[p] - '0') * (int64_t)unit;
	*zoned = p < v.n && zone_at(s + p, v.n - p, &east);
	if (p < v.n && !*zoned)
		return false;
	int64_t days = days_from_civil(f[0], f[1], f[2]);
	int64_t secs = days * 86400 + f[3] * 3600 + f[4] * 60 + f[5] - (*zoned ? east : 0);
	*ns = secs * 1000000000 + part;
	return true;
}

tide_str tide__tracker_intern(trk *t, jsonr_slice v)
{
	tide_str none = { 0 };
	if (v.type != '"' || !v.n)
		return none;
	const jsonr_text *text = tide__jsonr_slice_text(&t->c, v);
	tide_str s = text ? tide__intern_n(t->m, text->s, text->len) : none;
	if (!s.i && (!text || text->len))
		tide__tracker_nomem(t);
	return s;
}

tide_str tide__tracker_intern_shape(trk *t, jsonr_slice v)
{
	enum { SHAPE_MOST = 1000 };
	char text[SHAPE_MOST];
	if (v.type != '[' && v.type != '{')
		return (tide_str){ 0 };
	size_t n = tide__jsonr_compact(t->c.s.b + v.at, v.n, text, SHAPE_MOST);
	if (n <= 2 || n > SHAPE_MOST) /* empty, or no shape */
		return (tide_str){ 0 };
	tide_str s = tide__intern_n(t->m, text, n);
	if (!s.i)
		tide__tracker_nomem(t);
	return s;
}
