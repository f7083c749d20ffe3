// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds step boundaries for memory analyses. */
#include "analyze/common/step_boundaries.h"

#include <string.h>

#include "base/mem.h"

#define MAX_STEPS 1000000u

static bool add(tide_step_boundaries *s, size_t *cap, int64_t t)
{
	if (s->n && s->t[s->n - 1] >= t)
		return true; /* a second sign of the same step */
	if (!TIDE_ROOM(s->t, *cap, s->n + 2))
		return false;
	s->t[s->n++] = t;
	return true;
}

/* Returns the time of the last allocation, 0 = never. A program that ends frees everything after
 * that. */
static int64_t last_alloc(const tide_model *m)
{
	for (size_t i = m->memory_events.n; i-- > 0;)
		if (m->memory_events.kind[i] == TIDE_MEMORY_ALLOC)
			return tide__memory_event_time(m, i);
	return 0;
}

static bool from_distance(const tide_model *m, tide_step_boundaries *s, size_t *cap, int64_t every,
			  int64_t end)
{
	if (end / every > MAX_STEPS)
		every = end / MAX_STEPS + 1;
	for (int64_t t = 0; t < end; t += every)
		if (!add(s, cap, t))
			return false;
	if (s->n > 3) { /* a program creates its model in the first */
		memmove(s->t, s->t + 1, (s->n - 1) * sizeof *s->t);
		s->n--;
	}
	s->source = TIDE_STEPS_EVERY;
	return true;
}

/* Returns the only process that has lanes of the device, 0 = none or several. */
static uint32_t process_of(const tide_model *m, uint32_t device)
{
	uint32_t found = 0;
	for (size_t i = 1; device && device < m->devices.n && i < m->lanes.n; i++) {
		uint32_t own = m->lanes.process[i].i;
		if (m->lanes.device[i].i != device || own == found)
			continue;
		if (found)
			return 0;
		found = own;
	}
	return found;
}

/* Each step ends where the next begins: the time between two ranges belongs to the earlier one. */
static bool from_steps(const tide_model *m, uint32_t device, tide_step_boundaries *s, size_t *cap)
{
	tide_steps k;
	bool ok = tide__steps_find_of_process(m, process_of(m, device), &k, NULL) == TIDE_OK;
	for (size_t i = 0; ok && i < k.n; i++)
		ok = add(s, cap, k.v[i].t0);
	s->source = k.source;
	s->name = k.name;
	if (ok && s->n)
		s->t[s->n] = k.source == TIDE_STEPS_MARKS && k.v[k.n - 1].t1 < m->t_end
				     ? k.v[k.n - 1].t1
				     : m->t_end + 1;
	if (ok && k.early) { /* a step, but with a different end than the others */
		s->n--;
		s->unlike = 1;
	}
	tide__steps_free(&k);
	return ok;
}

tide_code tide__find_step_boundaries(const tide_model *m, uint32_t device, int64_t every_ns,
				     tide_step_boundaries *out)
{
	size_t cap = 0;
	int64_t end = every_ns > 0 ? last_alloc(m) : 0;

	memset(out, 0, sizeof *out);
	end = end ? end : m->t_end;
	bool ok = every_ns > 0 ? from_distance(m, out, &cap, every_ns, end)
			       : from_steps(m, device, out, &cap);
	if (!ok) {
		tide__step_boundaries_free(out);
		return TIDE_ENOMEM;
	}
	if (!out->n)
		out->source = TIDE_STEPS_NONE;
	else if (every_ns > 0)
		out->t[out->n] = end + 1;
	if (out->n && out->t[out->n] <= out->t[out->n - 1])
		out->t[out->n] = out->t[out->n - 1] + 1;
	return TIDE_OK;
}

void tide__step_boundaries_free(tide_step_boundaries *s)
{
	tide__free(s->t);
	memset(s, 0, sizeof *s);
}

const char *tide__step_source_text(tide_step_source s)
{
	static const char *const text[] = { "none", "step marks", "ProfilerStep ranges",
					    "a repeating range", "even distances" };

	return (unsigned)s < sizeof text / sizeof *text ? text[s] : "unknown";
}
