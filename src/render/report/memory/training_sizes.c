// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/memory/training_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "render/text/format.h"
#include "render/text/grid.h"

/* ---- advice ---- */

static double mib(int64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

size_t tide__training_write_advice(const tide_training_sizes *t,
				   tide_sentence out[TIDE_TRAINING_SENTENCES])
{
	tide_training_fit f = tide__training_fit_find(t);
	size_t n = 0;
	if (f.checkpoints)
		snprintf(
			out[n++].text, sizeof out->text,
			"Enable gradient checkpointing (recompute activations): activations are %.2f MB, "
			"%.1f%% of the peak.",
			mib(f.activations), f.activations_pct);
	if (f.smaller_batch)
		snprintf(
			out[n++].text, sizeof out->text,
			"Reduce the batch size: activations shrink with it; about %.0f%% of this batch fits.",
			f.batch_pct);
	if (f.accumulate)
		snprintf(
			out[n++].text, sizeof out->text,
			"Use gradient accumulation: smaller batches per iteration give the same batch per step.");
	if (f.shard)
		snprintf(
			out[n++].text, sizeof out->text,
			"Without any activations %.2f MB are needed, more than the device has: shard or offload "
			"the model and the optimizer state, or use a larger device.",
			mib(f.rest));
	return n;
}

/* ---- the report ---- */

#define RULE "================================================================================"

/* ---- text ---- */

/* "1,863.25 MB": MB = 2^20 bytes, as trackers write it. */
static const char *mb(int64_t bytes, char *buf, size_t n)
{
	char digits[40], whole[60] = "";
	double v = (double)bytes / (1024 * 1024);
	snprintf(digits, sizeof digits, "%.2f", v < 0 ? -v : v);
	size_t len = strcspn(digits, "."), k = 0;
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			whole[k++] = ',';
		whole[k++] = digits[i];
	}
	whole[k] = 0;
	bool zero = !strcmp(digits, "0.00");
	snprintf(buf, n, "%s%s%s MB", v < 0 && !zero ? "-" : "", whole, digits + len);
	return buf;
}

static void amount(FILE *out, const char *label, tide_maybe_bytes v)
{
	char text[80];
	fprintf(out, "  %-22s%s\n", label, v.known ? mb(v.bytes, text, sizeof text) : "unknown");
}

static void compared(const tide_sizes_report *r, FILE *out, const char *title, tide_training_part p)
{
	double pct;
	if (!r->t->actual[p].known && !r->t->expected[p].known)
		return;
	fprintf(out, "\n--- %s ---\n", title);
	amount(out,
	       r->t->from_roles ? "Actual (by role):" : "Actual (from logs):", r->t->actual[p]);
	amount(out, "Expected (input):", r->t->expected[p]);
	if (tide__training_difference(r->t, p, &pct))
		fprintf(out, "  %-22s%+.2f%%\n", "Difference:", pct);
}

static void print_peak(const tide_sizes_report *r, FILE *out)
{
	const tide_training_sizes *t = r->t;
	char text[80];
	fputs("\n--- Peak DRAM Usage ---\n", out);
	amount(out, "Peak DRAM:", (tide_maybe_bytes){ true, t->peak });
	if (t->peak_phase && *t->peak_phase) {
		fprintf(out, "  %-22s", "Peak in:");
		tide__put_name(out, t->peak_phase, strlen(t->peak_phase), 0, false);
		fputc('\n', out);
	}
	if (t->reserved.known)
		amount(out, "Peak reserved:", t->reserved);
	amount(out, "Device Memory:", (tide_maybe_bytes){ t->capacity != 0, (int64_t)t->capacity });
	if (!t->capacity)
		return;
	fprintf(out, "  %-22s%.2f%%\n", "Usage:", 100.0 * (double)t->peak / (double)t->capacity);
	int64_t left = (int64_t)t->capacity - t->peak;
	mb(left < 0 ? -left : left, text, sizeof text);
	fprintf(out, left > 0 ? "  %-22sviable, %s left\n" : "  %-22sdoes not fit, %s too much\n",
		"Configuration:", text);
}

static void print_parts(const tide_sizes_report *r, FILE *out)
{
	char text[80];
	fputs("\n--- Parts of the Peak ---\n", out);
	for (int p = TIDE_PARTS_N; p-- > 0;) {
		const tide_maybe_bytes *v = &r->t->part[p];
		if (!v->known && r->t->from_roles)
			fprintf(out, "  %-22sunknown (no role names it; in Other)\n",
				tide__training_part_text((tide_training_part)p));
		if (!v->known)
			continue;
		fprintf(out, "  %-22s%s (%.1f%%)\n",
			tide__training_part_text((tide_training_part)p),
			mb(v->bytes, text, sizeof text),
			r->t->peak > 0 ? 100.0 * (double)v->bytes / (double)r->t->peak : 0.0);
	}
}

