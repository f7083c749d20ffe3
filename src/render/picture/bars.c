// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/picture/bars.h"

#include <cairo/cairo-svg.h>
#include <cairo/cairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "render/picture/colors.h"

enum {
	BAR = 260,    /* width a summary takes, in points */
	INSET = 10,   /* from its left to its bar; labels of thin parts are on the right */
	THICK = 90,   /* of a bar */
	HEIGHT = 400, /* of the plot: half a page of a document */
	LEFT = 90,
	RIGHT = 30,
	TOP = 90, /* title and legend */
	BOTTOM = 60,
	MOST = 200, /* bars */
	STEPS = 6,  /* lines of the scale */
	LINE = 14,  /* height that a label needs */
	DENSE = 2,  /* pixels per point of a PNG, for print and sharp screens */
};

struct picture {
	cairo_t *c;
	const tide_bar *bars;
	size_t n;
	double scale; /* points per byte */
	int width;
};

static void set_color(cairo_t *c, uint32_t v)
{
	cairo_set_source_rgb(c, (v >> 16 & 255) / 255.0, (v >> 8 & 255) / 255.0, (v & 255) / 255.0);
}

/* Draws a text whose middle (0.5), left (0) or right (1) is at x. Bytes that are not UTF-8
 * become '?'. */
static void text(cairo_t *c, double x, double y, double where, double size, const char *s)
{
	char safe[120];
	size_t n = 0;
	cairo_text_extents_t e;
	for (; *s && n + 1 < sizeof safe; s++)
		safe[n++] = (unsigned char)*s < 32 || (unsigned char)*s > 126 ? '?' : *s;
	safe[n] = 0;
	cairo_set_font_size(c, size);
	cairo_text_extents(c, safe, &e);
	cairo_move_to(c, x - where * e.x_advance, y);
	cairo_show_text(c, safe);
}

static double y_of(const struct picture *p, double bytes)
{
	return TOP + HEIGHT - bytes * p->scale;
}

