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

/* Returns the line before "Explanation:", in older logs the text after "Reason:", else the first
 * line. */
static tide_slice reason_of(tide_slice text)
{
	static const char mark[] = "\n  Explanation: ";
	const char *at = memmem(text.s, text.n, mark, sizeof mark - 1);
	if (at) {
		const char *from = at;
		while (from > text.s && from[-1] != '\n')
			from--;
		return (tide_slice){ from, (size_t)(at - from) };
	}
	tide_slice r = after(text, "Reason: ");
	return r.n ? r : line_at(text.s, text.s + text.n);
}

/* ---- costs ---- */

/* Returns the duration of the attempt that the break ended: its code is traced again. */
static int64_t attempt_ns(const tide_model *m, uint32_t span)
{
	static const char prefix[] = "compile_attempt_";
	for (uint32_t s = m->spans.parent[span].i; s; s = m->spans.parent[s].i)
		if (!strncmp(tide__text(m, m->spans.name[s], NULL), prefix, sizeof prefix - 1))
			return m->spans.t1[s] - m->spans.t0[s];
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
	const char *more = memmem(text.s, text.n, "\n  Developer debug context", 26);
	b.suggestion = tide__break_suggestion((tide_slice){
		b.reason.s, (size_t)((more && more > b.reason.s ? more : b.reason.s + b.reason.n) -
				     b.reason.s) });
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
