// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sentences for what was lost. Keys without one come out as words, so that a new one is never
 * hidden. */
#include "render/text/losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/sampled.h"
#include "model/kind_names.h"
#include "render/text/format.h"
#include "render/text/labels.h"

static const struct sentence {
	const char *key;
	const char *text; /* %s = the number or the text, %t = the text of row `why` in brackets */
	bool place;	  /* a byte offset: digits not grouped */
	const char *why;
} sentences[] = {
	{ "events", "events lost while recording: %s" },
	{ "rings_cut", "the ring file was cut while recording: later events are missing" },
	{ "window_events", "events before the part that was kept (run --max-size), left out: %s; "
			   "blocks that were live are carried over" },
	{ "window_blocks", "live blocks that could not be carried over, for lack of memory: %s" },
	{ "left_out_events",
	  "only the beginning was read, for lack of memory; events left out: %s" },
	{ "missing_events", "recorded events missing from the file: %s" },
	{ "missing_slots", "ring slots missing from the file: %s" },
	{ "truncated_at", "the file is truncated at byte %s%t; everything before it was read", true,
	  "damage" },
	{ "truncated_traces", "truncated traces: %s" },
	{ "corrupt_traces", "damaged traces: %s" },
	{ "compressed_at",
	  "the compressed data cannot be read from byte %s on%t; everything before it was read",
	  true, "compressed_input" },
	{ "compressed_traces", "traces whose compressed data cannot be read to the end: %s" },
	{ "corrupt_at", "the file is damaged at byte %s%t; everything before it was read", true,
	  "damage" },
	{ "gap_at", "the file is damaged at byte %s%t; everything before and after it was read",
	  true, "gap_damage" },
	{ "gap_bytes", "damaged bytes skipped: %s" },
	{ "head", "%s" },
	{ "not_closed", "the recording was not closed and there is no ring file beside it: its "
			"last events are missing" },
	{ "repeated_chunks", "chunks left out because they repeat others: %s" },
	{ "unknown_chunks", "chunks of an unknown kind, skipped: %s" },
	{ "unknown_records", "records of an unknown kind, skipped: %s" },
	{ "unread_records", "unreadable records: %s" },
	{ "free_unknown", "frees of unallocated addresses, left out: %s" },
	{ "free_twice", "frees of addresses that were freed already, left out: %s" },
	{ "alloc_reused", "allocations at addresses still in use (a free is missing): %s" },
	{ "alloc_overlaps", "allocations that overlap another live one: %s" },
	{ "python_calls_cut", "Python calls that end after their caller, cut to its end: %s" },
	{ "op_begin", "ops whose begin was lost: %s" },
	{ "op_end", "ends without an op, left out: %s" },
	{ "undefined_ids", "uses of undefined names, pools, ...: %s" },
	{ "tensor_unknown", "tensors at unallocated addresses, left out: %s" },
	{ "view_outside", "views that reach beyond their allocation, left out: %s" },
	{ "clock_uncalibrated", "the clock has no calibration points: times are estimates" },
	{ "history_wrapped",
	  "allocations and segments whose events are no longer in the history (it wrapped or was "
	  "restarted): %s" },
	{ "no_history",
	  "the snapshot has no history, only the final state; allocations with unknown past: %s" },
	{ "times_unknown", "events without a time: %s; their order is correct, and the times "
			   "shown only count them, 1 ns each" },
	{ "geometry_mismatch", "blocks in the final state that differ from the recorded ones: %s" },
	{ "geometry_repairs", "events that contradict the allocator's rules: %s" },
	{ "unknown_actions", "events of an unknown kind, skipped: %s" },
	{ "trailing_bytes", "bytes after the end of the pickle, left out: %s" },
	{ "annotations", "annotations that could not be placed: %s" },
	{ "bad_lines", "lines of the log that are not records, left out: %s" },
	{ "bad_payloads", "records of the log with unreadable contents, left out: %s" },
	{ "unended_stages", "compile stages without an end in the log: %s" },
	{ "lone_ends", "ends of compile stages that never began, left out: %s" },
	{ "bad_records", "records without a usable time or size, left out: %s" },
	{ "repeated_lifecycle_events",
	  "events that repeat a tensor's birth or death, left out: %s" },
	{ "operations_without_duration",
	  "operations without an end, drawn up to the next one: %s" },
	{ "tensor_lifecycles_left_out", "tensors whose lifetimes the profile leaves out: %s" },
	{ "no_cupti", "the GPU was not recorded: %s" },
	{ "gpu_aside", "%s" },
	{ "device_records", "GPU records dropped by CUPTI: %s" },
	{ "virtual_memory", "cuMemCreate calls whose bytes are unknown: %s; `device` counts "
			    "them as context or unexplained" },
	{ "device_log", "unreadable pieces of GPU records: %s" },
	{ "paused", "times that recording was switched off (tidemark ctl): %s" },
	{ "own_allocator", "the host heap was not recorded: %s" },
	{ "tt_ops_without_block",
	  "operations without a memory state in the log (lost lines?): %s; they are left out" },
	{ "tt_no_blocks",
	  "the log has no memory states: set TT_RUNTIME_MEMORY_LOG_LEVEL=operation (older "
	  "builds: setMemoryLogLevel) and use a build with -DTT_RUNTIME_DEBUG=ON" },
	{ "tt_no_op_lines", "the log has no operation lines, names come from memory states: set "
			    "TTMLIR_RUNTIME_LOGGER_LEVEL=DEBUG" },
	{ "tt_partial_blocks", "memory states with missing lines: %s" },
	{ "tt_cut_lines", "truncated lines of the runtime: %s" },
	{ "tt_loose_states", "lines of memory states that belong to no operation, left out: %s" },
	{ "tt_unmatched", "programs and states that do not match the preceding lines: %s" },
	{ "tt_unreadable_ops", "operations with unreadable text: %s" },
	{ "tt_modules_left_out", "module dumps left out, more than 256 MiB of them: %s" },
	{ "tt_long_lines", "lines of more than 16 MiB, read in parts: %s" },
	{ "tt_results_only",
	  "read from JSON files, which have no deallocates: the change of an operation includes "
	  "those that followed it (operations: %s)" },
	{ "unreported_devices",
	  "devices whose allocators report nothing to PyTorch's profiler, so their allocations "
	  "are missing: %s" },
};

