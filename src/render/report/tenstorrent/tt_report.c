// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of a Tenstorrent run. Each is a grid, so that text and JSON have the same rows. */
#include "render/report/tenstorrent/tt_report_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "render/text/format.h"
#include "render/text/labels.h"
#include "render/text/losses.h"

const char *const tide__tt_pools[TIDE_TT_POOLS] = { "DRAM", "L1", "L1_SMALL", "TRACE" };

static void list_shapes(tide_slice list, char *buf, size_t n)
{
	tide_mlir_tensor x;
	tide_slice one;
	size_t used = 0;
	buf[0] = 0;
	if (list.n > 1 && list.s[0] == '(')
		list = (tide_slice){ list.s + 1, list.n - 2 };
	while (tide__mlir_next(&list, &one) && used + 1 < n)
		if (tide__mlir_parse_tensor(one, &x) && x.n_dims)
			used += (size_t)snprintf(buf + used, n - used, "%s%.*s", used ? ", " : "",
						 (int)x.shape.n, x.shape.s);
}

void tide__tt_find_shapes(const tide_mlir_op *p, tt_shapes *s)
{
	list_shapes(p->in_types, s->in, sizeof s->in);
	list_shapes(p->out_types, s->out, sizeof s->out);
}

static void text_or_none(tide_grid *g, tide_slice s)
{
	if (s.s)
		tide__grid_textn(g, s.s, s.n);
	else
		tide__grid_none(g);
}

static uint32_t banks_of(const tide_tt *t, const tide_tt_op *o, unsigned p)
{
	return o->state[p] ? t->m->pools.banks[t->m->pool_states.pool[o->state[p] - 1].i] : 0;
}

#define UNKNOWN .may = TIDE_MAY_BE_NULL
/* Columns that identify an operation: its rank, its element in the files, its position on the axis
 * (for `--at "op N"`). `rank`: the title of ranks, NULL if there is only one. */
#define AT_COLUMNS(rank)                                                   \
	{ "rank", rank, TIDE_KIND_PLAIN, UNKNOWN, .meaning = "rank" },     \
		{ "index", NULL, TIDE_KIND_COUNT, UNKNOWN,                 \
		  .meaning = "element in the two files of the run" },      \
	{                                                                  \
		"position", "Op#", TIDE_KIND_COUNT, UNKNOWN,               \
			.meaning = "on the axis: the N of `--at \"op N\"`" \
	}
/* The last columns of every table: operation, location, shapes. */
#define OP_COLUMNS                                                       \
	{ "op", "Op", TIDE_KIND_TEXT, UNKNOWN, .meaning = "operation" }, \
		{ "loc", "Location", TIDE_KIND_TEXT, UNKNOWN,            \
		  .meaning = "its location in the model" },              \
		{ "input_shapes", "Inputs",                              \
		  TIDE_KIND_TEXT, 6,                                     \
		  UNKNOWN,	  .meaning = "shapes of its inputs" },   \
	{                                                                \
		"output_shapes", "Output", TIDE_KIND_TEXT, 5, UNKNOWN,   \
			.meaning = "shapes of its outputs"               \
	}

static void op_cells(tide_grid *g, const tide_tt *t, int64_t op)
{
	static const tide_slice none = { NULL, 0 };
	tide_mlir_op p;
	tt_shapes s = { "", "" };
	char room[TIDE_TT_LOC];
	if (op < 0) {
		for (int i = 0; i < 4; i++)
			tide__grid_none(g);
		return;
	}
	bool read = tide__tt_parse(t, &t->ops[op], &p);
	if (read)
		tide__tt_find_shapes(&p, &s);
	tide__grid_text(g, tide__tt_name(t, &t->ops[op]));
	text_or_none(g, read ? tide__tt_loc(t, &t->ops[op], &p, room) : none);
	tide__grid_text(g, s.in);
	tide__grid_text(g, s.out);
}

/* Adds the cells of AT_COLUMNS. */
static void at_cells(tide_grid *g, const tide_tt *t, int64_t op)
{
	int64_t rank = op < 0 ? -1 : t->m->processes.rank[t->ops[op].process];
	if (rank < 0)
		tide__grid_none(g);
	else
		tide__grid_int(g, rank);
	if (op < 0) {
		tide__grid_none(g);
		tide__grid_none(g);
		return;
	}
	tide__grid_int(g, op);
	tide__grid_int(g, tide__tt_position(t, (size_t)op));
}

/* Makes a grid with the columns for several ranks, or for one. */
#define GRID(t, one, many) \
	tide__grid_new((t)->n_ranks > 1 ? (many) : (one), sizeof(one) / sizeof *(one)-1)

/* ---- tables ---- */

