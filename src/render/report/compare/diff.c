// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compare/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/report/ops/flame.h"
#include "render/text/labels.h"
#include "render/text/losses.h"

char *tide__unit_text(char *buf, size_t n, tide_unit unit, int64_t v, bool sign)
{
	char text[48];
	if (unit == TIDE_UNIT_BYTES)
		tide__fmt_bytes(text, sizeof text, (double)v);
	else if (unit == TIDE_UNIT_NS)
		tide__fmt_ns(text, sizeof text, (double)v);
	else
		tide__fmt_count(text, sizeof text, v);
	snprintf(buf, n, "%s%s", sign && v > 0 ? "+" : "", text);
	return buf;
}

/* ---- figures ---- */

static void figure_cell(tide_grid *g, tide_unit unit, uint64_t v, bool known)
{
	char buf[64];
	if (known)
		tide__grid_text(g, tide__unit_text(buf, sizeof buf, unit, (int64_t)v, false));
	else
		tide__grid_none(g);
}

tide_grid *tide__diff_metrics(const tide_diff *d)
{
	static const tide_grid_col cols[] = {
		{ "name", "Figure", TIDE_CELL_TEXT }, { "a", "A", TIDE_CELL_TEXT },
		{ "b", "B", TIDE_CELL_TEXT },	      { "delta", "Change", TIDE_CELL_TEXT },
		{ "pct", "%", TIDE_CELL_DELTA_PCT },  { "what", "What it is", TIDE_CELL_TEXT, 1 }
	};
	tide_grid *g = tide__grid_new(cols, sizeof cols / sizeof *cols);
	for (unsigned k = 0; g && k < TIDE_N_METRICS; k++) {
		const bool *known = d->known[k];
		const uint64_t *v = d->metric[k];
		tide_unit unit = tide__metrics[k].unit;
		char buf[64];
		if (!known[0] && !known[1])
			continue;
		tide__grid_text(g, tide__metrics[k].key);
		figure_cell(g, unit, v[0], known[0]);
		figure_cell(g, unit, v[1], known[1]);
		if (known[0] && known[1]) {
			tide__grid_text(g, tide__unit_text(buf, sizeof buf, unit,
							   (int64_t)(v[1] - v[0]), true));
			tide__grid_real(g, tide__change_pct(v[0], v[1]));
		} else {
			tide__grid_none(g);
			tide__grid_none(g);
		}
		tide__grid_text(g, tide__metrics[k].what);
	}
	if (g && !tide__grid_failed(g))
		return g;
	tide__grid_free(g);
	return NULL;
}

