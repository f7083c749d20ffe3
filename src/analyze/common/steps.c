// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/steps.h"
#include "analyze/common/statistics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/step_marks.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "model/strings.h"

/* Returns the number after "ProfilerStep#", or -1. */
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

/* Maps names to their step: slot[name] = index + 1. *slot is NULL if no name is a step's. */
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

/* "ProfilerStep#7" and "ProfilerStep#07" are one step; a name without host rows is not a step. */
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

static bool from_profiler(const tide_model *m, tide_steps *s, size_t *cap)
{
	uint32_t *slot = NULL;
	bool ok = name_slots(m, s, cap, &slot);
	if (ok && slot)
		widen(m, s, slot);
	tide__free(slot);
	if (ok)
		tidy(s);
	s->source = TIDE_STEPS_PROFILER;
	return ok;
}

/* The last mark ends the step before it, or the end of its own step is unknown. A second mark at
 * the same time belongs to the same step. */
static bool from_marks(const tide_model *m, tide_steps *s, size_t *cap)
{
	tide_step_marks k;
	bool ok = tide__step_marks_find(m, &k) == TIDE_OK;
	for (size_t i = 0; ok && i < k.n; i++) {
		if (s->n && s->v[s->n - 1].t0 >= k.v[i].t)
			continue;
		if (s->n)
			s->v[s->n - 1].t1 = k.v[i].t;
		ok = push(s, cap, (tide_step){ k.v[i].number, k.v[i].t, m->t_end });
	}
	s->unended = s->n > 1 && !k.ended;
	s->n -= s->n > 1;
	s->early = k.early && s->n > 1; /* a single mark is a step itself */
	s->source = TIDE_STEPS_MARKS;
	tide__step_marks_free(&k);
	return ok;
}

/* ---- a repeating range ------------------------------------------------------------------- */

struct named {
	int64_t t0, t1;
	uint32_t process, name;
};

static int by_name_time(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Finds user ranges inside no other one, of one process (0 = all). Parents come before their
 * children, so the enclosing range is known. */
static struct named *outer_ranges(const tide_model *m, uint32_t process, size_t *n)
{
	const tide_spans *s = &m->spans;
	uint8_t *in = tide__calloc(s->n, 1);
	struct named *r;

	*n = 0;
	for (size_t i = 1; in && i < s->n; i++) {
		uint32_t up = s->parent[i].i;

		in[i] = up && (in[up] || s->cat[up] == TIDE_CAT_USER);
		*n += s->cat[i] == TIDE_CAT_USER && !in[i];
	}
	r = in ? tide__alloc(*n, sizeof *r) : NULL;
	*n = 0;
	for (size_t i = 1; r && i < s->n; i++) {
		uint32_t own = m->lanes.process[s->lane[i].i].i;

		if (s->cat[i] == TIDE_CAT_USER && !in[i] && (!process || own == process))
			r[(*n)++] = (struct named){ s->t0[i], s->t1[i], own, s->name[i].i };
	}
	tide__free(in);
	return r;
}

/* Finds the name whose ranges repeat at least 3 times in a process without overlap; of several the
 * one that begins first. */
static const struct named *best_name(const struct named *r, size_t n, size_t *count)
{
	const struct named *best = NULL;

	*count = 0;
	for (size_t i = 0, j; i < n; i = j) {
		bool apart = true;

		for (j = i + 1; j < n && r[j].name == r[i].name && r[j].process == r[i].process;
		     j++)
			apart &= r[j].t0 >= r[j - 1].t1;
		if (j - i >= 3 && apart && (!best || r[i].t0 < best->t0)) {
			best = &r[i];
			*count = j - i;
		}
	}
	return best;
}

static bool from_ranges(const tide_model *m, uint32_t process, tide_steps *s, size_t *cap)
{
	size_t n, count;
	struct named *r = outer_ranges(m, process, &n);
	bool ok = r != NULL;

	if (ok && n) {
		qsort(r, n, sizeof *r, by_name_time);
		const struct named *b = best_name(r, n, &count);

		for (size_t i = 0; b && ok && i < count; i++) {
			int64_t end = i + 1 < count ? b[i + 1].t0 : m->t_end;
			ok = push(s, cap, (tide_step){ (int64_t)i, b[i].t0, end });
		}
		if (b)
			s->name.i = b->name;
	}
	tide__free(r);
	s->source = TIDE_STEPS_RANGES;
	return ok;
}

tide_code tide__steps_find_of_process(const tide_model *m, uint32_t process, tide_steps *out,
				      tide_error *err)
{
	size_t cap = 0;
	*out = (tide_steps){ 0 };
	bool ok = from_marks(m, out, &cap) && (out->n || from_profiler(m, out, &cap)) &&
		  (out->n || from_ranges(m, process, out, &cap));
	if (!ok) {
		tide__steps_free(out);
		return tide__nomem(err);
	}
	if (!out->n)
		out->source = TIDE_STEPS_NONE;
	return TIDE_OK;
}

tide_code tide__steps_find(const tide_model *m, tide_steps *out, tide_error *err)
{
	return tide__steps_find_of_process(m, 0, out, err);
}

tide_code tide__steps_find_named(const tide_model *m, tide_steps *out, tide_error *err)
{
	tide_code rc = tide__steps_find(m, out, err);
	if (out->source == TIDE_STEPS_RANGES)
		tide__steps_free(out);
	return rc;
}

void tide__steps_free(tide_steps *s)
{
	tide__free(s->v);
	*s = (tide_steps){ 0 };
}

int64_t tide__steps_median(const tide_steps *s)
{
	int64_t *v = s->n ? tide__alloc(s->n, sizeof *v) : NULL;
	if (!v)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i].t1 - s->v[i].t0;
	int64_t median = tide__sorted_nth(v, s->n, s->n / 2);
	tide__free(v);
	return median;
}

int64_t tide__steps_at(const tide_steps *s, int64_t t)
{
	size_t low = 0; /* first step that starts after t */
	TIDE_SEARCH(low, s->n, mid, s->v[mid].t0 <= t);
	return low && t < s->v[low - 1].t1 ? (int64_t)low - 1 : -1;
}

tide_code tide__window_resolve(const tide_steps *s, const tide_window *w, tide_span_window *out,
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
	int64_t first = s->v[0].number, last = s->v[s->n - 1].number;
	if (w->first == w->last)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "the trace has no step %" PRId64 ", only steps %" PRId64
				  " to %" PRId64,
				  w->first, first, last);
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			  "the trace has no steps %" PRId64 " to %" PRId64 ", only steps %" PRId64
			  " to %" PRId64,
			  w->first, w->last, first, last);
}