static void peak_row(tide_grid *g, const tide_tt *t, unsigned p, const tide_tt_peak *k)
{
	char name[64];
	uint32_t banks = t->m->pools.banks[k->pool];
	uint64_t capacity = banks ? t->m->pools.capacity[k->pool] / banks : 0;
	tide__grid_text(g, tide__tt_pools[p]);
	tide__grid_text(g,
			tide__device_name(t->m, t->m->pools.device[k->pool].i, name, sizeof name));
	tide__grid_uint(g, k->bytes);
	tide__grid_uint(g, banks);
	tide__grid_uint(g, k->bytes * banks);
	tide__grid_uint(g, capacity);
	tide__grid_real(g, capacity ? 100.0 * (double)k->bytes / (double)capacity : NAN);
	tide__grid_uint(g, t->m->pool_states.free[k->state - 1]);
	tide__grid_maybe(g, t->m->pool_states.largest[k->state - 1]);
	tide__grid_real(g, 100 * tide__tt_fragmentation(t->m, k->state));
	int64_t op = k->bytes ? k->op : -1; /* a pool that was never used has no operation at its
	                                     * peak */
	at_cells(g, t, op);
	op_cells(g, t, op);
	tide_mlir_op text;
	if (op >= 0 && tide__tt_parse(t, &t->ops[op], &text) && text.attrs.n)
		tide__grid_textn(g, text.attrs.s, text.attrs.n);
	else
		tide__grid_none(g);
	if (op < 0)
		tide__grid_none(g);
	else
		tide__grid_uint(g, t->ops[op].line);
}

uint32_t tide__tt_next_peak(const tide_tt *t, unsigned p, uint32_t row)
{
	bool first = !row;
	while (++row < t->m->pools.n) {
		const tide_tt_peak *k = &t->peaks[row];
		if (k->state && t->m->pools.kind[row] == TIDE_POOL_DRAM + p &&
		    (k->bytes || (!t->peak[p].bytes && first)))
			return row;
	}
	return 0;
}

#define PEAK_COLUMNS(rank, device)                                                           \
	{ "pool", "Pool", TIDE_KIND_TEXT, .meaning = "memory" },                             \
		{ "device", device, TIDE_KIND_TEXT, UNKNOWN, .meaning = "device" },          \
		{ "peak_bytes_per_bank", "Peak/bank", TIDE_KIND_BYTES,                       \
		  .meaning = "highest allocated bytes in one bank" },                        \
		{ "banks", "Banks", TIDE_KIND_COUNT, .meaning = "banks" },                   \
		{ "peak_bytes", "All banks", TIDE_KIND_BYTES,                                \
		  .meaning = "the same in all banks" },                                      \
		{ "capacity_bytes_per_bank", "Capacity/bank", TIDE_KIND_BYTES,               \
		  .meaning = "size of a bank" },                                             \
		{ "used_pct", "Used", TIDE_KIND_PCT, UNKNOWN,                                \
		  .meaning = "part of it that the peak uses" },                              \
		{ "free_bytes_per_bank", NULL, TIDE_KIND_BYTES,                              \
		  .meaning = "free in a bank then" },                                        \
		{ "largest_free_bytes_per_bank", NULL, TIDE_KIND_BYTES, UNKNOWN,             \
		  .meaning = "largest contiguous free bytes then" },                         \
		{ "fragmentation_pct",                                                       \
		  "Fragm.",                                                                  \
		  TIDE_KIND_PCT,                                                             \
		  3,                                                                         \
		  UNKNOWN,                                                                   \
		  .meaning = "1 - largest contiguous free / free" },                         \
		AT_COLUMNS(rank), OP_COLUMNS,                                                \
		{ "attributes", NULL, TIDE_KIND_TEXT, UNKNOWN,                               \
		  .meaning = "attributes of the operation" },                                \
	{                                                                                    \
		"log_line", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "its line in the log" \
	}
const tide_member tide__tt_peak_members[] = { PEAK_COLUMNS(NULL, NULL), { 0 } };
static const tide_member peak_many[] = { PEAK_COLUMNS(NULL, "Device"), { 0 } };

static tide_grid *peaks(const tide_tt *t)
{
	tide_grid *g = GRID(t, tide__tt_peak_members, peak_many);
	uint32_t row = 0;
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
		while ((row = tide__tt_next_peak(t, p, row)))
			peak_row(g, t, p, &t->peaks[row]);
	return g;
}

#define TOP_COLUMNS(rank)                                                                        \
	{ "bytes_per_bank", "Per bank", TIDE_KIND_BYTES, .meaning = "bytes of one bank" },       \
		{ "bytes", "All banks", TIDE_KIND_BYTES, .meaning = "bytes" }, AT_COLUMNS(rank), \
		OP_COLUMNS
const tide_member tide__tt_top_members[] = { TOP_COLUMNS(NULL), { 0 } };
static const tide_member top_many[] = { TOP_COLUMNS("Rank"), { 0 } };

