// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/allocator/oom_report.h"

#include <string.h>

#include "analyze/allocator/oom_settings.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/report/allocator/oom.h"

static const char *const causes[] = { [TIDE_OOM_UNKNOWN] = "unknown",
				      [TIDE_OOM_FRAGMENTED] = "fragmented",
				      [TIDE_OOM_FULL] = "full",
				      [TIDE_OOM_LIMITED] = "limited" };
enum { N_CAUSES = sizeof causes / sizeof *causes };

struct rest { /* events that are not explained in full: of one device, for one cause */
	size_t n;
	uint64_t least, most; /* bytes asked for */
	int64_t first, last;
};

struct answer {
	const tide_model *m;
	const tide_oom_query *q;
	const tide_out *to; /* NULL = JSON */
	tide_json *j;	    /* NULL = text */
	size_t n;	    /* events so far */
	tide_oom_trials trials;
	struct rest *rest; /* per device and cause */
	tide_code rc;
	tide_error err;
};

#define ROOM_COLUMNS(released, largest)                                                        \
	{ "bytes", "Holds", TIDE_CELL_BYTES }, { "count", "Allocations", TIDE_CELL_COUNT, 5 }, \
		{ "released_bytes", released, TIDE_CELL_BYTES, 4 },                            \
		{ "largest_free_bytes", largest, TIDE_CELL_BYTES, 9 },                         \
		{ "enough", "Enough", TIDE_CELL_TEXT },                                        \
	{                                                                                      \
		"key", "Made by", TIDE_CELL_TEXT                                               \
	}
static const tide_grid_col room_cols[] = { ROOM_COLUMNS("Would release", "Largest block") },
			   bank_cols[] = { ROOM_COLUMNS(NULL, NULL) }; /* banks have no segments */

static tide_grid *rooms(const struct answer *x, const tide_oom *o)
{
	tide_grid *g = tide__grid_new(o->banks.n ? bank_cols : room_cols,
				      sizeof room_cols / sizeof *room_cols);
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
		tide__grid_text(g, tide__group_line(&o->groups, x->m, r->row, text, sizeof text));
	}
	return g;
}

static const tide_grid_col setting_cols[] = {
	{ "settings", "Settings", TIDE_CELL_TEXT },
	{ "older_allocations", NULL, TIDE_CELL_TEXT },
	{ "served", "Served", TIDE_CELL_TEXT },
	{ "reserved_peak_bytes", "Reserved peak", TIDE_CELL_BYTES },
	{ "retries", "Retries", TIDE_CELL_COUNT, 9 },
};

static tide_grid *tries(const tide_oom_trial *x, uint32_t mark)
{
	tide_grid *g = tide__grid_new(setting_cols, sizeof setting_cols / sizeof *setting_cols);
	size_t k = tide__oom_index(x, mark);
	char text[400];

	for (size_t i = 0; i < x->sweep.n; i++) {
		const tide_sim_result *r = &x->sweep.v[i];

		tide__sim_describe(&r->config, text, sizeof text);
		tide__grid_text(g, text);
		tide__grid_text(g, r->anew ? "anew" : "kept");
		tide__grid_text(g, r->out		    ? "runs out earlier"
				   : tide__oom_served(r, k) ? "yes"
							    : "no");
		tide__grid_uint(g, r->st.reserved_peak);
		tide__grid_uint(g, r->st.retries);
	}
	return g;
}

static size_t count_served(const tide_oom_trial *x, uint32_t mark)
{
	size_t n = 0, k = tide__oom_index(x, mark);

	for (size_t i = 0; i < x->sweep.n; i++)
		n += tide__oom_served(&x->sweep.v[i], k) && !x->sweep.v[i].same_settings;
	return n;
}

static size_t others(const tide_oom_trial *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->sweep.n; i++)
		n += !x->sweep.v[i].same_settings;
	return n;
}

static void print_numbers(const tide_out *to, const tide_oom *o)
{
	tide_oom_line lines[TIDE_OOM_LINES];
	size_t n = tide__oom_lines(o, lines);
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
}

