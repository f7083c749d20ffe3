// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/roofline/list_sizes.h"

#include <math.h>

enum { MOST_PASSES = 64 };

static bool divides(double k, double v)
{
	return v / k == floor(v / k);
}

void tide__list_sizes_add(tide_list_sizes *s, const tide_op_tensor *t, tide_number type)
{
	const int of[] = { TIDE_LIST_ALL, t->n > 1 ? TIDE_LIST_MATRICES : TIDE_LIST_VECTORS };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		s->elements[of[i]] += t->elements;
		s->bytes[of[i]] += t->elements * tide__number_bytes(type);
		s->tensors[of[i]]++;
		s->chunks[of[i]] += ceil(t->elements / TIDE_LIST_CHUNK);
	}
	s->type = s->any && s->type != type ? TIDE_NUM_UNKNOWN : type;
	s->any = true;
}

bool tide__list_sizes_find(const tide_list_sizes *s, double blocks, double *elements, double *bytes)
{
	for (int i = 0; blocks > 0 && s->type && i < TIDE_LISTS; i++) {
		double passes = s->chunks[i] / blocks;
		if (passes < 1 || passes > MOST_PASSES || !divides(blocks, s->chunks[i]) ||
		    !divides(passes, s->tensors[i]) || !divides(passes, s->elements[i]))
			continue;
		*elements = s->elements[i] / passes;
		*bytes = s->bytes[i] / passes;
		return true;
	}
	return false;
}
