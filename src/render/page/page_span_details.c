// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Details of spans for the timeline: memory, arguments, call stacks, links.
 *
 * Arguments are texts "key<tab>value" per line, each distinct text once: layers and steps repeat
 * them. They are bounded: a long one is truncated, and after MOST_TEXT bytes new ones are only
 * counted. */
#include <inttypes.h>
#include <string.h>

#include "analyze/memory/span_memory.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/page/page_span_details.h"
#include "render/page/page_stacks.h"

enum { MOST_ARGS = 2000, MOST_TEXT = 4 << 20 };

struct memory {
	tide_span_memory s;
	const uint32_t *order;
};

static int64_t allocated(void *ctx, uint32_t i)
{
	const struct memory *x = ctx;
	return (int64_t)tide__span_bytes(&x->s, x->order[i]).allocated;
}

static int64_t freed(void *ctx, uint32_t i)
{
	const struct memory *x = ctx;
	return (int64_t)tide__span_bytes(&x->s, x->order[i]).freed;
}

static void put_memory(tide_box *b, const tide_model *m, const uint32_t *order, uint32_t n)
{
	struct memory x = { .order = order };
	if (tide__span_memory_find(m, &x.s)) {
		tide__box_fill(b, "allocated", TIDE_COL_UINT, n, allocated, &x);
		tide__box_fill(b, "freed", TIDE_COL_UINT, n, freed, &x);
	} else {
		tide__box_fail(b);
	}
	tide__span_memory_free(&x.s);
}

/* ---- links ---- */

static void put_flows(tide_box *b, const tide_model *m, const uint32_t *place, tide_json *j)
{
	const tide_flows *f = &m->flows;
	int from = tide__box_add_column(b, "flow_from", TIDE_COL_DELTA);
	int to = tide__box_add_column(b, "flow_to", TIDE_COL_DELTA);
	int kind = tide__box_add_column(b, "flow_kind", TIDE_COL_BYTE);
	for (size_t i = 0; i < f->n; i++) {
		if (m->spans.cause[f->to[i].i].i == f->from[i].i) /* column "cause" has it */
			continue;
		tide__box_put(b, from, place[f->from[i].i]);
		tide__box_put(b, to, place[f->to[i].i]);
		tide__box_put(b, kind, f->kind[i]);
	}
	tide__json_karray(j, "flow_kinds");
	for (unsigned k = 0; k <= TIDE_FLOW_OTHER; k++)
		tide__json_str(j, tide__flow_kind_text(k));
	tide__json_array_end(j);
}

/* ---- arguments ---- */

struct args {
	const tide_model *m;
	tide_strings *texts;
	const uint32_t *order;
	uint32_t *of; /* span -> number of its text */
	uint64_t left_out;
	char buf[MOST_ARGS + 8];
};

static size_t add_text(struct args *x, size_t at, const char *s, size_t n)
{
	size_t room = MOST_ARGS - at;
	memcpy(x->buf + at, s, n < room ? n : room);
	return at + (n < room ? n : room);
}

/* Writes the lines of attribute rows [first, end), all of one span. */
static size_t lines(struct args *x, size_t first, size_t end)
{
	const tide_attrs *a = &x->m->attrs;
	size_t at = 0;
	for (size_t i = first; i < end; i++) {
		size_t n_key, n;
		char number[24];
		const char *key = tide__text(x->m, a->key[i], &n_key);
		const char *text = tide__text(x->m, a->text[i], &n);
		if (!a->text[i].i) {
			n = (size_t)snprintf(number, sizeof number, "%" PRId64, a->number[i]);
			text = number;
		}
		at = at ? add_text(x, at, "\n", 1) : 0;
		at = add_text(x, at, key, n_key);
		at = add_text(x, at, "\t", 1);
		at = add_text(x, at, text, n);
	}
	if (at == MOST_ARGS) { /* whole characters, and a sign that there was more */
		while (at && ((unsigned char)x->buf[at - 1] & 0xc0) == 0x80)
			at--;
		at -= at && (unsigned char)x->buf[at - 1] >= 0xc0;
		memcpy(x->buf + at, "\xe2\x80\xa6", 3);
		at += 3;
	}
	return at;
}

static bool collect(struct args *x)
{
	const tide_attrs *a = &x->m->attrs;
	for (size_t i = 0, end; i < a->n; i = end) {
		for (end = i + 1; end < a->n && a->span[end].i == a->span[i].i; end++)
			;
		size_t n = lines(x, i, end);
		uint32_t id = tide__strings_find(x->texts, x->buf, n);
		bool full = tide__strings_bytes(x->texts) > MOST_TEXT;
		if (!id && !full)
			id = tide__strings_add(x->texts, x->buf, n);
		if (!id && !full && n)
			return false;
		x->left_out += !id;
		x->of[a->span[i].i] = id;
	}
	return true;
}

static int64_t args(void *ctx, uint32_t i)
{
	const struct args *x = ctx;
	return x->of[x->order[i]];
}

static void put_args(tide_box *b, const tide_model *m, const uint32_t *order, uint32_t n,
		     tide_json *j)
{
	struct args *x = tide__calloc(1, sizeof *x);
	if (!x) {
		tide__box_fail(b);
		return;
	}
	x->m = m;
	x->order = order;
	x->texts = tide__strings_new();
	x->of = tide__calloc(m->spans.n, sizeof *x->of);
	if (!x->texts || !x->of || !collect(x))
		tide__box_fail(b);
	if (x->of)
		tide__box_fill(b, "args", TIDE_COL_UINT, n, args, x);
	tide__json_kuint(j, "args_left_out", x->left_out);
	tide__json_karray(j, "args");
	tide__json_str(j, "");
	for (uint32_t i = 1; x->texts && i <= tide__strings_count(x->texts); i++) {
		size_t len;
		const char *s = tide__strings_get(x->texts, i, &len);
		tide__json_strn(j, s, len);
	}
	tide__json_array_end(j);
	tide__strings_free(x->texts);
	tide__free(x->of);
	tide__free(x);
}

/* ---- call stacks ---- */

struct calls {
	tide_page_stacks s;
	const uint32_t *order;
};

static int64_t stack(void *ctx, uint32_t i)
{
	struct calls *x = ctx;
	return tide__page_stacks_add(&x->s, x->s.m->spans.stack[x->order[i]]);
}

/* Writes the member "stacks": whether the column exists. */
static void put_stacks(tide_box *b, const tide_model *m, const uint32_t *order, uint32_t n,
		       tide_page_names *names, tide_json *j)
{
	struct calls x = { .order = order };
	bool any = false;
	for (size_t i = 1; i < m->spans.n && !any; i++)
		any = m->spans.stack[i].i != 0;
	tide__json_kbool(j, "stacks", any);
	if (!any)
		return;
	if (tide__page_stacks_init(&x.s, m, b, names))
		tide__box_fill(b, "stack", TIDE_COL_UINT, n, stack, &x);
	else
		tide__box_fail(b);
	tide__page_stacks_free(&x.s);
}

void tide__page_write_span_details(tide_box *b, const tide_model *m, const uint32_t *order,
				   const uint32_t *place, uint32_t n, tide_page_names *names)
{
	tide_json *j = tide__box_json(b);
	put_memory(b, m, order, n);
	put_flows(b, m, place, j);
	put_args(b, m, order, n, j);
	put_stacks(b, m, order, n, names, j);
}