static tide_grid *top(const tide_tt *t, tide_tt_by by, unsigned pool)
{
	size_t n;
	tide_grid *g = GRID(t, tide__tt_top_members, top_many);
	tide_tt_row *v = tide__tt_find_top(t, by, pool, TT_TOP, &n);
	for (size_t i = 0; v && i < n; i++) {
		tide__grid_uint(g, v[i].value);
		tide__grid_uint(g, v[i].value * banks_of(t, &t->ops[v[i].op], pool));
		at_cells(g, t, v[i].op);
		op_cells(g, t, v[i].op);
	}
	tide__free(v);
	return g;
}

#define PADDING_COLUMNS(rank)                                                                     \
	{ "padding_bytes", "Padding", TIDE_KIND_BYTES,                                            \
	  .meaning = "padded_bytes - logical_bytes" },                                            \
		{ "overhead_pct", "Overhead", TIDE_KIND_PCT, UNKNOWN,                             \
		  .meaning = "padding as part of logical_bytes" },                                \
		{ "logical_bytes", "Logical", TIDE_KIND_BYTES,                                    \
		  .meaning = "bytes without padding" },                                           \
		{ "padded_bytes", "Padded", TIDE_KIND_BYTES, .meaning = "bytes of whole tiles" }, \
		{ "tile_dtype", "Tile", TIDE_KIND_TEXT, UNKNOWN, .meaning = "type of a tile" },   \
		AT_COLUMNS(rank), OP_COLUMNS
const tide_member tide__tt_padding_members[] = { PADDING_COLUMNS(NULL), { 0 } };
static const tide_member padding_many[] = { PADDING_COLUMNS("Rank"), { 0 } };

static tide_grid *padding(const tide_tt *t)
{
	size_t n;
	tide_grid *g = GRID(t, tide__tt_padding_members, padding_many);
	tide_tt_row *v = tide__tt_find_top(t, TIDE_TT_BY_PADDING, 0, TT_TOP, &n);
	for (size_t i = 0; v && i < n; i++) {
		tide_mlir_op p;
		tide_mlir_tensor x;
		if (!tide__tt_parse(t, &t->ops[v[i].op], &p) ||
		    !tide__tt_read_result(t, &t->ops[v[i].op], &p, &x))
			continue;
		tide__grid_uint(g, v[i].value);
		tide__grid_real(g, x.bytes ? 100.0 * (double)v[i].value / (double)x.bytes : NAN);
		tide__grid_uint(g, x.bytes);
		tide__grid_uint(g, x.padded);
		text_or_none(g, x.tile_dtype);
		at_cells(g, t, v[i].op);
		op_cells(g, t, v[i].op);
	}
	tide__free(v);
	return g;
}

#define FRAGMENTATION_COLUMNS(rank)                                                              \
	{ "pool", "Pool", TIDE_KIND_TEXT, .meaning = "memory" },                                 \
		{ "mean_pct", "Mean", TIDE_KIND_PCT, UNKNOWN, .meaning = "mean fragmentation" }, \
		{ "first_pct", "First tenth", TIDE_KIND_PCT, UNKNOWN,                            \
		  .meaning = "mean of the first tenth of the operations" },                      \
		{ "last_pct", "Last tenth", TIDE_KIND_PCT, UNKNOWN,                              \
		  .meaning = "mean of the last tenth" },                                         \
		{ "slope_pct_per_1000_ops", "Per 1000 ops", TIDE_KIND_DELTA_PCT, UNKNOWN,        \
		  .meaning = "change per 1000 operations" },                                     \
		{ "most_pct", "Most", TIDE_KIND_PCT, UNKNOWN,                                    \
		  .meaning = "highest, at the operation" },                                      \
		AT_COLUMNS(rank)
const tide_member tide__tt_fragmentation_members[] = { FRAGMENTATION_COLUMNS(NULL), { 0 } };
static const tide_member fragmentation_many[] = { FRAGMENTATION_COLUMNS("Rank"), { 0 } };

static tide_grid *fragmentation(const tide_tt *t)
{
	tide_grid *g = GRID(t, tide__tt_fragmentation_members, fragmentation_many);
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		const tide_tt_trend *r = &t->trend[p];
		if (!r->n)
			continue;
		tide__grid_text(g, tide__tt_pools[p]);
		tide__grid_real(g, 100 * r->mean);
		tide__grid_real(g, 100 * r->first);
		tide__grid_real(g, 100 * r->last);
		tide__grid_real(g, 100 * r->slope);
		tide__grid_real(g, 100 * r->most);
		at_cells(g, t, r->most > 0 ? r->most_op : -1);
	}
	return g;
}

