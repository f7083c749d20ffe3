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

tide_slice tide__mlir_last_list(tide_slice s)
{
	const char *p = s.s, *end = s.s + s.n;
	bool closed = true;
	while (p < end && *p != '[')
		p = past_item(p, end, &closed);
	return p < end && closed ? inside(&p, end, &closed) : (tide_slice){ NULL, 0 };
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
	if (!starts(d, "bfp", 3))
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

/* Reads "!ttcore.tile<32x32, bfp_bf8>" at *p and advances past it. Returns false if it is none. */
static bool tile_type(const char **p, const char *end, uint64_t *h, uint64_t *w, tide_slice *dtype)
{
	static const char word[] = ".tile<";
	size_t near = (size_t)(end - *p < 24 ? end - *p : 24);
	const char *c = *p < end && **p == '!' ? memmem(*p, near, word, sizeof word - 1) : NULL;
	uint64_t v[2] = { 0 };
	if (!c)
		return false;
	c += sizeof word - 1;
	for (int k = 0; k < 2; k++) {
		while (c < end && *c >= '0' && *c <= '9' && v[k] < 1u << 20)
			v[k] = v[k] * 10 + (uint64_t)(*c++ - '0');
		c += !k && c < end && *c == 'x';
	}
	if (!v[0] || !v[1] || c == end || *c != ',')
		return false;
	const char *from = c = blanks(c + 1, end);
	while (c < end && is_name(*c))
		c++;
	*dtype = (tide_slice){ from, (size_t)(c - from) };
	*h = v[0];
	*w = v[1];
	*p = c < end && *c == '>' ? c + 1 : c;
	return true;
}

/* Reads "8x8" of a grid: shards in each of its dimensions. */
static void read_grid(tide_mlir_tensor *t, tide_slice s)
{
	const char *c = s.s, *end = s.s + s.n;
	for (t->n_grid = 0; c < end && *c >= '0' && *c <= '9' && t->n_grid < TIDE_MLIR_DIMS;) {
		uint64_t v = 0;
		while (c < end && *c >= '0' && *c <= '9' && v <= UINT64_MAX / 16)
			v = v * 10 + (uint64_t)(*c++ - '0');
		t->grid[t->n_grid++] = v;
		c += c < end && *c == 'x';
	}
}

/* #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>> */
static void shards(tide_mlir_tensor *t, tide_slice layout)
{
	const char *end = layout.s + layout.n, *from = memchr(layout.s, '<', layout.n);
	const char *to = from ? closing(from, end) : NULL;
	if (!from)
		return;
	to = to ? to : end;
	tide_slice rest = { from + 1, (size_t)(to - from - 1) }, one;
	while (tide__mlir_next(&rest, &one)) {
		if (one.n > 2 && *one.s == '<' && one.s[1] >= '0' && one.s[1] <= '9')
			read_grid(t, (tide_slice){ one.s + 1, one.n - 1 });
		else if (one.n > 9 && *one.s == '<' && memmem(one.s, one.n, "_sharded", 8))
			t->sharded = true;
	}
	if (!t->sharded)
		t->n_grid = 0;
}

/* memref<2x4x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<dram>>. Returns the bytes of one element
 * of the memref; 0 = unknown. */
static uint64_t memref(tide_mlir_tensor *t, tide_slice layout)
{
	static const char word[] = "memref<", buffer[] = "buffer_type<";
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
		return 0;
	if (!b)
		t->buffer = buffer_alias(p, end);
	p += sizeof word - 1;
	t->n_tiles = dims(&p, end, t->tiles);
	t->tiled = tile_type(&p, end, &t->tile_h, &t->tile_w, &t->tile_dtype);
	if (t->tiled)
		return tide__mlir_tile_bytes(t->tile_h, t->tile_w, t->tile_dtype);
	const char *from = p;
	while (p < end && is_name(*p))
		p++;
	tide_slice dtype = { from, (size_t)(p - from) };
	return dtype.n && t->n_tiles ? tide__mlir_dtype_bytes(dtype) : 0;
}

void tide__mlir_apply_layout(tide_mlir_tensor *t, tide_slice layout)
{
	t->layout = layout;
	t->padded = t->bytes;
	if (!layout.s)
		return;
	uint64_t each = memref(t, layout);
	shards(t, layout);
	if (t->tiled || (t->sharded && each))
		t->padded = times(times(product(t->tiles, t->n_tiles), each),
				  product(t->grid, t->n_grid));
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
	uint64_t n = product(t->dims, t->n_dims), h, w;
	if (tile_type(&p, end, &h, &w, &t->dtype)) {
		uint64_t all = times(n, tide__mlir_tile_bytes(h, w, t->dtype));
		t->bytes = all == UINT64_MAX ? all : all / (h * w) + (all % (h * w) != 0);
	} else {
		while (p < end && is_name(*p))
			p++;
		t->dtype = (tide_slice){ d, (size_t)(p - d) };
		t->bytes = times(n, tide__mlir_dtype_bytes(t->dtype));
	}
	if (!t->dtype.n)
		return false;
	tide_slice layout = { NULL, 0 };
	if (p < end && *p == ',') {
		const char *to = end[-1] == '>' ? end - 1 : end;
		layout = trim(p + 1, to > p + 1 ? to : p + 1);
	}
	tide__mlir_apply_layout(t, layout);
	return true;
}

unsigned tide__mlir_padded_shape(const tide_mlir_tensor *t, uint64_t *out)
{
	bool whole = t->tiled || (t->sharded && t->n_tiles);
	unsigned n = whole ? t->n_tiles : t->n_dims, first = 0;
	const uint64_t *from = whole ? t->tiles : t->dims;
	if (t->tiled && n < 2) { /* a row of tiles */
		out[0] = t->tile_h;
		out[1] = times(n ? t->tiles[0] : 1, t->tile_w);
		return 2;
	}
	memcpy(out, from, n * sizeof *out);
	if (t->tiled) {
		out[n - 2] = times(out[n - 2], t->tile_h);
		out[n - 1] = times(out[n - 1], t->tile_w);
	}
	for (unsigned k = t->n_grid;
	     whole && n && k-- > 0;) { /* the last dimensions of both match */
		unsigned back = t->n_grid - 1 - k;
		first = back < n ? n - 1 - back : 0;
		out[first] = times(out[first], t->grid[k]);
	}
	return n;
}
