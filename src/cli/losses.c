// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What was lost or repaired, after every report. A loss is a fact whose key starts with "loss." and
 * whose value is a text or a number that is not 0; keys without a sentence here are shown as they
 * are spelt, so that a new one is never hidden. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

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
	{ "geometry_mismatch", "blocks at the end that differ from the recorded ones: %s" },
	{ "geometry_repairs", "events that contradict the allocator's rules: %s" },
	{ "unknown_actions", "events of an unknown kind, skipped: %s" },
	{ "trailing_bytes", "bytes after the end of the pickle, left out: %s" },
	{ "annotations", "annotations that could not be placed: %s" },
};

/* The part of a fact's key after "loss.", or NULL when it is not a loss or lost nothing. */
static const char *loss_key(const tide_model *m, size_t i)
{
	const char *key = tide__text(m, m->facts.key[i], NULL);
	bool nothing = !m->facts.text[i].i && !m->facts.number[i];
	return strncmp(key, "loss.", 5) || nothing ? NULL : key + 5;
}

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
static void put_words(FILE *out, const tide_model *m, size_t i, const char *key)
{
	char buf[400];
	size_t n;
	tide__fmt_name(buf, sizeof buf, key, strlen(key), 0);
	for (char *c = buf; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	fprintf(out, "%s: ", buf);
	const char *text = tide__text(m, m->facts.text[i], &n);
	if (n)
		tide__fmt_name(buf, sizeof buf, text, n, 0);
	else
		tide__fmt_count(buf, sizeof buf, m->facts.number[i]);
	fputs(buf, out);
}

static void print_loss(FILE *out, const tide_model *m, size_t i)
{
	const char *key = loss_key(m, i);
	const struct sentence *s = m->facts.text[i].i ? NULL : sentence_of(key);
	fputs("note: ", out);
	if (s)
		put_sentence(out, s, m->facts.number[i]);
	else
		put_words(out, m, i, key);
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

static void put_from_rings(const tide_args *a, const tide_model *m, bool first)
{
	char num[32];
	int64_t n = from_rings(m);
	if (n >= 0)
		fprintf(a->out,
			"%snote: the recording was not closed (its process was killed or is still "
			"running): %s events were read from its ring file\n",
			first ? "\n" : "", tide__fmt_count(num, sizeof num, n));
}

void tide__cli_losses(const tide_args *a, const tide_model *m)
{
	bool first = true;
	for (size_t i = 0; i < m->facts.n; i++) {
		if (!loss_key(m, i))
			continue;
		if (first)
			fputc('\n', a->out);
		first = false;
		fputs(a->style.color ? "\033[33m" : "", a->out);
		print_loss(a->out, m, i);
		fputs(a->style.color ? "\033[0m\n" : "\n", a->out);
	}
	put_from_rings(a, m, first);
}

void tide__cli_losses_json(tide_json *j, const tide_model *m)
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
