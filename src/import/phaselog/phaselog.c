// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads cleaned lines from the stream; a small state per rank tracks which summary they belong
 * to. */
#include "import/phaselog/phaselog.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum {
	CHUNK = 64 << 10,
	LINE = 2048, /* bytes of a line that are read */
	TITLE = 200, /* of a title, a rank or a memory's name that are kept */
	RANKS = 256, /* ranks whose lines may be mixed */
	PHASES = 1000000,
	SCOPES = 64, /* memories of one summary */
};
#define SIZE_MOST (INT64_C(1) << 60) /* bytes that a figure may be */

/* The state of one writer of lines: a rank, or the log itself. */
struct writer {
	char rank[TITLE];
	char title[TITLE];  /* its last line outside a summary */
	char phase[TITLE];  /* of the lines that follow */
	size_t own[SCOPES]; /* its open summary: one per memory, rows of reader.out */
	size_t n;
	size_t last;	     /* the memory whose lines came last */
	uint64_t begun;	     /* byte of its header */
	uint64_t parameters; /* last seen; 0 = none */
	uint64_t capacity;
	uint32_t number; /* of the phase in its summary, from 1 */
	bool open;
};

struct reader {
	tide_phase_summaries *out;
	tide_error *err;
	struct writer *writers;
	size_t n_writers, cap_writers;
	size_t phases;
	uint64_t parameters, capacity;		 /* last that any writer gave */
	uint64_t late_parameters, late_capacity; /* since the last summary began */
	uint64_t at;				 /* byte of the line */
	tide_code rc;
};

/* ---- numbers ---- */

static int unit_shift(const char *u, size_t n)
{
	static const char units[] = "BKMGT";
	if (!n)
		return 20; /* no unit: trackers mean MB */
	const char *p = memchr(units, toupper((unsigned char)*u), 5);
	bool ok =
		p && (n == 1 || (n == 2 && u[1] == 'B') || (n == 3 && u[1] == 'i' && u[2] == 'B'));
	return ok ? 10 * (int)(p - units) : -1;
}

/* Parses "+1,863.25 MB" at s: bytes, rounded. Returns NULL if it is not a size; else the text
 * after it. */
static const char *size_at(const char *s, int64_t *out)
{
	char digits[48];
	size_t n = 0, unit;
	for (; *s && (isdigit((unsigned char)*s) || strchr("+-.,", *s)); s++) {
		if (*s == ',' && !isdigit((unsigned char)s[1]))
			break;
		if (*s != ',' && n + 1 < sizeof digits)
			digits[n++] = *s;
	}
	digits[n] = 0;
	char *end;
	double v = strtod(digits, &end);
	if (!n || *end || end == digits)
		return NULL;
	while (*s == ' ')
		s++;
	for (unit = 0; isalpha((unsigned char)s[unit]); unit++)
		;
	int shift = unit_shift(s, unit);
	v *= shift < 0 ? 0 : (double)(UINT64_C(1) << shift);
	if (shift < 0 || v >= (double)SIZE_MOST || v <= -(double)SIZE_MOST)
		return NULL;
	*out = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
	return s + unit;
}

/* Parses a count such as "969,369,600". Returns 0 if there is none. */
static uint64_t count_at(const char *s)
{
	uint64_t v = 0;
	for (; *s && v < UINT64_C(1) << 56; s++)
		if (isdigit((unsigned char)*s))
			v = v * 10 + (unsigned)(*s - '0');
		else if (*s != ',' || !isdigit((unsigned char)s[1]))
			break;
	return v;
}

/* Returns the text after `label`, skipping colon and blanks; NULL = not in the line. */
static const char *after(const char *line, const char *label)
{
	const char *s = strstr(line, label);
	if (!s)
		return NULL;
	s += strlen(label);
	return s + strspn(s, ": =\t");
}

/* ---- writers ---- */

static bool failed(struct reader *r, tide_code code, const char *what)
{
	if (r->rc == TIDE_OK)
		r->rc = code == TIDE_ENOMEM ? tide__nomem(r->err)
					    : tide__fail(r->err, code, r->at, "%s", what);
	return false;
}

static struct writer *writer_of(struct reader *r, const char *rank)
{
	for (size_t i = 0; i < r->n_writers; i++)
		if (!strcmp(r->writers[i].rank, rank))
			return &r->writers[i];
	if (r->n_writers == RANKS)
		return &r->writers[RANKS - 1];
	if (!TIDE_ROOM(r->writers, r->cap_writers, r->n_writers + 1)) {
		failed(r, TIDE_ENOMEM, NULL);
		return NULL;
	}
	struct writer *w = &r->writers[r->n_writers++];
	*w = (struct writer){ 0 };
	snprintf(w->rank, sizeof w->rank, "%s", rank);
	return w;
}

