// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts text to records.
 *
 *     V1115 02:21:30.484000 678 torch/_dynamo/convert_frame.py:276] {"dynamo_start": {...}, ...}
 *     <tab>payload, line by line
 *
 * A line that is neither a record nor a payload is counted and skipped; so is the payload after it.
 * The prefix has no year and no zone, so times come from the records themselves. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/torchtrace/torchtrace_impl.h"

static bool digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

bool tide__tt_is_line(const char *s, size_t n)
{
	return n > 22 && strchr("VDIWEC", s[0]) && digits(s + 1, 4) && s[5] == ' ' &&
	       digits(s + 6, 2) && s[8] == ':' && digits(s + 9, 2) && s[11] == ':' &&
	       digits(s + 12, 2) && s[14] == '.' && digits(s + 15, 6) && s[21] == ' ';
}

/* Returns where the JSON of a record's line begins: after "] ". NULL: not a record. */
static const char *json_of(const char *s, const char *end, int64_t *pid)
{
	const char *p = s + 22;
	if (!tide__tt_is_line(s, (size_t)(end - s)))
		return NULL;
	for (*pid = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*pid = *pid < INT64_MAX / 100 ? *pid * 10 + (*p - '0') : *pid;
	while (p + 2 < end && !(p[0] == ']' && p[1] == ' '))
		p++;
	return p + 2 < end && p[2] == '{' ? p + 2 : NULL;
}

static int64_t member(jsonr_node o, const char *key, int64_t none)
{
	jsonr_node v;
	int64_t x;
	return tide__jsonr_get(o, key, &v) && tide__jsonr_parse_number(v, 1, &x) ? x : none;
}

/* Writes frame_id / frame_compile_id, after autograd's own id if there is one. */
static void name_compile(tt_record *r)
{
	int64_t autograd = member(r->envelope, "compiled_autograd_id", -1),
		frame = member(r->envelope, "frame_id", -1),
		number = member(r->envelope, "frame_compile_id", -1);
	r->attempt = member(r->envelope, "attempt", -1);
	r->compile_id[0] = 0;
	if (frame < 0 || number < 0)
		return;
	if (autograd >= 0)
		snprintf(r->compile_id, sizeof r->compile_id, "!%lld/%lld/%lld",
			 (long long)autograd, (long long)frame, (long long)number);
	else
		snprintf(r->compile_id, sizeof r->compile_id, "%lld/%lld", (long long)frame,
			 (long long)number);
}

static void see_rank(tt *t, const tt_record *r)
{
	int64_t rank = member(r->envelope, "rank", -1);
	tide_processes *p = &t->m->processes;
	if (rank >= 0 && p->rank[t->process] < 0)
		p->rank[t->process] = t->rank = rank;
	if (p->pid[t->process] < 0)
		p->pid[t->process] = r->pid;
}

bool tide__tt_read_lines(tt *t, const char *text, size_t n)
{
	const char *end = text + n, *p = text;
	while (p < end && t->rc == TIDE_OK) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		tt_record r = { 0 };
		const char *json = json_of(p, eol, &r.pid), *after = eol < end ? eol + 1 : end;
		r.payload = after;
		while (after < end && *after == '\t') {
			const char *e = memchr(after, '\n', (size_t)(end - after));
			after = e ? e + 1 : end;
		}
		r.n_payload = (size_t)(after - r.payload);
		if (json &&
		    tide__jsonr_open(&t->envelope, json, (size_t)(eol - json), &r.envelope)) {
			t->records++;
			name_compile(&r);
			see_rank(t, &r);
			tide__tt_record(t, &r);
		} else if (json && t->envelope.why == JSONR_NOMEM) {
			tide__tt_nomem(t);
		} else {
			t->bad_lines += eol > p;
		}
		p = after;
	}
	return t->rc == TIDE_OK;
}
