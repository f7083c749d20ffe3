// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/memory/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "base/mem.h"
#include "render/text/labels.h"

/* The headings of errors and of temporary allocations: of a sampled heap, or of an exact one. */
#define STACK_MEMBERS(error, temporary_)                                                           \
	{ "peak_bytes", "Peak", TIDE_KIND_BYTES, .meaning = "live bytes at the high-water mark" }, \
		{ "peak_error_bytes", error, TIDE_KIND_BYTES, 5,                                   \
		  .meaning = "standard error of peak_bytes; 0: exact" },                           \
		{ "left_bytes", "Not freed", TIDE_KIND_BYTES,                                      \
		  .meaning = "bytes not freed at the end" },                                       \
		{ "left_error_bytes", NULL, TIDE_KIND_BYTES,                                       \
		  .meaning = "standard error of left_bytes" },                                     \
		{ "left_count", "Blocks", TIDE_KIND_COUNT, .meaning = "blocks not freed" },        \
		{ "left_count_error", error, TIDE_KIND_COUNT, 5,                                   \
		  .meaning = "standard error of left_count" },                                     \
		{ "allocated_bytes", "Allocated", TIDE_KIND_BYTES,                                 \
		  .meaning = "sum of all allocations" },                                           \
		{ "count", "Calls", TIDE_KIND_COUNT, .meaning = "allocations" },                   \
		{ "count_error", error, TIDE_KIND_COUNT, 5,                                        \
		  .meaning = "standard error of count" },                                          \
		{ "temporary",                                                                     \
		  temporary_,                                                                      \
		  TIDE_KIND_COUNT,                                                                 \
		  3,                                                                               \
		  .may = TIDE_MAY_BE_NULL,                                                         \
		  .meaning = "allocations whose block the next heap event frees; null: sampled" }, \
		{ "stack", "Stack", TIDE_KIND_TEXT, .meaning = "the innermost frames" },           \
	{                                                                                          \
		0                                                                                  \
	}
const tide_member tide__heap_stack_members[] = { STACK_MEMBERS(NULL, "Temporary") };
static const tide_member sampled_cols[] = { STACK_MEMBERS("±", NULL) };
enum { N_COLS = sizeof tide__heap_stack_members / sizeof(tide_member) - 1 };

/* ---- rows ---- */

struct item {
	double key;
	size_t row;
};

static double key_of(const tide_heap_row *r, tide_heap_sort s)
{
	switch (s) {
	case TIDE_HEAP_LEFT:
		return (double)r->left;
	case TIDE_HEAP_ALLOCATED:
		return (double)r->allocated;
	case TIDE_HEAP_COUNT:
		return r->count;
	case TIDE_HEAP_TEMPORARY:
		return (double)r->temporary;
	default:
		return (double)r->peak;
	}
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->key < y->key || x->key > y->key)
		return x->key < y->key ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Returns true for a program's start code in libc, which is never the cause of a leak. */