/* Returns the summary of memory `scope` in the writer's open one, created if needed. */
static tide_phase_summary *summary_of(struct reader *r, struct writer *w, const char *scope)
{
	for (size_t i = 0; i < w->n; i++) {
		tide_phase_summary *s = &r->out->v[w->own[i]];
		if (!strcmp(s->scope, scope)) {
			w->last = w->own[i];
			return s;
		}
	}
	if (w->n == SCOPES) {
		failed(r, TIDE_ELIMIT, "a summary of more than 64 memories");
		return NULL;
	}
	tide_phase_summary *s = tide__phase_summary_add(r->out, w->title, scope, w->rank);
	if (!s) {
		failed(r, TIDE_ENOMEM, NULL);
		return NULL;
	}
	s->at = w->begun;
	s->parameters = w->parameters;
	s->capacity = w->capacity;
	w->last = w->own[w->n++] = r->out->n - 1;
	return s;
}

/* Returns its row of the current phase. */
static tide_phase_row *row_of(struct reader *r, struct writer *w, const char *scope, bool again)
{
	tide_phase_summary *s = again && w->n ? &r->out->v[w->last] : summary_of(r, w, scope);
	if (!s)
		return NULL;
	if (s->n && s->rows[s->n - 1].number == w->number)
		return &s->rows[s->n - 1];
	if (++r->phases > PHASES) {
		failed(r, TIDE_ELIMIT, "more than a million phases");
		return NULL;
	}
	tide_phase_row *row = tide__phase_row_add(s, w->phase, strlen(w->phase));
	if (row)
		row->number = w->number;
	else
		failed(r, TIDE_ENOMEM, NULL);
	return row;
}

/* ---- lines ---- */

/* Fails because of a figure that is no size: the log ends within it, or it is no number. */
static bool no_size(struct reader *r, const char *s)
{
	bool cut = strspn(s, " +-.0123456789M") == strlen(s);
	return failed(r, TIDE_EFORMAT,
		      cut ? "a figure of the memory summary is cut off"
			  : "an impossible size in the memory summary");
}

static const char *const labels[] = {
#define X(name, text) text,
	TIDE_PHASE_FIGURES(X)
#undef X
};

/* Stores every figure of a line in its row. */
static bool figures(struct reader *r, struct writer *w, const char *line, const char *scope)
{
	bool l1 = !strcmp(scope, "L1") ||
		  (strlen(scope) > 3 && !strcmp(scope + strlen(scope) - 3, " L1"));
	tide_phase_row *row = NULL;
	for (int f = 0; f < TIDE_FIGURES_N; f++) {
		const char *s = after(line, labels[f]);
		int64_t v;
		if (!s || (f >= TIDE_FIGURE_L1_CB) != l1)
			continue;
		if (!size_at(s, &v) || (v < 0 && f != TIDE_FIGURE_CHANGE))
			return no_size(r, s);
		if (!row && !(row = row_of(r, w, scope, l1)))
			return false;
		row->bytes[f] = v;
		row->known |= 1u << f;
	}
	return true;
}

/* "  cuda:0 DRAM: Segment ..." -> "cuda:0 DRAM"; a line that begins with a figure belongs to the previous memory. */
static void scope_of(const char *line, const char *last, char *out)
{
	const char *best = NULL;
	line += strspn(line, " \t");
	for (int f = 0; f < TIDE_FIGURES_N; f++) {
		const char *s = strstr(line, labels[f]);
		if (s && (!best || s < best))
			best = s;
	}
	size_t n = best ? (size_t)(best - line) : 0;
	while (n && strchr(": \t", line[n - 1]))
		n--;
	snprintf(out, TITLE, "%.*s", (int)(n < TITLE ? n : TITLE - 1), n ? line : last);
	if (!n)
		snprintf(out, TITLE, "%s", last);
}

/* Stores the totals of memory `scope`; `s` is the text after " Peak". */
static bool totals(struct reader *r, struct writer *w, const char *scope, const char *s)
{
	int64_t v;
	const char *use = after(s, " Usage");
	tide_phase_summary *x = summary_of(r, w, scope);
	if (!x)
		return false;
	if (!size_at(s, &v) || v < 0)
		return no_size(r, s);
	x->overall = v;
	x->has_overall = x->whole = true;
	if (use && size_at(use, &v))
		x->final = v;
	return true;
}

