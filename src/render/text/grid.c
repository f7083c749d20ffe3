// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Cells are kept as values, texts in one buffer; widths are known only when all cells were added.
 * If the table is too wide, droppable columns are dropped until texts have a readable width; then
 * texts are shortened, the widest first. */
#include "render/text/grid.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"
#include "render/text/grid_impl.h"

enum { GAP = 2, MIN_TEXT = 12, READABLE = 28, READABLE_KERNEL = 48, GONE = TIDE_GRID_GONE };

/* ---- filling ---- */

tide_grid *tide__grid_new(const tide_grid_col *cols, size_t n)
{
	tide_grid *g = tide__calloc(1, sizeof *g);
	if (g) {
		g->cols = cols;
		g->n_cols = n;
	}
	return g;
}

void tide__grid_free(tide_grid *g)
{
	if (!g)
		return;
	tide__free(g->cells);
	tide__free(g->text);
	tide__long_free(&g->longs);
	tide__free(g);
}

bool tide__grid_failed(const tide_grid *g)
{
	return !g || g->failed;
}

size_t tide__grid_rows(const tide_grid *g)
{
	return g && g->n_cols ? g->n / g->n_cols : 0;
}

static void add(tide_grid *g, struct cell c)
{
	if (!g || g->failed)
		return;
	g->failed = !TIDE_ROOM(g->cells, g->cap, g->n + 1);
	c.axis = tide__fmt_axis_now();
	if (!g->failed)
		g->cells[g->n++] = c;
}

void tide__grid_textn(tide_grid *g, const char *s, size_t n)
{
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	if (!g || g->failed)
		return;
	g->failed = !TIDE_ROOM(g->text, g->cap_text, g->n_text + n + 1);
	if (g->failed)
		return;
	memcpy(g->text + g->n_text, s, n);
	add(g, (struct cell){ .kind = TEXT, .len = (uint32_t)n, .at = g->n_text });
	g->n_text += n;
}

void tide__grid_text(tide_grid *g, const char *s)
{
	if (s)
		tide__grid_textn(g, s, strlen(s));
	else
		tide__grid_none(g);
}

tide_long *tide__grid_longs(tide_grid *g)
{
	return &g->longs;
}

void tide__grid_name(tide_grid *g, const tide_strings *s, uint32_t id)
{
	size_t n = 0;
	const char *text = g ? tide__long_get(&g->longs, s, id, &n) : NULL;
	if (id)
		tide__grid_textn(g, text, n);
	else
		tide__grid_none(g);
}

void tide__grid_int(tide_grid *g, int64_t v)
{
	add(g, (struct cell){ .kind = INT, .i = v });
}

void tide__grid_uint(tide_grid *g, uint64_t v)
{
	add(g, (struct cell){ .kind = UINT, .u = v });
}

void tide__grid_real(tide_grid *g, double v)
{
	add(g, isnan(v) ? (struct cell){ .kind = NONE } : (struct cell){ .kind = REAL, .d = v });
}

void tide__grid_none(tide_grid *g)
{
	add(g, (struct cell){ .kind = NONE });
}

void tide__grid_maybe(tide_grid *g, uint64_t v)
{
	v == UINT64_MAX ? tide__grid_none(g) : tide__grid_uint(g, v);
}

/* ---- text ---- */

static double as_double(const struct cell *c)
{
	return c->kind == INT ? (double)c->i : c->kind == UINT ? (double)c->u : c->d;
}

/* Writes a cell that is not a text. */
static char *show_value(char *buf, size_t n, const struct cell *c, tide_kind type)
{
	double v = as_double(c);
	switch (c->kind == NONE ? TIDE_CELL_TEXT : type) {
	case TIDE_CELL_COUNT:
	case TIDE_KIND_NUMBER:
		if (c->kind == UINT && c->u > INT64_MAX)
			snprintf(buf, n, "%" PRIu64, c->u);
		else
			tide__fmt_count(buf, n, c->kind == REAL ? (int64_t)c->d : c->i);
		return buf;
	case TIDE_CELL_BYTES:
	case TIDE_KIND_SIGNED:
		return tide__fmt_bytes(buf, n, v);
	case TIDE_CELL_DELTA:
		return tide__fmt_delta(buf, n, v);
	case TIDE_CELL_NS:
		return tide__fmt_ns(buf, n, v);
	case TIDE_CELL_AT:
		return tide__fmt_at(buf, n, v);
	case TIDE_CELL_DELTA_NS:
		tide__fmt_ns(buf + (v > 0), n - (v > 0), v);
		if (v > 0)
			*buf = '+';
		return buf;
	case TIDE_CELL_PCT:
	case TIDE_CELL_DELTA_PCT:
		v = v < 0 && v > -0.05 ? 0 : v; /* no "-0.0 %" */
		snprintf(buf, n, type == TIDE_CELL_DELTA_PCT && v > 0 ? "+%.1f %%" : "%.1f %%", v);
		return buf;
	case TIDE_CELL_REAL:
		snprintf(buf, n, "%.2f", v);
		return buf;
	case TIDE_CELL_PLAIN:
		snprintf(buf, n, "%" PRId64, c->i);
		return buf;
	case TIDE_CELL_HEX:
		snprintf(buf, n, "0x%" PRIx64, c->u);
		return buf;
	case TIDE_KIND_BOOL:
		snprintf(buf, n, c->u ? "yes" : "no");
		return buf;
	default:
		snprintf(buf, n, "-");
		return buf;
	}
}

