// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* stale: memory at the peak whose last use is past, or whose next use is far. */
#include "analyze/memory/stale.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/stale_reserved.h"
#include "render/text/labels.h"
#include "report/report.h"

enum { O_BY, O_DEVICE, O_TOP };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,frame",
		   "what to group by (default: op; frame if more bytes have a stack)" },
	[O_DEVICE] = { TIDE_REPORT_DEVICE },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show of each table, 0 = all; JSON has all unless given", .def = "10",
		    .whole = true },
};
static const int by_of[] = { TIDE_BY_OP, TIDE_BY_STACK, TIDE_BY_FRAME };

struct stale {
	tide_stale x;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct stale *s = result;
	const tide_value *v = ask->opt;
	s->top = v[O_TOP].num ? (size_t)v[O_TOP].num : SIZE_MAX;
	tide_code rc = tide__stale_find(
		ask->models[0], v[O_DEVICE].device, v[O_BY].set ? by_of[v[O_BY].num] : -1,
		ask->document || ask->style->full_names ? TIDE_NAMES_WHOLE : TIDE_NAMES_FOLDED,
		&s->x, err);
	return rc == TIDE_OK ? tide__stale_replay(&s->x, err) : rc;
}

static void free_stale(void *result)
{
	tide__stale_free(&((struct stale *)result)->x);
}

/* ---- rows ---- */

#define ROW                                                                                      \
	{ "bytes", "Bytes", TIDE_KIND_BYTES, .meaning = "their bytes at the peak" },             \
		{ "part", "Part", TIDE_KIND_PCT, .meaning = "of the peak" },                     \
		{ "saving_bytes", "Saves", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,             \
		  .meaning = "how much lower the peak of the whole trace would be without it" }, \
		{ "reserved_change_bytes", "Reserved", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL, \
		  .meaning = "change of the highest reserved bytes, simulated" },                \
		{ "count", "Count", TIDE_KIND_COUNT, 8, .meaning = "allocations at the peak" },  \
	{                                                                                        \
		"idle_ns", "Idle", TIDE_KIND_NS,                                                 \
			.may = TIDE_MAY_BE_NULL,                                                 \
			.meaning = "longest time from the last use of one of them to the peak"   \
	}
#define NAMES                                                                                     \
	{ "last_use", "Last used by", TIDE_KIND_NAME, .may = TIDE_MAY_BE_NULL,                    \
	  .meaning = "the op of the last use of the largest of them before the peak" },           \
		{ "holder", "Held by", TIDE_KIND_NAME, .may = TIDE_MAY_BE_NULL,                   \
		  .meaning = "what refers to the largest of them whose holder was recorded" },    \
	{                                                                                         \
		"key", "Made by", TIDE_KIND_NAME, .may = TIDE_MAY_BE_NULL, .meaning = "the group" \
	}
static const tide_member stale_members[] = { ROW, NAMES, { 0 } };
static const tide_member waiting_members[] = {
	ROW,
	{ "next_ns", "Needed in", TIDE_KIND_NS, .may = TIDE_MAY_BE_NULL,
	  .meaning = "shortest time from the peak to the next use of one of them" },
	NAMES,
	{ 0 },
};

static double part_of(uint64_t v, uint64_t of)
{
	return of ? 100.0 * (double)v / (double)of : 0;
}

static void op_cell(tide_grid *g, const tide_model *m, tide_span_id s)
{
	if (s.i && m->spans.name[s.i].i)
		tide__grid_text(g, tide__text(m, m->spans.name[s.i], NULL));
	else
		tide__grid_none(g);
}

static void holder_cell(tide_grid *g, const tide_model *m, const tide_stale_row *r)
{
	if (r && r->holder.i)
		tide__grid_text(g, tide__text(m, r->holder, NULL));
	else
		tide__grid_none(g);
}

static void label_cell(tide_grid *g, const tide_stale *x, const tide_stale_part *p, size_t row,
		       bool whole)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (f && g)
		(whole ? tide__groups_write_label
		       : tide__groups_write_brief)(&p->groups, x->m, row, tide__grid_longs(g), f);
	if (f && !fclose(f))
		tide__grid_textn(g, text, n);
	else
		tide__grid_none(g);
	free(text);
}