#define CONST_EVAL_COLUMNS(module)                                                                 \
	{ "graph", "Const-eval program", TIDE_KIND_TEXT, .meaning = "const-eval program" },        \
		{ "module", module, TIDE_KIND_COUNT, UNKNOWN, .meaning = "module that it is of" }, \
		{ "cache_miss", "Cache", TIDE_KIND_WORD, .words = "miss,hit",                      \
		  .meaning = "whether its result was in the cache" },                              \
		{ "loads", "Loads", TIDE_KIND_COUNT, .meaning = "times that it was loaded" },      \
		{ "runs", "Runs", TIDE_KIND_COUNT, .meaning = "times that it ran" },               \
		{ "operations", "Ops", TIDE_KIND_COUNT, .meaning = "operations in it" },           \
	{                                                                                          \
		"kept_bytes", "DRAM kept", TIDE_KIND_BYTES, .meaning = "DRAM that it kept"         \
	}
const tide_member tide__tt_const_eval_members[] = { CONST_EVAL_COLUMNS(NULL), { 0 } };
static const tide_member const_eval_many[] = { CONST_EVAL_COLUMNS("Module"), { 0 } };

static tide_grid *const_eval(const tide_tt *t)
{
	tide_grid *g = tide__grid_new(tide__tt_several_modules(t) ? const_eval_many
								  : tide__tt_const_eval_members,
				      sizeof tide__tt_const_eval_members / sizeof(tide_member) - 1);
	for (size_t i = 0; i < t->n_graphs; i++) {
		const tide_tt_graph *x = &t->graphs[i];
		tide__grid_text(g, tide__text(t->m, x->name, NULL));
		if (x->module)
			tide__grid_uint(g, x->module);
		else
			tide__grid_none(g);
		tide__grid_text(g, x->miss ? "miss" : "hit");
		tide__grid_uint(g, x->loads);
		tide__grid_uint(g, x->runs);
		tide__grid_uint(g, x->ops);
		tide__grid_uint(g, x->change_all > 0 ? (uint64_t)x->change_all : 0);
	}
	return g;
}

const tide_member tide__tt_part_members[] = {
	{ "bytes", "All banks", TIDE_KIND_BYTES, .meaning = "bytes" },
	{ "part_pct", "Part", TIDE_KIND_PCT, UNKNOWN, .meaning = "part of the whole" },
	{ "what", "What", TIDE_KIND_TEXT, .meaning = "what holds it" },
	{ 0 }
};

static tide_grid *parts(const tide_tt *t)
{
	tide_tt_parts x;
	tide__tt_find_parts_at_peak(t, 0, &x);
	const struct {
		uint64_t bytes;
		const char *what;
	} rows[] = { { x.weights, "weights (const-eval results)" },
		     { x.activations, "activations" },
		     { x.arguments, "made from arguments (weights or inputs)" },
		     { x.before, "allocated before the log begins" },
		     { x.other, "between programs" } };
	uint64_t all = x.weights + x.activations + x.arguments + x.before + x.other;
	tide_grid *g = tide__grid_new(tide__tt_part_members, 3);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].bytes)
			continue;
		tide__grid_uint(g, rows[i].bytes);
		tide__grid_real(g, all ? 100.0 * (double)rows[i].bytes / (double)all : NAN);
		tide__grid_text(g, rows[i].what);
	}
	return g;
}

/* Returns whether the operation ran on the device with the highest DRAM. */
static bool at_peak_device(const tide_tt *t, size_t op)
{
	const tide_model *m = t->m;
	return t->n_ranks < 2 ||
	       m->lanes.device[t->ops[op].lane].i == m->pools.device[t->peak[0].pool].i;
}

/* Fills rows[] and returns their number. */
static size_t peak_device_ops(const tide_tt *t, uint32_t *rows)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++)
		if (at_peak_device(t, i))
			rows[n++] = (uint32_t)i;
	return n;
}

#define SHARE_COLUMNS(rank)                                                                        \
	AT_COLUMNS(rank), { "weights_bytes", "Weights", TIDE_KIND_BYTES, .meaning = "weights" },   \
		{ "activations_bytes", "Activations", TIDE_KIND_BYTES, .meaning = "activations" }, \
		{ "rest_bytes", "Rest", TIDE_KIND_BYTES, .meaning = "the rest" },                  \
	{                                                                                          \
		"op", "Op", TIDE_KIND_TEXT, UNKNOWN, .meaning = "operation"                        \
	}
const tide_member tide__tt_share_members[] = { SHARE_COLUMNS(NULL), { 0 } };
static const tide_member share_many[] = { SHARE_COLUMNS("Rank"), { 0 } };

/* Weights against activations: `most` operations of the device with the highest DRAM, evenly
 * spread, the last among them. */