static void print_settings(const tide_out *to, const tide_oom_trial *x, const tide_oom *o)
{
	if (o->banks.n) /* settings are those of another allocator */
		return;
	fputc('\n', to->out);
	if (!x->sweep.n) {
		fputs("Settings were not tried: the capacity is unknown.\n", to->out);
		return;
	}
	if (!count_served(x, o->mark))
		fprintf(to->out, "None of %zu other settings serves the request (replayed).\n",
			others(x));
	else
		tide__grid_out(tries(x, o->mark), to, 2);
}

static void print_one(const struct answer *x, const tide_oom_trial *tried, const tide_oom *o)
{
	const tide_out *to = x->to;
	char name[64], t[32], b[32], line[600];
	uint32_t pool = x->m->marks.pool[o->mark].i;

	tide__device_name(x->m, tide__oom_device(x->m, o->mark), name, sizeof name);
	tide__heading(to, "%s%s%s ran out of memory at %s: %s requested", name,
		      o->banks.n ? " " : "",
		      o->banks.n ? tide__text(x->m, x->m->pools.name[pool], NULL) : "",
		      tide__fmt_at(t, sizeof t, (double)o->t),
		      tide__fmt_bytes(b, sizeof b, (double)o->asked));
	if (x->m->marks.stack[o->mark].i) {
		fputs("by ", to->out);
		tide__put_text(
			to, tide__stack_line(x->m, x->m->marks.stack[o->mark], line, sizeof line));
		fputc('\n', to->out);
	}
	fputc('\n', to->out);
	print_numbers(to, o);
	fputc('\n', to->out);
	print_cause(to, o);
	fputs("\nMemory by group, and the effect of freeing it:\n\n", to->out);
	tide__grid_out(rooms(x, o), to, 2);
	print_settings(to, tried, o);
}

/* Only of pools with banks. */
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

/* `tried` NULL: not explained in full. */
static void json_one(const struct answer *x, const tide_oom_trial *tried, const tide_oom *o)
{
	tide_json *j = x->j;
	char name[64];
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
	tide__json_kuint_if(j, "largest_free_block_bytes", k, o->at.largest_free);
	tide__json_kuint_if(j, "inactive_split_bytes", k, o->at.inactive_split);
	tide__json_kuint_if(j, "cached_free_bytes", k, o->at.cached);
	tide__json_kuint_if(j, "capacity_bytes", o->capacity != 0, o->capacity);
	tide__json_kstr(j, "cause", causes[o->cause]);
	tide__json_kuint_if(j, "limit_below_bytes", o->cause == TIDE_OOM_LIMITED, o->below);
	tide__json_kuint_if(j, "missing_bytes",
			    o->cause == TIDE_OOM_FULL || o->cause == TIDE_OOM_FRAGMENTED,
			    o->missing);
	json_banks(j, &o->banks);
	if (tried) {
		tide__stack_json(j, "stack", x->m, x->m->marks.stack[o->mark]);
		tide__grid_member(rooms(x, o), j, "holders");
		tide__grid_member(tries(tried, o->mark), j, "settings");
	} else {
		tide__json_knull(j, "stack");
		tide__json_knull(j, "holders");
		tide__json_knull(j, "settings");
	}
	tide__json_object_end(j);
}

