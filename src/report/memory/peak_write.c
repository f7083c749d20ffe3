// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/memory/peak_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "analyze/common/stacks.h"
#include "render/report/memory/heap.h"
#include "render/text/labels.h"

const char *const tide__group_by_texts[] = {
#define X(name, text) text,
	TIDE_GROUP_BYS(X)
#undef X
		NULL
};
static const char *const by_titles[] = {
	[TIDE_BY_OP] = "Op",	 [TIDE_BY_STACK] = "Stack", [TIDE_BY_TENSOR] = "Tensor",
	[TIDE_BY_ROLE] = "Role", [TIDE_BY_POOL] = "Pool",   [TIDE_BY_STREAM] = "Stream",
	[TIDE_BY_SIZE] = "Size", [TIDE_BY_FRAME] = "Frame", [TIDE_BY_MODULE] = "Module",
};

static void saving_cell(tide_grid *g, const tide_peak *x, size_t row)
{
	if (row < x->n_savings)
		tide__grid_uint(g, x->savings[row].saving);
	else
		tide__grid_none(g);
}

typedef void namer(const tide_groups *g, const tide_model *m, size_t row, tide_long *longs,
		   FILE *out);

/* Stacks with the same short text: each row adds its difference from the first of them. */
struct brief {
	char *text; /* owned */
	size_t row;
};

static int by_text(const void *a, const void *b)
{
	const struct brief *x = a, *y = b;
	int c = strcmp(x->text, y->text);
	return c ? c : x->row < y->row ? -1 : x->row > y->row;
}

static char *brief_text(const tide_peak *x, size_t row)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (f)
		tide__groups_write_brief(&x->groups, x->m, row, &(tide_long){ .brief = true }, f);
	return f && !fclose(f) ? text : NULL;
}

/* Finds the row of another stack with the same text, SIZE_MAX = none; like[0 .. n) per row. */
static void find_like(const tide_peak *x, size_t n, size_t *like)
{
	struct brief *v = tide__calloc(n + 1, sizeof *v);
	bool ok = v != NULL;
	for (size_t i = 0; i < n; i++) {
		like[i] = SIZE_MAX;
		if (ok)
			v[i] = (struct brief){ brief_text(x, i), i };
		ok = ok && v[i].text;
	}
	if (ok)
		qsort(v, n, sizeof *v, by_text);
	for (size_t from = 0, to; ok && from < n; from = to) {
		for (to = from + 1; to < n && !strcmp(v[to].text, v[from].text); to++)
			like[v[to].row] = v[from].row;
		if (to - from > 1)
			like[v[from].row] = v[from + 1].row;
	}
	for (size_t i = 0; v && i < n; i++)
		free(v[i].text);
	tide__free(v);
}

static void stack_cell(tide_grid *g, const tide_peak *x, size_t row, size_t like)
{
	char *text = brief_text(x, row), frame[512], all[1600];
	tide_stack_id a = { (uint32_t)x->groups.rows[row].key },
		      b = { (uint32_t)x->groups.rows[like].key };
	tide_frame_id at = tide__stack_differs(x->m, a, b);
	snprintf(all, sizeof all, "%.1000s  [stack %" PRIu32 "%s%s]", text ? text : "?", a.i,
		 at.i ? ": " : "", at.i ? tide__frame_name(x->m, at, frame, sizeof frame) : "");
	tide__grid_text(g, all);
	free(text);
}

static void label_cell(tide_grid *g, const tide_peak *x, size_t row, namer *name)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (f && g)
		name(&x->groups, x->m, row, tide__grid_longs(g), f);
	if (f && !fclose(f))
		tide__grid_textn(g, text, n);
	else
		tide__grid_none(g);
	free(text);
}

static double part(uint64_t v, uint64_t of)
{
	return of ? 100.0 * (double)v / (double)of : 0;
}

