// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A cursor over the text and one function that skips a bracketed part; everything else uses
 * them. */
#include "base/mlir.h"

#include <string.h>

/* ---- the cursor ---- */

enum { PLAIN, OPEN, CLOSE, QUOTE };
static const uint8_t kind[256] = {
	['<'] = OPEN,  ['('] = OPEN,  ['{'] = OPEN,  ['['] = OPEN,  ['>'] = CLOSE,
	[')'] = CLOSE, ['}'] = CLOSE, [']'] = CLOSE, ['"'] = QUOTE,
};

static const char *blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* Returns the byte after the string that begins at p, or `end` if it is not closed. */
static const char *past_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return end;
}

/* Returns the bracket that closes the one at p, or NULL. All kinds of brackets count together:
 * compiler output is balanced. */
static const char *closing(const char *p, const char *end)
{
	size_t depth = 0;
	while (p < end) {
		switch (kind[(uint8_t)*p]) {
		case OPEN:
			depth++;
			break;
		case CLOSE:
			if (*p == '>' && p[-1] == '-' && depth)
				break; /* an arrow */
			if (--depth == 0)
				return p;
			break;
		case QUOTE:
			p = past_string(p, end);
			continue;
		default:
			break;
		}
		p++;
	}
	return NULL;
}

/* Returns the text inside the brackets at *p and advances *p past them. If unclosed, returns the
 * rest. */
static tide_slice inside(const char **p, const char *end, bool *closed)
{
	const char *from = *p + 1, *to = closing(*p, end);
	*closed &= to != NULL;
	*p = to ? to + 1 : end;
	to = to ? to : end;
	return (tide_slice){ from, (size_t)(to - from) };
}

static tide_slice trim(const char *from, const char *to)
{
	from = blanks(from, to);
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	return (tide_slice){ from, (size_t)(to - from) };
}

/* ---- an op ---- */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '$';
}

/* Reads "%4 = " or "%4, %5:2 = ". */
static const char *results(const char *p, const char *end, tide_slice *out)
{
	const char *eq = *p == '%' ? memchr(p, '=', (size_t)(end - p)) : NULL;
	if (!eq)
		return p;
	for (const char *c = p; c < eq; c++)
		if (!is_name(*c) && *c != '%' && *c != ',' && *c != ' ' && *c != ':' && *c != '#')
			return p;
	*out = trim(p, eq);
	return blanks(eq + 1, end);
}

static const char *name(const char *p, const char *end, tide_slice *out)
{
	bool quoted = p < end && *p == '"';
	const char *from = p += quoted;
	while (p < end && is_name(*p))
		p++;
	*out = (tide_slice){ from, (size_t)(p - from) };
	if (quoted && (p == end || *p++ != '"'))
		return NULL;
	return out->n && p < end && *p == '(' ? p : NULL;
}

static bool at(const char *p, const char *end, const char *text, size_t n)
{
	return (size_t)(end - p) >= n && !memcmp(p, text, n);
}

/* Returns the end of the string, the brackets or the single character at p. Clears *closed if
 * brackets are not closed. */
static const char *past_item(const char *p, const char *end, bool *closed)
{
	if (kind[(uint8_t)*p] == QUOTE)
		return past_string(p, end);
	if (kind[(uint8_t)*p] != OPEN)
		return p + 1;
	const char *to = closing(p, end);
	*closed &= to != NULL;
	return to ? to + 1 : end;
}

/* Returns the end of the types: the " loc(" outside of brackets, or the end of the text. */
static const char *type_end(const char *p, const char *end, bool *closed)
{
	while (p < end) {
		if (*p == ' ' && at(blanks(p, end), end, "loc(", 4))
			return p;
		p = past_item(p, end, closed);
	}
	return end;
}

/* Returns the arrow between types, outside of brackets, or `end`. */
static const char *arrow(const char *p, const char *end)
{
	while (p < end) {
		if (at(p, end, "->", 2))
			return p;
		if (kind[(uint8_t)*p] == OPEN) {
			const char *to = closing(p, end);
			p = to ? to + 1 : end;
		} else {
			p++;
		}
	}
	return end;
}

static const char *types(const char *p, const char *end, tide_mlir_op *out)
{
	const char *to = type_end(p, end, &out->closed), *between = arrow(p, to);
	tide_slice in = trim(p, between);
	if (in.n > 1 && in.s[0] == '(' && closing(in.s, in.s + in.n) == in.s + in.n - 1)
		in = (tide_slice){ in.s + 1, in.n - 2 };
	out->in_types = in;
	if (between < to)
		out->out_types = trim(between + 2, to);
	return to;
}

