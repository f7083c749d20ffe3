// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* oom: why an allocation failed, and what would have made room. */
#include <inttypes.h>
#include <string.h>

#include "analyze/allocator/oom.h"
#include "analyze/allocator/sim/sweep.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "render/report/oom.h"

enum { MOST_EVENTS = 64 }; /* of so many a replay says which it served */
enum { O_BY, O_TOP, O_EVENTS, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,role,pool,stream,size,frame",
		   "whose memory to look at (default stack; else op, role or size)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "groups to try as room", .def = "10" },
	[O_EVENTS] = { "events", 'e', TIDE_OPT_INT, "N", "events to explain in full, at most 64",
		       .def = "10", .most = MOST_EVENTS },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static const tide_group_by choices[] = { TIDE_BY_OP,	 TIDE_BY_STACK, TIDE_BY_ROLE, TIDE_BY_POOL,
					 TIDE_BY_STREAM, TIDE_BY_SIZE,	TIDE_BY_FRAME };
static const char *const causes[] = { [TIDE_OOM_UNKNOWN] = "unknown",
				      [TIDE_OOM_FRAGMENTED] = "fragmented",
				      [TIDE_OOM_FULL] = "full",
				      [TIDE_OOM_LIMITED] = "limited" };
enum { N_CAUSES = sizeof causes / sizeof *causes };

struct trial { /* the standard settings, tried on a device */
	uint32_t device;
	tide_requests *q;
	tide_sweep sweep;
};

struct rest { /* events that are not explained in full: of one device, for one cause */
	size_t n;
	uint64_t least, most; /* bytes asked for */
	int64_t first, last;
};

struct answer {
	const tide_args *a;
	const tide_model *m;
	uint32_t device; /* TIDE_ANY = all */
	tide_group_by by;
	size_t full, n; /* events to explain in full, events so far */
	struct trial trials[MOST_EVENTS];
	size_t n_trials;
	struct rest *rest; /* per device and cause */
	tide_json *j;	   /* NULL = text */
	tide_code rc;
	tide_error err;
};

static uint32_t device_of(const tide_model *m, uint32_t mark)
{
	return m->pools.device[m->marks.pool[mark].i].i;
}

/* ---- settings that would have helped ---- */

static tide_code try_settings(const tide_model *m, struct trial *t, tide_error *err)
{
	tide_sim_config tries[32];
	size_t n = 0;
	tide_code rc = tide__requests_new(m, (tide_device_id){ t->device }, &t->q, err);

	if (rc != TIDE_OK)
		return rc == TIDE_ENOTFOUND ? TIDE_OK : rc;
	if (!t->q->limit || !t->q->reserved_max)
		return TIDE_OK; /* the room there was is not known */
	tries[n++] = t->q->recorded;
	for (size_t i = 0; tide__sim_standard[i] && n < 32; i++) {
		tries[n] = tide__sim_defaults();
		tide__sim_parse(&tries[n], tide__sim_standard[i], NULL);
		n += !tide__sim_same(&tries[n], &t->q->recorded);
	}
	return tide__sim_sweep(t->q, tries, n, 0, &t->sweep, err);
}

/* The standard settings on the device of a mark; tried once per device. NULL: x->rc says why. */
static const struct trial *trial_of(struct answer *x, uint32_t mark)
{
	uint32_t device = device_of(x->m, mark);
	struct trial *t = x->trials;

	while (t < x->trials + x->n_trials && t->device != device)
		t++;
	if (t == x->trials + x->n_trials) {
		t->device = device;
		x->n_trials++;
		x->rc = try_settings(x->m, t, &x->err);
	}
	return x->rc == TIDE_OK ? t : NULL;
}

static void forget_trials(struct answer *x)
{
	for (size_t i = 0; i < x->n_trials; i++) {
		tide__sweep_free(&x->trials[i].sweep);
		tide__requests_free(x->trials[i].q);
	}
}

/* Which of the recorded out-of-memory requests of its device a mark is. */
static size_t index_of(const struct trial *x, uint32_t mark)
{
	size_t k = 0;

	for (size_t i = 0; x->q && i < x->q->n; i++)
		if (x->q->r[i].kind == TIDE_REQ_OOM) {
			if (x->q->r[i].id == mark)
				return k;
			k++;
		}
	return MOST_EVENTS;
}

static bool served(const tide_sim_result *r, size_t k)
{
	return !r->out && k < MOST_EVENTS && (r->oom_fit_mask >> k & 1);
}

/* ---- grids ---- */

static const tide_grid_col room_cols[] = {
	{ "bytes", "Holds", TIDE_CELL_BYTES },
	{ "count", "Allocations", TIDE_CELL_COUNT, 5 },
	{ "released_bytes", "Would release", TIDE_CELL_BYTES, 4 },
	{ "largest_free_bytes", "Largest block", TIDE_CELL_BYTES, 9 },
	{ "enough", "Enough", TIDE_CELL_TEXT },
	{ "key", "Made by", TIDE_CELL_TEXT },
};

static tide_grid *rooms(const struct answer *x, const tide_oom *o)
{
	tide_grid *g = tide__grid_new(room_cols, sizeof room_cols / sizeof *room_cols);
	char text[600];

	for (size_t i = 0; i < o->n_room; i++) {
		const tide_oom_room *r = &o->room[i];

		tide__grid_uint(g, o->groups.rows[r->row].bytes);
		tide__grid_uint(g, o->groups.rows[r->row].count);
		o->segments_known ? tide__grid_uint(g, r->released) : tide__grid_none(g);
		o->segments_known ? tide__grid_uint(g, r->largest) : tide__grid_none(g);
		tide__grid_text(g, !o->segments_known ? "unknown" : r->enough ? "yes" : "no");
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

static tide_grid *tries(const struct trial *x, uint32_t mark)
{
	tide_grid *g = tide__grid_new(setting_cols, sizeof setting_cols / sizeof *setting_cols);
	size_t k = index_of(x, mark);
	char text[400];

	for (size_t i = 0; i < x->sweep.n; i++) {
		const tide_sim_result *r = &x->sweep.v[i];

		tide__sim_describe(&r->config, text, sizeof text);
		tide__grid_text(g, text);
		tide__grid_text(g, r->anew ? "anew" : "kept");
		tide__grid_text(g, r->out ? "runs out earlier" : served(r, k) ? "yes" : "no");
		tide__grid_uint(g, r->st.reserved_peak);
		tide__grid_uint(g, r->st.retries);
	}
	return g;
}

static size_t count_served(const struct trial *x, uint32_t mark)
{
	size_t n = 0, k = index_of(x, mark);

	for (size_t i = 0; i < x->sweep.n; i++)
		n += served(&x->sweep.v[i], k) && !x->sweep.v[i].same_settings;
	return n;
}

static size_t others(const struct trial *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->sweep.n; i++)
		n += !x->sweep.v[i].same_settings;
	return n;
}

/* ---- text ---- */

static void print_numbers(const tide_args *a, const tide_oom *o)
{
	tide_oom_line lines[TIDE_OOM_LINES];
	char b[32];

	tide__oom_lines(o, lines);
	for (const tide_oom_line *l = lines; l < lines + TIDE_OOM_LINES; l++)
		fprintf(a->out, "  %-30s %12s  %s\n", l->name,
			l->known ? tide__fmt_bytes(b, sizeof b, (double)l->bytes) : "unknown",
			l->more);
}

static void print_cause(const tide_args *a, const tide_oom *o)
{
	char why[300];

	fprintf(a->out, "%s%s\n", tide__oom_why(o, why, sizeof why),
		o->cause == TIDE_OOM_LIMITED ? " Settings are tried within what it held before."
					     : "");
}

static void print_settings(const tide_args *a, const struct trial *x, const tide_oom *o)
{
	fputc('\n', a->out);
	if (!x->sweep.n) {
		fputs("Settings were not tried: the room there was is not known.\n", a->out);
		return;
	}
	if (!count_served(x, o->mark))
		fprintf(a->out, "None of %zu other settings serves the request (replayed).\n",
			others(x));
	else
		tide__grid_out(tries(x, o->mark), &a->to, 2);
}

static void print_one(const struct answer *x, const struct trial *tried, const tide_oom *o)
{
	const tide_args *a = x->a;
	char name[64], t[32], b[32], line[600];

	tide__device_name(x->m, device_of(x->m, o->mark), name, sizeof name);
	tide__heading(&a->to, "%s ran out of memory at %s: %s asked for", name,
		      tide__fmt_ns(t, sizeof t, (double)o->t),
		      tide__fmt_bytes(b, sizeof b, (double)o->asked));
	if (x->m->marks.stack[o->mark].i) {
		fputs("by ", a->out);
		tide__put_text(
			&a->to, tide__stack_line(x->m, x->m->marks.stack[o->mark], line, sizeof line));
		fputc('\n', a->out);
	}
	fputc('\n', a->out);
	print_numbers(a, o);
	fputc('\n', a->out);
	print_cause(a, o);
	fputs("\nWhat held the memory, and what freeing it would have given:\n\n", a->out);
	tide__grid_out(rooms(x, o), &a->to, 2);
	print_settings(a, tried, o);
}

/* ---- JSON ---- */

/* `tried` NULL: not explained in full. */
static void json_one(const struct answer *x, const struct trial *tried, const tide_oom *o)
{
	tide_json *j = x->j;
	char name[64];
	bool k = o->segments_known;

	tide__json_object(j);
	tide__json_kstr(j, "device",
			tide__device_name(x->m, device_of(x->m, o->mark), name, sizeof name));
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

/* ---- the rest ---- */

static void count_rest(struct answer *x, const tide_oom *o)
{
	struct rest *r = &x->rest[device_of(x->m, o->mark) * N_CAUSES + o->cause];

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
	{ "first", "First", TIDE_CELL_NS },
	{ "last", "Last", TIDE_CELL_NS },
};

static void print_rest(const struct answer *x)
{
	tide_grid *g = tide__grid_new(rest_cols, sizeof rest_cols / sizeof *rest_cols);
	char name[64];

	tide__heading(&x->a->to, "%zu %srequests failed", x->n - x->full, x->full ? "more " : "");
	fputc('\n', x->a->out);
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
	tide__grid_out(g, &x->a->to, 2);
	fprintf(x->a->out,
		"\n--events N explains up to %d in full, --json has the figures of all.\n",
		MOST_EVENTS);
}

/* ---- all of them ---- */

static bool in_full(struct answer *x, uint32_t mark)
{
	tide_oom o = { 0 };
	const struct trial *tried = NULL;

	x->rc = tide__oom(x->m, mark, x->by, (size_t)x->a->opt[O_TOP].num, &o, &x->err);
	if (x->rc == TIDE_OK)
		tried = trial_of(x, mark);
	if (tried && x->j) {
		json_one(x, tried, &o);
	} else if (tried) {
		if (x->n)
			fputc('\n', x->a->out);
		print_one(x, tried, &o);
	}
	tide__oom_free(&o);
	return tried;
}

static bool each(void *user, const tide_oom *o)
{
	struct answer *x = user;

	if (x->n < x->full) {
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
	tide_code rc = tide__ooms(x->m, x->device, each, x, &x->err);

	return x->rc != TIDE_OK ? x->rc : rc;
}

static tide_code print_json(struct answer *x)
{
	tide_json j;

	x->j = &j;
	tide__json_begin(&j, x->a->out, true);
	tide__json_object(&j);
	tide__json_karray(&j, "ooms");
	tide_code rc = all(x);

	tide__json_array_end(&j);
	tide__json_kuint(&j, "explained_count", x->n < x->full ? x->n : x->full);
	tide__losses_json(&j, x->m);
	tide__json_object_end(&j);
	tide__json_end(&j);
	return rc;
}

static tide_code print_text(struct answer *x)
{
	tide_code rc = all(x);

	if (rc == TIDE_OK && !x->n)
		fputs("The trace has no out-of-memory event.\n", x->a->out);
	if (rc == TIDE_OK && x->n > x->full) {
		if (x->full)
			fputc('\n', x->a->out);
		print_rest(x);
	}
	tide__cli_losses(x->a, x->m);
	return rc;
}

static int answer(const tide_args *a, struct answer *x)
{
	tide_code rc = TIDE_ENOMEM;

	x->a = a;
	x->by = a->opt[O_BY].set ? choices[a->opt[O_BY].num] : tide__groups_telling(x->m);
	x->full = (size_t)a->opt[O_EVENTS].num;
	x->rest = tide__calloc(x->m->devices.n * N_CAUSES, sizeof *x->rest);
	if (!x->rest)
		tide__nomem(&x->err);
	else
		rc = a->opt[O_JSON].set ? print_json(x) : print_text(x);
	return rc == TIDE_OK ? tide__cli_done(a) : tide__cli_fail(a->files[0], &x->err);
}

static int run(const tide_args *a)
{
	struct answer x = { .err = { .offset = TIDE_NO_OFFSET } };
	int rc = 2;

	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);

	if (!m)
		return 1;
	x.m = m;
	if (tide__cli_device(a, &a->opt[O_DEVICE], m, &x.device))
		rc = answer(a, &x);
	tide__free(x.rest);
	forget_trials(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_oom = {
	.name = "oom",
	.usage = "FILE [--group-by WORD] [--top N] [--events N] [--device DEVICE] [--json]",
	.summary = "explain why an allocation failed and what would have made room",
	.help = "For every out-of-memory event: what was asked for, what was free on the device "
		"and in the "
		"allocator, whether it was full, fragmented or held to a limit, which call stacks "
		"held enough to "
		"make room, "
		"and which allocator settings would have served the request when the recording is "
		"replayed "
		"under them. Of more events than --events says, the first are explained so and the "
		"others counted by device and cause.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
