// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Losses as lines of a report. */
#include "render/text/losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/sampled.h"
#include "render/text/format.h"
#include "render/text/labels.h"

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

static bool is_covered(const struct list *l, const char *key)
{
	const tide_loss_kind *kind = tide__loss_kind_of(key);
	tide_loss by;
	for (size_t k = 0; kind && k < sizeof kind->covered_by / sizeof *kind->covered_by; k++)
		if (kind->covered_by[k] && find(l, kind->covered_by[k], &by))
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

static void put_sentence(FILE *out, const struct list *l, const tide_loss_kind *s,
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

/* Prints a key without a sentence as words: "garbage bytes: 12". */
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
	const tide_loss_kind *s = tide__loss_kind_of(x->key);
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);
	if (f) {
		s && s->text ? put_sentence(f, l, s, x) : put_words(f, x);
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
		if (at(user, i, &x) && !is_covered(&l, x.key)) {
			put_loss(out, style, &l, &x);
			notes++;
		}
	return notes;
}

/* ---- all of a trace ---- */

static bool loss_at(const void *user, size_t i, tide_loss *out)
{
	return tide__loss_at(user, i, out);
}

static bool any_loss(const tide_model *m)
{
	tide_loss x;
	for (size_t i = 0; i < m->facts.n; i++)
		if (loss_at(m, i, &x))
			return true;
	return false;
}

/* Returns the number of events read from a ring file, -1 = there was none. */
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
	tide__json_key(j, l->key);
	if (l->text)
		tide__json_strn(j, l->text, l->n);
	else
		tide__json_int(j, l->number);
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
