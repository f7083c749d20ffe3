// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "models.h"

#include <string.h>

/* Returns whether ids are equal, or are ids of equal texts: a model with more facts numbers its
 * texts differently.
 */
static int ids_differ(const tide_model *a, const tide_model *b, const uint32_t *x,
		      const uint32_t *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i] && strcmp(tide__text(a, (tide_str){ x[i] }, NULL),
					   tide__text(b, (tide_str){ y[i] }, NULL)))
			return 1;
	return 0;
}

static int tables_differ(const tide_model *a, const tide_model *b, const void *ta, const void *tb,
			 const tide_table_desc *d)
{
	size_t n = *(const size_t *)ta;
	if (n != *(const size_t *)tb)
		return 1;
	for (size_t i = 0; i < d->n_columns; i++) {
		const tide_column *c = &d->columns[i];
		const void *x = *(void *const *)(const void *)((const char *)ta + c->at);
		const void *y = *(void *const *)(const void *)((const char *)tb + c->at);
		if (c->type == TIDE_COL_ID ? ids_differ(a, b, x, y, n)
					   : n && memcmp(x, y, n * c->size))
			return 1;
	}
	return 0;
}

const char *models_differ(const tide_model *a, const tide_model *b)
{
#define T(st, member, COLUMNS, none, doc)                                                        \
	if (strcmp(#member, "facts") && tables_differ(a, b, &a->member, &b->member, &st##_desc)) \
		return #member;
	TIDE_TABLES(T)
#undef T
	if (a->n_dims != b->n_dims ||
	    (a->n_dims && memcmp(a->dims, b->dims, a->n_dims * sizeof *a->dims)))
		return "dims";
	if (a->t_end != b->t_end || a->wall0_ns != b->wall0_ns)
		return "times";
	return NULL;
}

int64_t fact_of(const tide_model *m, const char *key)
{
	int64_t at = tide__fact_find(m, key);
	return at < 0 ? 0 : m->facts.number[at];
}

int has_loss(const tide_model *m)
{
	for (size_t i = 0; i < m->facts.n; i++)
		if (!strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5))
			return 1;
	return 0;
}

void tidefile_some_of_everything(tidefile *f)
{
	const uint64_t shape[] = { 4, 1000, 7 };
	tidefile_start_full(f);
	ev_lane(f, 1, 10, 1, 100);
	ev_lane(f, 2, 11, 2, 101);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t t = 100 + 50 * i;
		ev_begin(f, 1, t, 1 + i % 4);
		ev_alloc(f, 1, t + 1, 1, 0x7f0000000000 + i * 4096, 1000 + i);
		ev_alloc_full(f, 2, t + 2, 2, 0x1000 + i * 512, 512, 1, 2, 300);
		ev_tensor(f, 1, t + 3, 1, 0x7f0000000000 + i * 4096, 2, 1, 1 + i % 9, 3, shape);
		ev_begin_arg(f, 2, t + 4, 3, i);
		if (i % 2)
			ev_free(f, 2, t + 5, 1, 0x7f0000000000 + (i - 1) * 4096);
		ev_end(f, 2, t + 6);
		ev_sample(f, 1, t + 7, 4, i / 3.0);
		ev_seg(f, 1, t + 8, 1, 0x200000000 + i * 0x100000, 0x100000, 0);
		ev_note(f, 2, t + 9, 1, "a note, somewhat longer than one slot");
		ev_oom(f, 1, t + 10, 1, 1 << 30, 4096);
		ev_end(f, 1, t + 11);
		ev_mark(f, 1, t + 12, 1 + i % 3, 2, i);
		if (i % 2) {
			tidefile_flush(f, 1);
			tidefile_flush(f, 2);
		}
	}
	ev_seg(f, 1, 900, 1, 0x200000000 + 0x80000, 0x100000, 1);
}
