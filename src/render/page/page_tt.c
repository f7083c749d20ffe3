// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The section of a Tenstorrent run: the tables of `tidemark tt`, a row of columns for each
 * operation, its text and the ttnn module. Empty, hence not written, for any other trace. */
#include <math.h>
#include <string.h>

#include "analyze/tenstorrent/tt.h"
#include "base/mem.h"
#include "render/page/page_parts.h"
#include "analyze/tenstorrent/tt_ir.h"
#include "render/report/tenstorrent/tt_report.h"

enum {
	TEXTS_MOST = 16 << 20
}; /* bytes of operations' texts, and of the module: more is left out */

static const char *const pools[TIDE_TT_POOLS] = { "DRAM", "L1", "L1_SMALL", "TRACE" };

static void capacities(tide_json *j, const tide_tt *t)
{
	tide__json_karray(j, "pools");
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		uint32_t row = t->pool_row[p];
		tide__json_object(j);
		tide__json_kstr(j, "name", pools[p]);
		tide__json_kuint(j, "banks", row ? t->m->pools.banks[row] : 0);
		tide__json_kuint(j, "capacity",
				 row && t->m->pools.banks[row]
					 ? t->m->pools.capacity[row] / t->m->pools.banks[row]
					 : 0);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static uint64_t text_bytes(const tide_tt *t)
{
	uint64_t all = 0;
	for (size_t i = 0; i < t->n && all <= TEXTS_MOST; i++) {
		size_t n;
		tide__text(t->m, t->ops[i].text, &n);
		all += n;
	}
	return all;
}

/* Writes columns with the numbers of texts and the line of each operation in the module. */
static bool name_columns(tide_box *b, tide_json *j, const tide_tt *t, const tide_tt_ir *ir)
{
	tide_page_names names;
	bool whole = text_bytes(t) <= TEXTS_MOST;
	int name = tide__box_add_column(b, "name", TIDE_COL_UINT),
	    text = tide__box_add_column(b, "text", TIDE_COL_UINT),
	    graph = tide__box_add_column(b, "graph", TIDE_COL_UINT),
	    line = tide__box_add_column(b, "ir", TIDE_COL_UINT);
	bool ok = tide__page_names_init(&names, t->m);
	for (size_t i = 0; ok && i < t->n; i++) {
		const tide_tt_op *o = &t->ops[i];
		tide_mlir_op p;
		tide_slice loc = { NULL, 0 };
		if (tide__tt_parse(t, o, &p))
			loc = tide__tt_loc_name(t, o, &p);
		tide__box_put(b, name, tide__page_name(&names, b, t->m->spans.name[o->span]));
		tide__box_put(b, text, whole ? tide__page_name(&names, b, o->text) : 0);
		tide__box_put(b, graph, tide__page_name(&names, b, o->graph));
		tide__box_put(b, line, tide__tt_ir_line_of(ir, loc));
	}
	if (ok)
		tide__page_names_json(&names, t->m, "names", j);
	tide__json_kbool(j, "texts_left_out", !whole);
	tide__page_names_free(&names);
	return ok;
}

/* Writes weights and activations in DRAM before each operation, in bytes of one bank. */
static void share_columns(tide_box *b, const tide_tt *t)
{
	int w = tide__box_add_column(b, "weights", TIDE_COL_DELTA),
	    a = tide__box_add_column(b, "activations", TIDE_COL_DELTA);
	tide_tt_share *v = tide__alloc(t->n, sizeof *v);
	bool ok = v && tide__tt_find_shares(t, 0, v);
	uint32_t banks = t->pool_row[0] ? t->m->pools.banks[t->pool_row[0]] : 0;
	for (size_t i = 0; i < t->n; i++) {
		tide__box_put(b, w, ok && banks ? (int64_t)(v[i].weights / banks) : 0);
		tide__box_put(b, a, ok && banks ? (int64_t)(v[i].activations / banks) : 0);
	}
	tide__free(v);
}

static void state_columns(tide_box *b, const tide_tt *t)
{
	static const char *const before[] = { "before0", "before1", "before2", "before3" };
	static const char *const high[] = { "high0", "high1", "high2", "high3" };
	static const char *const fragm[] = { "fragm0", "fragm1", "fragm2", "fragm3" };
	static const char *const change[] = { "change0", "change1", "change2", "change3" };
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++) {
		int a = tide__box_add_column(b, before[p], TIDE_COL_DELTA),
		    h = tide__box_add_column(b, high[p], TIDE_COL_DELTA),
		    f = tide__box_add_column(b, fragm[p], TIDE_COL_UINT),
		    c = tide__box_add_column(b, change[p], TIDE_COL_INT);
		for (size_t i = 0; i < t->n; i++) {
			const tide_tt_op *o = &t->ops[i];
			double x = tide__tt_fragmentation(t->m, o->state[p]);
			bool known = o->change[p] != TIDE_TT_UNKNOWN;
			tide__box_put(
				b, a,
				o->state[p] ? (int64_t)t->m->pool_states.allocated[o->state[p] - 1]
					    : 0);
			tide__box_put(b, h, (int64_t)o->high[p]);
			tide__box_put(b, f,
				      isnan(x) ? 0
					       : 1 + (int64_t)(x * 10000 + 0.5)); /* 0 = unknown */
			tide__box_put(b, c,
				      known ? (o->change[p] >= 0 ? o->change[p] + 1 : o->change[p])
					    : 0);
		}
	}
	share_columns(b, t);
	int line = tide__box_add_column(b, "line", TIDE_COL_DELTA),
	    rank = tide__box_add_column(b, "rank", TIDE_COL_INT),
	    position = tide__box_add_column(b, "position", TIDE_COL_DELTA);
	for (size_t i = 0; i < t->n; i++) {
		tide__box_put(b, position, tide__tt_position(t, i));
		tide__box_put(b, line, (int64_t)t->ops[i].line);
		tide__box_put(b, rank, t->m->processes.rank[t->ops[i].process]);
	}
}

bool tide__page_write_tt(tide_box *b, const tide_model *m, const tide_page_options *opt,
			 tide_error *err)
{
	tide_tt *t = NULL;
	tide_tt_ir ir = { { NULL, 0 }, NULL, 0 };
	(void)opt;
	if (!m->pool_states.n)
		return true;
	tide_code rc = tide__tt_find(m, NULL, &t, err);
	if (rc == TIDE_ENOTFOUND)
		return true;
	bool ok = rc == TIDE_OK && tide__tt_ir_find(m, "mlir.ttnn", &ir);
	if (ok) {
		tide_json *j = tide__box_json(b);
		tide__json_object(j);
		ok = tide__tt_json(t, j, err) == TIDE_OK;
		capacities(j, t);
		ok = ok && name_columns(b, j, t, &ir);
		tide__json_kstrn(j, "ir", ir.text.s ? ir.text.s : "",
				 ir.text.n <= TEXTS_MOST ? ir.text.n : 0);
		tide__json_object_end(j);
		state_columns(b, t);
	}
	tide__tt_ir_free(&ir);
	tide__tt_free(t);
	return ok;
}