static void print_kv(const tide_sizes_report *r, FILE *out)
{
	if (r->kv_expected < 0)
		return;
	fputs("\n--- KV Cache ---\n", out);
	amount(out, r->t->from_roles ? "Actual (by role):" : "Actual (from logs):", r->t->kv);
	amount(out, "Expected (input):", (tide_maybe_bytes){ true, r->kv_expected });
	if (r->t->kv.known && r->kv_expected > 0)
		fprintf(out, "  %-22s%+.2f%%\n", "Difference:",
			100.0 * ((double)r->t->kv.bytes - (double)r->kv_expected) /
				(double)r->kv_expected);
}

void tide__sizes_text(const tide_sizes_report *r, FILE *out)
{
	tide_sentence advice[TIDE_TRAINING_SENTENCES];
	char text[80], count[40];
	const tide_training_sizes *t = r->t;
	if (t->model_from_parameters)
		fprintf(out, "Model size %s%s: %s (%s parameters, %s%g bytes each%s)\n",
			t->parameters_given ? "" : "not provided, ",
			t->parameters_given ? "from the given parameters"
			: t->from_roles	    ? "calculated from the recording"
					    : "calculated from logs",
			mb(t->expected[TIDE_PART_MODEL].bytes, text, sizeof text),
			tide__fmt_count(count, sizeof count, (int64_t)t->parameters),
			r->typed ? "" : "assuming ", r->bytes_per_param, r->typed ? "" : ", bf16");
	fputs(RULE "\nSection: ", out);
	tide__put_name(out, r->title, strlen(r->title), 0, false);
	if (t->parameters)
		fprintf(out, "\nNumber of parameters: %s",
			tide__fmt_count(count, sizeof count, (int64_t)t->parameters));
	fputs("\n" RULE "\n", out);
	compared(r, out, "Model Size", TIDE_PART_MODEL);
	compared(r, out, "Optimizer State", TIDE_PART_OPTIMIZER);
	compared(r, out, "Gradients Size", TIDE_PART_GRADIENTS);
	if (t->actual[TIDE_PART_ACTIVATIONS].known) {
		fputs("\n--- Activations Size ---\n", out);
		amount(out, "Activations:", t->actual[TIDE_PART_ACTIVATIONS]);
	}
	print_kv(r, out);
	print_peak(r, out);
	print_parts(r, out);
	size_t n = tide__training_write_advice(t, advice);
	if (n)
		fputs("\n--- Advice ---\n", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  - %s\n", advice[i].text);
	fputc('\n', out);
}

/* ---- JSON ---- */

static void maybe(tide_json *j, const char *key, tide_maybe_bytes v)
{
	tide__json_kint_if(j, key, v.known, v.bytes);
}

static void json_parts(tide_json *j, const char *key, const tide_maybe_bytes *v)
{
	tide__json_kobject(j, key);
	for (int p = 0; p < TIDE_PARTS_N; p++)
		maybe(j, tide__training_part_key((tide_training_part)p), v[p]);
	tide__json_object_end(j);
}

/* In the order of TIDE_FIGURES_N. */
static const tide_member phase_members[] = {
	TIDE_MEMBER_MAYBE("segment_peak_bytes", SIGNED,
			  "highest use within the phase, above its begin"),
	TIDE_MEMBER_MAYBE("allocations_bytes", SIGNED, "allocated bytes"),
	TIDE_MEMBER_MAYBE("deallocations_bytes", SIGNED, "freed bytes"),
	TIDE_MEMBER_MAYBE("segment_change_bytes", SIGNED, "allocated minus freed bytes"),
	TIDE_MEMBER_MAYBE("cumulative_peak_bytes", SIGNED, "highest use so far"),
	TIDE_MEMBER_MAYBE("cumulative_current_bytes", SIGNED, "use at the end of the phase"),
	TIDE_MEMBER_MAYBE("l1_peak_cb_bytes", SIGNED,
			  "Tenstorrent: highest use by circular buffers in L1"),
	TIDE_MEMBER_MAYBE("l1_peak_buffer_bytes", SIGNED,
			  "Tenstorrent: highest use by buffers in L1"),
	TIDE_MEMBER_MAYBE("l1_peak_total_bytes", SIGNED, "Tenstorrent: highest use of L1"),
	TIDE_MEMBER("name", TEXT, "name of the phase"),
	{ 0 },
};

static void json_rows(tide_json *j, const tide_phase_summary *s)
{
	tide__json_karray(j, "phases");
	for (size_t i = 0; i < s->n; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "name", s->rows[i].name);
		for (int f = 0; f < TIDE_FIGURES_N; f++)
			tide__json_kint_if(j, phase_members[f].key, s->rows[i].known >> f & 1,
					   s->rows[i].bytes[f]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static const tide_member part_members[] = {
	TIDE_MEMBER_MAYBE("other", SIGNED, "the rest"),
	TIDE_MEMBER_MAYBE("model", SIGNED, "parameters"),
	TIDE_MEMBER_MAYBE("gradients", SIGNED, "gradients"),
	TIDE_MEMBER_MAYBE("optimizer", SIGNED, "state of the optimizer"),
	TIDE_MEMBER_MAYBE("activations", SIGNED, "activations"),
	{ 0 },
};
static const tide_member sentence = TIDE_MEMBER("", TEXT, "a sentence");

const tide_member tide__sizes_members[] = {
	TIDE_MEMBER("title", TEXT, "title in the log, or the file"),
	TIDE_MEMBER("memory", TEXT, "which memory: DRAM, a device"),
	TIDE_MEMBER_MAYBE("parameters", COUNT, "number of parameters"),
	TIDE_MEMBER_MAYBE("capacity_bytes", BYTES, "memory of the device"),
	TIDE_MEMBER("peak_bytes", SIGNED, "highest use"),
	TIDE_MEMBER_MAYBE("reserved_peak_bytes", SIGNED, "highest bytes that the allocator held"),
	TIDE_MEMBER_MAYBE("peak_phase", TEXT, "phase of the highest use"),
	{ .key = "measured_by",
	  .kind = TIDE_KIND_WORD,
	  .words = "phase,role",
	  .meaning = "how actual sizes are known: by names of phases, or roles of allocations" },
	TIDE_MEMBER_MAYBE("fits", BOOL, "the highest use is below the memory of the device"),
	TIDE_MEMBER_OF("actual_bytes", OBJECT, part_members, "measured sizes"),
	TIDE_MEMBER_OF("expected_bytes", OBJECT, part_members, "sizes by the number of parameters"),
	TIDE_MEMBER_OF("parts_bytes", OBJECT, part_members,
		       "parts of the peak; their sum is the peak"),
	TIDE_MEMBER_MAYBE("kv_cache_bytes", SIGNED, "measured KV cache"),
	TIDE_MEMBER_MAYBE("kv_cache_expected_bytes", SIGNED, "KV cache by --kv"),
	TIDE_MEMBER_OF("advice", LIST, &sentence, "what to do if it does not fit"),
	TIDE_MEMBER_OF("phases", TABLE, phase_members, "figures of the phases"),
	{ 0 },
};

void tide__sizes_json(const tide_sizes_report *r, tide_json *j)
{
	const tide_training_sizes *t = r->t;
	tide_sentence advice[TIDE_TRAINING_SENTENCES];
	tide__json_object(j);
	tide__json_kstr(j, "title", r->title);
	tide__json_kstr(j, "memory", r->s->scope);
	tide__json_kuint_if(j, "parameters", t->parameters != 0, t->parameters);
	tide__json_kuint_if(j, "capacity_bytes", t->capacity != 0, t->capacity);
	tide__json_kint(j, "peak_bytes", t->peak);
	maybe(j, "reserved_peak_bytes", t->reserved);
	tide__json_kstr(j, "peak_phase", t->peak_phase);
	tide__json_kstr(j, "measured_by", t->from_roles ? "role" : "phase");
	if (t->capacity)
		tide__json_kbool(j, "fits", tide__training_fit_find(t).fits);
	else
		tide__json_knull(j, "fits");
	json_parts(j, "actual_bytes", t->actual);
	json_parts(j, "expected_bytes", t->expected);
	json_parts(j, "parts_bytes", t->part);
	maybe(j, "kv_cache_bytes", t->kv);
	tide__json_kint_if(j, "kv_cache_expected_bytes", r->kv_expected >= 0, r->kv_expected);
	tide__json_karray(j, "advice");
	size_t n = tide__training_write_advice(t, advice);
	for (size_t i = 0; i < n; i++)
		tide__json_str(j, advice[i].text);
	tide__json_array_end(j);
	json_rows(j, r->s);
	tide__json_object_end(j);
}
