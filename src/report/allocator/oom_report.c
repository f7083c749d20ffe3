// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/allocator/oom_report.h"

#include <string.h>

#include "render/report/allocator/oom.h"
#include "render/text/labels.h"

static const char *const causes[TIDE_OOM_CAUSES] = { [TIDE_OOM_UNKNOWN] = "unknown",
						     [TIDE_OOM_FRAGMENTED] = "fragmented",
						     [TIDE_OOM_FULL] = "full",
						     [TIDE_OOM_LIMITED] = "limited" };

#define UNKNOWN .may = TIDE_MAY_BE_NULL
#define ROOM_MEMBERS(released, largest)                                                        \
	{ "bytes", "Holds", TIDE_KIND_BYTES, .meaning = "live bytes of the group" },           \
		{ "count", "Allocations", TIDE_KIND_COUNT, 5, .meaning = "live allocations" }, \
		{ "released_bytes", released,                                                  \
		  TIDE_KIND_BYTES,  4,                                                         \
		  UNKNOWN,	    .meaning = "freeing the group would release this" },       \
		{ "largest_free_bytes",                                                        \
		  largest,                                                                     \
		  TIDE_KIND_BYTES,                                                             \
		  9,                                                                           \
		  UNKNOWN,                                                                     \
		  .meaning = "and make this the largest free block" },                         \
		{ "enough", "Enough", TIDE_KIND_WORD, .words = "yes,no,if contiguous,unknown", \
		  .meaning = "whether the request would then succeed" },                       \
		{ "key", "Made by", TIDE_KIND_NAME, .meaning = "the group" },                  \
	{                                                                                      \
		0                                                                              \
	}
const tide_member tide__oom_holder_members[] = { ROOM_MEMBERS("Would release", "Largest block") };
static const tide_member bank_cols[] = { ROOM_MEMBERS(NULL, NULL) }; /* banks have no segments */
enum { N_ROOM = sizeof bank_cols / sizeof *bank_cols - 1 };

static tide_grid *rooms(const tide_oom_events *x, const tide_oom *o)
{
	tide_grid *g = tide__grid_new(o->banks.n ? bank_cols : tide__oom_holder_members, N_ROOM);
	char text[600];

	for (size_t i = 0; i < o->n_room; i++) {
		const tide_oom_room *r = &o->room[i];

		tide__grid_uint(g, o->groups.rows[r->row].bytes);
		tide__grid_uint(g, o->groups.rows[r->row].count);
		o->segments_known ? tide__grid_uint(g, r->released) : tide__grid_none(g);
		o->segments_known ? tide__grid_uint(g, r->largest) : tide__grid_none(g);
		tide__grid_text(g, !o->rooms_known ? "unknown"
				   : !r->enough	   ? "no"
				   : o->banks.n	   ? "if contiguous"
						   : "yes");
		tide__grid_text(
			g, tide__group_write_line(&o->groups, x->m, r->row, text, sizeof text));
	}
	return g;
}

const tide_member tide__oom_setting_members[] = {
	{ "settings", "Settings", TIDE_KIND_TEXT, .meaning = "allocator settings" },
	{ "older_allocations", NULL, TIDE_KIND_WORD, .words = "kept,anew",
	  .meaning = "allocations older than the recording: kept in place, or placed again" },
	{ "served", "Served", TIDE_KIND_WORD, .words = "yes,no,runs out earlier",
	  .meaning = "whether the request succeeds when replayed" },
	{ "reserved_peak_bytes", "Reserved peak", TIDE_KIND_BYTES,
	  .meaning = "highest reserved bytes" },
	{ "retries", "Retries", TIDE_KIND_COUNT, 9,
	  .meaning = "requests that needed the cache to be emptied" },
	{ 0 },
};
enum { N_SETTING = sizeof tide__oom_setting_members / sizeof(tide_member) - 1 };

static tide_grid *tries(const tide_oom_trial_of *t)
{
	tide_grid *g = tide__grid_new(tide__oom_setting_members, N_SETTING);
	char text[400];

	for (size_t i = 0; i < t->on->sweep.n; i++) {
		const tide_sim_result *r = &t->on->sweep.v[i];

		tide__sim_describe(&r->config, text, sizeof text);
		tide__grid_text(g, text);
		tide__grid_text(g, r->anew ? "anew" : "kept");
		tide__grid_text(g, r->out			   ? "runs out earlier"
				   : tide__oom_served(r, t->index) ? "yes"
								   : "no");
		tide__grid_uint(g, r->st.reserved_peak);
		tide__grid_uint(g, r->st.retries);
	}
	return g;
}

