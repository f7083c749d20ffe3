// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/predict/virtual_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 10 }; /* rows in text */

static const char *fact(const tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	return at < 0 ? "" : tide__text(m, m->facts.text[at], NULL);
}

static const char *phase_name(const tide_model *m, const tide_virtual_run *r, size_t n)
{
	uint32_t mark = n < r->phases.n ? r->phases.phases[n].mark : 0;
	return mark ? tide__text(m, m->marks.name[mark], NULL) : "(after the last phase)";
}

static const tide_phase_level *level(const tide_virtual_run *r, size_t n)
{
	return &r->phases.levels[n * r->phases.n_scopes + r->scope];
}

/* ---- tables ---- */

static const tide_member phase_cols[] = {
	TIDE_COLUMN("phase", "Phase", TEXT, 0, "name of the phase"),
	TIDE_COLUMN("highest_bytes", "Highest", BYTES, 0, "highest use within the phase"),
	{ "segment_peak_bytes", "Segment Peak", TIDE_KIND_BYTES, 1,
	  .meaning = "highest use above the use at its begin" },
	TIDE_COLUMN("segment_change_bytes", "Change", DELTA, 0,
		    "use at its end less that at its begin"),
	TIDE_COLUMN("cumulative_current_bytes", "Current", BYTES, 0, "use at its end"),
	{ 0 },
};

static tide_grid *phase_grid(const tide_model *m, const tide_virtual_run *r)
{
	tide_grid *g = tide__grid_new(phase_cols, tide__member_count(phase_cols));
	for (size_t n = 0; n < r->phases.n; n++) {
		const tide_phase_level *l = level(r, n);
		if (!r->phases.phases[n].mark && n && !l->segment_peak)
			continue; /* the end of the program, which only frees */
		tide__grid_text(g, phase_name(m, r, n));
		tide__grid_uint(g, l->top);
		tide__grid_uint(g, l->segment_peak);
		tide__grid_int(g, l->change);
		tide__grid_uint(g, l->current);
	}
	return g;
}

#define GROUP_COLS(key, title, text)                                                            \
	{                                                                                       \
		TIDE_COLUMN(key, title, TEXT, 0, text),                                         \
			TIDE_COLUMN("bytes", "At the peak", BYTES, 0, "its bytes at the peak"), \
			TIDE_COLUMN("part_pct", "Part", PCT, 0, "of all bytes at the peak"),    \
			{ "count", "Count", TIDE_KIND_COUNT, 1, .meaning = "its allocations" }, \
		{                                                                               \
			0                                                                       \
		}                                                                               \
	}
static const tide_member role_cols[] = GROUP_COLS("role", "Role", "role of the allocations");
static const tide_member module_cols[] = GROUP_COLS("module", "Module", "module that made them");

static tide_grid *group_grid(const tide_model *m, const tide_groups *groups,
			     const tide_grid_col *cols, size_t most)
{
	tide_grid *g = tide__grid_new(cols, 4);
	char label[512];
	uint64_t all = 0;
	for (size_t i = 0; i < groups->n; i++)
		all += groups->rows[i].bytes;
	for (size_t i = 0; i < groups->n && i < most; i++) {
		tide__grid_text(g, tide__group_write_line(groups, m, i, label, sizeof label));
		tide__grid_uint(g, groups->rows[i].bytes);
		tide__grid_real(g, all ? 100.0 * (double)groups->rows[i].bytes / (double)all : 0);
		tide__grid_uint(g, groups->rows[i].count);
	}
	return g;
}

/* ---- text ---- */

static void put_bytes(const tide_out *to, const char *label, uint64_t bytes, const char *more)
{
	char text[32];
	fprintf(to->out, "  %-16s%s%s\n", label, tide__fmt_bytes(text, sizeof text, (double)bytes),
		more);
}

static void put_bound(const tide_out *to, const char *label, uint64_t bytes, const char *why_not)
{
	if (!why_not) {
		put_bytes(to, label, bytes, "");
		return;
	}
	fprintf(to->out, "  %-16sunknown: ", label);
	tide__put_text(to, why_not);
	fputc('\n', to->out);
}

/* Prints the range of a peak, if it has one. */
static void put_range(const tide_virtual_run *r, const tide_out *to, uint64_t least, uint64_t most)
{
	const tide_virtual_range *g = &r->range;
	if (r->unended || (least == most && !g->no_least && !g->no_most))
		return;
	put_bound(to, "  at least", least, g->no_least);
	put_bound(to, "  at most", most, g->no_most);
}