static tide_grid *shares(const tide_tt *t, size_t most)
{
	tide_grid *g = GRID(t, tide__tt_share_members, share_many);
	tide_tt_share *v = tide__alloc(t->n, sizeof *v);
	uint32_t *rows = tide__alloc(t->n, sizeof *rows);
	bool ok = v && rows && tide__tt_find_shares(t, 0, v);
	size_t all = ok ? peak_device_ops(t, rows) : 0, n = all < most ? all : most;
	for (size_t k = 0; k < n; k++) {
		size_t i = rows[n > 1 ? k * (all - 1) / (n - 1) : 0];
		at_cells(g, t, (int64_t)i);
		tide__grid_uint(g, v[i].weights);
		tide__grid_uint(g, v[i].activations);
		tide__grid_uint(g, v[i].rest);
		tide__grid_text(g, tide__tt_name(t, &t->ops[i]));
	}
	tide__free(v);
	tide__free(rows);
	return g;
}

/* Returns the row of the rank's last operation that began at or before a time; -1 = none. */
static int64_t last_op(const tide_tt *t, uint32_t lane, int64_t time)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, t->n, mid, t->m->spans.t0[t->ops[mid].span] <= time);
	while (lo && t->ops[lo - 1].lane != lane)
		lo--;
	return (int64_t)lo - 1;
}

#define OOM_COLUMNS(rank)                                                                        \
	{ "rank", rank, TIDE_KIND_PLAIN, UNKNOWN, .meaning = "rank" },                           \
		{ "index", NULL, TIDE_KIND_COUNT, UNKNOWN,                                       \
		  .meaning = "element in the two files of the run" },                            \
		{ "position", "After op#", TIDE_KIND_COUNT, UNKNOWN,                             \
		  .meaning = "on the axis: the N of `--at \"op N\"`" },                          \
		{ "bytes", "Asked for", TIDE_KIND_SIGNED, .meaning = "bytes" },                  \
		{ "free_bytes", "Free then", TIDE_KIND_BYTES, UNKNOWN, .meaning = "free then" }, \
	{                                                                                        \
		"text", "Out of memory", TIDE_KIND_TEXT, UNKNOWN, .meaning = "the message"       \
	}
const tide_member tide__tt_oom_members[] = { OOM_COLUMNS(NULL), { 0 } };
static const tide_member oom_many[] = { OOM_COLUMNS("Rank"), { 0 } };

static tide_grid *ooms(const tide_tt *t)
{
	const tide_marks *k = &t->m->marks;
	tide_grid *g = GRID(t, tide__tt_oom_members, oom_many);
	for (size_t i = 1; i < k->n; i++) {
		if (k->kind[i] != TIDE_MARK_OOM)
			continue;
		at_cells(g, t, last_op(t, k->lane[i].i, k->t[i]));
		tide__grid_int(g, k->value[i]);
		tide__grid_maybe(g, k->extra[i] < 0 ? UINT64_MAX : (uint64_t)k->extra[i]);
		tide__grid_text(g, tide__text(t->m, k->text[i], NULL));
	}
	return g;
}

const tide_member tide__tt_name_members[] = {
	{ "count", "Count", TIDE_KIND_COUNT, .meaning = "number of operations" },
	{ "part_pct", "Part", TIDE_KIND_PCT, UNKNOWN, .meaning = "part of the whole" },
	{ "op", "Op", TIDE_KIND_TEXT, UNKNOWN, .meaning = "operation" },
	{ 0 }
};

static tide_grid *distribution(const tide_tt *t, size_t most)
{
	size_t n;
	tide_tt_count *v = tide__tt_count_by_name(t, &n);
	tide_grid *g = tide__grid_new(tide__tt_name_members, 3);
	for (size_t i = 0; v && i < n && i < most; i++) {
		tide__grid_uint(g, v[i].n);
		tide__grid_real(g, 100.0 * (double)v[i].n / (double)t->n);
		tide__grid_text(g, tide__text(t->m, v[i].name, NULL));
	}
	tide__free(v);
	return g;
}

const tide_member tide__tt_skipped_members[] = {
	{ "log_line", "Line", TIDE_KIND_PLAIN, UNKNOWN, .meaning = "its line in the log" },
	{ "op", "Op", TIDE_KIND_TEXT, UNKNOWN, .meaning = "operation" },
	{ 0 }
};

static tide_grid *skipped(const tide_tt *t)
{
	tide_grid *g = tide__grid_new(tide__tt_skipped_members, 2);
	tide_str key = { 0 };
	for (size_t i = 0; i < t->m->attrs.n && !key.i; i++)
		if (!strcmp(tide__text(t->m, t->m->attrs.key[i], NULL), "line"))
			key = t->m->attrs.key[i];
	for (size_t i = 0; i < t->n_skipped && i < 100; i++) {
		int64_t at = tide__attr_find(t->m, (tide_span_id){ t->skipped[i] }, key);
		if (at < 0)
			tide__grid_none(g);
		else
			tide__grid_int(g, t->m->attrs.number[at]);
		tide__grid_text(g, tide__text(t->m, t->m->spans.name[t->skipped[i]], NULL));
	}
	return g;
}