/* Rows of one grid may come from traces with different axes. */
static char *show(char *buf, size_t n, const struct cell *c, tide_kind type)
{
	uint8_t now = tide__fmt_axis_now();
	tide__fmt_axis(c->axis);
	show_value(buf, n, c, type);
	tide__fmt_axis(now);
	return buf;
}

static int cell_width(const tide_grid *g, const struct cell *c, tide_kind type)
{
	char buf[400];
	if (c->kind == TEXT)
		return tide__columns(g->text + c->at, c->len);
	return (int)strlen(show(buf, sizeof buf, c, type));
}

/* Returns true for names that are kept short wherever they are printed. */
static bool is_name(const tide_grid *g, size_t k)
{
	return g->cols[k].kind == TIDE_CELL_NAME || g->cols[k].kind == TIDE_CELL_KERNEL;
}

static bool may_shorten(const tide_grid *g, size_t k)
{
	tide_kind type = g->cols[k].kind;
	return type == TIDE_KIND_TEXT || type == TIDE_KIND_WORD || type == TIDE_KIND_LIST ||
	       is_name(g, k);
}

static bool is_text(const tide_grid *g, size_t k)
{
	return may_shorten(g, k) || g->cols[k].kind == TIDE_KIND_BAR;
}

/* An axis of ops has no durations. */
static bool no_duration(tide_kind type)
{
	return tide__fmt_by_ops() && (type == TIDE_CELL_NS || type == TIDE_CELL_DELTA_NS);
}

static bool shown(const tide_grid *g, size_t k)
{
	return g->cols[k].heading && !no_duration(g->cols[k].kind);
}

/* Columns without a title are for JSON only. */
static void measure(const tide_grid *g, int *w)
{
	for (size_t k = 0; k < g->n_cols; k++)
		w[k] = shown(g, k) ? tide__columns(g->cols[k].heading, strlen(g->cols[k].heading))
				   : GONE;
	for (size_t i = 0; i < g->n / g->n_cols * g->n_cols; i++) {
		size_t k = i % g->n_cols;
		int cw = w[k] == GONE ? GONE : cell_width(g, &g->cells[i], g->cols[k].kind);
		if (cw > w[k])
			w[k] = cw;
	}
}

/* Returns the width of the table with texts of at most `text` columns. */
static int total_width(const tide_grid *g, const int *w, int text)
{
	int total = -GAP;
	for (size_t k = 0; k < g->n_cols; k++)
		if (w[k] != GONE)
			total += GAP + (may_shorten(g, k) && w[k] > text ? text : w[k]);
	return total;
}

/* Returns true if all rows of the column are unknown. */
static bool is_empty(const tide_grid *g, size_t k)
{
	for (size_t i = k; i < g->n; i += g->n_cols)
		if (g->cells[i].kind != NONE)
			return false;
	return g->n > 0;
}

/* Drops columns until the rest fits with readable texts: empty ones first, then the last of
 * equals. */
static void give_way(const tide_grid *g, int *w, int room)
{
	for (size_t k = g->n_cols; k-- > 0 && total_width(g, w, READABLE) > room;)
		if (w[k] != GONE && is_empty(g, k))
			w[k] = GONE;
	while (total_width(g, w, READABLE) > room) {
		size_t best = g->n_cols;
		for (size_t k = 0; k < g->n_cols; k++)
			if (w[k] != GONE && g->cols[k].give &&
			    (best == g->n_cols || g->cols[k].give >= g->cols[best].give))
				best = k;
		if (best == g->n_cols)
			return;
		w[best] = GONE;
	}
}

/* Drops number columns, the last first, but not the last two, if even the shortest texts do not
 * fit. */
static void drop(const tide_grid *g, int *w, int room)
{
	while (total_width(g, w, MIN_TEXT) > room) {
		size_t last = g->n_cols, shown = 0;
		for (size_t k = 0; k < g->n_cols; k++) {
			shown += w[k] != GONE;
			if (w[k] != GONE && !may_shorten(g, k))
				last = k;
		}
		if (last == g->n_cols || shown <= 2)
			return;
		w[last] = GONE;
	}
}