static void rest_row(tide_grid *g, const tide_peak *x, size_t from)
{
	uint64_t bytes = 0, requested = 0, count = 0;
	char text[64];
	for (size_t i = from; i < x->groups.n; i++) {
		bytes += x->groups.rows[i].bytes;
		requested += x->groups.rows[i].requested;
		count += x->groups.rows[i].count;
	}
	snprintf(text, sizeof text, "(%zu more)", x->groups.n - from);
	tide__grid_uint(g, bytes);
	tide__grid_real(g, part(bytes, x->bytes));
	tide__grid_uint(g, requested);
	tide__grid_none(g);
	tide__grid_uint(g, count);
	tide__grid_text(g, text);
}

static void print_groups(const tide_out *to, const tide_peak *x, size_t top)
{
	const tide_grid_col cols[] = {
		{ "bytes", "Bytes", TIDE_CELL_BYTES },
		{ "part", "Part", TIDE_CELL_PCT },
		{ "requested_bytes", "Requested", TIDE_CELL_BYTES, 5 },
		{ "saving_bytes", x->savings ? "Saves" : NULL, TIDE_CELL_BYTES },
		{ "count", "Count", TIDE_CELL_COUNT },
		{ "key", by_titles[x->groups.by], TIDE_CELL_NAME },
	};
	tide_grid *g = tide__grid_new(cols, 6);
	size_t shown = x->groups.n < top ? x->groups.n : top;
	size_t *like = x->groups.by == TIDE_BY_STACK ? tide__alloc(shown + 1, sizeof *like) : NULL;
	if (like)
		find_like(x, shown, like);
	for (size_t i = 0; i < shown; i++) {
		const tide_group *r = &x->groups.rows[i];
		tide__grid_uint(g, r->bytes);
		tide__grid_real(g, part(r->bytes, x->bytes));
		tide__grid_uint(g, r->requested);
		saving_cell(g, x, i);
		tide__grid_uint(g, r->count);
		if (like && like[i] != SIZE_MAX)
			stack_cell(g, x, i, like[i]);
		else
			label_cell(g, x, i,
				   to->style.full_names ? tide__groups_write_label
							: tide__groups_write_brief);
	}
	tide__free(like);
	if (x->groups.n > top)
		rest_row(g, x, top);
	tide__grid_print(g, to->out, &to->style, 2);
	tide__grid_free(g);
}

const tide_member tide__peak_evidence_members[] = {
	{ "bytes", "Bytes", TIDE_KIND_BYTES, .meaning = "live bytes" },
	{ "count", "Count", TIDE_KIND_COUNT, .meaning = "live allocations" },
	{ "rule", "Because", TIDE_KIND_TEXT, .meaning = "the rule that determined their role" },
	{ 0 },
};

/* Returns a table of the rules that determined the roles of live allocations. */
static tide_grid *evidence(const tide_peak *x)
{
	uint64_t bytes[TIDE_RULES_N] = { 0 }, count[TIDE_RULES_N] = { 0 };
	tide_grid *g = tide__grid_new(tide__peak_evidence_members, 3);
	for (size_t i = 0; i < x->alive.n; i++) {
		bytes[x->roles.rule[x->alive.rows[i]]] += x->m->allocs.size[x->alive.rows[i]];
		count[x->roles.rule[x->alive.rows[i]]]++;
	}
	for (unsigned r = 0; r < TIDE_RULES_N; r++)
		if (count[r]) {
			tide__grid_uint(g, bytes[r]);
			tide__grid_uint(g, count[r]);
			tide__grid_text(g, tide__rule_text((tide_role_rule)r));
		}
	return g;
}

/* Writes "tt:0"; for a pool "tt:0 L1". */
static const char *memory_name(const tide_model *m, uint32_t device, uint32_t pool, char *buf,
			       size_t n)
{
	char name[64];
	tide__device_name(m, device, name, sizeof name);
	snprintf(buf, n, pool ? "%s %.60s" : "%s", name, tide__text(m, m->pools.name[pool], NULL));
	return buf;
}

static void level_row(tide_grid *g, const char *name, const tide_level *l)
{
	if (!l->allocs)
		return;
	tide__grid_text(g, name);
	tide__grid_uint(g, l->peak);
	tide__grid_int(g, l->peak_t);
	tide__grid_maybe(g, l->peak_reserved);
	tide__grid_uint(g, l->peak_count);
}

