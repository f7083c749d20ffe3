// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/append.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

struct append {
	tide_model *m;
	const tide_model *from;
	uint32_t *at;	 /* per span: its new span */
	uint32_t *text;	 /* per text: its new text; 0 = not yet */
	uint32_t *lane;	 /* per lane: its new lane; 0 = not yet */
	uint32_t *stack; /* per stack: its new stack */
	int64_t shift;	 /* of all times */
};

static tide_str take_text(struct append *a, tide_str s)
{
	size_t n;
	if (s.i && !a->text[s.i]) {
		const char *text = tide__text(a->from, s, &n);
		a->text[s.i] = tide__intern_n(a->m, text, n).i;
	}
	return (tide_str){ s.i ? a->text[s.i] : 0 };
}

static bool is_taken(const struct append *a, uint32_t i)
{
	static const char step[] = "ProfilerStep#";
	const tide_spans *s = &a->from->spans;
	unsigned cat = s->cat[i];
	if (cat != TIDE_CAT_OP && cat != TIDE_CAT_USER && cat != TIDE_CAT_PYTHON &&
	    cat != TIDE_CAT_RUNTIME && cat != TIDE_CAT_DRIVER)
		return false;
	return a->from->lanes.kind[s->lane[i].i] != TIDE_LANE_STREAM &&
	       strncmp(tide__text(a->from, s->name[i], NULL), step, sizeof step - 1) != 0;
}

static uint32_t take_lane(struct append *a, uint32_t lane)
{
	tide_lanes *to = &a->m->lanes;
	if (a->lane[lane])
		return a->lane[lane];
	uint32_t row = tide__push(to, &tide_lanes_desc);
	if (row) {
		to->number[row] = a->from->lanes.number[lane];
		to->name[row] = take_text(a, a->from->lanes.name[lane]);
		to->kind[row] = a->from->lanes.kind[lane];
		to->process[row].i = a->m->processes.n > 1 ? 1 : 0;
	}
	return a->lane[lane] = row;
}

static bool take_stacks(struct append *a)
{
	const tide_model *f = a->from;
	for (uint32_t i = 1; i < f->stacks.n; i++) {
		uint32_t frame = f->stacks.frame[i].i;
		tide_frame_id to = tide__frame_intern(a->m, take_text(a, f->frames.function[frame]),
						      take_text(a, f->frames.file[frame]),
						      f->frames.line[frame]);
		tide_stack_id up = { a->stack[f->stacks.parent[i].i] };
		a->stack[i] = tide__stack_intern(a->m, up, to).i;
		if (!a->stack[i])
			return false;
	}
	return true;
}

/* The parent is the innermost span around it that is taken. */
static uint32_t parent_of(const struct append *a, uint32_t i)
{
	uint32_t up = a->from->spans.parent[i].i;
	while (up && !a->at[up])
		up = a->from->spans.parent[up].i;
	return a->at[up];
}

static bool take_span(struct append *a, uint32_t i)
{
	const tide_spans *from = &a->from->spans;
	tide_spans *to = &a->m->spans;
	uint32_t lane = take_lane(a, from->lane[i].i);
	uint32_t row = lane ? tide__push(to, &tide_spans_desc) : 0;
	if (!row)
		return false;
	bool open = from->t1[i] == TIDE_T_NEVER;
	to->t0[row] = from->t0[i] + a->shift;
	to->t1[row] = (open ? a->from->t_end : from->t1[i]) + a->shift;
	if (to->t1[row] < to->t0[row])
		to->t1[row] = to->t0[row];
	to->lane[row].i = lane;
	to->name[row] = take_text(a, from->name[i]);
	to->parent[row].i = parent_of(a, i);
	to->stack[row].i = a->stack[from->stack[i].i];
	to->cat[row] = from->cat[i];
	to->flags[row] = from->flags[i] & (uint8_t)~TIDE_SPAN_OPEN;
	a->at[i] = row;
	return true;
}

/* Arguments of a span are in order of their names' ids, which are other ones now. */
static bool take_attrs(struct append *a)
{
	const tide_attrs *from = &a->from->attrs;
	tide_attrs *to = &a->m->attrs;
	for (size_t i = 0, row; i < from->n; i++) {
		uint32_t span = a->at[from->span[i].i];
		if (!span)
			continue;
		if (!tide__table_push(to, &tide_attrs_desc, &row))
			return false;
		tide_str key = take_text(a, from->key[i]), text = take_text(a, from->text[i]);
		for (; row && to->span[row - 1].i == span && to->key[row - 1].i > key.i; row--) {
			to->span[row] = to->span[row - 1];
			to->key[row] = to->key[row - 1];
			to->text[row] = to->text[row - 1];
			to->number[row] = to->number[row - 1];
		}
		to->span[row].i = span;
		to->key[row] = key;
		to->text[row] = text;
		to->number[row] = from->number[i];
	}
	return true;
}

static bool take_links(struct append *a)
{
	const tide_flows *from = &a->from->flows;
	tide_flows *to = &a->m->flows;
	for (size_t i = 0, row; i < from->n; i++) {
		uint32_t x = a->at[from->from[i].i], y = a->at[from->to[i].i];
		if (!x || !y || from->kind[i] != TIDE_FLOW_FWD_BWD)
			continue;
		if (!tide__table_push(to, &tide_flows_desc, &row))
			return false;
		to->from[row].i = x;
		to->to[row].i = y;
		to->kind[row] = from->kind[i];
	}
	return true;
}

/* The times of the other trace follow the end of this one. */
static bool find_shift(struct append *a)
{
	const tide_spans *s = &a->from->spans;
	int64_t end = a->m->t_end, first = s->n > 1 ? s->t0[1] : 0, last = a->from->t_end, length;
	for (size_t i = 1; i < a->m->spans.n; i++) {
		int64_t t1 = a->m->spans.t1[i];
		if (t1 != TIDE_T_NEVER && t1 > end)
			end = t1;
		if (a->m->spans.t0[i] > end)
			end = a->m->spans.t0[i];
	}
	for (size_t i = 1; i < s->n; i++) {
		if (s->t1[i] != TIDE_T_NEVER && s->t1[i] > last)
			last = s->t1[i];
		if (s->t0[i] > last)
			last = s->t0[i];
	}
	return !__builtin_sub_overflow(last, first, &length) &&
	       !__builtin_add_overflow(end, length, &length) && length < TIDE_T_NEVER &&
	       !__builtin_sub_overflow(end, first, &a->shift);
}

tide_code tide__append_host_spans(tide_model *m, const tide_model *from, uint32_t *at,
				  tide_error *err)
{
	struct append a = { .m = m, .from = from, .at = at };
	if (!find_shift(&a))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "its times and those of the trace do not fit into one trace");
	memset(at, 0, from->spans.n * sizeof *at);
	a.text = tide__calloc((size_t)tide__strings_count(from->strings) + 1, sizeof *a.text);
	a.lane = tide__calloc(from->lanes.n, sizeof *a.lane);
	a.stack = tide__calloc(from->stacks.n, sizeof *a.stack);
	bool ok = a.text && a.lane && a.stack && take_stacks(&a);
	for (uint32_t i = 1; ok && i < from->spans.n; i++)
		ok = !is_taken(&a, i) || take_span(&a, i);
	for (uint32_t i = 1; ok && i < from->spans.n; i++)
		if (at[i])
			m->spans.cause[at[i]].i = at[from->spans.cause[i].i];
	ok = ok && take_attrs(&a) && take_links(&a);
	tide__free(a.text);
	tide__free(a.lane);
	tide__free(a.stack);
	return ok ? TIDE_OK : tide__nomem(err);
}
