// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/phase_summary.h"

#include <string.h>

#include "base/mem.h"

tide_phase_summary *tide__phase_summary_add(tide_phase_summaries *s, const char *title,
					    const char *scope, const char *rank)
{
	if (!TIDE_ROOM(s->v, s->cap, s->n + 1))
		return NULL;
	tide_phase_summary *x = &s->v[s->n++];
	*x = (tide_phase_summary){ .title = tide__strndup(title, strlen(title)),
				   .scope = tide__strndup(scope, strlen(scope)),
				   .rank = tide__strndup(rank, strlen(rank)) };
	return x->title && x->scope && x->rank ? x : NULL;
}

tide_phase_row *tide__phase_row_add(tide_phase_summary *s, const char *name, size_t n)
{
	if (!TIDE_ROOM(s->rows, s->cap, s->n + 1))
		return NULL;
	tide_phase_row *r = &s->rows[s->n];
	*r = (tide_phase_row){ .name = tide__strndup(name, n) };
	if (!r->name)
		return NULL;
	s->n++;
	return r;
}

void tide__phase_summaries_free(tide_phase_summaries *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n; k++)
			tide__free(s->v[i].rows[k].name);
		tide__free(s->v[i].rows);
		tide__free(s->v[i].title);
		tide__free(s->v[i].scope);
		tide__free(s->v[i].rank);
	}
	tide__free(s->v);
	*s = (tide_phase_summaries){ 0 };
}

bool tide__phase_summary_peak(const tide_phase_summary *s, int64_t *out)
{
	int64_t v;
	bool any = s->has_overall;
	*out = s->overall;
	for (size_t i = 0; i < s->n && !s->has_overall; i++)
		if (tide__phase_figure(&s->rows[i], TIDE_FIGURE_PEAK, &v)) {
			*out = any && *out > v ? *out : v;
			any = true;
		}
	return any;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* Returns the largest violation of the relations in one row, in bytes; unknown figures violate
 * nothing. */
static int64_t row_off(const tide_phase_row *r, const tide_phase_row *before)
{
	int64_t up, down, change, now, was = 0, seg, peak, old = 0, off = 0, more;
	bool has_change = tide__phase_figure(r, TIDE_FIGURE_CHANGE, &change);
	bool has_was = !before || tide__phase_figure(before, TIDE_FIGURE_CURRENT, &was);
	bool has_old = !before || tide__phase_figure(before, TIDE_FIGURE_PEAK, &old);
	if (tide__phase_figure(r, TIDE_FIGURE_ALLOCATIONS, &up) &&
	    tide__phase_figure(r, TIDE_FIGURE_DEALLOCATIONS, &down) && has_change)
		off = distance(change, up - down);
	if (tide__phase_figure(r, TIDE_FIGURE_CURRENT, &now) && has_was && has_change &&
	    (more = distance(now, was + change)) > off)
		off = more;
	if (tide__phase_figure(r, TIDE_FIGURE_PEAK, &peak) && has_was && has_old &&
	    tide__phase_figure(r, TIDE_FIGURE_SEGMENT_PEAK, &seg) &&
	    (more = distance(peak, old > was + seg ? old : was + seg)) > off)
		off = more;
	return off;
}

int64_t tide__phase_summary_off(const tide_phase_summary *s, size_t *row)
{
	int64_t most = 0;
	*row = 0;
	for (size_t i = 0; i < s->n; i++) {
		int64_t off = row_off(&s->rows[i], i ? &s->rows[i - 1] : NULL);
		if (off > most) {
			most = off;
			*row = i;
		}
	}
	return most;
}
