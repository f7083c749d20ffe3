// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Columns have a resolution of 1/8 row; a value above 0 is always visible. */
#include "render/text/chart.h"

#include <string.h>

struct look {
	const char *part[9]; /* nothing .. full, of live memory */
	const char *shade;   /* reserved */
	const char *axis, *corner, *line;
};

static const struct look blocks = {
	{ " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }, "░", "│", "└", "─"
};
static const struct look ascii = {
	{ " ", ".", ".", ".", ":", ":", ":", "#", "#" }, "-", "|", "+", "-"
};

/* Returns the reserved bytes to draw, 0 if they are unknown. */
static uint64_t held_at(const tide_chart *c, size_t i)
{
	return c->reserved && c->reserved[i] != UINT64_MAX ? c->reserved[i] : 0;
}

/* The same for sampled live bytes. */
static uint64_t live_at(const tide_chart *c, size_t i)
{
	return c->live[i] != UINT64_MAX ? c->live[i] : 0;
}

static uint64_t top_of(const tide_chart *c)
{
	uint64_t top = 1;
	for (size_t i = 0; i < c->n; i++) {
		if (live_at(c, i) > top)
			top = live_at(c, i);
		if (held_at(c, i) > top)
			top = held_at(c, i);
	}
	return top;
}

/* Returns how many eighths of a row v fills out of `rows` rows. */
static int eighths(uint64_t v, uint64_t top, int rows)
{
	int e = (int)((double)v / (double)top * 8 * rows + 0.5);
	return v && !e ? 1 : e;
}

static int clamp8(int e)
{
	return e < 0 ? 0 : e > 8 ? 8 : e;
}

static void put_cell(const tide_chart *c, size_t i, int below, uint64_t top, FILE *out,
		     const struct look *k, const tide_style *style)
{
	int live = clamp8(eighths(live_at(c, i), top, c->height) - below);
	int held = clamp8(eighths(held_at(c, i), top, c->height) - below);
	if (!live && held >= 4)
		fputs(k->shade, out);
	else if (style->color && live)
		fprintf(out, "\033[36m%s\033[0m", k->part[live]);
	else
		fputs(k->part[live], out);
}

static void put_row(const tide_chart *c, int row, uint64_t top, FILE *out, const tide_style *style)
{
	const struct look *k = style->ascii ? &ascii : &blocks;
	char label[32] = "";
	int below = 8 * row; /* eighths under this row */
	if (row == c->height - 1)
		tide__fmt_bytes(label, sizeof label, (double)top);
	else if (row == 0)
		snprintf(label, sizeof label, "0 B");
	else if (c->height % 2 == 0 && row == c->height / 2 - 1)
		tide__fmt_bytes(label, sizeof label, (double)top / 2);
	fprintf(out, "%*s %s", TIDE_CHART_MARGIN - 2, label, k->axis);
	for (size_t i = 0; i < c->n; i++)
		put_cell(c, i, below, top, out, k, style);
	fputc('\n', out);
}

static void put_axis(const tide_chart *c, FILE *out, const tide_style *style, int indent)
{
	const struct look *k = style->ascii ? &ascii : &blocks;
	char a[32], b[32];
	fprintf(out, "%*s%s", indent + TIDE_CHART_MARGIN - 1, "", k->corner);
	for (size_t i = 0; i < c->n; i++)
		fputs(k->line, out);
	tide__fmt_at(a, sizeof a, (double)c->t0);
	tide__fmt_at(b, sizeof b, (double)c->t1);
	int gap = (int)c->n - (int)strlen(a) - (int)strlen(b);
	fprintf(out, "\n%*s%s%*s%s\n", indent + TIDE_CHART_MARGIN, "", a, gap > 1 ? gap : 1, "", b);
}

void tide__chart_print(const tide_chart *c, FILE *out, const tide_style *style, int indent)
{
	uint64_t top = top_of(c);
	for (int row = c->height - 1; row >= 0; row--) {
		fprintf(out, "%*s", indent, "");
		put_row(c, row, top, out, style);
	}
	put_axis(c, out, style, indent);
}