static void print_numbers(const tide_out *to, const tide_oom *o)
{
	tide_oom_line lines[TIDE_OOM_LINES];
	size_t n = tide__oom_write_lines(o, lines);
	char b[32];

	for (const tide_oom_line *l = lines; l < lines + n; l++)
		fprintf(to->out, "  %-30s %12s  %s\n", l->name,
			l->known ? tide__fmt_bytes(b, sizeof b, (double)l->bytes) : "unknown",
			l->more);
}

static void print_cause(const tide_out *to, const tide_oom *o)
{
	char why[300];

	fprintf(to->out, "%s%s\n", tide__oom_why(o, why, sizeof why),
		o->cause == TIDE_OOM_LIMITED ? " Settings are tried with the highest reserved "
					       "bytes as capacity."
					     : "");
	if (tide__oom_write_difference(o, why, sizeof why))
		fprintf(to->out, "The free blocks are unknown: %s.\n", why);
}

static void print_settings(const tide_out *to, const tide_oom_trial_of *t, const tide_oom *o)
{
	if (o->banks.n) /* settings apply to another allocator only */
		return;
	fputc('\n', to->out);
	if (!t->on->sweep.n) {
		fputs("Settings were not tried: the capacity is unknown.\n", to->out);
		return;
	}
	if (!t->served)
		fprintf(to->out, "None of %zu other settings serves the request (replayed).\n",
			t->others);
	else
		tide__grid_write(tries(t), to, 2);
}

static void print_one(const tide_oom_events *x, size_t i, const tide_out *to)
{
	const tide_oom *o = &x->v[i];
	char name[64], t[32], b[32], line[600];
	uint32_t pool = x->m->marks.pool[o->mark].i;

	tide__device_name(x->m, tide__oom_device(x->m, o->mark), name, sizeof name);
	tide__write_heading(to, "%s%s%s ran out of memory at %s: %s requested", name,
			    o->banks.n ? " " : "",
			    o->banks.n ? tide__text(x->m, x->m->pools.name[pool], NULL) : "",
			    tide__fmt_at(t, sizeof t, (double)o->t),
			    tide__fmt_bytes(b, sizeof b, (double)o->asked));
	if (x->m->marks.stack[o->mark].i) {
		fputs("by ", to->out);
		tide__put_text(to, tide__stack_write_line(x->m, x->m->marks.stack[o->mark], line,
							  sizeof line));
		fputc('\n', to->out);
	}
	fputc('\n', to->out);
	print_numbers(to, o);
	fputc('\n', to->out);
	print_cause(to, o);
	fputs("\nMemory by group, and the effect of freeing it:\n\n", to->out);
	tide__grid_write(rooms(x, o), to, 2);
	print_settings(to, &x->tried[i], o);
}

/* Writes the figures of a pool with banks; nothing for others. */
static void json_banks(tide_json *j, const tide_oom_banks *b)
{
	if (!b->n)
		return;
	tide__json_kuint(j, "banks", b->n);
	tide__json_kuint(j, "bank_needed_bytes", b->need);
	tide__json_kmaybe(j, "bank_capacity_bytes", b->size);
	tide__json_kmaybe(j, "bank_allocated_bytes", b->allocated);
	tide__json_kmaybe(j, "bank_free_bytes", b->free);
	tide__json_kmaybe(j, "bank_largest_free_bytes", b->largest);
}

