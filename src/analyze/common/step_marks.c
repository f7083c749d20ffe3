// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/step_marks.h"

#include <string.h>

#include "base/mem.h"
#include "model/strings.h"

/* Times of the optimizers' steps. */
typedef struct optimizer {
	int64_t first_run;   /* the mark of a model's first run; INT64_MAX = none */
	int64_t first, last; /* of their steps: when they were made; first > last = none */
	int64_t last_begun;  /* the last step's beginning */
} optimizer;

static void made(optimizer *o, int64_t t0, int64_t t1)
{
	if (t1 < o->first)
		o->first = t1;
	if (t1 > o->last) {
		o->last = t1;
		o->last_begun = t0;
	}
}

static bool by_optimizer(const tide_model *m, size_t mark)
{
	return !strcmp(tide__text(m, m->marks.name[mark], NULL), TIDE_OPTIMIZERS_MARK);
}

static bool push(tide_step_marks *s, size_t *cap, int64_t t, int64_t number)
{
	if (!TIDE_ROOM(s->v, *cap, s->n + 1))
		return false;
	s->v[s->n++] = (tide_step_mark){ t, number };
	return true;
}

/* Selects the program's own marks, or the optimizers'. */
static bool marks_of(const tide_model *m, bool optimizers, tide_step_marks *s, size_t *cap)
{
	for (size_t i = 1; i < m->marks.n; i++)
		if (m->marks.kind[i] == TIDE_MARK_STEP && by_optimizer(m, i) == optimizers &&
		    !push(s, cap, m->marks.t[i], m->marks.value[i]))
			return false;
	return true;
}

static void look_at_marks(const tide_model *m, optimizer *o)
{
	for (size_t i = 1; i < m->marks.n; i++) {
		if (m->marks.kind[i] != TIDE_MARK_STEP || !by_optimizer(m, i))
			continue;
		if (m->marks.t[i] < o->first_run)
			o->first_run = m->marks.t[i];
		if (m->marks.value[i] > 0) /* 0: the model's first run */
			made(o, m->marks.t[i], m->marks.t[i]);
	}
}

/* Each distinct name is examined once. */
static bool look_at_ranges(const tide_model *m, optimizer *o)
{
	static const char name[] = "Optimizer.step#";
	enum { UNKNOWN, IS, IS_NOT };
	uint8_t *known = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	if (!known)
		return false;
	for (size_t i = 1; i < m->spans.n; i++) {
		uint8_t *k = &known[m->spans.name[i].i];
		if (*k == UNKNOWN)
			*k = strncmp(tide__text(m, m->spans.name[i], NULL), name, sizeof name - 1)
				     ? IS_NOT
				     : IS;
		if (*k == IS && m->spans.cat[i] != TIDE_CAT_GPU_USER)
			made(o, m->spans.t0[i], m->spans.t1[i]);
	}
	tide__free(known);
	return true;
}

/* Handles marks at the ends of iterations: a step begins at the previous mark and has the number of
 * the next one. */
static bool shift(tide_step_marks *s, size_t *cap, int64_t begin)
{
	int64_t last = s->v[s->n - 1].number;
	if (!push(s, cap, 0, 0))
		return false;
	for (size_t i = s->n - 1; i > 0; i--)
		s->v[i].t = s->v[i - 1].t; /* numbers are kept, shifted by one */
	s->v[0].t = begin;
	s->v[s->n - 1].number = last < INT64_MAX ? last + 1 : last;
	return true;
}

static bool own(const tide_model *m, tide_step_marks *s, size_t *cap)
{
	optimizer o = { INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN };
	int64_t first = s->v[0].t, last = s->v[s->n - 1].t;
	look_at_marks(m, &o);
	if (!look_at_ranges(m, &o))
		return false;
	if (o.first > o.last)
		return true;
	s->ended = true;
	s->early = o.last_begun >= last;
	if (s->early)
		return push(s, cap, o.last, s->v[s->n - 1].number);
	if (o.first > first && o.first_run > first)
		return true;
	return shift(s, cap, o.first_run < first ? o.first_run : 0);
}

tide_code tide__step_marks_find(const tide_model *m, tide_step_marks *out)
{
	size_t cap = 0;
	*out = (tide_step_marks){ 0 };
	bool ok = marks_of(m, false, out, &cap);
	if (ok && out->n) {
		ok = own(m, out, &cap);
	} else if (ok) {
		ok = marks_of(m, true, out, &cap);
		out->ended = out->n > 1;
	}
	if (ok)
		return TIDE_OK;
	tide__step_marks_free(out);
	return TIDE_ENOMEM;
}

void tide__step_marks_free(tide_step_marks *s)
{
	tide__free(s->v);
	*s = (tide_step_marks){ 0 };
}