/* Returns the least width of a column that may be narrowed, INT_MAX = it may not. */
static int least_on_terminal(const tide_grid *g, size_t k)
{
	return may_shorten(g, k) ? MIN_TEXT : INT_MAX;
}

static int least_of_names(const tide_grid *g, size_t k)
{
	int least = g->cols[k].kind == TIDE_CELL_KERNEL ? READABLE_KERNEL : READABLE;
	return is_name(g, k) ? least : INT_MAX;
}

/* Narrows the widest text until the table fits or no text can be narrower. */
static void squeeze(const tide_grid *g, int *w, int room,
		    int (*least)(const tide_grid *g, size_t k))
{
	for (int total = total_width(g, w, INT_MAX); total > room; total--) {
		size_t best = g->n_cols;
		for (size_t k = 0; k < g->n_cols; k++)
			if (w[k] > least(g, k) && (best == g->n_cols || w[k] > w[best]))
				best = k;
		if (best == g->n_cols)
			return;
		w[best]--;
	}
}

static void pad(FILE *out, int n)
{
	if (n > 0)
		fprintf(out, "%*s", n, "");
}

/* Without shortening, one very long text would pad every other row with as many blanks: then the
 * column is kept narrow, and longer texts are not aligned. */
static void keep_narrow(const tide_grid *g, int *w)
{
	enum { ENOUGH = 100, MOST_BLANKS = 1 << 20 };
	for (size_t k = 0; k < g->n_cols; k++) {
		int64_t blanks = 0;
		for (size_t i = k; w[k] > ENOUGH && i < g->n; i += g->n_cols)
			blanks += w[k] - cell_width(g, &g->cells[i], g->cols[k].kind);
		if (blanks > MOST_BLANKS)
			w[k] = ENOUGH;
	}
}

/* Writes one cell; the last column's trailing blanks are left out. */
static void put_cell(FILE *out, const char *s, size_t n, int w, bool left, bool last,
		     const tide_style *st)
{
	int cw = tide__columns(s, n);
	if (!left)
		pad(out, w - cw);
	tide__put_name(out, s, n, st->width && cw > w ? w : 0, st->ascii);
	if (left && !last)
		pad(out, w - cw);
}

static size_t last_shown(const tide_grid *g, const int *w)
{
	size_t last = 0;
	for (size_t k = 0; k < g->n_cols; k++)
		if (w[k] != GONE)
			last = k;
	return last;
}

static void print_head(const tide_grid *g, FILE *out, const tide_style *st, const int *w,
		       int indent)
{
	size_t last = last_shown(g, w);
	pad(out, indent);
	fputs(st->color ? "\033[1m" : "", out);
	for (size_t k = 0; k < g->n_cols; k++) {
		const tide_grid_col *c = &g->cols[k];
		if (w[k] == GONE)
			continue;
		put_cell(out, c->heading, strlen(c->heading), w[k], is_text(g, k), k == last, st);
		pad(out, k == last ? 0 : GAP);
	}
	fputs(st->color ? "\033[0m\n" : "\n", out);
}

static void print_row(const tide_grid *g, const struct cell *row, FILE *out, const tide_style *st,
		      const int *w, int indent)
{
	size_t last = last_shown(g, w);
	char buf[400];
	pad(out, indent);
	for (size_t k = 0; k < g->n_cols; k++) {
		const struct cell *c = &row[k];
		if (w[k] == GONE)
			continue;
		const char *s = c->kind == TEXT ? g->text + c->at
						: show(buf, sizeof buf, c, g->cols[k].kind);
		size_t n = c->kind == TEXT ? c->len : strlen(s);
		put_cell(out, s, n, w[k], is_text(g, k), k == last, st);
		pad(out, k == last ? 0 : GAP);
	}
	fputc('\n', out);
}

/* Prints the names of dropped columns. */
static void print_gone(const tide_grid *g, FILE *out, const int *w, int indent)
{
	bool first = true;
	for (size_t k = 0; k < g->n_cols; k++) {
		if (w[k] != GONE || !shown(g, k))
			continue;
		if (first)
			fprintf(out, "%*s(no room for: ", indent, "");
		fprintf(out, "%s%s", first ? "" : ", ", g->cols[k].heading);
		first = false;
	}
	fputs(first ? "" : ")\n", out);
}

/* ---- printing ---- */

static void print_grid(const tide_grid *g, FILE *out, const tide_style *style, int indent);

void tide__grid_print(const tide_grid *g, FILE *out, const tide_style *style, int indent)
{
	tide_grid *c = g && !g->failed && !style->full_names ? tide__grid_short_kernels(g) : NULL;
	print_grid(c ? c : g, out, style, indent);
	tide__grid_free(c);
}

