// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See objects.h. */
#include "model/objects.h"

#include "base/mem.h"

static void free_texts(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tide__free(v[i]);
	tide__free(v);
}

static void free_rows(tide_objects_rows *t)
{
	for (size_t i = 0; i < t->n; i++) {
		tide__free(t->v[i].name);
		tide__free(t->v[i].type);
		free_texts(t->v[i].owners, t->v[i].n_owners);
	}
	tide__free(t->v);
}

void tide__objects_free(tide_objects *o)
{
	for (size_t i = 0; i < o->n; i++) {
		tide_objects_snapshot *s = &o->v[i];
		for (size_t k = 0; k < TIDE_OBJECTS_N; k++)
			free_rows(&s->table[k]);
		free_texts(s->recommendations.v, s->recommendations.n);
		free_texts(s->problems.v, s->problems.n);
		tide__free(s->at);
	}
	tide__free(o->v);
	tide__free(o->program);
	tide__free(o->python);
	*o = (tide_objects){ 0 };
}