static int largest_first(const void *a, const void *b)
{
	const tide_tt_weight *x = *(const tide_tt_weight *const *)a,
			     *y = *(const tide_tt_weight *const *)b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x > y) - (x < y);
}

const tide_tt_weight **tide__tt_largest_weights(const tide_tt *t, size_t *n)
{
	const tide_tt_weight **v = tide__alloc(t->n_weights + 1, sizeof *v);
	*n = 0;
	for (size_t i = 0; v && i < t->n_weights; i++)
		if (tide__tt_is_weight(&t->weights[i]) && !t->weights[i].same)
			v[(*n)++] = &t->weights[i];
	if (*n)
		qsort(v, *n, sizeof *v, largest_first);
	return v;
}

#define WEIGHT_COLUMNS(modules)                                                             \
	{ "bytes", "Bytes", TIDE_KIND_BYTES, .meaning = "bytes" },                          \
		{ "shape", "Shape", TIDE_KIND_TEXT, UNKNOWN, .meaning = "shape" },          \
		{ "dtype", "Type", TIDE_KIND_TEXT, UNKNOWN, .meaning = "type" },            \
		{ "modules", modules, TIDE_KIND_COUNT, .meaning = "modules that have it" }, \
		{ "ssa", "Argument", TIDE_KIND_TEXT, UNKNOWN,                               \
		  .meaning = "argument of the program" },                                   \
	{                                                                                   \
		"name", "Weight", TIDE_KIND_TEXT, UNKNOWN, .meaning = "name"                \
	}
const tide_member tide__tt_weight_members[] = { WEIGHT_COLUMNS(NULL), { 0 } };
static const tide_member weight_several[] = { WEIGHT_COLUMNS("Modules"), { 0 } };

static tide_grid *model_weights(const tide_tt *t, size_t most)
{
	size_t n;
	tide_grid *g = tide__grid_new(tide__tt_count_model(t).modules > 1 ? weight_several
									  : tide__tt_weight_members,
				      sizeof tide__tt_weight_members / sizeof(tide_member) - 1);
	const tide_tt_weight **v = tide__tt_largest_weights(t, &n);
	for (size_t i = 0; i < n && i < most; i++) {
		tide__grid_uint(g, v[i]->bytes);
		text_or_none(g, v[i]->shape);
		text_or_none(g, v[i]->dtype);
		tide__grid_uint(g, v[i]->modules);
		text_or_none(g, v[i]->ssa);
		text_or_none(g, v[i]->name);
	}
	tide__free(v);
	return g;
}

/* ---- text ---- */

static void section(FILE *out, const tide_style *st, const char *title, tide_grid *g)
{
	if (tide__grid_rows(g)) {
		fprintf(out, "\n%s%s%s\n", st->color ? "\033[1m" : "", title,
			st->color ? "\033[0m" : "");
		tide__grid_print(g, out, st, 2);
	}
	tide__grid_free(g);
}

tide_code tide__tt_find_live_padding(const tide_tt *t, tt_padding *out, tide_error *err)
{
	tide_tt_live *v = tide__alloc(t->n * 2, sizeof *v);
	tide_code rc = v ? tide__tt_find_padding(t, false, v, err) : tide__nomem(err);
	*out = (tt_padding){ .pct = NAN, .op = -1 };
	for (size_t i = 0; rc == TIDE_OK && i < t->n; i++) {
		const tide_tt_live *x = &v[i * 2];
		double p = 100.0 * ((double)x->padded - (double)x->bytes) / (double)x->bytes;
		if (x->bytes && !(p <= out->pct))
			out->pct = p;
		if (x->padded > out->most.padded) {
			out->most = *x;
			out->op = (int64_t)i;
		}
	}
	tide__free(v);
	return rc;
}

static void print_padding(const tt_padding *x, FILE *out)
{
	char a[32], b[32];
	if (isnan(x->pct)) {
		fputs("; tile padding unknown: no type has a layout in DRAM\n", out);
		return;
	}
	fprintf(out,
		"; tile padding of live tensors in DRAM at most %.1f %%; at their highest %s of "
		"tiles hold %s\n",
		x->pct, tide__fmt_bytes(a, sizeof a, (double)x->most.padded),
		tide__fmt_bytes(b, sizeof b, (double)x->most.bytes));
}

static void json_padding(const tide_tt *t, const tt_padding *x, tide_json *j)
{
	if (isnan(x->pct))
		tide__json_knull(j, "peak_padding_overhead_pct");
	else
		tide__json_kfixed(j, "peak_padding_overhead_pct", x->pct, 4);
	if (x->op < 0) {
		tide__json_knull(j, "live_padding");
		return;
	}
	tide__json_kobject(j, "live_padding");
	tide__json_kuint(j, "logical_bytes", x->most.bytes);
	tide__json_kuint(j, "padded_bytes", x->most.padded);
	tide__json_kuint(j, "tensors", x->most.n);
	tide__json_kint(j, "index", x->op);
	tide__json_kint(j, "position", tide__tt_position(t, (size_t)x->op));
	tide__json_object_end(j);
}

