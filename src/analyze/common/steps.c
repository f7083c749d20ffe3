// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/step_marks.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

/* The number after "ProfilerStep#", or -1. */
static int64_t step_number(const char *s, size_t n)
{
	static const char head[] = "ProfilerStep#";
	const size_t h = sizeof head - 1;
	if (n <= h || n > h + 18 || memcmp(s, head, h))
		return -1;
	int64_t v = 0;
	for (size_t i = h; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		v = v * 10 + (s[i] - '0');
	}
	return v;
}

static bool push(tide_steps *s, size_t *cap, tide_step step)
{
	if (!TIDE_ROOM(s->v, *cap, s->n + 1))
		return false;
	s->v[s->n++] = step;
	return true;
}

/* Step of each name that is one: slot[name] = index + 1. NULL in *slot when no name is. */
static bool name_slots(const tide_model *m, tide_steps *s, size_t *cap, uint32_t **slot)
{
	uint32_t names = tide__strings_count(m->strings);
	*slot = NULL;
	for (uint32_t i = 1; i <= names; i++) {
		size_t n;
		const char *text = tide__text(m, (tide_str){ i }, &n);
		int64_t number = n && text[0] == 'P' ? step_number(text, n) : -1;
		if (number < 0)
			continue;
		if (!*slot && !(*slot = tide__calloc((size_t)names + 1, sizeof **slot)))
			return false;
		if (!push(s, cap, (tide_step){ number, INT64_MAX, INT64_MIN }))
			return false;
		(*slot)[i] = (uint32_t)s->n;
	}
	return true;
}

static void widen(const tide_model *m, tide_steps *s, const uint32_t *slot)
{
	const tide_spans *sp = &m->spans;
	for (size_t i = 1; i < sp->n; i++) {
		if (sp->cat[i] != TIDE_CAT_USER && sp->cat[i] != TIDE_CAT_OP)
			continue;
		uint32_t k = slot[sp->name[i].i];
		if (!k)
			continue;
		tide_step *step = &s->v[k - 1];
		if (sp->t0[i] < step->t0)
			step->t0 = sp->t0[i];
		if (sp->t1[i] > step->t1)
			step->t1 = sp->t1[i];
	}
}

static int by_start(const void *a, const void *b)
{
	const tide_step *x = a, *y = b;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_number(const void *a, const void *b)
{
	const tide_step *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* "ProfilerStep#7" and "ProfilerStep#07" are one step; a name no host row has is none. */
static void tidy(tide_steps *s)
{
	size_t n = 0;
	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof *s->v, by_number);
	for (size_t i = 0; i < s->n; i++) {
		tide_step step = s->v[i], *last = n ? &s->v[n - 1] : NULL;
		if (step.t0 > step.t1)
			continue;
		if (!last || last->number != step.number) {
			s->v[n++] = step;
			continue;
		}
		if (step.t0 < last->t0)
			last->t0 = step.t0;
		if (step.t1 > last->t1)
			last->t1 = step.t1;
	}
	s->n = n;
	qsort(s->v, n, sizeof *s->v, by_start);
}

static bool from_marks(const tide_model *m, tide_steps *s, size_t *cap)
{
	tide_step_marks k;
	bool ok = tide__step_marks(m, &k) == TIDE_OK;
	for (size_t i = 0, n = k.n - k.ended; ok && i < n; i++) {
		int64_t end = i + 1 < k.n ? k.v[i + 1].t : m->t_end;
		ok = push(s, cap, (tide_step){ k.v[i].number, k.v[i].t, end });
	}
	tide__step_marks_free(&k);
	return ok;
}

tide_code tide__steps_find(const tide_model *m, tide_steps *out, tide_error *err)
{
	size_t cap = 0;
	uint32_t *slot = NULL;
	*out = (tide_steps){ 0 };
	bool ok = name_slots(m, out, &cap, &slot);
	if (ok && slot)
		widen(m, out, slot);
	tide__free(slot);
	if (ok) {
		tidy(out);
		if (!out->n)
			ok = from_marks(m, out, &cap);
	}
	if (ok)
		return TIDE_OK;
	tide__steps_free(out);
	return tide__nomem(err);
}

void tide__steps_free(tide_steps *s)
{
	tide__free(s->v);
	*s = (tide_steps){ 0 };
}

int64_t tide__steps_at(const tide_steps *s, int64_t t)
{
	size_t low = 0, high = s->n; /* first step that starts after t */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->v[mid].t0 <= t)
			low = mid + 1;
		else
			high = mid;
	}
	return low && t < s->v[low - 1].t1 ? (int64_t)low - 1 : -1;
}

tide_code tide__window_of(const tide_steps *s, const tide_window *w, tide_span_window *out,
			  tide_error *err)
{
	*out = (tide_span_window){ .all = true, .from = INT64_MIN, .to = INT64_MAX };
	if (w->kind == TIDE_WINDOW_DROP_LAST && s->n >= 2)
		*out = (tide_span_window){ false, INT64_MIN, s->v[s->n - 1].t0 };
	if (w->kind != TIDE_WINDOW_STEPS)
		return TIDE_OK;
	*out = (tide_span_window){ false, INT64_MAX, INT64_MIN };
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].number < w->first || s->v[i].number > w->last)
			continue;
		if (s->v[i].t0 < out->from)
			out->from = s->v[i].t0;
		if (s->v[i].t1 > out->to)
			out->to = s->v[i].t1;
	}
	if (out->from < out->to)
		return TIDE_OK;
	if (!s->n)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "the trace has no steps");
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			  "no step %" PRId64 "..%" PRId64 " in the trace: it has %" PRId64
			  "..%" PRId64,
			  w->first, w->last, s->v[0].number, s->v[s->n - 1].number);
}
