// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A grid of typed cells that is written as an aligned text table or as a JSON array of objects: one
 * definition of the columns, two emitters, so the two always agree.
 *
 *     static const tide_grid_col cols[] = {
 *         { "name",   "Kernel", TIDE_CELL_TEXT },
 *         { "sum_ns", "Total",  TIDE_CELL_NS },
 *     };
 *     tide_grid *g = tide__grid_new(cols, 2);
 *     tide__grid_text(g, name); tide__grid_int(g, sum);         // row by row, left to right
 *     tide__grid_print(g, out, &style, 2);  or  tide__grid_json(g, &json);
 */
#ifndef TIDE_RENDER_TEXT_GRID_H
#define TIDE_RENDER_TEXT_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "render/text/json.h"
#include "render/text/member.h"

/* Names of kinds in the tables of columns. */
#define TIDE_CELL_TEXT	    TIDE_KIND_TEXT
#define TIDE_CELL_COUNT	    TIDE_KIND_COUNT
#define TIDE_CELL_BYTES	    TIDE_KIND_BYTES
#define TIDE_CELL_DELTA	    TIDE_KIND_DELTA
#define TIDE_CELL_NS	    TIDE_KIND_NS
#define TIDE_CELL_AT	    TIDE_KIND_AT
#define TIDE_CELL_DELTA_NS  TIDE_KIND_DELTA_NS
#define TIDE_CELL_PCT	    TIDE_KIND_PCT
#define TIDE_CELL_DELTA_PCT TIDE_KIND_DELTA_PCT
#define TIDE_CELL_REAL	    TIDE_KIND_REAL
#define TIDE_CELL_HEX	    TIDE_KIND_HEX
#define TIDE_CELL_PLAIN	    TIDE_KIND_PLAIN
#define TIDE_CELL_KERNEL    TIDE_KIND_KERNEL
#define TIDE_CELL_NAME	    TIDE_KIND_NAME
#define TIDE_CELL_BAR	    TIDE_KIND_BAR
#define TIDE_CELL_SIZES	    TIDE_KIND_SIZES
typedef tide_member tide_grid_col;

enum { TIDE_NAMES_WIDTH = 110 }; /* columns of a table with names, unless they must be complete */

typedef struct tide_style {
	bool color;	 /* ANSI colours: only when stdout is a terminal and NO_COLOR is unset */
	int width;	 /* columns to fit into; 0 = do not shorten */
	bool ascii;	 /* no box-drawing or block characters */
	bool full_names; /* names of kernels, modules and ops are not shortened */
} tide_style;

typedef struct tide_grid tide_grid;

/* `cols` is borrowed until tide__grid_free. Running out of memory is sticky: tide__grid_failed. */
tide_grid *tide__grid_new(const tide_grid_col *cols, size_t n);
void tide__grid_free(tide_grid *g);
bool tide__grid_failed(const tide_grid *g);
size_t tide__grid_rows(const tide_grid *g);

void tide__grid_text(tide_grid *g, const char *s); /* copied */
void tide__grid_textn(tide_grid *g, const char *s, size_t n);
/* Returns the grid's memory of long texts (long_text.h), for composed texts. g may be failed,
 * not NULL. */
tide_long *tide__grid_longs(tide_grid *g);
/* Adds a text of a table by its id, for rows that may share it: long_text.h. 0: unknown. */
void tide__grid_name(tide_grid *g, const tide_strings *s, uint32_t id);
void tide__grid_int(tide_grid *g, int64_t v);
void tide__grid_uint(tide_grid *g, uint64_t v);
void tide__grid_real(tide_grid *g, double v);	 /* NaN = unknown: "-" / null */
void tide__grid_none(tide_grid *g);		 /* unknown: "-" / null */
void tide__grid_maybe(tide_grid *g, uint64_t v); /* UINT64_MAX = unknown */

/* Without a width only names (NAME, KERNEL) are shortened, to TIDE_NAMES_WIDTH columns in all, but not
 * below a readable width; with full_names not even those.
 * If style->width is too small: droppable columns are dropped, as few as possible, then texts
 * are shortened, and as a last resort further number columns are dropped from the right. Dropped
 * columns are named in a line below the table. A number is never cut, and texts that differ look
 * different (grid_names.c). Long texts that were cut
 * (tide__grid_name) are counted there, too; in JSON they are added to j->cut. */
void tide__grid_print(const tide_grid *g, FILE *out, const tide_style *style, int indent);
void tide__grid_json(const tide_grid *g, tide_json *j); /* [ {..}, .. ] */
/* Writes it as the member `key` and frees the grid. */
void tide__grid_write_member(tide_grid *g, tide_json *j, const char *key);
void tide__grid_json_row(const tide_grid *g, size_t row, tide_json *j); /* one {..} */
/* Writes the rows as {..} of an open array and removes them from the grid, so that a table of any
 * length needs little memory. */
void tide__grid_json_rows(tide_grid *g, tide_json *j);

/* The same formats for single values; all return `buf`. */
char *tide__fmt_bytes(char *buf, size_t n, double bytes); /* "12.34 MiB" */
char *tide__fmt_delta(char *buf, size_t n, double bytes); /* "+12.34 MiB" */
char *tide__fmt_ns(char *buf, size_t n, double ns);	  /* "1.234 ms" */
char *tide__fmt_at(char *buf, size_t n, double ns);	  /* the same for a time; "op 1,234" */
/* Sets the unit of times that this thread formats next (TIDE_AXIS_*); the code that loads a
 * model calls it. A cell of a grid keeps the unit that was set when it was added. */
void tide__fmt_axis(uint8_t axis);
uint8_t tide__fmt_axis_now(void);
bool tide__fmt_by_ops(void);
char *tide__fmt_count(char *buf, size_t n, int64_t v); /* "1,234,567" */
/* Copies `s` for a terminal: control bytes and invalid UTF-8 become \xNN; at most `width`
 * columns, shortened in the middle with "…" (0 = full length). Returns buf. */
char *tide__fmt_name(char *buf, size_t n, const char *s, size_t len, int width);

#endif