/* Rows covered by another row: if that one exists, these have no note of their own. */
static const struct {
	const char *key, *by;
} told[] = {
	{ "damage", "truncated_at" },
	{ "damage", "corrupt_at" },
	{ "gap_damage", "gap_at" },
	{ "gaps", "gap_at" },
	{ "compressed_input", "compressed_at" },
	{ "truncated_at", "compressed_at" },
	{ "damage", "compressed_at" },
	{ "not_closed", "compressed_at" },
	{ "damage_traces", "truncated_traces" },
	{ "damage_traces", "corrupt_traces" },
	{ "compressed_input_traces", "compressed_traces" },
};

static const struct sentence *sentence_of(const char *key)
{
	for (size_t k = 0; k < sizeof sentences / sizeof *sentences; k++)
		if (!strcmp(sentences[k].key, key))
			return &sentences[k];
	return NULL;
}

struct list {
	tide_loss_at *at;
	const void *user;
	size_t n;
};

static bool find(const struct list *l, const char *key, tide_loss *out)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at(l->user, i, out) && !strcmp(out->key, key))
			return true;
	return false;
}

static bool is_told(const struct list *l, const char *key)
{
	tide_loss by;
	for (size_t k = 0; k < sizeof told / sizeof *told; k++)
		if (!strcmp(told[k].key, key) && find(l, told[k].by, &by))
			return true;
	return false;
}

static void put_why(FILE *out, const struct list *l, const char *key)
{
	tide_loss why;
	char buf[400];
	if (key && find(l, key, &why) && why.n)
		fprintf(out, " (%s)", tide__fmt_name(buf, sizeof buf, why.text, why.n, 0));
}

static void put_sentence(FILE *out, const struct list *l, const struct sentence *s,
			 const tide_loss *x)
{
	char num[400];
	if (x->n)
		tide__fmt_name(num, sizeof num, x->text, x->n, 0);
	else if (s->place)
		snprintf(num, sizeof num, "%" PRId64, x->number);
	else
		tide__fmt_count(num, sizeof num, x->number);
	for (const char *c = s->text; *c; c++) {
		if (*c != '%')
			fputc(*c, out);
		else if (*++c == 's')
			fputs(num, out);
		else
			put_why(out, l, s->why);
	}
}

/* A key without a sentence comes out as words: "garbage bytes: 12". */
static void put_words(FILE *out, const tide_loss *x)
{
	char buf[400];
	tide__fmt_name(buf, sizeof buf, x->key, strlen(x->key), 0);
	for (char *c = buf; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	fprintf(out, "%s: ", buf);
	if (x->n)
		tide__fmt_name(buf, sizeof buf, x->text, x->n, 0);
	else
		tide__fmt_count(buf, sizeof buf, x->number);
	fputs(buf, out);
}

static void put_loss(FILE *out, const tide_style *st, const struct list *l, const tide_loss *x)
{
	const struct sentence *s = sentence_of(x->key);
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);
	if (f) {
		s ? put_sentence(f, l, s, x) : put_words(f, x);
		fclose(f);
	}
	fputs(st->color ? "\033[33mnote: " : "note: ", out);
	tide__put_words(out, line ? line : x->key, 6, 6, st->width);
	fputs(st->color ? "\033[0m" : "", out);
	free(line);
}

size_t tide__put_loss_list(FILE *out, const tide_style *style, tide_loss_at *at, const void *user,
			   size_t n)
{
	const struct list l = { at, user, n };
	size_t notes = 0;
	tide_loss x;
	for (size_t i = 0; i < n; i++)
		if (at(user, i, &x) && !is_told(&l, x.key)) {
			put_loss(out, style, &l, &x);
			notes++;
		}
	return notes;
}

/* ---- all of a trace ---- */