static void put_fit(const tide_model *m, const tide_virtual_run *r, const tide_out *to)
{
	char a[32], b[32], c[32];
	if (!r->capacity)
		return;
	put_bytes(to, "Device memory", r->capacity, "");
	if (r->unended) {
		fprintf(to->out, "  %-16sunknown: the program did not end by itself\n", "Fits");
		return;
	}
	if (!r->out) {
		fprintf(to->out, "  %-16s%s left\n", "Fits",
			tide__fmt_bytes(a, sizeof a, (double)r->capacity - (double)r->reserved));
		if (r->range.no_most)
			fprintf(to->out, "  %-16sthere is memory of unknown size\n", "May run out");
		else if (r->range.most_reserved > r->capacity)
			fprintf(to->out, "  %-16sif cuDNN chooses its largest workspaces\n",
				"May run out");
		return;
	}
	size_t n = tide__virtual_phase(r, r->out_event);
	fprintf(to->out, "  %-16sin %s: %s requested with %s of %s reserved\n", "Runs out",
		phase_name(m, r, n),
		tide__fmt_bytes(a, sizeof a, (double)m->allocs.requested[r->out_alloc]),
		tide__fmt_bytes(b, sizeof b, (double)r->out_reserved),
		tide__fmt_bytes(c, sizeof c, (double)r->capacity));
}

/* Returns whether mark `k` names something unknown: "predicted.unknown", and ".less" or ".more" if a
 * peak may therefore be lower or higher. */
static bool is_unknown(const tide_model *m, uint32_t k)
{
	static const char name[] = "predicted.unknown";
	return m->marks.kind[k] == TIDE_MARK_ANNOTATION &&
	       !strncmp(tide__text(m, m->marks.name[k], NULL), name, sizeof name - 1);
}

/* Prints the limits of the prediction, as noted by the program's run. */
static void put_unknown(const tide_model *m, const tide_out *to)
{
	const char *read = fact(m, "predicted.values_read"), *eager = fact(m, "predicted.eager");
	const char *compiled = fact(m, "predicted.compiled");
	bool any = false;
	for (uint32_t k = 1; k < m->marks.n; k++) {
		if (!is_unknown(m, k))
			continue;
		if (!any)
			fputs("\nunknown\n", to->out);
		any = true;
		fputs("  ", to->out);
		tide__put_text(to, tide__text(m, m->marks.text[k], NULL));
		fputc('\n', to->out);
	}
	if (*eager)
		fprintf(to->out, "note: %s\n", eager);
	if (*compiled)
		fprintf(to->out, "note: %s\n", compiled);
	if (atoi(read) > 0)
		fprintf(to->out,
			"note: the program read %s tensor values; nothing is computed, so each "
			"was %d: loops and branches on them may differ on a device\n",
			read, atoi(fact(m, "predicted.value")));
}

void tide__virtual_run_text(const tide_model *m, const tide_virtual_run *r, const tide_out *to)
{
	const char *steps = fact(m, "predicted.steps"); /* missing if the program was killed */
	if (r->unended) {
		fputs("no prediction: the program did not end by itself (", to->out);
		tide__put_text(to, r->unended);
		fputs("); it may need more than this\n", to->out);
	}
	const char *versions = fact(m, "predicted.versions"), *torch = fact(m, "predicted.torch");
	bool several = strchr(versions, ',') != NULL; /* "torch 2.13.0, transformers 5.22.2" */
	tide__write_heading(to, "predicted for %s, %s%s, %s steps; nothing ran on a device",
			    fact(m, "predicted.device"), several ? "" : "torch ",
			    several ? versions : torch, *steps ? steps : "an unknown number of");
	put_bytes(to, "Peak allocated", r->allocated, "");
	put_range(r, to, r->range.least_allocated, r->range.most_allocated);
	put_bytes(to, "Peak reserved", r->reserved, " (caching allocator simulated)");
	put_range(r, to, r->range.least_reserved, r->range.most_reserved);
	put_fit(m, r, to);
	fputc('\n', to->out);
	tide__grid_write(phase_grid(m, r), to, 2);
	fputc('\n', to->out);
	tide__grid_write(group_grid(m, &r->roles, role_cols, SIZE_MAX), to, 2);
	fputc('\n', to->out);
	tide__grid_write(group_grid(m, &r->modules, module_cols, MODULES), to, 2);
	put_unknown(m, to);
	tide__put_model_losses(to, m);
}

/* ---- JSON ---- */

