// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Formats single values for readers: sizes, times, counts, and names made safe for a terminal. */
#include "render/text/format.h"

#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/search.h"
#include "base/utf8.h"
#include "render/text/grid.h"

/* ---- numbers ---- */

struct unit {
	const char *name;
	double size;
	int decimals;
};

/* Writes a value in the largest unit that it reaches; a value that would round up to 1000 (1024) of
 * one unit is shown in the next. */
static char *scaled(char *buf, size_t n, double v, const char *sign, const struct unit *u,
		    size_t count)
{
	double a = fabs(v);
	size_t k = 0;
	while (k + 1 < count) {
		double half = 0.5 * pow(10, -u[k].decimals) * u[k].size;
		if (a < u[k + 1].size - half)
			break;
		k++;
	}
	snprintf(buf, n, "%s%.*f %s", v < 0 ? "-" : sign, u[k].decimals, a / u[k].size, u[k].name);
	return buf;
}

static const struct unit byte_units[] = {
	{ "B", 1, 0 },
	{ "KiB", 1024, 2 },
	{ "MiB", 1048576, 2 },
	{ "GiB", 1073741824, 2 },
	{ "TiB", 1099511627776, 2 },
	{ "PiB", 1125899906842624, 2 },
};
static const struct unit time_units[] = {
	{ "ns", 1, 0 },
	{ "us", 1e3, 3 },
	{ "ms", 1e6, 3 },
	{ "s", 1e9, 3 },
};

char *tide__fmt_bytes(char *buf, size_t n, double bytes)
{
	return scaled(buf, n, bytes, "", byte_units, 6);
}

char *tide__fmt_delta(char *buf, size_t n, double bytes)
{
	return scaled(buf, n, bytes, bytes > 0 ? "+" : "", byte_units, 6);
}

static _Thread_local uint8_t axis_now;

void tide__fmt_axis(uint8_t axis)
{
	axis_now = axis;
}

uint8_t tide__fmt_axis_now(void)
{
	return axis_now;
}

bool tide__fmt_by_ops(void)
{
	return axis_now == TIDE_AXIS_OPS;
}

char *tide__fmt_ns(char *buf, size_t n, double ns)
{
	if (axis_now == TIDE_AXIS_OPS) {
		snprintf(buf, n, "-");
		return buf;
	}
	return scaled(buf, n, ns, "", time_units, 4);
}

char *tide__fmt_at(char *buf, size_t n, double ns)
{
	char count[32];
	if (axis_now != TIDE_AXIS_OPS)
		return tide__fmt_ns(buf, n, ns);
	snprintf(buf, n, "op %s", tide__fmt_count(count, sizeof count, (int64_t)ns / TIDE_OP_NS));
	return buf;
}

char *tide__fmt_count(char *buf, size_t n, int64_t v)
{
	char plain[32], grouped[48];
	size_t k = 0;
	snprintf(plain, sizeof plain, "%" PRIu64, v < 0 ? -(uint64_t)v : (uint64_t)v);
	size_t len = strlen(plain);
	if (v < 0)
		grouped[k++] = '-';
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			grouped[k++] = ',';
		grouped[k++] = plain[i];
	}
	grouped[k] = 0;
	snprintf(buf, n, "%s", grouped);
	return buf;
}

/* ---- names ---- */

/* Returns the columns of a code point: 0 for combining marks, 2 for East Asian wide forms and
 * pictures. */
static int cp_width(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		int columns;
	} ranges[] = {
#include "render/text/width_table.h"
	};
	size_t at = 0, n = sizeof ranges / sizeof *ranges;
	if (c < ranges[0].first)
		return 1;
	TIDE_SEARCH(at, n, mid, ranges[mid].last < c);
	return at < n && c >= ranges[at].first ? ranges[at].columns : 1;
}

uint32_t tide__code_point(const char *s, size_t len)
{
	static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (uint8_t)s[0] & mask[len];
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

/* Invisible characters that reorder, hide or join their surroundings. (Joiners of letters and
 * emoji are not included.) */
static bool turns(uint32_t c)
{
	return c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f || c == 0xfeff ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f);
}

bool tide__is_invisible(const char *s, size_t len)
{
	uint32_t c = tide__code_point(s, len);
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || turns(c);
}