static void learn(struct reader *r, struct writer *w, const char *line)
{
	const char *s;
	int64_t v;
	uint64_t n;
	if (((s = after(line, "Total parameters")) ||
	     (!strncmp(line, "params ", 7) && (s = after(line, "params")))) &&
	    (n = count_at(s)))
		w->parameters = r->parameters = r->late_parameters = n;
	if (((s = after(line, "Available Device Memory")) ||
	     (!strncmp(line, "memory ", 7) && (s = after(line, "memory")))) &&
	    size_at(s, &v) && v > 0)
		w->capacity = r->capacity = r->late_capacity = (uint64_t)v;
}

static void outside(struct reader *r, struct writer *w, const char *line)
{
	const char *s = line + strspn(line, " \t#*=-");
	learn(r, w, line);
	if (*line != '#' && *s && !strstr(line, "Total parameters") &&
	    !strstr(line, "Available Device Memory"))
		snprintf(w->title, sizeof w->title, "%.*s", TITLE - 1, line + strspn(line, " \t"));
}

static void begin(struct reader *r, struct writer *w)
{
	w->open = true;
	w->number = 0;
	w->phase[0] = 0;
	w->n = 0;
	w->begun = r->at;
	w->parameters = w->parameters ? w->parameters : r->parameters;
	w->capacity = w->capacity ? w->capacity : r->capacity;
	r->late_parameters = r->late_capacity = 0; /* what came before belongs to this one */
}

/* Parses "--- NAME ---", which begins a phase. */
static bool phase_header(struct writer *w, const char *line)
{
	const char *s = strstr(line, "--- "), *e = s ? strstr(s + 4, " ---") : NULL;
	if (!e)
		return false;
	snprintf(w->phase, sizeof w->phase, "%.*s",
		 (int)(e - s - 4 < TITLE ? e - s - 4 : TITLE - 1), s + 4);
	w->number++;
	return true;
}

/* Parses the start of "Overall DRAM Peak: X MB, Final DRAM Usage: Y MB". Returns the text at X, or
 * NULL for another line. Without a name it is the memory whose lines came last. */
static const char *totals_at(const char *line, const char *last, char *scope)
{
	const char *s = strstr(line, "Overall "), *peak = s ? strstr(s + 7, " Peak") : NULL;
	if (!peak)
		return NULL;
	size_t n = peak > s + 8 ? (size_t)(peak - s - 8) : 0;
	if (n)
		snprintf(scope, TITLE, "%.*s", (int)(n < TITLE ? n : TITLE - 1), s + 8);
	else
		snprintf(scope, TITLE, "%s", last);
	return after(peak, " Peak");
}

static void inside(struct reader *r, struct writer *w, const char *line)
{
	char scope[TITLE];
	const char *last = w->n ? r->out->v[w->last].scope : "DRAM";
	const char *total = totals_at(line, last, scope);
	if (total) {
		if (totals(r, w, scope, total))
			w->title[0] = 0;
		return;
	}
	if (phase_header(w, line))
		return;
	bool figure = false;
	for (int f = 0; f < TIDE_FIGURES_N && w->phase[0]; f++)
		figure |= strstr(line, labels[f]) != NULL;
	if (figure) {
		scope_of(line, last, scope);
		figures(r, w, line, scope);
		return;
	}
	/* Totals end a summary; other lines may be between its own. */
	if (w->n && r->out->v[w->last].whole && *line) {
		w->open = false;
		outside(r, w, line);
	}
}

/* Removes ESC[...m from the line, in place. */
static void drop_colours(char *s)
{
	char *to = s;
	for (; *s; s++) {
		if (*s == '\033' && s[1] == '[') {
			s += 2 + strspn(s + 2, "0123456789;");
			if (!*s)
				break;
			continue;
		}
		*to++ = *s;
	}
	*to = 0;
}

/* Moves the prefix of "[1,0]<stdout>: text" to `rank`. */
static const char *split_rank(const char *s, char *rank)
{
	const char *p = s;
	rank[0] = 0;
	if (*p++ != '[')
		return s;
	p += strspn(p, "0123456789,");
	if (*p++ != ']' || (strncmp(p, "<stdout>:", 9) && strncmp(p, "<stderr>:", 9)))
		return s;
	snprintf(rank, TITLE, "%.*s", (int)(p - s < TITLE ? p - s : TITLE - 1), s);
	return p + 9;
}