/* Gets a fact whose key starts with "loss." and has a value. */
static bool loss_at(const void *user, size_t i, tide_loss *out)
{
	const tide_model *m = user;
	const char *key = tide__text(m, m->facts.key[i], NULL);
	if (strncmp(key, "loss.", 5) || (!m->facts.text[i].i && !m->facts.number[i]))
		return false;
	*out = (tide_loss){ .key = key + 5, .number = m->facts.number[i] };
	if (m->facts.text[i].i)
		out->text = tide__text(m, m->facts.text[i], &out->n);
	return true;
}

static bool any_loss(const tide_model *m)
{
	tide_loss x;
	for (size_t i = 0; i < m->facts.n; i++)
		if (loss_at(m, i, &x))
			return true;
	return false;
}

/* Events that were read from a ring file, -1 = there was none to read. */
static int64_t from_rings(const tide_model *m)
{
	int64_t events = 0;
	bool found = false;
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		found |= !strcmp(key, "recovered.from");
		if (!strcmp(key, "recovered.events"))
			events = m->facts.number[i];
	}
	return found ? events : -1;
}

static void put_from_rings(const tide_model *m, FILE *out, const tide_style *style)
{
	char num[32], text[200];
	int64_t n = from_rings(m);
	if (n < 0)
		return;
	snprintf(text, sizeof text,
		 "the recording was not closed (its process was killed or is still running): %s "
		 "events were read from its ring file",
		 tide__fmt_count(num, sizeof num, n));
	fputs("note: ", out);
	tide__put_words(out, text, 6, 6, style->width);
}

static void sampled_text(const tide_sampled_device *x, const char *name, char *text, size_t size)
{
	char most[32], seen[32], t[96], n[32];
	tide__fmt_bytes(most, sizeof most, (double)tide__sampled_most(x));
	tide__fmt_bytes(seen, sizeof seen, (double)x->peak);
	tide__fmt_count(n, sizeof n, (int64_t)x->n);
	tide__sampled_when(x, t, sizeof t);
	if (tide__sampled_by_own(x))
		snprintf(text, size,
			 "%s is sampled: highest %s, %s, and highest %s in %s samples; between "
			 "samples it is unknown, and no other figure includes it",
			 name, most, t, seen, n);
	else
		snprintf(text, size,
			 "%s is sampled: highest %s, %s, in %s samples of its own counter; "
			 "between samples it is unknown, and no other figure includes it",
			 name, most, t, n);
}

/* Prints devices without allocations whose own counters were sampled. */
static void put_sampled(const tide_model *m, FILE *out, const tide_style *style)
{
	tide_sampled s;
	char text[400], name[64];
	if (tide__find_sampled(m, INT64_MAX, 0, &s, NULL) != TIDE_OK)
		return;
	for (uint32_t d = 1; d < s.n_devices; d++) {
		if (!s.devices[d].n)
			continue;
		tide__device_name(m, d, name, sizeof name);
		sampled_text(&s.devices[d], name, text, sizeof text);
		fputs("note: ", out);
		tide__put_words(out, text, 6, 6, style->width);
	}
	tide__sampled_free(&s);
}

/* Prints a note if allocations were not reported by the source. */
static void put_basis(const tide_model *m, FILE *out, const tide_style *style)
{
	int64_t at = tide__fact_find(m, "alloc.basis");
	char text[400], line[480];
	if (at < 0 || !m->facts.text[at].i)
		return;
	size_t n;
	const char *s = tide__text(m, m->facts.text[at], &n);
	snprintf(line, sizeof line, "note: allocations are %s",
		 tide__fmt_name(text, sizeof text, s, n, 0));
	if (!any_loss(m) && from_rings(m) < 0)
		fputc('\n', out);
	tide__put_words(out, line, 0, 6, style->width);
}

void tide__put_losses(const tide_model *m, FILE *out, const tide_style *style)
{
	if (any_loss(m) || from_rings(m) >= 0)
		fputc('\n', out);
	tide__put_loss_list(out, style, loss_at, m, m->facts.n);
	put_sampled(m, out, style);
	put_from_rings(m, out, style);
	put_basis(m, out, style);
}

void tide__loss_json(tide_json *j, const tide_loss *l)
{
	const char *names[] = { l->key, tide__loss_before(l->key) };
	for (size_t i = 0; i < 2 && names[i]; i++) {
		tide__json_key(j, names[i]);
		if (l->text)
			tide__json_strn(j, l->text, l->n);
		else
			tide__json_int(j, l->number);
	}
}

void tide__losses_json(tide_json *j, const tide_model *m)
{
	tide_loss x;
	tide__json_kobject(j, "losses");
	for (size_t i = 0; i < m->facts.n; i++) {
		if (!loss_at(m, i, &x))
			continue;
		tide__loss_json(j, &x);
	}
	tide__json_object_end(j);
	if (from_rings(m) >= 0)
		tide__json_kint(j, "recovered_events", from_rings(m));
}

char *tide__losses_text(const tide_model *m)
{
	const tide_style plain = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	tide__put_losses(m, out, &plain);
	return fclose(out) ? NULL : text;
}