static void count_rest(struct answer *x, const tide_oom *o)
{
	struct rest *r = &x->rest[tide__oom_device(x->m, o->mark) * N_CAUSES + o->cause];

	if (!r->n || o->asked < r->least)
		r->least = o->asked;
	if (o->asked > r->most)
		r->most = o->asked;
	if (!r->n++)
		r->first = o->t;
	r->last = o->t;
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

static void print_rest(const struct answer *x)
{
	tide_grid *g = tide__grid_new(rest_cols, sizeof rest_cols / sizeof *rest_cols);
	char name[64];

	tide__heading(x->to, "%zu %srequests failed", x->n - x->q->full, x->q->full ? "more " : "");
	fputc('\n', x->to->out);
	for (size_t i = 0; i < x->m->devices.n * N_CAUSES; i++) {
		const struct rest *r = &x->rest[i];

		if (!r->n)
			continue;
		tide__device_name(x->m, (uint32_t)(i / N_CAUSES), name, sizeof name);
		tide__grid_text(g, name);
		tide__grid_text(g, causes[i % N_CAUSES]);
		tide__grid_uint(g, r->n);
		tide__grid_uint(g, r->least);
		tide__grid_uint(g, r->most);
		tide__grid_int(g, r->first);
		tide__grid_int(g, r->last);
	}
	tide__grid_out(g, x->to, 2);
	fprintf(x->to->out,
		"\n--events N explains up to %d in full, --json has the figures of all.\n",
		TIDE_OOM_MOST_EVENTS);
}

static bool in_full(struct answer *x, uint32_t mark)
{
	tide_oom o = { 0 };
	const tide_oom_trial *tried = NULL;

	x->rc = tide__find_oom(x->m, mark, x->q->by, x->q->top, &o, &x->err);
	if (x->rc == TIDE_OK)
		tried = tide__oom_trial(&x->trials, x->m, mark, &x->err);
	if (x->rc == TIDE_OK && !tried)
		x->rc = x->err.code ? x->err.code : TIDE_ENOMEM;
	if (tried && x->j) {
		json_one(x, tried, &o);
	} else if (tried) {
		if (x->n)
			fputc('\n', x->to->out);
		print_one(x, tried, &o);
	}
	tide__oom_free(&o);
	return tried;
}

static bool each(void *user, const tide_oom *o)
{
	struct answer *x = user;

	if (x->n < x->q->full) {
		if (!in_full(x, o->mark))
			return false;
	} else if (x->j) {
		json_one(x, NULL, o);
	} else {
		count_rest(x, o);
	}
	x->n++;
	return true;
}

static tide_code all(struct answer *x)
{
	tide_code rc = tide__find_ooms(x->m, x->q->device, each, x, &x->err);

	return x->rc != TIDE_OK ? x->rc : rc;
}

static tide_code put_json(struct answer *x, tide_json *j)
{
	tide__json_object(j);
	tide__json_karray(j, "ooms");
	tide_code rc = all(x);

	tide__json_array_end(j);
	tide__json_kuint(j, "explained_count", x->n < x->q->full ? x->n : x->q->full);
	tide__losses_json(j, x->m);
	tide__json_object_end(j);
	return rc;
}

static tide_code put_text(struct answer *x)
{
	tide_code rc = all(x);

	if (rc == TIDE_OK && !x->n)
		fputs("The trace has no out-of-memory event.\n", x->to->out);
	if (rc == TIDE_OK && x->n > x->q->full) {
		if (x->q->full)
			fputc('\n', x->to->out);
		print_rest(x);
	}
	tide__put_model_losses(x->to, x->m);
	return rc;
}

static tide_code report(struct answer *x, tide_error *err)
{
	x->err.offset = TIDE_NO_OFFSET;
	x->rest = tide__calloc(x->m->devices.n * N_CAUSES, sizeof *x->rest);
	tide_code rc = x->rest ? x->j ? put_json(x, x->j) : put_text(x) : tide__nomem(&x->err);
	if (rc != TIDE_OK)
		*err = x->err;
	tide__free(x->rest);
	tide__oom_trials_free(&x->trials);
	return rc;
}

tide_code tide__oom_text(const tide_model *m, const tide_oom_query *q, const tide_out *to,
			 tide_error *err)
{
	struct answer x = { .m = m, .q = q, .to = to };
	return report(&x, err);
}

tide_code tide__oom_json(const tide_model *m, const tide_oom_query *q, tide_json *j,
			 tide_error *err)
{
	struct answer x = { .m = m, .q = q, .j = j };
	return report(&x, err);
}