static const char *peak_title(const tide_tt *t, char *buf, size_t n)
{
	char name[64];
	if (t->n_ranks < 2)
		return "DRAM at its peak";
	snprintf(buf, n, "DRAM of %s at its peak",
		 tide__device_name(t->m, t->m->pools.device[t->peak[0].pool].i, name, sizeof name));
	return buf;
}

/* Writes "weights"; with several modules also their sum. */
static const char *weights_title(const tide_tt *t, char *buf, size_t n)
{
	tide_tt_model x = tide__tt_count_model(t);
	char bytes[32];
	if (x.modules < 2)
		return "weights";
	snprintf(buf, n, "weights of %llu modules, each counted once: %s",
		 (unsigned long long)x.modules, tide__fmt_bytes(bytes, sizeof bytes, x.bytes));
	return buf;
}

static void unnamed_note(const tide_tt *t, FILE *out)
{
	tide_tt_model x = tide__tt_count_model(t);
	if (x.modules > 1 && x.unnamed)
		fprintf(out,
			"note: %llu weights have no name; they count once for each module that has "
			"them\n",
			(unsigned long long)x.unnamed);
}

tide_code tide__tt_print(tide_tt *t, FILE *out, const tide_style *st, tide_error *err)
{
	tt_padding pad;
	tide_code rc = tide__tt_find_live_padding(t, &pad, err);
	char a[32], title[96];
	if (rc != TIDE_OK)
		return rc;
	fprintf(out, "%s operations", tide__fmt_count(a, sizeof a, (int64_t)t->n));
	if (t->n_ranks > 1)
		fprintf(out, " of %zu ranks", t->n_ranks);
	print_padding(&pad, out);
	section(out, st, "peaks (charged to the operation that ran before the state)", peaks(t));
	section(out, st, peak_title(t, title, sizeof title), parts(t));
	section(out, st, "weights against activations, DRAM of all banks before the operation",
		shares(t, 12));
	section(out, st, "top growers, DRAM", top(t, TIDE_TT_BY_GROWTH, 0));
	section(out, st, "top growers, L1", top(t, TIDE_TT_BY_GROWTH, 1));
	section(out, st, "top consumers, DRAM (allocated after the operation)",
		top(t, TIDE_TT_BY_LEVEL, 0));
	section(out, st, "fragmentation (1 - largest contiguous free / free)", fragmentation(t));
	section(out, st, "tile padding", padding(t));
	section(out, st, "const-eval", const_eval(t));
	section(out, st, "out of memory", ooms(t));
	section(out, st, weights_title(t, title, sizeof title), model_weights(t, 20));
	unnamed_note(t, out);
	section(out, st, "operations by name", distribution(t, 15));
	section(out, st, "operations without a memory state, left out", skipped(t));
	if (t->peak[0].op < 0 && t->peak[0].bytes)
		fputs("\nnote: the operation that raised DRAM to its peak is unknown: no memory "
		      "state follows it in its program\n",
		      out);
	tide__put_losses(t->m, out, st);
	return TIDE_OK;
}

/* ---- JSON ---- */

tide_code tide__tt_json(tide_tt *t, tide_json *j, tide_error *err)
{
	tt_padding pad;
	tide_code rc = tide__tt_find_live_padding(t, &pad, err);
	if (rc != TIDE_OK)
		return rc;
	tide__json_kuint(j, "operations", t->n);
	tide__json_kuint(j, "ranks", t->n_ranks);
	tide__json_kuint(j, "deallocates_excluded", t->deallocates);
	tide__json_kuint(j, "get_devices_excluded", t->get_devices);
	tide__json_kuint(j, "operations_without_state", t->n_skipped);
	json_padding(t, &pad, j);
	tide__grid_write_member(peaks(t), j, "peaks");
	tide__grid_write_member(parts(t), j, "dram_at_peak");
	tide__grid_write_member(shares(t, 100), j, "dram_over_ops");
	tide__grid_write_member(top(t, TIDE_TT_BY_GROWTH, 0), j, "top_growers_dram");
	tide__grid_write_member(top(t, TIDE_TT_BY_GROWTH, 1), j, "top_growers_l1");
	tide__grid_write_member(top(t, TIDE_TT_BY_LEVEL, 0), j, "top_consumers_dram");
	tide__grid_write_member(fragmentation(t), j, "fragmentation");
	tide__grid_write_member(padding(t), j, "padding");
	tide__grid_write_member(const_eval(t), j, "const_eval");
	tide__grid_write_member(ooms(t), j, "out_of_memory");
	tide__json_kuint(j, "modules", tide__tt_count_model(t).modules);
	tide__json_kuint(j, "weight_bytes", tide__tt_count_model(t).bytes);
	tide__grid_write_member(model_weights(t, SIZE_MAX), j, "weights");
	tide__grid_write_member(distribution(t, SIZE_MAX), j, "operations_by_name");
	tide__grid_write_member(skipped(t), j, "skipped");
	return TIDE_OK;
}