static void take_line(struct reader *r, char *line)
{
	char rank[TITLE];
	drop_colours(line);
	const char *s = split_rank(line, rank);
	struct writer *w = writer_of(r, rank);
	if (!w)
		return;
	if (strstr(s, "=== Memory Usage Summary ==="))
		begin(r, w);
	else if (w->open)
		inside(r, w, s);
	else
		outside(r, w, s);
}

/* ---- the stream ---- */

/* Applies values that follow the last summary to those that lack them. Values between summaries
 * belong to the later one. */
static void finish(struct reader *r)
{
	for (size_t i = 0; i < r->out->n; i++) {
		tide_phase_summary *s = &r->out->v[i];
		s->parameters = s->parameters ? s->parameters : r->late_parameters;
		s->capacity = s->capacity ? s->capacity : r->late_capacity;
	}
}

static void take_bytes(struct reader *r, const char *buf, size_t n, char *line, size_t *len,
		       uint64_t from)
{
	for (size_t i = 0; i < n && r->rc == TIDE_OK; i++) {
		if (buf[i] == '\n' || buf[i] == '\r') {
			line[*len] = 0;
			take_line(r, line);
			*len = 0;
			r->at = from + i + 1;
		} else if (*len + 1 < LINE) {
			line[(*len)++] = buf[i] ? buf[i] : ' ';
		}
	}
}

tide_code tide__phaselog_read(tide_source *src, tide_phase_summaries *out, tide_error *err)
{
	struct reader r = { .out = out, .err = err };
	char line[LINE], *buf = tide__alloc(1, CHUNK);
	size_t len = 0, got = 0;
	uint64_t from = 0;
	tide_code rc = buf ? TIDE_OK : tide__nomem(err);
	while (rc == TIDE_OK && r.rc == TIDE_OK) {
		rc = tide__source_read(src, buf, CHUNK, &got, err);
		take_bytes(&r, buf, got, line, &len, from);
		from += got;
		if (got < CHUNK)
			break;
	}
	if (rc == TIDE_OK && r.rc == TIDE_OK && len) {
		line[len] = 0;
		take_line(&r, line);
	}
	finish(&r);
	tide__free(r.writers);
	tide__free(buf);
	if (rc == TIDE_OK && r.rc == TIDE_OK && !out->n)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "no memory usage summaries found in the log");
	return rc ? rc : r.rc;
}

bool tide__phaselog_has_any(const char *path)
{
	static const char word[] = "=== Memory Usage Summary ===";
	enum { KEEP = sizeof word - 2 };
	tide_source *src;
	char *buf = tide__alloc(1, CHUNK + KEEP);
	size_t keep = 0, got = CHUNK;
	bool found = false;
	if (!buf || tide__source_open(path, 0, &src, NULL) != TIDE_OK) {
		tide__free(buf);
		return false;
	}
	while (!found && got == CHUNK) {
		tide__source_read(src, buf + keep, CHUNK, &got, NULL);
		size_t n = keep + got;
		found = memmem(buf, n, word, sizeof word - 1);
		keep = n < KEEP ? n : KEEP;
		memmove(buf, buf + n - keep, keep);
	}
	tide__source_close(src);
	tide__free(buf);
	return found;
}

bool tide__phaselog_is_text(const char *path)
{
	tide_source *src;
	char buf[4096];
	size_t n = 0, i = 0;
	if (tide__source_open(path, 0, &src, NULL) != TIDE_OK)
		return false;
	tide__source_read(src, buf, sizeof buf, &n, NULL);
	tide__source_close(src);
	while (i < n && isspace((unsigned char)buf[i]))
		i++;
	if (i == n || memchr(buf, 0, n) || !strncmp(buf, "TIDE", n < 4 ? n : 4))
		return false;
	if (buf[i] == '[') /* JSON, unless a bracket of a log prefix follows */
		return n - i > 8 && memchr(buf + i, '<', 16 < n - i ? 16 : n - i);
	return buf[i] != '{' && (unsigned char)buf[i] != 0x80 && buf[i] != '<';
}

tide_code tide__phaselog_load(const char *path, tide_phase_summaries *out, tide_error *err)
{
	tide_source *src;
	*out = (tide_phase_summaries){ 0 };
	tide_code rc = tide__source_open(path, 0, &src, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__phaselog_read(src, out, err);
	tide__source_close(src);
	return rc;
}