void tide__diff_metrics_json(const tide_diff *d, tide_json *j)
{
	static const char *const units[] = { "count", "ns", "bytes" };
	tide__json_kobject(j, "metrics");
	for (unsigned k = 0; k < TIDE_N_METRICS; k++) {
		bool both = d->known[k][0] && d->known[k][1];
		tide__json_kobject(j, tide__metrics[k].key);
		tide__json_kstr(j, "unit", units[tide__metrics[k].unit]);
		tide__json_kuint_if(j, "a", d->known[k][0], d->metric[k][0]);
		tide__json_kuint_if(j, "b", d->known[k][1], d->metric[k][1]);
		if (both) {
			tide__json_kint(j, "delta", (int64_t)(d->metric[k][1] - d->metric[k][0]));
			tide__json_kfixed(j, "pct",
					  tide__change_pct(d->metric[k][0], d->metric[k][1]), 4);
		} else {
			tide__json_knull(j, "delta");
			tide__json_knull(j, "pct");
		}
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

void tide__diff_side_json(tide_json *j, const char *key, const char *file, const tide_model *m,
			  tide_device_id device)
{
	char name[64];
	tide__json_kobject(j, key);
	tide__json_kstr(j, "trace", file);
	tide__json_kstr(j, "device",
			device.i ? tide__device_name(m, device.i, name, sizeof name) : NULL);
	tide__losses_json(j, m);
	tide__json_object_end(j);
}

/* ---- rows ---- */

#define UNKNOWN .may = TIDE_MAY_BE_NULL
#define ROW_MEMBERS(KEY, TITLE, CELL, CHANGE, VALUE)                                            \
	{                                                                                       \
		{ "delta", "Change", CHANGE, UNKNOWN, .meaning = "b - a" },                     \
			{ "pct", "%", TIDE_KIND_DELTA_PCT, UNKNOWN,                             \
			  .meaning = "delta as part of a" },                                    \
			{ "a", "A " VALUE, CELL, 2, UNKNOWN, .meaning = VALUE " in A" },        \
			{ "b", "B " VALUE, CELL, 2, UNKNOWN, .meaning = VALUE " in B" },        \
			{ "count_a", "A count", TIDE_KIND_COUNT, 8, .meaning = "number in A" }, \
			{ "count_b", "B count", TIDE_KIND_COUNT, 8, .meaning = "number in B" }, \
			{ "status",                                                             \
			  "Status",                                                             \
			  TIDE_KIND_WORD,                                                       \
			  4,                                                                    \
			  .words = TIDE_DIFF_STATUS_WORDS,                                      \
			  .meaning = "in A, in B or in both" },                                 \
			{ KEY, TITLE, TIDE_KIND_KERNEL, .meaning = "what is compared" },        \
			{ "total_a", NULL, TIDE_KIND_COUNT, UNKNOWN,                            \
			  .meaning = "of ops: ns with nested ops in A" },                       \
			{ "total_b", NULL, TIDE_KIND_COUNT, UNKNOWN,                            \
			  .meaning = "of ops: ns with nested ops in B" },                       \
			{ 0 },                                                                  \
	}
enum { N_ROW_COLS = 10 };

const tide_member tide__diff_row_members[TIDE_N_DIFF_KINDS][N_ROW_COLS + 1] = {
	[TIDE_DIFF_OP] = ROW_MEMBERS("name", "Op", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "self"),
	[TIDE_DIFF_KERNEL] =
		ROW_MEMBERS("name", "Kernel", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_DEVICE_OP] = ROW_MEMBERS("name", "Op", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_DEVICE_SHAPE] =
		ROW_MEMBERS("name", "Op, shapes, dtypes", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_DEVICE_MODULE] =
		ROW_MEMBERS("name", "Module", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_DEVICE_CATEGORY] =
		ROW_MEMBERS("name", "Category", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_CALL] = ROW_MEMBERS("name", "Path", TIDE_KIND_NS, TIDE_KIND_DELTA_NS, "time"),
	[TIDE_DIFF_STACK] =
		ROW_MEMBERS("stack", "Call stack", TIDE_KIND_BYTES, TIDE_KIND_DELTA, "bytes"),
	[TIDE_DIFF_OP_PATH] =
		ROW_MEMBERS("op", "Op path", TIDE_KIND_BYTES, TIDE_KIND_DELTA, "bytes"),
	[TIDE_DIFF_ROLE] = ROW_MEMBERS("role", "Role", TIDE_KIND_BYTES, TIDE_KIND_DELTA, "bytes"),
};

/* Columns for traces without a clock, which compare only counts: the same members. */
#define COUNT_COLS(TITLE)                                                                          \
	{                                                                                          \
		{ "delta", NULL, TIDE_KIND_NS }, { "pct", NULL, TIDE_KIND_DELTA_PCT },             \
			{ "a", NULL, TIDE_KIND_NS }, { "b", NULL, TIDE_KIND_NS },                  \
			{ "count_a", "A count", TIDE_KIND_COUNT },                                 \
			{ "count_b", "B count", TIDE_KIND_COUNT },                                 \
			{ "status", "Status", TIDE_KIND_TEXT, 4 },                                 \
			{ "name", TITLE, TIDE_KIND_KERNEL }, { "total_a", NULL, TIDE_KIND_COUNT }, \
			{ "total_b", NULL, TIDE_KIND_COUNT },                                      \
	}
static const tide_member count_cols[][N_ROW_COLS] = {
	[TIDE_DIFF_OP] = COUNT_COLS("Op"),
	[TIDE_DIFF_KERNEL] = COUNT_COLS("Kernel"),
	[TIDE_DIFF_DEVICE_OP] = COUNT_COLS("Op"),
	[TIDE_DIFF_DEVICE_SHAPE] = COUNT_COLS("Op, shapes, dtypes"),
	[TIDE_DIFF_DEVICE_MODULE] = COUNT_COLS("Module"),
	[TIDE_DIFF_DEVICE_CATEGORY] = COUNT_COLS("Category"),
	[TIDE_DIFF_CALL] = COUNT_COLS("Path"),
};

static bool counts_only(const tide_diff *d, tide_diff_kind kind)
{
	return !d->timed && kind <= TIDE_DIFF_CALL;
}

/* Writes the path below the kind's branch; ops are separated as in `tidemark peak`. */
static bool name_cell(tide_grid *g, const tide_diff *d, uint32_t node, bool ops)
{
	char *path = tide__flame_path(d->tree, node, tide__grid_longs(g));
	if (!path)
		return false;
	char *name = strchr(path, ';');
	for (char *c = name ? name + 1 : NULL; ops && c && (c = strchr(c, ';'));)
		*c = '/';
	tide__grid_text(g, name ? name + 1 : "[outside]");
	tide__free(path);
	return true;
}

/* The same in brief, for tables that people read. */
static bool brief_cell(tide_grid *g, const tide_diff *d, uint32_t node)
{
	char *text = NULL;
	size_t n;
	uint32_t root = node;
	while (d->tree->nodes.parent[root] != 0)
		root = d->tree->nodes.parent[root]; /* the kind's branch */
	FILE *f = open_memstream(&text, &n);
	if (f)
		tide__path_write_brief(d->tree, node, root, f);
	bool ok = f && !fclose(f);
	if (ok)
		tide__grid_text(g, n ? text : "[outside]");
	free(text);
	return ok;
}

static bool add_row(tide_grid *g, const tide_diff *d, tide_diff_kind kind, const tide_diff_row *r,
		    bool brief)
{
	size_t n;
	bool counts = counts_only(d, kind);
	if (counts) {
		for (int i = 0; i < 4; i++)
			tide__grid_none(g);
	} else {
		tide__grid_int(g, (int64_t)(r->value[1] - r->value[0]));
		tide__grid_real(g, tide__change_pct(r->value[0], r->value[1]));
		tide__grid_uint(g, r->value[0]);
		tide__grid_uint(g, r->value[1]);
	}
	tide__grid_uint(g, r->count[0]);
	tide__grid_uint(g, r->count[1]);
	tide__grid_text(g, tide__diff_status_text(tide__diff_status(r)));
	if (kind == TIDE_DIFF_STACK && brief) {
		if (!brief_cell(g, d, r->node))
			return false;
	} else if (kind == TIDE_DIFF_STACK || kind == TIDE_DIFF_OP_PATH || kind == TIDE_DIFF_CALL) {
		if (!name_cell(g, d, r->node, kind != TIDE_DIFF_STACK))
			return false;
	} else {
		const char *name = tide__flame_name(d->tree, r->node, &n);
		tide__grid_textn(g, name, n);
	}
	for (int side = 0; side < 2; side++)
		if (kind == TIDE_DIFF_OP && !counts)
			tide__grid_uint(g, r->total[side]);
		else
			tide__grid_none(g);
	return true;
}

tide_grid *tide__diff_rows(const tide_diff *d, tide_diff_kind kind, size_t top, bool brief)
{
	const tide_diff_table *t = &d->table[kind];
	tide_grid *g = tide__grid_new(
		counts_only(d, kind) ? count_cols[kind] : tide__diff_row_members[kind], N_ROW_COLS);
	bool ok = g != NULL;
	for (size_t i = 0, shown = 0; ok && i < t->n && (!top || shown < top); i++) {
		if (tide__diff_status(&t->rows[i]) == TIDE_DIFF_SAME)
			continue;
		ok = add_row(g, d, kind, &t->rows[i], brief);
		shown++;
	}
	if (ok && !tide__grid_failed(g))
		return g;
	tide__grid_free(g);
	return NULL;
}

/* ---- all of it ---- */

bool tide__diff_json(const tide_diff *d, size_t top, tide_json *j)
{
	const uint64_t *time = d->metric[TIDE_METRIC_TIME];
	bool timed = d->known[TIDE_METRIC_TIME][0] && d->known[TIDE_METRIC_TIME][1] && time[1];
	tide__diff_metrics_json(d, j);
	if (timed)
		tide__json_kfixed(j, "speedup", (double)time[0] / (double)time[1], 4);
	else
		tide__json_knull(j, "speedup");
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++) {
		tide_grid *g = tide__diff_rows(d, (tide_diff_kind)k, top, false);
		if (!g)
			return false;
		tide__grid_write_member(g, j, tide__diff_kind_key((tide_diff_kind)k));
	}
	return true;
}

void tide__diff_checks_write_figures(const tide_diff_checks *c, size_t i, char *buf, size_t n)
{
	const tide_failif *f = &c->f[i];
	const tide_fail_result *r = &c->r[i];
	char a[64] = "unknown", b[64] = "unknown", pct[32] = "";
	double change = tide__change_pct(r->a, r->b);
	if (r->known[0])
		tide__unit_text(a, sizeof a, f->unit, (int64_t)r->a, false);
	if (r->known[1])
		tide__unit_text(b, sizeof b, f->unit, (int64_t)r->b, false);
	if (r->known[0] && r->known[1] && r->a)
		snprintf(pct, sizeof pct, " (%+.4g %%)", change);
	snprintf(buf, n, "A %s, B %s%s", a, b, pct);
}

void tide__diff_checks_json(tide_json *j, const tide_diff_checks *c)
{
	tide__json_karray(j, "fail_if");
	for (size_t i = 0; i < c->n; i++) {
		const tide_fail_result *r = &c->r[i];
		tide__json_object(j);
		tide__json_kstr(j, "expression", c->text[i]);
		if (r->known[0])
			tide__json_kuint(j, "a", r->a);
		else
			tide__json_knull(j, "a");
		if (r->known[1])
			tide__json_kuint(j, "b", r->b);
		else
			tide__json_knull(j, "b");
		if (r->decided)
			tide__json_kbool(j, "crossed", r->crossed);
		else
			tide__json_knull(j, "crossed");
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* Returns true if no row of the table has what it is about: no module, no shapes. */
static bool is_bare(const tide_diff *d, tide_diff_kind kind)
{
	const tide_diff_table *t = &d->table[kind];
	size_t n;
	for (size_t i = 0; i < t->n; i++) {
		const char *name = tide__flame_name(d->tree, t->rows[i].node, &n);
		if (kind == TIDE_DIFF_DEVICE_MODULE ? *name != '(' : strstr(name, " [") != NULL)
			return false;
	}
	return kind == TIDE_DIFF_DEVICE_MODULE || kind == TIDE_DIFF_DEVICE_SHAPE;
}

static bool table(const tide_out *to, const tide_diff *d, tide_diff_kind kind, const char *title,
		  size_t top)
{
	const tide_diff_table *t = &d->table[kind];
	size_t differ = t->n - t->by_status[TIDE_DIFF_SAME];
	if (!t->n || is_bare(d, kind))
		return true;
	fputc('\n', to->out);
	tide__write_heading(to, "%s: %zu added, %zu removed, %zu changed, %zu the same", title,
			    t->by_status[TIDE_DIFF_ADDED], t->by_status[TIDE_DIFF_REMOVED],
			    t->by_status[TIDE_DIFF_CHANGED], t->by_status[TIDE_DIFF_SAME]);
	tide_grid *g = tide__diff_rows(d, kind, top, true);
	if (!g)
		return false;
	if (differ)
		tide__grid_print(g, to->out, &to->style, 0);
	if (top && differ > top)
		fprintf(to->out, "%zu more row%s not shown (--top 0 shows all)\n", differ - top,
			differ - top == 1 ? " is" : "s are");
	tide__grid_free(g);
	return true;
}

/* Notes that memory figures are of different devices. */
static void put_devices(const tide_diff *d, const tide_model *const m[2], const tide_out *to)
{
	char a[64], b[64];
	if (!d->device[0].i || !d->device[1].i)
		return;
	tide__device_name(m[0], d->device[0].i, a, sizeof a);
	tide__device_name(m[1], d->device[1].i, b, sizeof b);
	if (strcmp(a, b))
		fprintf(to->out,
			"memory figures are of different devices: %s of A, %s of B (--device "
			"compares one)\n",
			a, b);
}

bool tide__diff_report_text(const tide_diff *d, const tide_model *const m[2],
			    const tide_diff_checks *c, const char *const file[2], size_t top,
			    const tide_out *to)
{
	static const char *const titles[] = { "Host spans by self time",
					      "Device work by time",
					      "Device time by op",
					      "Device time by op and shapes",
					      "Device time by module",
					      "Device time by kind of work",
					      "Calls that one has and the other has not",
					      "Bytes at the peak by call stack",
					      "Bytes at the peak by op",
					      "Bytes at the peak by role" };
	char text[256];
	tide_grid *g = tide__diff_metrics(d);
	if (!g)
		return false;
	fputs("A: ", to->out);
	tide__put_text(to, file[0]);
	fputs("\nB: ", to->out);
	tide__put_text(to, file[1]);
	fputc('\n', to->out);
	put_devices(d, m, to);
	fputc('\n', to->out);
	tide__grid_print(g, to->out, &to->style, 0);
	tide__grid_free(g);
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
		if (!table(to, d, (tide_diff_kind)k,
			   !counts_only(d, (tide_diff_kind)k) ? titles[k]
			   : k == TIDE_DIFF_OP		      ? "Ops by count"
							      : "Device work by count",
			   top))
			return false;
	for (size_t i = 0; i < c->n; i++) {
		tide__diff_checks_write_figures(c, i, text, sizeof text);
		fprintf(to->out, "%s%s: ", i ? "" : "\n",
			!c->r[i].decided  ? "UNKNOWN"
			: c->r[i].crossed ? "CROSSED"
					  : "fine");
		tide__put_text(to, c->text[i]);
		fprintf(to->out, ": %s\n", text);
	}
	return true;
}

void tide__diff_losses_text(const tide_model *const m[2], const tide_out *to)
{
	char *text[2] = { NULL, NULL };
	for (int i = 0; i < 2; i++) {
		size_t n;
		FILE *f = open_memstream(&text[i], &n);
		if (f) {
			tide__put_losses(m[i], f, &to->style);
			fclose(f);
		}
	}
	bool same = text[0] && text[1] && !strcmp(text[0], text[1]);
	for (int i = 0; i < 2 - same; i++)
		if (text[i] && *text[i])
			fprintf(to->out, "\n%s:\n%s",
				same ? "A and B"
				: i  ? "B"
				     : "A",
				text[i] + (*text[i] == '\n'));
	free(text[0]);
	free(text[1]);
}

bool tide__diff_report_json(const tide_diff *d, const tide_model *const m[2],
			    const tide_diff_checks *c, const char *const file[2], tide_json *j)
{
	tide__diff_side_json(j, "a", file[0], m[0], d->device[0]);
	tide__diff_side_json(j, "b", file[1], m[1], d->device[1]);
	if (!tide__diff_json(d, 0, j))
		return false;
	tide__diff_checks_json(j, c);
	return true;
}
