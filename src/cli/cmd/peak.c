// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* peak: what was alive at the highest point, and in what groups. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/peak_savings.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/select_names.h"
#include "cli/select_moment.h"
#include "render/text/labels.h"

enum { O_BY, O_DEVICE, O_AT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM,
		   "op,stack,tensor,role,pool,stream,size,frame,module",
		   "what to group by (default: op, or stack where that is known of more; size "
		   "where neither is)" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_AT] = TIDE_OPTION_AT,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "groups to show, 0 = all; JSON has all unless given", .def = "20" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE; a name that ends in .html: the memory view as a page" },
};

static const char *const by_texts[] = {
#define X(name, text) text,
	TIDE_GROUP_BYS(X)
#undef X
};
static const char *const by_titles[] = {
	[TIDE_BY_OP] = "Op",	 [TIDE_BY_STACK] = "Stack", [TIDE_BY_TENSOR] = "Tensor",
	[TIDE_BY_ROLE] = "Role", [TIDE_BY_POOL] = "Pool",   [TIDE_BY_STREAM] = "Stream",
	[TIDE_BY_SIZE] = "Size", [TIDE_BY_FRAME] = "Frame", [TIDE_BY_MODULE] = "Module",
};

struct answer {
	const tide_model *m;
	tide_usage usage;
	uint32_t device;
	tide_moment at;
	uint64_t cut;
	tide_alive alive;
	tide_groups groups;
	uint64_t bytes, requested; /* of everything alive */
	uint64_t reserved;	   /* then; TIDE_RESERVED_NONE = not known */
	tide_roles roles;	   /* when grouped by role */
	tide_culprit *culprits;	   /* of the first n_culprits groups; NULL away from the peak */
	size_t n_culprits;
};

enum { CULPRITS = 64 }; /* groups whose saving is worked out */

/* ---- the answer ---- */

/* Ops, unless they know less than half of the bytes and call stacks more of them. */
static tide_group_by default_by(const struct answer *x)
{
	const tide_allocs *v = &x->m->allocs;
	uint64_t op = 0, stack = 0;
	bool any = false;
	for (size_t i = 0; i < x->alive.n; i++) {
		uint32_t row = x->alive.rows[i];
		any |= v->span[row].i || v->stack[row].i;
		op += v->span[row].i ? v->size[row] : 0;
		stack += v->stack[row].i ? v->size[row] : 0;
	}
	if (!any)
		return TIDE_BY_SIZE;
	return op < x->bytes / 2 && stack > op ? TIDE_BY_STACK : op ? TIDE_BY_OP : TIDE_BY_STACK;
}

