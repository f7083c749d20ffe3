// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdlib.h>

#include "analyze/critical/critical_path.h"
#include "base/mem.h"

static int longest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the weight of the `most`-th longest edge, at least 1; -1 if memory runs out. *equals:
 * how many edges of exactly that weight are shown beside all longer ones. */
static int64_t least_shown(const tide_critical_path *c, size_t most, size_t *equals)
{
	int64_t *w = tide__alloc(c->n_path, sizeof *w), least = 1;
	*equals = most;
	if (!w)
		return -1;
	for (size_t i = 0; i < c->n_path; i++)
		w[i] = c->path[i].weight;
	if (c->n_path > most) {
		qsort(w, c->n_path, sizeof *w, longest_first);
		least = w[most - 1] > 1 ? w[most - 1] : 1;
		for (size_t i = 0; i < most && w[i] > least; i++)
			--*equals;
	}
	tide__free(w);
	return least;
}

bool tide__critical_find_longest(const tide_critical_path *c, size_t most, tide_cp_longest *out)
{
	size_t equals;
	int64_t least = least_shown(c, most, &equals);
	*out = (tide_cp_longest){ .step = tide__alloc(c->n_path, sizeof *out->step) };
	if (least < 0 || !out->step)
		return false;
	for (size_t i = 0; i < c->n_path; i++) {
		int64_t weight = c->path[i].weight;
		if (weight < least || (weight == least && !equals)) {
			out->left_out += weight > 0;
			out->left_out_time += weight;
			continue;
		}
		equals -= weight == least;
		out->step[out->n++] = (uint32_t)i;
	}
	return true;
}

void tide__critical_longest_free(tide_cp_longest *x)
{
	tide__free(x->step);
}