static double mib(int64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static void draw_scale(const struct picture *p, double most)
{
	char s[40];
	for (int i = 0; i <= STEPS; i++) {
		double bytes = most * i / STEPS, y = y_of(p, bytes);
		cairo_set_source_rgb(p->c, 0.88, 0.88, 0.88);
		cairo_set_line_width(p->c, 1);
		cairo_move_to(p->c, LEFT, y);
		cairo_line_to(p->c, p->width - RIGHT, y);
		cairo_stroke(p->c);
		cairo_set_source_rgb(p->c, 0.2, 0.2, 0.2);
		snprintf(s, sizeof s, "%.0f MB", bytes / (1024 * 1024));
		text(p->c, LEFT - 8, y + 4, 1, 11, s);
	}
}

static double bar_x(size_t k)
{
	return LEFT + BAR * (double)k + INSET;
}

/* Draws the label of a part that is too thin for it beside the bar, above those below it; *free is
 * the lowest free line. */
static void label_beside(const struct picture *p, double x, double middle, const char *name,
			 double size, double *free)
{
	char s[120];
	double y = middle < *free ? middle : *free;
	snprintf(s, sizeof s, "%s: %.*f MB", name, size < 10 ? 2 : 0, size);
	cairo_set_source_rgb(p->c, 0.5, 0.5, 0.5);
	cairo_set_line_width(p->c, 1);
	cairo_move_to(p->c, x + THICK, middle);
	cairo_line_to(p->c, x + THICK + 8, y);
	cairo_stroke(p->c);
	cairo_set_source_rgb(p->c, 0.1, 0.1, 0.1);
	text(p->c, x + THICK + 11, y + 4, 0, 10, s);
	*free = y - LINE;
}

static void draw_bar(const struct picture *p, size_t k)
{
	const tide_training_sizes *t = &p->bars[k].sizes;
	double x = bar_x(k), at = 0, free = TOP + HEIGHT - 4;
	char s[120];
	for (int i = 0; i < TIDE_PARTS_N; i++) {
		double bytes =
			t->part[i].known && t->part[i].bytes > 0 ? (double)t->part[i].bytes : 0;
		double h = bytes * p->scale, y = y_of(p, at + bytes);
		if (bytes <= 0)
			continue;
		set_color(p->c, tide__training_part_color((tide_training_part)i));
		cairo_rectangle(p->c, x, y, THICK, h);
		cairo_fill(p->c);
		cairo_set_source_rgb(p->c, 0.1, 0.1, 0.1);
		snprintf(s, sizeof s, "%.0f MB", mib(t->part[i].bytes));
		if (h >= LINE)
			text(p->c, x + THICK / 2.0, y + h / 2 + 4, 0.5, 11, s);
		else
			label_beside(p, x, y + h / 2,
				     tide__training_part_text((tide_training_part)i),
				     mib(t->part[i].bytes), &free);
		at += bytes;
	}
	cairo_set_source_rgb(p->c, 0, 0, 0);
	snprintf(s, sizeof s, "Total: %.0f MB", mib(t->peak));
	text(p->c, x + THICK / 2.0, y_of(p, at) - 6, 0.5, 12, s);
	text(p->c, x + THICK / 2.0, TOP + HEIGHT + 20, 0.5, 12, p->bars[k].title);
	if (t->peak_phase && *t->peak_phase) {
		snprintf(s, sizeof s, "peak in %.40s", t->peak_phase);
		text(p->c, x + THICK / 2.0, TOP + HEIGHT + 36, 0.5, 10, s);
	}
}

static void draw_limit(const struct picture *p, size_t k)
{
	const double dash[] = { 8, 5 };
	uint64_t bytes = p->bars[k].sizes.capacity;
	double x = LEFT + BAR * (double)k, y = y_of(p, (double)bytes);
	char s[60];
	if (!bytes)
		return;
	cairo_set_source_rgb(p->c, 0.85, 0, 0);
	cairo_set_line_width(p->c, 2);
	cairo_set_dash(p->c, dash, 2, 0);
	cairo_move_to(p->c, x, y);
	cairo_line_to(p->c, x + BAR, y);
	cairo_stroke(p->c);
	cairo_set_dash(p->c, NULL, 0, 0);
	snprintf(s, sizeof s, "Device: %.0f MB", mib((int64_t)bytes));
	if (!k)
		text(p->c, x + 4, y - 5, 0, 10, s);
}

/* Adds the line of the device's memory to the legend, if a bar has one. */
static void limit_legend(const struct picture *p, double x, double y)
{
	const double dash[] = { 6, 3 };
	bool any = false;
	for (size_t k = 0; k < p->n; k++)
		any |= p->bars[k].sizes.capacity != 0;
	if (!any)
		return;
	cairo_set_source_rgb(p->c, 0.85, 0, 0);
	cairo_set_line_width(p->c, 2);
	cairo_set_dash(p->c, dash, 2, 0);
	cairo_move_to(p->c, x - 4, y - 4);
	cairo_line_to(p->c, x + 11, y - 4);
	cairo_stroke(p->c);
	cairo_set_dash(p->c, NULL, 0, 0);
	cairo_set_source_rgb(p->c, 0, 0, 0);
	text(p->c, x + 14, y, 0, 11, "Device memory");
}

static void draw_legend(const struct picture *p, const char *title)
{
	double x = LEFT;
	cairo_set_source_rgb(p->c, 0, 0, 0);
	if (title)
		text(p->c, p->width / 2.0, 28, 0.5, 16, title);
	for (int i = 0; i < TIDE_PARTS_N; i++) {
		const char *s = tide__training_part_text((tide_training_part)i);
		double y = 48 + 18 * (i / 3);
		x = LEFT + 130 * (i % 3);
		set_color(p->c, tide__training_part_color((tide_training_part)i));
		cairo_rectangle(p->c, x, y - 9, 10, 10);
		cairo_fill(p->c);
		cairo_set_source_rgb(p->c, 0, 0, 0);
		text(p->c, x + 14, y, 0, 11, s);
	}
	limit_legend(p, LEFT + 130 * (TIDE_PARTS_N % 3), 48 + 18 * (TIDE_PARTS_N / 3));
}

static double highest(const tide_bar *bars, size_t n)
{
	double most = 1;
	for (size_t i = 0; i < n; i++) {
		const tide_training_sizes *t = &bars[i].sizes;
		double sum = 0;
		for (int p = 0; p < TIDE_PARTS_N; p++)
			sum += t->part[p].known && t->part[p].bytes > 0 ? (double)t->part[p].bytes
									: 0;
		most = sum > most ? sum : most;
		most = (double)t->capacity > most ? (double)t->capacity : most;
	}
	return most * 1.1;
}

static cairo_status_t put(void *to, const unsigned char *data, unsigned n)
{
	return fwrite(data, 1, n, to) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void draw(struct picture *p, const char *title)
{
	double most = highest(p->bars, p->n);
	p->scale = HEIGHT / most;
	cairo_set_source_rgb(p->c, 1, 1, 1);
	cairo_paint(p->c);
	cairo_select_font_face(p->c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       CAIRO_FONT_WEIGHT_NORMAL);
	draw_scale(p, most);
	for (size_t k = 0; k < p->n; k++)
		draw_bar(p, k);
	for (size_t k = 0; k < p->n; k++)
		draw_limit(p, k);
	draw_legend(p, title);
}

bool tide__bars_built(void)
{
	return true;
}

tide_code tide__bars_draw(const tide_bar *bars, size_t n, const char *title, bool svg, FILE *out,
			  tide_error *err)
{
	int width = LEFT + RIGHT + BAR * (int)(n < 2 ? 2 : n), height = TOP + HEIGHT + BOTTOM;
	if (n > MOST)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "%zu bars are too many for a picture (%d)", n, MOST);
	cairo_surface_t *s =
		svg ? cairo_svg_surface_create_for_stream(put, out, width, height)
		    : cairo_image_surface_create(CAIRO_FORMAT_RGB24, DENSE * width, DENSE * height);
	struct picture p = { cairo_create(s), bars, n, 0, width };
	if (!svg)
		cairo_scale(p.c, DENSE, DENSE);
	draw(&p, title);
	cairo_status_t st = cairo_status(p.c);
	cairo_destroy(p.c);
	if (st == CAIRO_STATUS_SUCCESS && !svg)
		st = cairo_surface_write_to_png_stream(s, put, out);
	cairo_surface_finish(s);
	if (st == CAIRO_STATUS_SUCCESS)
		st = cairo_surface_status(s);
	cairo_surface_destroy(s);
	if (st == CAIRO_STATUS_NO_MEMORY)
		return tide__nomem(err);
	return st == CAIRO_STATUS_SUCCESS ? TIDE_OK
					  : tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET, "%s",
						       cairo_status_to_string(st));
}

void tide__bars_write_links(const tide_bar *bars, size_t n, FILE *out)
{
	struct picture p = { .bars = bars, .n = n, .scale = HEIGHT / highest(bars, n) };
	int width = LEFT + RIGHT + BAR * (int)(n < 2 ? 2 : n), height = TOP + HEIGHT + BOTTOM;
	fprintf(out, "<svg class=\"links\" width=\"%dpt\" height=\"%dpt\" viewBox=\"0 0 %d %d\">\n",
		width, height, width, height);
	for (size_t k = 0; k < n; k++) {
		double at = 0;
		for (int i = 0; i < TIDE_PARTS_N; i++) {
			const tide_maybe_bytes *b = &bars[k].sizes.part[i];
			if (!b->known || b->bytes <= 0)
				continue;
			at += (double)b->bytes;
			fprintf(out,
				"<a href=\"#b%zu-%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
				"height=\"%.1f\"><title>%s: %.2f MB</title></rect></a>\n",
				k, i, bar_x(k), y_of(&p, at), THICK, (double)b->bytes * p.scale,
				tide__training_part_text((tide_training_part)i), mib(b->bytes));
		}
	}
	fputs("</svg>\n", out);
}