static tide_code find_reserved(struct answer *x, tide_error *err)
{
	tide_reserved r;
	x->reserved = x->usage.devices[x->device].peak_reserved;
	if (!x->at.chosen || x->at.at_peak)
		return TIDE_OK;
	tide_code rc = tide__reserved(x->m, &r, err);
	if (rc != TIDE_OK)
		return rc;
	x->reserved = tide__reserved_at(&r, x->device, x->cut, x->at.t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

static tide_code solve(const tide_args *a, struct answer *x, tide_error *err)
{
	const tide_level *l;
	tide_code rc = tide__usage(x->m, UINT64_MAX, 0, &x->usage, err);
	if (rc != TIDE_OK)
		return rc;
	if (x->device == TIDE_ANY)
		x->device = tide__usage_highest(&x->usage);
	l = &x->usage.devices[x->device];
	x->cut = x->at.chosen && !x->at.at_peak ? x->at.cut : l->peak_cut;
	rc = find_reserved(x, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__alive_at(x->m, x->cut, x->device, TIDE_ANY, &x->alive, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t i = 0; i < x->alive.n; i++) {
		x->bytes += x->m->allocs.size[x->alive.rows[i]];
		x->requested += x->m->allocs.requested[x->alive.rows[i]];
	}
	tide_group_by by = a->opt[O_BY].set ? (tide_group_by)a->opt[O_BY].num : default_by(x);
	if (by == TIDE_BY_ROLE && tide__roles(x->m, &x->roles) != TIDE_OK)
		return tide__nomem(err);
	rc = tide__groups_in_roles(x->m, &x->alive, by, x->roles.role, &x->groups, err);
	if (rc == TIDE_OK && by != TIDE_BY_TENSOR && !(x->at.chosen && !x->at.at_peak))
		rc = tide__culprits(x->m, x->device, &x->groups, CULPRITS, &x->culprits,
				    &x->n_culprits, err);
	return rc;
}

static void forget(struct answer *x)
{
	tide__usage_free(&x->usage);
	tide__alive_free(&x->alive);
	tide__groups_free(&x->groups);
	tide__roles_free(&x->roles);
	tide__free(x->culprits);
}

/* ---- groups as a grid ---- */

static void saving_cell(tide_grid *g, const struct answer *x, size_t row)
{
	if (row < x->n_culprits)
		tide__grid_uint(g, x->culprits[row].saving);
	else
		tide__grid_none(g);
}

typedef void namer(const tide_groups *g, const tide_model *m, size_t row, tide_long *longs,
		   FILE *out);

static void label_cell(tide_grid *g, const struct answer *x, size_t row, namer *name)
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

static void rest_row(tide_grid *g, const struct answer *x, size_t from)
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

static void print_groups(const tide_args *a, const struct answer *x, size_t top)
{
	const tide_grid_col cols[] = {
		{ "bytes", "Bytes", TIDE_CELL_BYTES },
		{ "part", "Part", TIDE_CELL_PCT },
		{ "requested_bytes", "Requested", TIDE_CELL_BYTES, 5 },
		{ "saving_bytes", x->culprits ? "Saves" : NULL, TIDE_CELL_BYTES },
		{ "count", "Count", TIDE_CELL_COUNT },
		{ "key", by_titles[x->groups.by], TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 6);
	for (size_t i = 0; i < x->groups.n && i < top; i++) {
		const tide_group *r = &x->groups.rows[i];
		tide__grid_uint(g, r->bytes);
		tide__grid_real(g, part(r->bytes, x->bytes));
		tide__grid_uint(g, r->requested);
		saving_cell(g, x, i);
		tide__grid_uint(g, r->count);
		label_cell(g, x, i, tide__groups_brief);
	}
	if (x->groups.n > top)
		rest_row(g, x, top);
	tide__grid_print(g, a->out, &a->style, 2);
	tide__grid_free(g);
}

/* ---- text ---- */

/* Which rules the roles of what is alive rest on. */
static tide_grid *evidence(const struct answer *x)
{
	static const tide_grid_col cols[] = {
		{ "bytes", "Bytes", TIDE_CELL_BYTES },
		{ "count", "Count", TIDE_CELL_COUNT },
		{ "rule", "Because", TIDE_CELL_TEXT },
	};
	uint64_t bytes[TIDE_RULES_N] = { 0 }, count[TIDE_RULES_N] = { 0 };
	tide_grid *g = tide__grid_new(cols, 3);
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

static void print_devices(const tide_args *a, const struct answer *x)
{
	static const tide_grid_col cols[] = {
		{ "device", "Device", TIDE_CELL_TEXT },
		{ "peak", "Peak", TIDE_CELL_BYTES },
		{ "at", "At", TIDE_CELL_NS },
		{ "reserved", "Reserved then", TIDE_CELL_BYTES },
		{ "count", "Alive then", TIDE_CELL_COUNT },
	};
	tide_grid *g = tide__grid_new(cols, 5);
	for (uint32_t d = 0; d < x->usage.n_devices; d++) {
		const tide_level *l = &x->usage.devices[d];
		char name[64];
		if (!l->allocs)
			continue;
		tide__grid_text(g, tide__device_name(x->m, d, name, sizeof name));
		tide__grid_uint(g, l->peak);
		tide__grid_int(g, l->peak_t);
		tide__grid_maybe(g, l->peak_reserved);
		tide__grid_uint(g, l->peak_count);
	}
	if (tide__grid_rows(g) > 1) {
		fputc('\n', a->out);
		tide__grid_print(g, a->out, &a->style, 2);
	}
	tide__grid_free(g);
}

/* What the device had reserved at the moment that is shown. A host's heap reserves nothing: of it
 * only what is known is said. */
static void put_reserved(const tide_args *a, const struct answer *x)
{
	char bytes[32];
	if (x->reserved == TIDE_RESERVED_NONE)
		fputs(x->m->devices.kind[x->device] == TIDE_DEVICE_HOST ? "" : ", reserved unknown",
		      a->out);
	else
		fprintf(a->out, ", %s reserved%s",
			tide__fmt_bytes(bytes, sizeof bytes, (double)x->reserved),
			x->usage.devices[x->device].source == TIDE_RESERVED_SAMPLES ? " (sampled)"
										    : "");
}

static void print_head(const tide_args *a, const struct answer *x)
{
	const tide_level *l = &x->usage.devices[x->device];
	char name[64], bytes[32], t[32], count[32];
	tide__device_name(x->m, x->device, name, sizeof name);
	if (x->at.chosen && !x->at.at_peak)
		tide__heading(a, "%s: %s alive at %s", name,
			      tide__fmt_bytes(bytes, sizeof bytes, (double)x->bytes),
			      tide__fmt_ns(t, sizeof t, (double)x->at.t));
	else
		tide__heading(a, "%s: peak of %s at %s", name,
			      tide__fmt_bytes(bytes, sizeof bytes, (double)l->peak),
			      tide__fmt_ns(t, sizeof t, (double)l->peak_t));
	tide__fmt_count(count, sizeof count, (int64_t)x->alive.n);
	fprintf(a->out, "%s allocation%s alive, %s asked for", count, x->alive.n == 1 ? "" : "s",
		tide__fmt_bytes(bytes, sizeof bytes, (double)x->requested));
	put_reserved(a, x);
	fputs("\n\n", a->out);
}

static int print_text(const tide_args *a, const struct answer *x)
{
	size_t top = tide__cli_top(&a->opt[O_TOP], false);
	if (!x->usage.devices[x->device].allocs) {
		fputs("The trace holds no allocations.\n", a->out);
	} else {
		print_head(a, x);
		print_groups(a, x, top ? top : SIZE_MAX);
		if (x->roles.role) {
			tide_grid *g = evidence(x);
			fputc('\n', a->out);
			tide__grid_print(g, a->out, &a->style, 2);
			tide__grid_free(g);
		}
		print_devices(a, x);
	}
	tide__cli_losses(a, x->m);
	return tide__cli_done(a);
}

/* ---- JSON ---- */

static void json_level(tide_json *j, const tide_model *m, uint32_t d, const tide_level *l)
{
	char name[64];
	tide__json_kstr(j, "device",
			l->allocs || d ? tide__device_name(m, d, name, sizeof name) : NULL);
	tide__json_kuint(j, "peak_bytes", l->peak);
	tide__json_kint(j, "peak_time_ns", l->peak_t);
	tide__json_kmaybe(j, "reserved_bytes_at_peak", l->peak_reserved);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(l->source));
}

static void json_groups(tide_json *j, const struct answer *x, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "key", "", TIDE_CELL_TEXT },
		{ "bytes", "", TIDE_CELL_BYTES },
		{ "requested_bytes", "", TIDE_CELL_BYTES },
		{ "count", "", TIDE_CELL_COUNT },
		{ "saving_bytes", "", TIDE_CELL_BYTES },
	};
	tide_grid *g = tide__grid_new(cols, 5);
	for (size_t i = 0; i < x->groups.n && i < top; i++) {
		label_cell(g, x, i, tide__groups_label);
		tide__grid_uint(g, x->groups.rows[i].bytes);
		tide__grid_uint(g, x->groups.rows[i].requested);
		tide__grid_uint(g, x->groups.rows[i].count);
		saving_cell(g, x, i);
	}
	tide__grid_member(g, j, "groups");
}

static void json_devices(tide_json *j, const struct answer *x)
{
	tide__json_karray(j, "devices");
	for (uint32_t d = 0; d < x->usage.n_devices; d++) {
		const tide_level *l = &x->usage.devices[d];
		if (!l->allocs && !(d && d == x->device))
			continue;
		tide__json_object(j);
		json_level(j, x->m, d, l);
		tide__json_kuint(j, "alive_count", l->peak_count);
		tide__json_kuint(j, "requested_bytes", l->peak_requested);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static int print_json(const tide_args *a, const struct answer *x)
{
	size_t top = tide__cli_top(&a->opt[O_TOP], true);
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	json_level(&j, x->m, x->device, &x->usage.devices[x->device]);
	if (x->at.chosen && !x->at.at_peak)
		tide__json_kint(&j, "at_time_ns", x->at.t);
	tide__json_kmaybe(&j, "reserved_bytes", x->reserved);
	tide__json_kuint(&j, "alive_count", x->alive.n);
	tide__json_kuint(&j, "alive_bytes", x->bytes);
	tide__json_kuint(&j, "requested_bytes", x->requested);
	tide__json_kstr(&j, "group_by", by_texts[x->groups.by]);
	json_groups(&j, x, top ? top : SIZE_MAX);
	if (x->roles.role) {
		tide_grid *g = evidence(x);
		tide__grid_member(g, &j, "evidence");
	}
	json_devices(&j, x);
	tide__start_json(&j, x->m);
	tide__losses_json(&j, x->m);
	tide__json_object_end(&j);
	return tide__cli_json_end(a, &j);
}

static int run(const tide_args *a)
{
	struct answer x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0],
				       TIDE_WANT_MEMORY | TIDE_WANT_SPANS | TIDE_WANT_FLOWS);
	if (!m)
		return 1;
	x.m = m;
	if (tide__cli_device(a, &a->opt[O_DEVICE], m, &x.device) &&
	    tide__cli_moment(a, &a->opt[O_AT], m, &x.at)) {
		if (solve(a, &x, &err) == TIDE_OK) {
			rc = (a->opt[O_JSON].set ? print_json : print_text)(a, &x);
		} else {
			rc = tide__cli_fail(a->files[0], &err);
		}
	}
	forget(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_peak = {
	.name = "peak",
	.usage = "FILE [--group-by WORD] [--device DEVICE] [--at TIME] [--json]",
	.summary = "show what was alive at the highest point of memory",
	.help = "Takes the device with the highest peak unless --device names one, and shows "
		"everything "
		"that was alive at its first highest point, grouped. The groups add up to the "
		"peak. Saves: how much lower the highest point of the whole trace would be "
		"without that group.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
	.page = "memory",
};
