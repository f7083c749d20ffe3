// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Counts kernels and calls in generated Python, which is available only as source text, one
 * statement per line. Kernels are defined by `name = async_compile.KIND(`, whose own source
 * between triple quotes is skipped; they are called as `name.run(` (Triton) or `name(` (C++). */
#include <string.h>

#include "import/torchtrace/torchtrace_impl.h"

typedef struct piece {
	const char *p, *end;
} piece;

static bool next_line(piece *text, piece *line)
{
	if (text->p >= text->end)
		return false;
	const char *e = memchr(text->p, '\n', (size_t)(text->end - text->p));
	e = e ? e : text->end;
	*line = (piece){ text->p, e };
	text->p = e < text->end ? e + 1 : e;
	while (line->p < line->end && (*line->p == '\t' || *line->p == ' '))
		line->p++;
	return true;
}

static const char *find(piece l, const char *word)
{
	return memmem(l.p, (size_t)(l.end - l.p), word, strlen(word));
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool begins(piece l, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(l.end - l.p) >= n && !memcmp(l.p, word, n);
}

/* Returns whether a line calls a compiled kernel by its name. */
static bool launches(piece l)
{
	const char *p = l.p;
	while (p < l.end && in_name(*p))
		p++;
	piece rest = { p, l.end };
	if (begins(rest, ".run("))
		return true;
	return begins(rest, "(") &&
	       (begins(l, "cpp_") || begins(l, "triton_") || begins(l, "kernel_cpp_"));
}

static bool is_call(piece l, const char *word)
{
	const char *at = find(l, word);
	return at && memchr(at, '(', (size_t)(l.end - at));
}

tt_code tide__tt_code(const char *payload, size_t n)
{
	static const char quotes[] = "'''";
	piece text = { payload, payload + n }, l;
	tt_code c = { 0 };
	bool inside = false, harness = false;
	while (next_line(&text, &l)) {
		bool was = inside;
		for (const char *q = find(l, quotes); q;
		     q = memmem(q + 3, (size_t)(l.end - q - 3), quotes, 3))
			inside = !inside;
		if (begins(l, "def get_args(") || begins(l, "def benchmark_compiled_module("))
			harness = true; /* the file's own benchmark: never part of a run */
		if (was || harness || begins(l, "#"))
			continue;
		if (find(l, "= async_compile.") && !find(l, "async_compile.wait") &&
		    !find(l, "= async_compile.AsyncCompile"))
			c.kernels++;
		else if (launches(l))
			c.launches++;
		else if (is_call(l, "extern_kernels.") || is_call(l, "torch.ops."))
			c.external++;
	}
	return c;
}

int64_t tide__tt_graph_ops(const char *payload, size_t n)
{
	piece text = { payload, payload + n }, l;
	int64_t ops = 0;
	while (next_line(&text, &l))
		ops += !begins(l, "#") && find(l, "= torch.ops.") != NULL;
	return ops;
}