static tide_grid *rows_of(const tide_stale *x, const tide_stale_part *p, bool waiting, size_t top,
			  bool whole)
{
	tide_grid *g = tide__grid_new(waiting ? waiting_members : stale_members, waiting ? 10 : 9);
	for (size_t i = 0; i < p->groups.n && i < top; i++) {
		const tide_group *k = &p->groups.rows[i];
		const tide_stale_row *r = i < p->n_rows ? &p->rows[i] : NULL;
		tide__grid_uint(g, k->bytes);
		tide__grid_real(g, part_of(k->bytes, x->level->peak));
		r ? tide__grid_uint(g, r->saving) : tide__grid_none(g);
		if (r && r->reserved_saving != TIDE_STALE_UNREPLAYED)
			tide__grid_int(g, -r->reserved_saving);
		else
			tide__grid_none(g);
		tide__grid_uint(g, k->count);
		r ? tide__grid_int(g, r->idle_ns) : tide__grid_none(g);
		if (waiting)
			r && r->next_ns >= 0 ? tide__grid_int(g, r->next_ns) : tide__grid_none(g);
		op_cell(g, x->m, r ? r->last : (tide_span_id){ 0 });
		holder_cell(g, x->m, r);
		label_cell(g, x, p, i, whole);
	}
	return g;
}

/* ---- text ---- */

static const char *reason(const tide_stale *x, char *buf, size_t n)
{
	snprintf(buf, n, *x->detail ? "%s (%s)" : "%s", x->why, x->detail);
	return buf;
}

static void put_reserved(uint64_t peak, int64_t saving, const tide_out *to)
{
	char text[32], of[32];
	fprintf(to->out, ", reserved bytes %s %s (%s, simulated)",
		tide__fmt_bytes(text, sizeof text, (double)(saving < 0 ? -saving : saving)),
		saving < 0 ? "higher" : "lower",
		tide__fmt_bytes(of, sizeof of, (double)peak - (double)saving));
}

static void put_part(const struct stale *s, const tide_stale_part *p, bool waiting,
		     const char *heading, const char *advice, const tide_out *to)
{
	char bytes[32], saving[32];
	if (!p->groups.n)
		return;
	fputc('\n', to->out);
	tide__write_heading(to, "%s: %s, %.1f %% of the peak", heading,
			    tide__fmt_bytes(bytes, sizeof bytes, (double)p->bytes),
			    part_of(p->bytes, s->x.level->peak));
	tide_grid *g = rows_of(&s->x, p, waiting, s->top, to->style.full_names);
	tide__grid_print(g, to->out, &to->style, 2);
	tide__grid_free(g);
	if (p->groups.n > s->top)
		fprintf(to->out, "  (%zu more)\n", p->groups.n - s->top);
	fprintf(to->out, "%s: the peak would be %s lower", advice,
		tide__fmt_bytes(saving, sizeof saving, (double)p->saving));
	if (p->reserved_saving != TIDE_STALE_UNREPLAYED)
		put_reserved(s->x.reserved_peak, p->reserved_saving, to);
	fputs(".\n", to->out);
}