bool tide__mlir_parse_op(const char *s, size_t n, tide_mlir_op *out)
{
	const char *end = s + n, *p = blanks(s, end);
	*out = (tide_mlir_op){ .whole = true, .closed = true };
	if (p == end)
		return false;
	p = results(p, end, &out->results);
	p = name(p, end, &out->name);
	if (!p)
		return false;
	out->operands = inside(&p, end, &out->closed);
	while ((p = blanks(p, end)) < end) {
		if (at(p, end, "<{", 2)) {
			tide_slice a = inside(&p, end, &out->closed);
			bool closed = a.n && a.s[a.n - 1] == '}';
			out->attrs = (tide_slice){ a.s + 1, a.n - 1 - closed };
		} else if (*p == '{') {
			out->more = inside(&p, end, &out->closed);
		} else if (*p == '[' || *p == '(' || *p == '<') {
			inside(&p, end, &out->closed); /* successors, regions that were skipped */
		} else if (*p == ':') {
			p = types(p + 1, end, out);
		} else if (at(p, end, "loc(", 4)) {
			p += 3;
			out->loc = inside(&p, end, &out->closed);
			break;
		} else {
			p++;
			out->whole = false;
		}
	}
	out->whole &= out->closed && out->loc.s != NULL;
	return true;
}

/* ---- lists and locations ---- */

bool tide__mlir_next(tide_slice *rest, tide_slice *one)
{
	const char *p, *end, *from;
	bool closed = true; /* an element that is cut off ends with the text */
	if (!rest->s)
		return false;
	p = from = blanks(rest->s, rest->s + rest->n);
	end = rest->s + rest->n;
	if (p == end)
		return false;
	while (p < end && *p != ',')
		p = past_item(p, end, &closed);
	*one = trim(from, p);
	*rest = p < end ? (tide_slice){ p + 1, (size_t)(end - p - 1) } : (tide_slice){ NULL, 0 };
	return true;
}

tide_slice tide__mlir_loc_name(tide_slice loc)
{
	const char *end = loc.s + loc.n, *p;
	if (!loc.s || !loc.n)
		return (tide_slice){ NULL, 0 };
	p = blanks(loc.s, end);
	if (p < end && *p == '"') {
		const char *to = past_string(p, end);
		to -= to > p + 1 && to[-1] == '"';
		return (tide_slice){ p + 1, (size_t)(to - p - 1) };
	}
	if (p < end && *p == '#')
		return trim(p, end);
	return (tide_slice){ NULL, 0 };
}

/* ---- tensors ---- */

static bool starts(tide_slice t, const char *word, size_t n)
{
	return t.n >= n && !memcmp(t.s, word, n);
}

/* Reads dimensions such as "1x32x" from *p on; *p stops at the first text that is not a number and
 * an x. */
static unsigned dims(const char **p, const char *end, uint64_t *out)
{
	unsigned n = 0;
	for (const char *c = *p; c < end;) {
		uint64_t v = 0;
		const char *from = c;
		while (c < end && *c >= '0' && *c <= '9' && v <= UINT64_MAX / 16)
			v = v * 10 + (uint64_t)(*c++ - '0');
		if (c == from || c == end || *c != 'x' || n == TIDE_MLIR_DIMS)
			break;
		out[n++] = v;
		*p = ++c;
	}
	return n;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t r;
	return a == UINT64_MAX || b == UINT64_MAX || __builtin_mul_overflow(a, b, &r) ? UINT64_MAX
										      : r;
}

static uint64_t product(const uint64_t *v, unsigned n)
{
	uint64_t r = 1;
	for (unsigned i = 0; i < n; i++)
		r = times(r, v[i]);
	return r;
}

uint64_t tide__mlir_dtype_bytes(tide_slice d)
{
	size_t i = 0;
	uint64_t bits = 0;
	if (TIDE_SLICE_IS(d, "bool"))
		return 1;
	while (i < d.n && (d.s[i] < '0' || d.s[i] > '9'))
		i++;
	bool known = (i == 1 && (d.s[0] == 'i' || d.s[0] == 'f')) || (i == 2 && d.s[1] == 'f') ||
		     (i == 2 && d.s[1] == 'i' && (d.s[0] == 's' || d.s[0] == 'u'));
	for (; known && i < d.n && d.s[i] >= '0' && d.s[i] <= '9' && bits < 1000; i++)
		bits = bits * 10 + (uint64_t)(d.s[i] - '0');
	return bits >= 1 && bits <= 64 && i == d.n ? (bits + 7) / 8 : 4;
}

