// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Graph breaks: parses the compiler's text, groups equal breaks and sums their cost. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/common/span_args.h"
#include "analyze/compile/compile_impl.h"
#include "base/mem.h"

static bool has(tide_slice s, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= s.n; i++)
		if (!strncasecmp(s.s + i, word, n))
			return true;
	return false;
}

const char *tide__break_suggestion(tide_slice reason)
{
	static const struct {
		const char *word, *what;
	} rules[] = {
		{ "data-dependent", "Use torch.cond or static shapes if possible" },
		{ "data dependent", "Use torch.cond or static shapes if possible" },
		{ ".item()", "Use torch.cond or static shapes if possible" },
		{ "print", "Move print/logging outside the compiled function" },
		{ "logging", "Move print/logging outside the compiled function" },
		{ "logger", "Move print/logging outside the compiled function" },
		{ "numpy", "Use PyTorch operations instead of NumPy" },
		{ "assert", "Use torch._assert or move assertions outside" },
		{ "exception", "Handle exceptions outside the compiled region" },
		{ "raise", "Handle exceptions outside the compiled region" },
		{ "unsupported", "Check if operation has a supported alternative" },
		{ "not supported", "Check if operation has a supported alternative" },
	};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (has(reason, rules[i].word))
			return rules[i].what;
	return "Review and refactor to use supported operations";
}

/* ---- the text ---- */

static tide_slice line_at(const char *s, const char *end)
{
	const char *e = memchr(s, '\n', (size_t)(end - s));
	return (tide_slice){ s, (size_t)((e ? e : end) - s) };
}

static tide_slice after(tide_slice text, const char *label)
{
	const char *at = memmem(text.s, text.n, label, strlen(label));
	return at ? line_at(at + strlen(label), text.s + text.n) : (tide_slice){ "", 0 };
}

/* Returns the line before "Explanation:" without its label, in older logs the text after
 * "Reason:", else the first line. */
static tide_slice reason_of(tide_slice text)
{
	static const char mark[] = "\n  Explanation: ", label[] = "Graph Break Reason: ";
	const char *at = memmem(text.s, text.n, mark, sizeof mark - 1);
	if (at) {
		const char *from = at;
		while (from > text.s && from[-1] != '\n')
			from--;
		size_t n = (size_t)(at - from), k = sizeof label - 1;
		bool labelled = n > k && !memcmp(from, label, k);
		return labelled ? (tide_slice){ from + k, n - k } : (tide_slice){ from, n };
	}
	tide_slice r = after(text, "Reason: ");
	return r.n ? r : line_at(text.s, text.s + text.n);
}

/* Returns the reason with its explanation. Hints are left out: they name what else may have been
 * meant, such as print. */
static tide_slice told(tide_slice text, tide_slice reason)
{
	static const char *const marks[] = { "\n  Hint: ", "\n  Developer debug context" };
	size_t left = (size_t)(text.s + text.n - reason.s), n = left;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *at = memmem(reason.s, left, marks[i], strlen(marks[i]));
		n = at && (size_t)(at - reason.s) < n ? (size_t)(at - reason.s) : n;
	}
	return n < left ? (tide_slice){ reason.s, n } : reason;
}

/* ---- costs ---- */

/* Returns N of a span "compile_attempt_N"; -1 = another span. */
static int64_t attempt(const tide_model *m, uint32_t span)
{
	static const char prefix[] = "compile_attempt_";
	const char *name = tide__text(m, m->spans.name[span], NULL);
	return strncmp(name, prefix, sizeof prefix - 1)
		       ? -1
		       : strtoll(name + sizeof prefix - 1, NULL, 10);
}

/* Returns whether the frame of this attempt was traced again: the next attempt is the one after it.
 * Some breaks (a branch on data) keep what was traced before them. */
static bool repeated(const tide_model *m, uint32_t span)
{
	const tide_spans *s = &m->spans;
	uint32_t frame = s->parent[span].i;
	int64_t end = frame ? s->t1[frame] : INT64_MAX;
	for (uint32_t i = span + 1; i < s->n && s->t0[i] <= end; i++)
		if (s->parent[i].i == frame && s->lane[i].i == s->lane[span].i &&
		    attempt(m, i) >= 0)
			return attempt(m, i) == attempt(m, span) + 1;
	return false;
}

/* Returns the duration of the attempt that the break ended, if its code was traced again. */
static int64_t attempt_ns(const tide_model *m, uint32_t span)
{
	for (uint32_t s = m->spans.parent[span].i; s; s = m->spans.parent[s].i)
		if (attempt(m, s) >= 0)
			return repeated(m, s) ? m->spans.t1[s] - m->spans.t0[s] : 0;
	return 0;
}

/* Returns whether a function is "torch_dynamo_resume_in_NAME_at_LINE" of the break's file and
 * line. */
static bool resumes(const tide_model *m, const tide_compile_unit *u, const tide_graph_break *b)
{
	size_t n;
	const char *f = tide__text(m, u->function, &n), *at = NULL;
	if (!b->line || u->file.i != b->file.i || strncmp(f, "torch_dynamo_resume_in_", 23))
		return false;
	for (const char *p = strstr(f, "_at_"); p; p = strstr(p + 1, "_at_"))
		at = p;
	return at && strtoll(at + 4, NULL, 10) == b->line;
}

void tide__breaks_add_resumed(const tide_model *m, tide_compile_report *r)
{
	for (size_t i = 0; i < r->n_breaks; i++)
		for (size_t k = 0; k < r->n_units; k++)
			if (r->units[k].total_ns > 0 && resumes(m, &r->units[k], &r->breaks[i]))
				r->breaks[i].resume_ns += r->units[k].total_ns;
}

/* ---- gathering ---- */

static bool same(const tide_graph_break *a, const tide_graph_break *b)
{
	return a->line == b->line && a->file.i == b->file.i && a->reason.n == b->reason.n &&
	       !memcmp(a->reason.s, b->reason.s, a->reason.n);
}

bool tide__break_add(const tide_model *m, const tide_compile_keys *k, uint32_t span,
		     tide_compile_report *r)
{
	tide_graph_break b = { .count = 1, .retrace_ns = attempt_ns(m, span) };
	tide_slice text;
	text.s = tide__text(m, tide__attr_text(m, span, k->reason), &text.n);
	b.reason = reason_of(text);
	b.explanation = after(text, "\n  Explanation: ");
	b.hint = after(text, "\n  Hint: ");
	b.suggestion = tide__break_suggestion(told(text, b.reason));
	b.file = tide__attr_text(m, span, k->file);
	b.id = tide__attr_text(m, span, k->compile_id);
	b.line = tide__attr_number(m, span, k->line);
	b.line = b.line < 0 ? 0 : b.line;
	r->graph_breaks++;
	for (size_t i = 0; i < r->n_breaks; i++)
		if (same(&r->breaks[i], &b)) {
			r->breaks[i].count++;
			r->breaks[i].retrace_ns += b.retrace_ns;
			return true;
		}
	if (!TIDE_ROOM(r->breaks, r->cap_breaks, r->n_breaks + 1))
		return false;
	r->breaks[r->n_breaks++] = b;
	return true;
}
