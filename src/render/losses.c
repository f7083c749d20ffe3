// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sentences for what was lost. Keys without one come out as words, so that a new one is never
 * hidden. */
#include "render/losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/format.h"

static const struct sentence {
	const char *key;
	const char *text; /* %s = the number */
	bool place;	  /* a byte offset: digits not grouped */
} sentences[] = {
	{ "events", "events lost while recording: %s" },
	{ "missing_events", "recorded events that are not in the file: %s" },
	{ "missing_slots", "ring slots that are not in the file: %s" },
	{ "truncated_at", "the file is cut off at byte %s: everything before it is here", true },
	{ "truncated_at_byte", "the file is cut off at byte %s: everything before it is here",
	  true },
	{ "truncated_traces", "traces that are cut off: %s" },
	{ "corrupt_traces", "traces that are damaged: %s" },
	{ "compressed_at_byte", "the compressed data cannot be read from byte %s on", true },
	{ "compressed_input_traces", "traces whose compressed data end early or are damaged: %s" },
	{ "compressed_traces", "traces whose compressed data cannot be read to the end: %s" },
	{ "corrupt_at", "the file is damaged at byte %s: everything before it is here", true },
	{ "not_closed", "the recording was not closed and there is no ring file beside it: its "
			"last events are missing" },
	{ "repeated_chunks", "chunks left out because they repeat others: %s" },
	{ "unknown_chunks", "chunks of an unknown kind, skipped: %s" },
	{ "unknown_records", "records of an unknown kind, skipped: %s" },
	{ "unread_records", "records that could not be read: %s" },
	{ "free_unknown", "frees of addresses where nothing was allocated, left out: %s" },
	{ "free_twice", "frees of addresses that were freed already, left out: %s" },
	{ "alloc_reused", "allocations at addresses still in use (a free is missing): %s" },
	{ "alloc_overlaps", "allocations that overlap another live one: %s" },
	{ "op_begin", "ops whose begin was lost: %s" },
	{ "op_end", "ends without an op, left out: %s" },
	{ "undefined_ids", "uses of names, pools, ... that are not defined: %s" },
	{ "tensor_unknown", "tensors at addresses where nothing was allocated, left out: %s" },
	{ "clock_uncalibrated", "the clock has no calibration points: times are estimates" },
	{ "history_wrapped",
	  "allocations and segments whose events the history no longer holds (it wrapped or was "
	  "started anew): %s" },
	{ "no_history",
	  "the snapshot holds no history, only what was alive at its end: allocations "
	  "whose past is not known: %s" },
	{ "times_unknown", "events without a time: %s; their order is true, and what is shown as "
			   "time only counts them, a nanosecond each" },
	{ "geometry_mismatch", "blocks at the end that differ from the recorded ones: %s" },
	{ "geometry_repairs", "events that contradict the allocator's rules: %s" },
	{ "unknown_actions", "events of an unknown kind, skipped: %s" },
	{ "trailing_bytes", "bytes after the end of the pickle, left out: %s" },
	{ "annotations", "annotations that could not be placed: %s" },
	{ "bad_records", "records without a usable time or size, left out: %s" },
	{ "repeated_lifecycle_events",
	  "events that repeat a tensor's birth or death, left out: %s" },
	{ "operations_without_duration",
	  "operations whose end is not told, drawn up to the next one: %s" },
	{ "tensor_lifecycles_left_out", "tensors whose lives the profile leaves out: %s" },
};

static const struct sentence *sentence_of(const char *key)
{
	for (size_t k = 0; k < sizeof sentences / sizeof *sentences; k++)
		if (!strcmp(sentences[k].key, key))
			return &sentences[k];
	return NULL;
}

static void put_sentence(FILE *out, const struct sentence *s, int64_t number)
{
	const char *at = strstr(s->text, "%s");
	char num[32];
	if (s->place)
		snprintf(num, sizeof num, "%" PRId64, number);
	else
		tide__fmt_count(num, sizeof num, number);
	if (at)
		fprintf(out, "%.*s%s%s", (int)(at - s->text), s->text, num, at + 2);
	else
		fputs(s->text, out);
}

/* A key without a sentence comes out as words: "garbage bytes: 12". */
static void put_words(FILE *out, const char *key, const char *text, size_t n, int64_t number)
{
	char buf[400];
	tide__fmt_name(buf, sizeof buf, key, strlen(key), 0);
	for (char *c = buf; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	fprintf(out, "%s: ", buf);
	if (n)
		tide__fmt_name(buf, sizeof buf, text, n, 0);
	else
		tide__fmt_count(buf, sizeof buf, number);
	fputs(buf, out);
}

void tide__put_loss(FILE *out, const tide_style *st, const char *key, const char *text, size_t n,
		    int64_t number)
{
	const struct sentence *s = n ? NULL : sentence_of(key);
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);
	if (f) {
		s ? put_sentence(f, s, number) : put_words(f, key, text, n, number);
		fclose(f);
	}
	fputs(st->color ? "\033[33mnote: " : "note: ", out);
	tide__put_words(out, line ? line : key, 6, 6, st->width);
	fputs(st->color ? "\033[0m" : "", out);
	free(line);
}

/* ---- all of a trace ---- */

/* The part of a fact's key after "loss.", or NULL when it is not a loss or lost nothing. */
static const char *loss_key(const tide_model *m, size_t i)
{
	const char *key = tide__text(m, m->facts.key[i], NULL);
	bool nothing = !m->facts.text[i].i && !m->facts.number[i];
	return strncmp(key, "loss.", 5) || nothing ? NULL : key + 5;
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

static void put_from_rings(const tide_model *m, FILE *out, const tide_style *style, bool first)
{
	char num[32], text[200];
	int64_t n = from_rings(m);
	if (n < 0)
		return;
	snprintf(text, sizeof text,
		 "the recording was not closed (its process was killed or is still running): %s "
		 "events were read from its ring file",
		 tide__fmt_count(num, sizeof num, n));
	fputs(first ? "\nnote: " : "note: ", out);
	tide__put_words(out, text, 6, 6, style->width);
}

void tide__put_losses(const tide_model *m, FILE *out, const tide_style *style)
{
	bool first = true;
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = loss_key(m, i);
		size_t n;
		if (!key)
			continue;
		if (first)
			fputc('\n', out);
		first = false;
		const char *text = tide__text(m, m->facts.text[i], &n);
		tide__put_loss(out, style, key, text, n, m->facts.number[i]);
	}
	put_from_rings(m, out, style, first);
}

void tide__losses_json(tide_json *j, const tide_model *m)
{
	tide__json_key(j, "losses");
	tide__json_object(j);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = loss_key(m, i);
		size_t n;
		if (!key)
			continue;
		tide__json_key(j, key);
		if (m->facts.text[i].i) {
			const char *text = tide__text(m, m->facts.text[i], &n);
			tide__json_strn(j, text, n);
		} else {
			tide__json_int(j, m->facts.number[i]);
		}
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