static void json_one(const tide_oom_events *x, size_t i, tide_json *j)
{
	const tide_oom *o = &x->v[i];
	char name[64], why[TIDE_OOM_WHY];
	bool k = o->segments_known;

	tide__json_object(j);
	tide__json_kstr(
		j, "device",
		tide__device_name(x->m, tide__oom_device(x->m, o->mark), name, sizeof name));
	tide__json_kint(j, "time_ns", o->t);
	tide__json_kuint(j, "requested_bytes", o->asked);
	tide__json_kuint(j, "segment_bytes", o->needed);
	tide__json_kuint_if(j, "device_free_bytes", o->device_free >= 0, (uint64_t)o->device_free);
	tide__json_kmaybe(j, "reserved_bytes", o->reserved);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(o->source));
	tide__json_kuint(j, "allocated_bytes", o->at.allocated);
	tide__json_kuint(j, "active_bytes", o->at.active);
	tide__json_kmaybe(j, "reserved_unallocated_bytes", o->unallocated);
	tide__json_kuint_if(j, "free_bytes", o->reserved != TIDE_RESERVED_NONE, o->at.free);
	tide__json_kstr(j, "segments_source", !k ? NULL : o->replayed ? "replayed" : "recorded");
	tide__json_kstr(j, "segments_unknown",
			tide__oom_write_difference(o, why, sizeof why) ? why : NULL);
	tide__json_kuint_if(j, "largest_free_block_bytes", k, o->at.largest_free);
	tide__json_kuint_if(j, "inactive_split_bytes", k, o->at.inactive_split);
	tide__json_kuint_if(j, "cached_free_bytes", k, o->at.cached);
	tide__json_kuint_if(j, "capacity_bytes", o->capacity != 0, o->capacity);
	tide__json_kstr(j, "cause", causes[o->cause]);
	tide__json_kuint_if(j, "limit_bytes", o->limit != TIDE_RESERVED_NONE, o->limit);
	tide__json_kuint_if(j, "limit_below_bytes", o->cause == TIDE_OOM_LIMITED, o->below);
	tide__json_kuint_if(j, "missing_bytes",
			    o->cause == TIDE_OOM_FULL || o->cause == TIDE_OOM_FRAGMENTED,
			    o->missing);
	json_banks(j, &o->banks);
	if (i < x->n_full) {
		tide__stack_json(j, "stack", x->m, x->m->marks.stack[o->mark]);
		tide__grid_write_member(rooms(x, o), j, "holders");
		tide__grid_write_member(tries(&x->tried[i]), j, "settings");
	} else {
		tide__json_knull(j, "stack");
		tide__json_knull(j, "holders");
		tide__json_knull(j, "settings");
	}
	tide__json_object_end(j);
}

static const tide_grid_col rest_cols[] = {
	{ "device", "Device", TIDE_CELL_TEXT },
	{ "cause", "Cause", TIDE_CELL_TEXT },
	{ "events", "Events", TIDE_CELL_COUNT },
	{ "least", "Smallest", TIDE_CELL_BYTES },
	{ "most", "Largest asked", TIDE_CELL_BYTES },
	{ "first", "First", TIDE_CELL_AT },
	{ "last", "Last", TIDE_CELL_AT },
};

static void print_rest(const tide_oom_events *x, const tide_out *to)
{
	tide_grid *g = tide__grid_new(rest_cols, sizeof rest_cols / sizeof *rest_cols);
	char name[64];

	tide__write_heading(to, "%zu %srequests failed", x->n - x->n_full,
			    x->n_full ? "more " : "");
	fputc('\n', to->out);
	for (size_t i = 0; i < x->m->devices.n * TIDE_OOM_CAUSES; i++) {
		const tide_oom_sum *s = &x->sums[i];

		if (!s->n)
			continue;
		tide__device_name(x->m, (uint32_t)(i / TIDE_OOM_CAUSES), name, sizeof name);
		tide__grid_text(g, name);
		tide__grid_text(g, causes[i % TIDE_OOM_CAUSES]);
		tide__grid_uint(g, s->n);
		tide__grid_uint(g, s->least);
		tide__grid_uint(g, s->most);
		tide__grid_int(g, s->first);
		tide__grid_int(g, s->last);
	}
	tide__grid_write(g, to, 2);
	fprintf(to->out, "\n--events N explains up to %d in full, --json has the figures of all.\n",
		TIDE_OOM_MOST_EVENTS);
}

void tide__oom_text(const tide_oom_events *x, const tide_out *to)
{
	for (size_t i = 0; i < x->n_full; i++) {
		if (i)
			fputc('\n', to->out);
		print_one(x, i, to);
	}
	if (!x->n)
		fputs("The trace has no out-of-memory event.\n", to->out);
	if (x->n > x->n_full) {
		if (x->n_full)
			fputc('\n', to->out);
		print_rest(x, to);
	}
}

void tide__oom_json(const tide_oom_events *x, tide_json *j)
{
	tide__json_karray(j, "ooms");
	for (size_t i = 0; i < x->n_v; i++)
		json_one(x, i, j);
	tide__json_array_end(j);
	tide__json_kuint(j, "explained_count", x->n_full);
	tide__losses_json(j, x->m);
}
