// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Texts of enumerated columns. */
#include "model/kind_names.h"

#include <stddef.h>
#include <string.h>

#include "model/model.h"

static const struct {
	const char *table, *column;
	tide_kind_names words;
} columns[] = {
	{ "devices", "kind", tide__device_kind_text },
	{ "pools", "kind", tide__pool_kind_text },
	{ "lanes", "kind", tide__lane_kind_text },
	{ "spans", "cat", tide__cat_text },
	{ "allocs", "role", tide__role_text },
	{ "allocs", "basis", tide__basis_text },
	{ "segments", "kind", tide__segment_kind_text },
	{ "pool_states", "when", tide__state_when_text },
	{ "memory_events", "kind", tide__memory_event_text },
	{ "marks", "kind", tide__mark_kind_text },
	{ "tensors", "dtype", tide__dtype_text },
	{ "tensors", "role", tide__role_text },
	{ "views", "dtype", tide__dtype_text },
	{ "views", "role", tide__role_text },
	{ "flows", "kind", tide__flow_kind_text },
};

tide_kind_names tide__kind_names_of(const char *table, const char *column)
{
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (!strcmp(columns[i].table, table) && !strcmp(columns[i].column, column))
			return columns[i].words;
	return NULL;
}

unsigned tide__kind_names_count(tide_kind_names words)
{
	unsigned n = 1;
	while (strcmp(words(n), "unknown"))
		n++;
	return n;
}

static const struct {
	const char *table, *column, *stored;
} other[] = {
	{ "memory_events", NULL, "moves" },
	{ "marks", "position", "move" },
};

const char *tide__stored_name(const char *table, const char *column)
{
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (!strcmp(other[i].table, table) &&
		    (column && other[i].column ? !strcmp(other[i].column, column)
					       : !column && !other[i].column))
			return other[i].stored;
	return column ? column : table;
}