uint64_t tide__mlir_tile_bytes(uint64_t h, uint64_t w, tide_slice d)
{
	uint64_t n = times(h, w);
	if (!starts(d, "bfp_", 4))
		return times(n, tide__mlir_dtype_bytes(d));
	char bits = d.n ? d.s[d.n - 1] : '8';
	uint64_t mantissa = bits == '2' ? n / 4 : bits == '4' ? n / 2 : n;
	return n == UINT64_MAX ? n : mantissa + n / 16;
}

/* "dram" of memref<2x4xf32, #dram>, as module dumps write it; "l1" of #l1_. */
static tide_slice buffer_alias(const char *p, const char *end)
{
	const char *from = memmem(p, (size_t)(end - p), ", #", 3), *to;
	if (!from)
		return (tide_slice){ NULL, 0 };
	for (to = from += 3; to < end && is_name(*to);)
		to++;
	while (to > from && to[-1] == '_')
		to--;
	return (tide_slice){ from, (size_t)(to - from) };
}

/* memref<2x4x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<dram>> */
static void memref(tide_mlir_tensor *t, tide_slice layout)
{
	static const char word[] = "memref<", tile[] = ".tile<", buffer[] = "buffer_type<";
	const char *end = layout.s + layout.n;
	const char *p = memmem(layout.s, layout.n, word, sizeof word - 1);
	const char *b = memmem(layout.s, layout.n, buffer, sizeof buffer - 1);
	if (b) {
		const char *from = b + sizeof buffer - 1, *to = from;
		while (to < end && is_name(*to))
			to++;
		t->buffer = (tide_slice){ from, (size_t)(to - from) };
	}
	if (!p)
		return;
	if (!b)
		t->buffer = buffer_alias(p, end);
	p += sizeof word - 1;
	t->n_tiles = dims(&p, end, t->tiles);
	const char *in = p < end && *p == '!' ? memmem(p, (size_t)(end - p < 24 ? end - p : 24),
						       tile, sizeof tile - 1)
					      : NULL;
	if (!in)
		return;
	p = in + sizeof tile - 1;
	uint64_t h = 0, w = 0;
	while (p < end && *p >= '0' && *p <= '9' && h < 1u << 20)
		h = h * 10 + (uint64_t)(*p++ - '0');
	p += p < end && *p == 'x';
	while (p < end && *p >= '0' && *p <= '9' && w < 1u << 20)
		w = w * 10 + (uint64_t)(*p++ - '0');
	if (!h || !w || p == end || *p != ',')
		return;
	const char *from = blanks(p + 1, end), *to = from;
	while (to < end && is_name(*to))
		to++;
	t->tiled = true;
	t->tile_h = h;
	t->tile_w = w;
	t->tile_dtype = (tide_slice){ from, (size_t)(to - from) };
}

void tide__mlir_apply_layout(tide_mlir_tensor *t, tide_slice layout)
{
	t->layout = layout;
	t->padded = t->bytes;
	if (!layout.s)
		return;
	memref(t, layout);
	if (t->tiled)
		t->padded = times(product(t->tiles, t->n_tiles),
				  tide__mlir_tile_bytes(t->tile_h, t->tile_w, t->tile_dtype));
}

bool tide__mlir_parse_tensor(tide_slice type, tide_mlir_tensor *t)
{
	static const char word[] = "tensor<";
	memset(t, 0, sizeof *t);
	if (!type.s || !starts(type, word, sizeof word - 1))
		return false;
	const char *end = type.s + type.n, *from = type.s + sizeof word - 1, *p = from;
	t->n_dims = dims(&p, end, t->dims);
	if (t->n_dims)
		t->shape = (tide_slice){ from, (size_t)(p - from - 1) };
	const char *d = p;
	while (p < end && is_name(*p))
		p++;
	t->dtype = (tide_slice){ d, (size_t)(p - d) };
	if (!t->dtype.n)
		return false;
	t->bytes = times(product(t->dims, t->n_dims), tide__mlir_dtype_bytes(t->dtype));
	tide_slice layout = { NULL, 0 };
	if (p < end && *p == ',') {
		const char *to = end[-1] == '>' ? end - 1 : end;
		layout = trim(p + 1, to > p + 1 ? to : p + 1);
	}
	tide__mlir_apply_layout(t, layout);
	return true;
}