/* Prints every device, and L1 beside its main memory. */
static void print_devices(const tide_out *to, const tide_peak *x)
{
	static const tide_grid_col cols[] = {
		{ "device", "Device", TIDE_CELL_TEXT },
		{ "peak", "Peak", TIDE_CELL_BYTES },
		{ "at", "At", TIDE_CELL_AT },
		{ "reserved", "Reserved then", TIDE_CELL_BYTES },
		{ "count", "Alive then", TIDE_CELL_COUNT },
	};
	tide_grid *g = tide__grid_new(cols, 5);
	for (uint32_t d = 0; d < x->usage.n_devices; d++) {
		char name[140];
		level_row(g, memory_name(x->m, d, 0, name, sizeof name), &x->usage.devices[d]);
		for (uint32_t p = 1; p < x->m->pools.n; p++)
			if (x->m->pools.device[p].i == d && !tide__pool_in_device(x->m, p))
				level_row(g, memory_name(x->m, d, p, name, sizeof name),
					  &x->usage.pools[p]);
	}
	if (tide__grid_rows(g) > 1) {
		fputc('\n', to->out);
		tide__grid_print(g, to->out, &to->style, 2);
	}
	tide__grid_free(g);
}

/* Prints the device's reserved bytes at that moment. A host heap reserves nothing: prints only
 * known values for it. */
static void put_reserved(const tide_out *to, const tide_peak *x)
{
	char bytes[32];
	if (x->reserved == TIDE_RESERVED_NONE)
		fputs(x->m->devices.kind[x->device] == TIDE_DEVICE_HOST ? "" : ", reserved unknown",
		      to->out);
	else
		fprintf(to->out, ", %s reserved%s",
			tide__fmt_bytes(bytes, sizeof bytes, (double)x->reserved),
			x->level->source == TIDE_RESERVED_SAMPLES ? " (sampled)" : "");
}

static void print_head(const tide_out *to, const tide_peak *x)
{
	const tide_level *l = x->level;
	char name[140], bytes[32], t[32], count[32];
	memory_name(x->m, x->device, x->pool, name, sizeof name);
	if (x->at.chosen && !x->at.at_peak)
		tide__write_heading(to, "%s: %s alive at %s", name,
				    tide__fmt_bytes(bytes, sizeof bytes, (double)x->bytes),
				    tide__fmt_at(t, sizeof t, (double)x->at.t));
	else
		tide__write_heading(to, "%s: peak of %s at %s", name,
				    tide__fmt_bytes(bytes, sizeof bytes, (double)l->peak),
				    tide__fmt_at(t, sizeof t, (double)l->peak_t));
	tide__fmt_count(count, sizeof count, (int64_t)x->alive.n);
	fprintf(to->out, "%s allocation%s alive, %s requested", count, x->alive.n == 1 ? "" : "s",
		tide__fmt_bytes(bytes, sizeof bytes, (double)x->requested));
	put_reserved(to, x);
	if (x->never_used && x->never_used != UINT64_MAX)
		fprintf(to->out, ", %s never used again (`tidemark stale`)",
			tide__fmt_bytes(bytes, sizeof bytes, (double)x->never_used));
	fputs("\n\n", to->out);
}

static void print_empty(const tide_out *to, const tide_peak *x)
{
	fputs(x->only_sizes
		      ? "The trace has memory events with sizes but no addresses: the "
			"allocations alive at the peak are unknown. `tidemark memory` shows the "
			"running sum.\n"
		      : "The trace holds no allocations.\n",
	      to->out);
}

void tide__peak_text(const tide_peak *x, size_t top, const tide_out *to)
{
	if (!x->level->allocs) {
		print_empty(to, x);
	} else {
		print_head(to, x);
		print_groups(to, x, top ? top : SIZE_MAX);
		if (x->roles.role) {
			tide_grid *g = evidence(x);
			fputc('\n', to->out);
			tide__grid_print(g, to->out, &to->style, 2);
			tide__grid_free(g);
		}
		print_devices(to, x);
		tide__heap_put_sampled(x->m, x->device, to);
	}
	tide__put_model_losses(to, x->m);
}

