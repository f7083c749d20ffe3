// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finding steps. */
#include "analyze/common/step_boundaries.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/step_marks.h"
#include "base/mem.h"
#include "model/strings.h"

#define MAX_BEATS 1000000u

static bool add(tide_beats *s, size_t *cap, int64_t t)
{
	if (s->n && s->t[s->n - 1] >= t)
		return true; /* a second sign of the same step */
	if (!TIDE_ROOM(s->t, *cap, s->n + 2))
		return false;
	s->t[s->n++] = t;
	return true;
}

static bool from_marks(const tide_model *m, tide_beats *s, size_t *cap)
{
	tide_step_marks k;
	bool ok = tide__step_marks(m, &k) == TIDE_OK;
	for (size_t i = 0; ok && i < k.n - k.early; i++)
		ok = add(s, cap, k.v[i].t);
	s->unlike = k.early && k.n > 2; /* of one mark alone, that one is the step */
	tide__step_marks_free(&k);
	s->source = TIDE_BEATS_MARKS;
	return ok;
}

static bool is_user(uint8_t cat)
{
	return cat == TIDE_CAT_USER || cat == TIDE_CAT_OP;
}

static bool is_step(const tide_model *m, tide_str name)
{
	return !strncmp(tide__text(m, name, NULL), "ProfilerStep#", 13);
}

/* Names repeat: each is looked at once, and of a step that several threads tell the first counts.
 */
static bool from_profiler(const tide_model *m, tide_beats *s, size_t *cap)
{
	uint8_t *known = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	bool ok = known;
	for (size_t i = 1; ok && i < m->spans.n; i++) {
		tide_str name = m->spans.name[i];
		if (!is_user(m->spans.cat[i]) || known[name.i])
			continue;
		known[name.i] = 1;
		ok = !is_step(m, name) || add(s, cap, m->spans.t0[i]);
	}
	tide__free(known);
	s->source = TIDE_BEATS_PROFILER;
	return ok;
}

/* ---- a range that comes back ------------------------------------------------------------- */

struct named {
	int64_t t0, t1;
	uint32_t name;
};

static int by_name_time(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* User ranges that lie in no other one. Parents come before their children: what is in a range is
 * known when it is looked at. */
static struct named *outer_ranges(const tide_model *m, size_t *n)
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
	for (size_t i = 1; r && i < s->n; i++)
		if (s->cat[i] == TIDE_CAT_USER && !in[i])
			r[(*n)++] = (struct named){ s->t0[i], s->t1[i], s->name[i].i };
	tide__free(in);
	return r;
}

/* The name whose ranges repeat at least 3 times without overlap; of several the one that begins
 * first: steps are cut at their beginning. */
static const struct named *best_name(const struct named *r, size_t n, size_t *count)
{
	const struct named *best = NULL;

	*count = 0;
	for (size_t i = 0, j; i < n; i = j) {
		bool apart = true;

		for (j = i + 1; j < n && r[j].name == r[i].name; j++)
			apart &= r[j].t0 >= r[j - 1].t1;
		if (j - i >= 3 && apart && (!best || r[i].t0 < best->t0)) {
			best = &r[i];
			*count = j - i;
		}
	}
	return best;
}

static bool from_ranges(const tide_model *m, tide_beats *s, size_t *cap)
{
	size_t n, count;
	struct named *r = outer_ranges(m, &n);
	bool ok = r != NULL;

	if (ok && n) {
		qsort(r, n, sizeof *r, by_name_time);
		const struct named *b = best_name(r, n, &count);

		for (size_t i = 0; b && ok && i < count; i++)
			ok = add(s, cap, b[i].t0);
		if (b) {
			s->source = TIDE_BEATS_RANGES;
			s->name.i = b->name;
		}
	}
	tide__free(r);
	return ok;
}

/* When memory was last asked for. A program that ends frees everything after that; 0 = never. */
static int64_t last_alloc(const tide_model *m)
{
	for (size_t i = m->moves.n; i-- > 0;)
		if (m->moves.kind[i] == TIDE_MOVE_ALLOC)
			return tide__move_time(m, i);
	return 0;
}

static bool from_distance(const tide_model *m, tide_beats *s, size_t *cap, int64_t every,
			  int64_t end)
{
	if (end / every > MAX_BEATS)
		every = end / MAX_BEATS + 1;
	for (int64_t t = 0; t < end; t += every)
		if (!add(s, cap, t))
			return false;
	if (s->n > 3) { /* a program makes its model in the first */
		memmove(s->t, s->t + 1, (s->n - 1) * sizeof *s->t);
		s->n--;
	}
	s->source = TIDE_BEATS_EVERY;
	return true;
}

tide_code tide__beats(const tide_model *m, int64_t every_ns, tide_beats *out)
{
	size_t cap = 0;
	int64_t end = every_ns > 0 ? last_alloc(m) : 0;
	bool ok;

	memset(out, 0, sizeof *out);
	end = end ? end : m->t_end;
	if (every_ns > 0)
		ok = from_distance(m, out, &cap, every_ns, end);
	else
		ok = from_marks(m, out, &cap) && (out->n || from_profiler(m, out, &cap)) &&
		     (out->n || from_ranges(m, out, &cap));
	if (!ok) {
		tide__beats_free(out);
		return TIDE_ENOMEM;
	}
	if (!out->n)
		out->source = TIDE_BEATS_NONE;
	else if (out->source == TIDE_BEATS_MARKS && out->n > 1)
		out->n--; /* nothing says where the last one ended: the last mark is the end */
	else
		out->t[out->n] = end > out->t[out->n - 1] ? end + 1 : out->t[out->n - 1] + 1;
	return TIDE_OK;
}

void tide__beats_free(tide_beats *s)
{
	tide__free(s->t);
	memset(s, 0, sizeof *s);
}

const char *tide__beat_source_text(tide_beat_source s)
{
	static const char *const text[] = { "none", "step marks", "ProfilerStep ranges",
					    "a repeating range", "even distances" };

	return (unsigned)s < sizeof text / sizeof *text ? text[s] : "unknown";
}