static bool is_start(const tide_model *m, tide_frame_id f)
{
	static const char *const names[] = { "__libc_start_call_main",
					     "__libc_start_main_impl",
					     "__libc_start_main",
					     "_start",
					     "start_thread",
					     "clone3",
					     "clone" };
	const char *name = tide__text(m, m->frames.function[f.i], NULL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* "leaf (a.c:4) < caller (a.c:9) < main (a.c:20)": the innermost frames, and under Python the one
 * that names the stack. */
static void put_stack(tide_grid *g, const tide_model *m, tide_stack_id s)
{
	enum { SHOWN = 4 };
	char one[160], line[640] = "";
	uint32_t face = tide__stack_main_frame(m, s).i, i = s.i;
	size_t n = 0;
	bool seen = false, python = tide__frame_is_user(m, (tide_frame_id){ face });
	for (int k = 0; i && k < (python ? 2 : SHOWN); k++, i = m->stacks.parent[i].i) {
		tide_frame_id f = m->stacks.frame[i];
		if (k && is_start(m, f))
			break;
		seen |= f.i == face;
		n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", k ? " < " : "",
				      tide__frame_name(m, f, one, sizeof one));
	}
	if (python && !seen)
		snprintf(line + n, sizeof line - n, " < … %s",
			 tide__frame_name(m, (tide_frame_id){ face }, one, sizeof one));
	tide__grid_text(g, *line ? line : "unknown");
}

static void put_row(tide_grid *g, const tide_model *m, const tide_heap *h, const tide_heap_row *r)
{
	tide__grid_uint(g, r->peak);
	tide__grid_uint(g, (uint64_t)llround(r->peak_error));
	tide__grid_uint(g, r->left);
	tide__grid_uint(g, (uint64_t)llround(r->left_error));
	tide__grid_uint(g, (uint64_t)llround(r->left_count));
	tide__grid_uint(g, (uint64_t)llround(r->left_count_error));
	tide__grid_uint(g, r->allocated);
	tide__grid_uint(g, (uint64_t)llround(r->count));
	tide__grid_uint(g, (uint64_t)llround(r->count_error));
	if (h->mean > 0)
		tide__grid_none(g);
	else
		tide__grid_uint(g, r->temporary);
	put_stack(g, m, r->stack);
}

static tide_grid *rows(const tide_model *m, const tide_heap *h, const tide_heap_view *v)
{
	struct item *order = tide__alloc(h->n + 1, sizeof *order);
	tide_grid *g = order ? tide__grid_new(h->mean > 0 ? sampled_cols : tide__heap_stack_members,
					      N_COLS)
			     : NULL;
	for (size_t i = 0; g && i < h->n; i++)
		order[i] = (struct item){ key_of(&h->rows[i], v->sort), i };
	if (g && h->n)
		qsort(order, h->n, sizeof *order, compare);
	for (size_t i = 0; g && i < h->n && (!v->top || i < v->top); i++)
		put_row(g, m, h, &h->rows[order[i].row]);
	tide__free(order);
	return g;
}

/* ---- text ---- */

static char *bytes_error(char *buf, size_t n, double bytes, double error)
{
	char b[32], e[32];
	tide__fmt_bytes(b, sizeof b, bytes);
	if (error > 0)
		snprintf(buf, n, "%s ± %s", b, tide__fmt_bytes(e, sizeof e, error));
	else
		snprintf(buf, n, "%s", b);
	return buf;
}

static char *count_error(char *buf, size_t n, double count, double error)
{
	char c[32], e[32];
	tide__fmt_count(c, sizeof c, llround(count));
	if (error > 0)
		snprintf(buf, n, "%s ± %s", c, tide__fmt_count(e, sizeof e, llround(error)));
	else
		snprintf(buf, n, "%s", c);
	return buf;
}

enum { FEW = 4 }; /* samples: the error is as large as the figures */

static void put_summary(const tide_heap *h, const tide_out *to)
{
	char a[80], b[48], c[80];
	FILE *f = to->out;
	if (h->mean > 0)
		tide__write_heading(to, "host heap, sampled every %s on average: %s samples",
				    tide__fmt_bytes(a, sizeof a, h->mean),
				    tide__fmt_count(b, sizeof b, (int64_t)h->samples));
	else
		tide__write_heading(to, "host heap, every call");
	fprintf(f, "  high-water mark  %s at %s\n",
		bytes_error(a, sizeof a, (double)h->total.peak, h->peak_error),
		tide__fmt_ns(b, sizeof b, (double)h->peak_t));
	fprintf(f, "  allocations      %s of %s\n",
		count_error(a, sizeof a, h->total.count, h->count_error),
		tide__fmt_bytes(b, sizeof b, (double)h->total.allocated));
	if (h->mean > 0)
		fprintf(f, "  temporary        unknown (needs --heap=full)\n");
	else
		fprintf(f, "  temporary        %s (%.1f %%)\n",
			tide__fmt_count(a, sizeof a, (int64_t)h->total.temporary),
			h->total.count > 0 ? 100.0 * (double)h->total.temporary / h->total.count
					   : 0);
	fprintf(f, "  not freed        %s in %s block%s at the end\n\n",
		bytes_error(a, sizeof a, (double)h->total.left, h->left_error),
		count_error(c, sizeof c, h->total.left_count, h->left_count_error),
		llround(h->total.left_count) == 1 ? "" : "s");
	if (h->mean > 0 && h->samples < FEW)
		fputs("Too few samples: `tidemark run --heap=full` records every call.\n\n", f);
}

/* Returns true if the innermost function of every stack is an address, as in a recording whose frames
 * were not looked up. */
static bool is_unnamed(const tide_model *m, const tide_heap *h)
{
	size_t known = 0;
	for (size_t i = 0; i < h->n; i++) {
		uint32_t s = h->rows[i].stack.i;
		const char *file, *function;
		if (!s)
			continue;
		uint32_t f = m->stacks.frame[s].i;
		function = tide__text(m, m->frames.function[f], NULL);
		file = tide__text(m, m->frames.file[f], NULL);
		if (strncmp(function, "0x", 2) != 0 || file[0] != '/')
			return false;
		known++;
	}
	return known > 0;
}

tide_code tide__heap_text(const tide_model *m, const tide_heap *h, const tide_heap_view *v,
			  const tide_out *to)
{
	if (!h->pool) {
		fprintf(to->out,
			"This trace has no host heap: record it with `tidemark run --heap`.\n");
		tide__put_model_losses(to, m);
		return TIDE_OK;
	}
	tide_grid *g = rows(m, h, v);
	if (!g || tide__grid_failed(g)) {
		tide__grid_free(g);
		return TIDE_ENOMEM;
	}
	put_summary(h, to);
	tide__grid_write(g, to, 2);
	if (v->top && h->n > v->top)
		fprintf(to->out, "  ... %zu more stack%s (--top)\n", h->n - v->top,
			h->n - v->top == 1 ? "" : "s");
	tide__put_model_losses(to, m);
	if (is_unnamed(m, h))
		fputs("\nnote: functions are addresses: `tidemark pack --names` names them, on the "
		      "machine that recorded them and unless the program was stripped\n",
		      to->out);
	return TIDE_OK;
}

void tide__heap_put_sampled(const tide_model *m, uint32_t device, const tide_out *to)
{
	char mean[32];
	uint32_t pool = tide__heap_pool(m);
	if (!pool || tide__heap_mean(m) <= 0 ||
	    (device != TIDE_ANY && m->pools.device[pool].i != device))
		return;
	fprintf(to->out,
		"\nsampled every %s on average: bytes are estimates, counts are of samples; `tidemark "
		"heap` has their errors\n",
		tide__fmt_bytes(mean, sizeof mean, tide__heap_mean(m)));
}

/* ---- JSON ---- */

static void real_or_null(tide_json *j, const char *key, double v, bool known)
{
	tide__json_key(j, key);
	if (known)
		tide__json_double(j, v);
	else
		tide__json_null(j);
}

tide_code tide__heap_json(const tide_model *m, const tide_heap *h, const tide_heap_view *v,
			  tide_json *j)
{
	tide_grid *g = rows(m, h, v);
	if (!g || tide__grid_failed(g)) {
		tide__grid_free(g);
		return TIDE_ENOMEM;
	}
	tide__json_kbool(j, "recorded", h->pool != 0);
	real_or_null(j, "sample_mean_bytes", h->mean, h->mean > 0);
	tide__json_kuint(j, "samples", h->samples);
	tide__json_kuint(j, "peak_bytes", h->total.peak);
	real_or_null(j, "peak_error_bytes", h->peak_error, true);
	tide__json_kint(j, "peak_ns", h->peak_t);
	tide__json_kuint(j, "allocated_bytes", h->total.allocated);
	real_or_null(j, "count", h->total.count, true);
	real_or_null(j, "count_error", h->count_error, true);
	real_or_null(j, "temporary", (double)h->total.temporary, h->mean <= 0);
	tide__json_kuint(j, "left_bytes", h->total.left);
	real_or_null(j, "left_error_bytes", h->left_error, true);
	real_or_null(j, "left_count", h->total.left_count, true);
	real_or_null(j, "left_count_error", h->left_count_error, true);
	tide__grid_write_member(g, j, "stacks");
	tide__losses_json(j, m);
	return TIDE_OK;
}

char *tide__heap_write_line(const tide_heap *h, char *buf, size_t n)
{
	char a[80], b[80], c[80], d[80];
	if (h->mean > 0 && h->samples < FEW) {
		snprintf(buf, n,
			 "host heap: too few samples (%s, 1 per %s on average), so little was "
			 "allocated; --heap=full records every call",
			 tide__fmt_count(b, sizeof b, (int64_t)h->samples),
			 tide__fmt_bytes(a, sizeof a, h->mean));
		return buf;
	}
	snprintf(buf, n, "host heap: peak %s, %s allocation%s, %s in %s block%s not freed",
		 bytes_error(a, sizeof a, (double)h->total.peak, h->peak_error),
		 count_error(b, sizeof b, h->total.count, h->count_error),
		 llround(h->total.count) == 1 ? "" : "s",
		 bytes_error(c, sizeof c, (double)h->total.left, h->left_error),
		 count_error(d, sizeof d, h->total.left_count, h->left_count_error),
		 llround(h->total.left_count) == 1 ? "" : "s");
	return buf;
}