/* ---- lines of the original tool ---- */

static int64_t fact(const tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	return at < 0 ? 0 : m->facts.number[at];
}

static void summary_weights(tide_tt *t, FILE *out)
{
	tide_tt_model x = tide__tt_count_model(t);
	uint64_t direct = 0, ops = 0;
	uint32_t one;
	for (size_t i = 0; i < t->n; i++) {
		bool w = tide__tt_find_op_weights(t, i, &one, 1) > 0;
		direct += w;
		ops += w || t->ops[i].graph.i;
	}
	fprintf(out, "\nInputs Registry Summary:\n  Total entries: %zu\n", t->n_weights);
	fprintf(out, "  Weights (parameter/constant): %llu\n", (unsigned long long)x.weights);
	fprintf(out, "  Activations (input): %llu\n", (unsigned long long)x.inputs);
	fprintf(out, "  Total weight size: %.2f MB\n", (double)x.bytes / 1048576);
	fprintf(out, "  Operations with direct weight inputs: %llu\n", (unsigned long long)direct);
	fprintf(out, "  Weight operations (const_eval + direct): %llu\n", (unsigned long long)ops);
	fprintf(out, "  Activation operations: %llu\n", (unsigned long long)(t->n - ops));
}

/* "  DRAM      1.50 MiB in all 12 banks, 12.5 % of them; after ttnn.matmul (operation 17)" */
static void summary_peak(const tide_tt *t, const char *pool, const tide_tt_peak *k, FILE *out)
{
	char bytes[32], device[64];
	uint32_t banks = t->m->pools.banks[k->pool];
	double all = (double)t->m->pools.capacity[k->pool], used = (double)k->bytes * banks;
	fprintf(out, "  %-8s  ", pool);
	if (t->n_ranks > 1)
		fprintf(out, "%s  ",
			tide__device_name(t->m, t->m->pools.device[k->pool].i, device,
					  sizeof device));
	fprintf(out, "%s in all %u banks", tide__fmt_bytes(bytes, sizeof bytes, used), banks);
	if (all > 0)
		fprintf(out, ", %.1f %% of them", 100.0 * used / all);
	if (k->bytes && k->op >= 0) {
		const char *name = tide__tt_name(t, &t->ops[k->op]);
		fputs("; after ", out);
		tide__put_name(out, name, strlen(name), 0, false);
		fprintf(out, " (operation %lld)", (long long)k->op);
	}
	fputc('\n', out);
}

static void summary_peaks(const tide_tt *t, FILE *out)
{
	fputs("\nPeak Memory Summary:\n", out);
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
		for (uint32_t row = 0; (row = tide__tt_next_peak(t, p, row));)
			summary_peak(t, tide__tt_pools[p], &t->peaks[row], out);
}

void tide__tt_write_summary(tide_tt *t, FILE *out)
{
	uint64_t ops = 0, missed = 0;
	fprintf(out, "Parsing Summary:\n  Total operations parsed: %zu\n", t->n);
	fprintf(out, "  Deallocate operations excluded: %llu\n",
		(unsigned long long)t->deallocates);
	fprintf(out, "  Get_device operations excluded: %llu\n",
		(unsigned long long)t->get_devices);
	fprintf(out, "  Operations skipped (no memory stats): %zu\n", t->n_skipped);
	fprintf(out, "  Total log lines processed: %lld\n", (long long)fact(t->m, "tt.lines"));
	summary_peaks(t, out);
	for (size_t i = 0; i < t->n_graphs; i++) {
		ops += t->graphs[i].ops;
		missed += t->graphs[i].miss;
	}
	if (t->n_graphs) {
		fprintf(out, "\nConst Eval Summary:\n  Total const_eval operations: %llu\n",
			(unsigned long long)ops);
		fprintf(out, "  Const_eval graphs with cache miss: %llu\n",
			(unsigned long long)missed);
		for (size_t i = 0; i < t->n_graphs; i++) {
			const tide_tt_graph *g = &t->graphs[i];
			fprintf(out, "    %s", tide__text(t->m, g->name, NULL));
			if (g->module)
				fprintf(out, " of module %u", g->module);
			fprintf(out, ": %llu ops %s\n", (unsigned long long)g->ops,
				g->miss ? "(cache miss)" : "(cached)");
		}
	}
	if (t->n_weights)
		summary_weights(t, out);
}
