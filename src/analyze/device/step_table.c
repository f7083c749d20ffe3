// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fills the table of steps: the host duration of each step and the device work launched in it.
 * A step outside the window has no rows and is left out. */
#include "analyze/device/hta_parts.h"
#include "base/mem.h"

typedef struct sums {
	tide_union_length all, type[TIDE_GPU_TYPES];
	uint64_t rows;
} sums;

static bool put(tide_hta *h, const tide_step *step, const sums *s)
{
	tide_hta_step *row = TIDE_HTA_PUSH(h, steps);
	if (!row)
		return false;
	*row = (tide_hta_step){ .number = step->number, .t0 = step->t0, .t1 = step->t1 };
	row->rows = s->rows;
	row->busy = s->all.length;
	row->first = s->all.first;
	row->last = s->all.end;
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		row->type_ns[t] = s->type[t].length;
	return true;
}

bool tide__hta_find_steps(const tide_hta_input *in, tide_hta *h)
{
	const tide_steps *steps = in->steps;
	sums *s = tide__calloc(steps->n, sizeof *s);
	bool ok = s != NULL;
	for (size_t i = 0; ok && i < in->rows->n; i++) {
		if (!in->rows->step[i])
			continue;
		sums *at = &s[in->rows->step[i] - 1];
		int64_t a = tide__row_t0(in, i), b = tide__row_t1(in, i);
		tide__union_length_add(&at->all, a, b);
		tide__union_length_add(&at->type[in->rows->type[i]], a, b);
		at->rows++;
	}
	for (size_t i = 0; ok && i < steps->n; i++)
		if (in->window->all ||
		    (steps->v[i].t0 >= in->window->from && steps->v[i].t0 < in->window->to))
			ok = put(h, &steps->v[i], &s[i]);
	tide__free(s);
	return ok;
}
