// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/allocator/standing.h"

#include <string.h>

static const tide_member holders[] = {
	{ "bytes", "Holds", TIDE_KIND_BYTES, .meaning = "live bytes of the group" },
	{ "count", "Allocations", TIDE_KIND_COUNT, 5, .meaning = "live allocations" },
	{ "key", "Made by", TIDE_KIND_NAME, .meaning = "the group" },
	{ 0 },
};

const tide_member tide__standing_members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .meaning = "device" },
	{ "history", NULL, TIDE_KIND_BOOL, .meaning = "false: the trace has only this state" },
	{ "reserved_bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes of all segments" },
	{ "active_bytes", NULL, TIDE_KIND_BYTES, .meaning = "in use" },
	{ "free_bytes", NULL, TIDE_KIND_BYTES, .meaning = "in blocks not in use" },
	{ "cached_free_bytes", NULL, TIDE_KIND_BYTES, .meaning = "free in whole segments" },
	{ "inactive_split_bytes", NULL, TIDE_KIND_BYTES, .meaning = "free beside blocks in use" },
	{ "largest_free_block_bytes", NULL, TIDE_KIND_BYTES, .meaning = "the largest free block" },
	{ "fragmentation", NULL, TIDE_KIND_REAL, .meaning = "1 - largest free block / free bytes" },
	{ "holders", NULL, TIDE_KIND_TABLE, .members = holders, .meaning = "memory by group" },
	{ 0 },
};

static tide_grid *held(const tide_standing *x, const tide_model *m, size_t top)
{
	tide_grid *g = tide__grid_new(holders, 3);
	char text[600];
	for (size_t i = 0; i < x->alive.groups.n && (!top || i < top); i++) {
		tide__grid_uint(g, x->alive.groups.rows[i].bytes);
		tide__grid_uint(g, x->alive.groups.rows[i].count);
		tide__grid_text(g,
				tide__group_write_line(&x->alive.groups, m, i, text, sizeof text));
	}
	return g;
}

static void put_line(const tide_out *to, const char *what, uint64_t bytes, const char *note)
{
	char text[32];
	fprintf(to->out, "  %-23s %12s  %s\n", what,
		tide__fmt_bytes(text, sizeof text, (double)bytes), note);
}

/* Prints the change that makes the next failure explained. */
static void put_advice(const tide_out *to, bool history)
{
	fputs(history ? "\nTo explain a failed request, write the snapshot after it, in "
			"`except torch.OutOfMemoryError`.\n"
		      : "\nTo explain the next failed request, with the code that made each block, "
			"add before the model:\n"
			"  torch.cuda.memory._record_memory_history()\n"
			"or record the unchanged program: tidemark run -o run.tide -- python "
			"train.py\n",
	      to->out);
}

void tide__standing_text(const tide_standing *x, const tide_model *m, size_t top,
			 const tide_out *to)
{
	const tide_state_totals *t = &x->state.total;
	char name[64], note[64], n[32];
	tide__device_name(m, x->device, name, sizeof name);
	tide__write_heading(to, "What holds memory on %s at the end", name);
	fputc('\n', to->out);
	snprintf(note, sizeof note, "%s segments",
		 tide__fmt_count(n, sizeof n, (int64_t)t->n_segments));
	put_line(to, "reserved", t->reserved, note);
	snprintf(note, sizeof note, "%s blocks",
		 tide__fmt_count(n, sizeof n, (int64_t)(t->n_blocks - t->n_free)));
	put_line(to, "in use", t->active, note);
	snprintf(note, sizeof note, "%s blocks", tide__fmt_count(n, sizeof n, (int64_t)t->n_free));
	put_line(to, "reserved but unused", t->free, note);
	put_line(to, "  whole segments", t->cached, "torch.cuda.empty_cache() would release them");
	put_line(to, "  between blocks in use", t->inactive_split, "cannot be released");
	if (t->expandable_free)
		put_line(to, "  expandable", t->expandable_free, "whole pages can be released");
	put_line(to, "  largest free block", t->largest_free,
		 "a larger request needs a new segment");
	fprintf(to->out, "  %-23s %12.3f  1 - largest / unused\n\n", "fragmentation",
		tide__fragmentation_ratio(t));
	tide__grid_write(held(x, m, top), to, 2);
	put_advice(to, x->history);
}

void tide__standing_json(const tide_standing *x, const tide_model *m, size_t top, tide_json *j)
{
	const tide_state_totals *t = &x->state.total;
	char name[64];
	tide__json_kstr(j, "device", tide__device_name(m, x->device, name, sizeof name));
	tide__json_kbool(j, "history", x->history);
	tide__json_kuint(j, "reserved_bytes", t->reserved);
	tide__json_kuint(j, "active_bytes", t->active);
	tide__json_kuint(j, "free_bytes", t->free);
	tide__json_kuint(j, "cached_free_bytes", t->cached);
	tide__json_kuint(j, "inactive_split_bytes", t->inactive_split);
	tide__json_kuint(j, "largest_free_block_bytes", t->largest_free);
	tide__json_kfixed(j, "fragmentation", tide__fragmentation_ratio(t), 4);
	tide__grid_write_member(held(x, m, top), j, "holders");
}