static tide_code write_text(void *result, const tide_out *to)
{
	const struct stale *s = result;
	const tide_stale *x = &s->x;
	char name[64], bytes[32], at[32], used[32], unknown[32], why[400];
	if (!x->level->allocs) {
		fputs("The trace holds no allocations.\n", to->out);
	} else {
		tide__write_heading(to, "%s: peak of %s at %s",
				    tide__device_name(x->m, x->device, name, sizeof name),
				    tide__fmt_bytes(bytes, sizeof bytes, (double)x->level->peak),
				    tide__fmt_at(at, sizeof at, (double)x->level->peak_t));
		if (x->known)
			fprintf(to->out, "in use %s, unknown %s\n",
				tide__fmt_bytes(used, sizeof used,
						(double)x->bytes[TIDE_IDLE_IN_USE]),
				tide__fmt_bytes(unknown, sizeof unknown,
						(double)x->bytes[TIDE_IDLE_UNKNOWN]));
		else
			fprintf(to->out, "The last use of memory is unknown: %s.\n",
				reason(x, why, sizeof why));
		if (x->known && !x->stale.groups.n)
			fputs("Nothing is held after its last use.\n", to->out);
		put_part(s, &x->stale, false, "Never used again", "Freed after the last use", to);
		put_part(s, &x->waiting, true, "Waits for its next use",
			 "Moved away while it waits", to);
	}
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

/* ---- document ---- */

static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "device" },
	{ "peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "highest live bytes" },
	{ "peak_time_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "when they were first reached" },
	{ "known", NULL, TIDE_KIND_BOOL, .meaning = "uses were recorded completely" },
	{ "unknown_because", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "why uses are not known" },
	{ "stale_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "bytes at the peak that are never used again" },
	{ "stale_saving_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "how much lower the peak would be if all were freed after their last use" },
	{ "stale_reserved_change_bytes", NULL, TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the same change of the highest reserved bytes, simulated" },
	{ "waiting_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "bytes at the peak that wait long for their next use" },
	{ "waiting_saving_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "how much lower the peak would be if all were elsewhere while they wait" },
	{ "waiting_reserved_change_bytes", NULL, TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the same change of the highest reserved bytes, simulated" },
	{ "in_use_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "bytes at the peak that are used again soon, or again and again" },
	{ "unknown_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "bytes at the peak whose last use is unknown" },
	{ "reserved_peak_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning =
		  "highest reserved bytes of the simulated allocator; null if it was not simulated" },
	{ "group_by", NULL, TIDE_KIND_WORD, .may = TIDE_MAY_BE_NULL, .words = "op,stack,frame",
	  .meaning = "what the rows are; null without rows" },
	{ "stale", NULL, TIDE_KIND_TABLE, .members = stale_members,
	  .meaning = "memory that is never used again, in groups" },
	{ "waiting", NULL, TIDE_KIND_TABLE, .members = waiting_members,
	  .meaning = "memory that waits, in groups" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

static const char *by_text(const tide_stale *x)
{
	const tide_stale_part *p = x->stale.groups.n ? &x->stale : &x->waiting;
	return !p->groups.n		       ? NULL
	       : p->groups.by == TIDE_BY_OP    ? "op"
	       : p->groups.by == TIDE_BY_STACK ? "stack"
					       : "frame";
}

static void put_change(tide_json *j, const char *key, int64_t saving)
{
	bool known = saving != TIDE_STALE_UNREPLAYED;
	tide__json_kint_if(j, key, known, known ? -saving : 0);
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct stale *s = result;
	const tide_stale *x = &s->x;
	char name[64], why[400];
	bool any = x->level->allocs > 0;
	uint64_t none = UINT64_MAX;
	tide__json_kstr(j, "device",
			any ? tide__device_name(x->m, x->device, name, sizeof name) : NULL);
	tide__json_kuint(j, "peak_bytes", x->level->peak);
	tide__json_kint_if(j, "peak_time_ns", any, x->level->peak_t);
	tide__json_kbool(j, "known", x->known);
	tide__json_kstr(j, "unknown_because", x->known ? NULL : reason(x, why, sizeof why));
	tide__json_kmaybe(j, "stale_bytes", x->known ? x->bytes[TIDE_IDLE_STALE] : none);
	tide__json_kmaybe(j, "stale_saving_bytes", x->known ? x->stale.saving : none);
	put_change(j, "stale_reserved_change_bytes", x->stale.reserved_saving);
	tide__json_kmaybe(j, "waiting_bytes", x->known ? x->bytes[TIDE_IDLE_WAITING] : none);
	tide__json_kmaybe(j, "waiting_saving_bytes", x->known ? x->waiting.saving : none);
	put_change(j, "waiting_reserved_change_bytes", x->waiting.reserved_saving);
	tide__json_kmaybe(j, "in_use_bytes", x->known ? x->bytes[TIDE_IDLE_IN_USE] : none);
	tide__json_kuint(j, "unknown_bytes", x->bytes[TIDE_IDLE_UNKNOWN]);
	tide__json_kmaybe(j, "reserved_peak_bytes", x->reserved_peak ? x->reserved_peak : none);
	tide__json_kstr(j, "group_by", by_text(x));
	tide__grid_write_member(rows_of(x, &x->stale, false, s->top, true), j, "stale");
	tide__grid_write_member(rows_of(x, &x->waiting, true, s->top, true), j, "waiting");
	tide__start_json(j, x->m);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

const tide_report_type tide__report_stale = {
	.name = "stale",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS | TIDE_WANT_FLOWS,
	.summary = "show memory at the peak that is never used again",
	.help = "Lists the allocations alive at the peak whose last use by an op is past, and "
		"those that wait long for their next use, by the op or line that made them. The "
		"column Saves shows how much lower the peak of the whole trace would be if they "
		"were freed after their last use, or were elsewhere while they wait. Needs a "
		"recording with ops, or of `tidemark predict -- PROGRAM`. Parameters, gradients, "
		"optimizer state and everything that is used again and again count as in use.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.size = sizeof(struct stale),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_stale,
};