static void json_level(tide_json *j, const tide_peak *x, uint32_t d, uint32_t pool,
		       const tide_level *l)
{
	const tide_model *m = x->m;
	char name[64];
	tide__json_kstr(j, "device",
			l->allocs || d ? tide__device_name(m, d, name, sizeof name) : NULL);
	if (pool)
		tide__json_ktext(j, "pool", m, m->pools.name[pool]);
	tide__json_kmaybe(j, "peak_bytes", x->known ? l->peak : UINT64_MAX);
	x->known ? tide__json_kint(j, "peak_time_ns", l->peak_t)
		 : tide__json_knull(j, "peak_time_ns");
	tide__json_kmaybe(j, "reserved_bytes_at_peak", l->peak_reserved);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(l->source));
}

const tide_member tide__peak_group_members[] = {
	{ "key", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "the group" },
	{ "bytes", NULL, TIDE_KIND_BYTES, .meaning = "live bytes" },
	{ "requested_bytes", NULL, TIDE_KIND_BYTES, .meaning = "the requested part of them" },
	{ "count", NULL, TIDE_KIND_COUNT, .meaning = "live allocations" },
	{ "saving_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "how much lower the peak of the whole trace would be without the group" },
	{ 0 },
};

static void json_groups(tide_json *j, const tide_peak *x, size_t top)
{
	tide_grid *g = tide__grid_new(tide__peak_group_members, 5);
	for (size_t i = 0; i < x->groups.n && i < top; i++) {
		label_cell(g, x, i, tide__groups_write_label);
		tide__grid_uint(g, x->groups.rows[i].bytes);
		tide__grid_uint(g, x->groups.rows[i].requested);
		tide__grid_uint(g, x->groups.rows[i].count);
		saving_cell(g, x, i);
	}
	tide__grid_write_member(g, j, "groups");
}

static void json_memory(tide_json *j, const tide_peak *x, uint32_t device, uint32_t pool,
			const tide_level *l)
{
	tide__json_object(j);
	json_level(j, x, device, pool, l);
	tide__json_kuint(j, "alive_count", l->peak_count);
	tide__json_kuint(j, "requested_bytes", l->peak_requested);
	tide__json_object_end(j);
}

/* Writes the devices, L1 separately from their main memory, because the sum is meaningless. */
static void json_devices(tide_json *j, const tide_peak *x)
{
	tide__json_karray(j, "devices");
	for (uint32_t d = 0; d < x->usage.n_devices; d++) {
		const tide_level *l = &x->usage.devices[d];
		if (!l->allocs && !(d && d == x->device))
			continue;
		json_memory(j, x, d, 0, l);
	}
	tide__json_array_end(j);
	tide__json_karray(j, "on_chip");
	for (uint32_t p = 1; p < x->m->pools.n; p++)
		if (!tide__pool_in_device(x->m, p) && x->usage.pools[p].allocs)
			json_memory(j, x, x->m->pools.device[p].i, p, &x->usage.pools[p]);
	tide__json_array_end(j);
}

void tide__peak_json(const tide_peak *x, size_t top, tide_json *j)
{
	json_level(j, x, x->device, x->pool, x->level);
	if (x->at.chosen && !x->at.at_peak)
		tide__json_kint(j, "at_time_ns", x->at.t);
	tide__json_kmaybe(j, "reserved_bytes", x->reserved);
	tide__json_kmaybe(j, "alive_count", x->known ? x->alive.n : UINT64_MAX);
	tide__json_kmaybe(j, "alive_bytes", x->known ? x->bytes : UINT64_MAX);
	tide__json_kmaybe(j, "requested_bytes", x->known ? x->requested : UINT64_MAX);
	if (x->m->uses.n)
		tide__json_kmaybe(j, "never_used_bytes", x->never_used);
	tide__json_kstr(j, "group_by", tide__group_by_texts[x->groups.by]);
	json_groups(j, x, top ? top : SIZE_MAX);
	if (x->roles.role) {
		tide_grid *g = evidence(x);
		tide__grid_write_member(g, j, "evidence");
	}
	json_devices(j, x);
	tide__start_json(j, x->m);
	tide__losses_json(j, x->m);
}