static void print_grid(const tide_grid *g, FILE *out, const tide_style *style, int indent)
{
	int *w = g && !g->failed ? tide__alloc(g->n_cols, sizeof *w) : NULL;
	if (!w) { /* never a table that silently lacks rows */
		fprintf(out, "%*s(out of memory: a table is left out)\n", indent, "");
		return;
	}
	measure(g, w);
	if (style->width) {
		give_way(g, w, style->width - indent);
		drop(g, w, style->width - indent);
		squeeze(g, w, style->width - indent, least_on_terminal);
	} else {
		if (!style->full_names)
			squeeze(g, w, TIDE_NAMES_WIDTH - indent, least_of_names);
		keep_narrow(g, w);
	}
	tide_grid *cut = tide__grid_cut_names(g, w, style);
	const tide_grid *rows = cut ? cut : g;
	print_head(g, out, style, w, indent);
	for (size_t r = 0; r < tide__grid_rows(rows); r++)
		print_row(rows, rows->cells + r * g->n_cols, out, style, w, indent);
	tide__grid_free(cut);
	print_gone(g, out, w, indent);
	if (g->longs.cut)
		fprintf(out,
			"%*s(%" PRIu64 " long texts are cut; each is complete at its first "
			"use)\n",
			indent, "", g->longs.cut);
	tide__free(w);
}

/* ---- JSON ---- */

/* Reads "[8, 1, 1]". Returns how many integers it holds; 0 if it is none of at most `most`. */
static size_t read_sizes(const char *s, size_t n, int64_t *v, size_t most)
{
	size_t many = 0;
	for (size_t i = 1; n > 2 && *s == '[' && i < n && many < most;) {
		size_t from = i;
		for (v[many] = 0; i < n && i < from + 18 && s[i] >= '0' && s[i] <= '9'; i++)
			v[many] = v[many] * 10 + (s[i] - '0');
		if (i == from || i == n)
			return 0;
		many++;
		if (s[i] == ']')
			return i + 1 == n ? many : 0;
		if (s[i++] != ',')
			return 0;
		i += i < n && s[i] == ' ';
	}
	return 0;
}

static void json_sizes(const char *s, size_t n, tide_json *j)
{
	enum { MOST = 8 };
	int64_t v[MOST];
	size_t many = read_sizes(s, n, v, MOST);
	if (!many) {
		tide__json_null(j);
		return;
	}
	tide__json_array(j);
	for (size_t k = 0; k < many; k++)
		tide__json_int(j, v[k]);
	tide__json_array_end(j);
}

static void json_cell(const tide_grid *g, const struct cell *c, tide_kind type, tide_json *j)
{
	if (no_duration(type)) {
		tide__json_null(j);
		return;
	}
	switch (c->kind) {
	case INT:
		tide__json_int(j, c->i);
		break;
	case UINT:
		if (type == TIDE_KIND_BOOL)
			tide__json_bool(j, c->u);
		else
			tide__json_uint(j, c->u);
		break;
	case REAL:
		if (type == TIDE_CELL_PCT || type == TIDE_CELL_DELTA_PCT)
			tide__json_fixed(j, c->d, 4);
		else
			tide__json_double(j, c->d);
		break;
	case TEXT:
		if (type == TIDE_CELL_SIZES)
			json_sizes(g->text + c->at, c->len, j);
		else
			tide__json_strn(j, g->text + c->at, c->len);
		break;
	default:
		tide__json_null(j);
	}
}

void tide__grid_json_row(const tide_grid *g, size_t row, tide_json *j)
{
	tide__json_object(j);
	for (size_t k = 0; k < g->n_cols; k++) {
		tide__json_key(j, g->cols[k].key);
		json_cell(g, &g->cells[row * g->n_cols + k], g->cols[k].kind, j);
	}
	tide__json_object_end(j);
}

void tide__grid_json_rows(tide_grid *g, tide_json *j)
{
	if (tide__grid_failed(g)) {
		j->failed = true;
		return;
	}
	for (size_t r = 0; r < tide__grid_rows(g); r++)
		tide__grid_json_row(g, r, j);
	j->cut += g->longs.cut;
	g->longs.cut = 0;
	g->n = g->n_text = 0;
}

void tide__grid_json(const tide_grid *g, tide_json *j)
{
	if (tide__grid_failed(g))
		j->failed = true;
	else
		j->cut += g->longs.cut;
	tide__json_array(j);
	for (size_t r = 0; r < tide__grid_rows(g); r++)
		tide__grid_json_row(g, r, j);
	tide__json_array_end(j);
}

void tide__grid_write_member(tide_grid *g, tide_json *j, const char *key)
{
	tide__json_key(j, key);
	tide__grid_json(g, j);
	tide__grid_free(g);
}