bool tide__is_visible_text(const char *s, size_t most)
{
	size_t n = strnlen(s, most + 1);
	for (size_t i = 0, len; i < n && n <= most; i += len) {
		len = tide__utf8_len(s + i, n - i);
		if (!len || (s[i] != '\n' && tide__is_invisible(s + i, len)))
			return false;
	}
	return n <= most;
}

/* Converts the character at s for a terminal: its bytes and columns. C0, DEL, C1 controls,
 * direction marks, invisible ones and bad bytes become \xNN (bytewise). Returns the input bytes
 * used. */
static size_t glyph(const char *s, size_t n, char out[8], int *width)
{
	size_t len = tide__utf8_len(s, n);
	uint32_t c = len ? tide__code_point(s, len) : 0;
	if (!len || tide__is_invisible(s, len)) {
		snprintf(out, 8, "\\x%02x", (uint8_t)s[0]);
		*width = 4;
		return 1;
	}
	memcpy(out, s, len);
	out[len] = 0;
	*width = cp_width(c);
	return len;
}

/* Returns the number of bytes at s that need no escape and take one column each, which is the usual
 * case. */
static size_t plain(const char *s, size_t n)
{
	size_t i = 0;
	while (i < n && s[i] >= 0x20 && s[i] < 0x7f)
		i++;
	return i;
}

int tide__columns(const char *s, size_t n)
{
	char g[8];
	int total = 0, w;
	for (size_t i = 0; i < n;) {
		size_t k = plain(s + i, n - i);
		total += (int)k;
		i += k;
		if (i < n) {
			i += glyph(s + i, n - i, g, &w);
			total += w;
		}
	}
	return total;
}

struct sink {
	FILE *out;
	char *buf;
	size_t n, used;
	bool full;
};

static void emit(struct sink *k, const char *g)
{
	size_t len = strlen(g);
	if (k->out) {
		fwrite(g, 1, len, k->out);
	} else if (!k->full && len < k->n - k->used) {
		memcpy(k->buf + k->used, g, len + 1);
		k->used += len;
	} else {
		k->full = true; /* never part of a character, nothing after a gap */
	}
}

/* Writes s in at most `width` columns: the start and the end with a mark between them. */
static void fit(struct sink *k, const char *s, size_t n, int width, const char *mark)
{
	int total = width > 0 ? tide__columns(s, n) : 0, pos = 0, w;
	bool cut = width > 0 && total > width, marked = false;
	int room = width - (int)(*mark == '.' ? strlen(mark) : 1);
	int tail = room > 0 ? room / 2 : 0, head = room - tail;
	char g[8];
	for (size_t i = 0; !cut && k->out && i < n;) { /* it fits */
		size_t run = plain(s + i, n - i);
		fwrite(s + i, 1, run, k->out);
		i += run;
		if (i < n) {
			i += glyph(s + i, n - i, g, &w);
			emit(k, g);
		}
	}
	for (size_t i = 0; (cut || !k->out) && i < n && !k->full; pos += w) {
		i += glyph(s + i, n - i, g, &w);
		if (!cut || pos + w <= head || pos >= total - tail) {
			emit(k, g);
		} else if (!marked) {
			emit(k, mark);
			marked = true;
		}
	}
}

char *tide__fmt_name(char *buf, size_t n, const char *s, size_t len, int width)
{
	struct sink k = { .buf = buf, .n = n };
	if (n)
		buf[0] = 0;
	if (n)
		fit(&k, s, len, width, "…");
	return buf;
}

void tide__put_name(FILE *out, const char *s, size_t len, int width, bool ascii)
{
	struct sink k = { .out = out };
	fit(&k, s, len, width, ascii ? ".." : "…");
}

void tide__put_words(FILE *out, const char *s, int col, int indent, int width)
{
	bool begun = false;
	for (;;) {
		size_t n = strcspn(s, " ");
		int w = tide__columns(s, n);
		if (begun && width > 0 && col + 1 + w > width) {
			fprintf(out, "\n%*s", indent, "");
			col = indent;
		} else if (begun) {
			fputc(' ', out);
			col++;
		}
		tide__put_name(out, s, n, 0, false);
		col += w;
		begun = true;
		if (!s[n])
			break;
		s += n + 1;
	}
	fputc('\n', out);
}