#define BOUND(key, text) TIDE_MEMBER_MAYBE(key, BYTES, text "; null: no bound is known")
static const tide_member limit = TIDE_MEMBER("", TEXT, "a sentence");
const tide_member tide__virtual_run_members[] = {
	TIDE_MEMBER("predicted", BOOL, "true"),
	TIDE_MEMBER("ended", BOOL, "the program ended by itself"),
	TIDE_MEMBER_MAYBE("unended", TEXT, "why it did not"),
	TIDE_MEMBER("device", TEXT, "the device that was assumed"),
	TIDE_MEMBER("torch", TEXT, "version of PyTorch"),
	TIDE_MEMBER("versions", TEXT, "versions of the libraries that the program used"),
	TIDE_MEMBER_MAYBE("steps", COUNT, "optimizer steps"),
	TIDE_MEMBER_MAYBE("values_read", COUNT, "values of tensors that the program read"),
	TIDE_MEMBER("peak_allocated_bytes", BYTES, "highest allocated bytes"),
	TIDE_MEMBER("peak_reserved_bytes", BYTES, "highest reserved bytes"),
	BOUND("least_allocated_bytes", "lower bound of the allocated peak"),
	BOUND("most_allocated_bytes", "upper bound of the allocated peak"),
	BOUND("least_reserved_bytes", "lower bound of the reserved peak"),
	BOUND("most_reserved_bytes", "upper bound of the reserved peak"),
	TIDE_MEMBER_MAYBE("capacity_bytes", BYTES, "memory of the device"),
	TIDE_MEMBER_MAYBE("fits", BOOL, "the reserved peak fits"),
	TIDE_MEMBER_MAYBE("runs_out_in", TEXT, "phase in which memory runs out"),
	TIDE_MEMBER_MAYBE("runs_out_asking_bytes", BYTES, "the request that fails"),
	TIDE_MEMBER_OF("phases", TABLE, phase_cols, "phases of the run"),
	TIDE_MEMBER_OF("roles", TABLE, role_cols, "memory at the peak by role"),
	TIDE_MEMBER_OF("modules", TABLE, module_cols, "memory at the peak by module"),
	TIDE_MEMBER_MAYBE("eager", TEXT, "a note that torch.compile ran eagerly"),
	TIDE_MEMBER_MAYBE("compiled", TEXT, "number of its graphs and graph breaks"),
	TIDE_MEMBER_OF("unknown", LIST, &limit, "what is not known"),
	{ 0 },
};

void tide__virtual_run_json(const tide_model *m, const tide_virtual_run *r, tide_json *j)
{
	tide__json_kbool(j, "predicted", true);
	tide__json_kbool(j, "ended", !r->unended);
	tide__json_kstr(j, "unended", r->unended);
	tide__json_kstr(j, "device", fact(m, "predicted.device"));
	tide__json_kstr(j, "torch", fact(m, "predicted.torch"));
	tide__json_kstr(j, "versions", fact(m, "predicted.versions"));
	for (size_t i = 0; i < 2; i++) { /* null if the program was killed */
		const char *text = fact(m, i ? "predicted.values_read" : "predicted.steps");
		tide__json_kuint_if(j, i ? "values_read" : "steps", *text, (uint64_t)atoi(text));
	}
	tide__json_kuint(j, "peak_allocated_bytes", r->allocated);
	tide__json_kuint(j, "peak_reserved_bytes", r->reserved);
	const tide_virtual_range *g = &r->range;
	bool low = !r->unended && !g->no_least, high = !r->unended && !g->no_most;
	tide__json_kuint_if(j, "least_allocated_bytes", low, g->least_allocated);
	tide__json_kuint_if(j, "most_allocated_bytes", high, g->most_allocated);
	tide__json_kuint_if(j, "least_reserved_bytes", low, g->least_reserved);
	tide__json_kuint_if(j, "most_reserved_bytes", high, g->most_reserved);
	tide__json_kuint_if(j, "capacity_bytes", r->capacity != 0, r->capacity);
	if (r->capacity && !r->unended)
		tide__json_kbool(j, "fits", !r->out);
	else
		tide__json_knull(j, "fits");
	tide__json_kstr(j, "runs_out_in",
			r->out && !r->unended
				? phase_name(m, r, tide__virtual_phase(r, r->out_event))
				: NULL);
	tide__json_kuint_if(j, "runs_out_asking_bytes", r->out && !r->unended,
			    r->out ? m->allocs.requested[r->out_alloc] : 0);
	tide__grid_write_member(phase_grid(m, r), j, "phases");
	tide__grid_write_member(group_grid(m, &r->roles, role_cols, SIZE_MAX), j, "roles");
	tide__grid_write_member(group_grid(m, &r->modules, module_cols, SIZE_MAX), j, "modules");
	const char *eager = fact(m, "predicted.eager");
	tide__json_kstr(j, "eager", *eager ? eager : NULL);
	const char *compiled = fact(m, "predicted.compiled");
	tide__json_kstr(j, "compiled", *compiled ? compiled : NULL);
	tide__json_karray(j, "unknown");
	for (uint32_t k = 1; k < m->marks.n; k++)
		if (is_unknown(m, k))
			tide__json_str(j, tide__text(m, m->marks.text[k], NULL));
	tide__json_array_end(j);
}
