// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Snapshots of the live objects of a Python process, the input of `tidemark objects`.
 *
 * Figures are the ones docs/analyses/objects.md defines. Texts come from the measured program and
 * may contain any bytes. */
#ifndef TIDE_MODEL_OBJECTS_H
#define TIDE_MODEL_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables of a snapshot. */
typedef enum tide_objects_table {
	TIDE_OBJECTS_TYPES,
	TIDE_OBJECTS_OWNERS,
	TIDE_OBJECTS_MODULES,
	TIDE_OBJECTS_SHARED,
	TIDE_OBJECTS_DUPLICATES,
	TIDE_OBJECTS_BUFFERS,
	TIDE_OBJECTS_N,
} tide_objects_table;

/* One row of any table; docs/analyses/objects.md says which members a table has. */
typedef struct tide_objects_row {
	char *name; /* owned: the type, owner, module, value or device; never NULL */
	char *type; /* owned: the type of an owner or a duplicate, the module of a type; NULL = none */
	uint64_t count;	 /* objects, variables, owners or buffers */
	uint64_t bytes;	 /* of owners and modules: exclusive */
	uint64_t shared; /* bytes; owners and modules */
	bool own;	 /* modules: of the program, not of a library */
	char **owners;	 /* owned: names of those that share it, the first of them */
	size_t n_owners;
} tide_objects_row;

typedef struct tide_objects_rows {
	tide_objects_row *v; /* owned */
	size_t n, cap;
	uint64_t all; /* number of rows of the table; v has the first ones */
} tide_objects_rows;

typedef struct tide_objects_texts {
	char **v; /* owned */
	size_t n, cap;
} tide_objects_texts;

typedef struct tide_objects_snapshot {
	char *at; /* owned: the name of the mark, or "end"; no two are equal */
	uint64_t objects, total, variables, other, shared, duplicate, skipped; /* objects; bytes */
	tide_objects_rows table[TIDE_OBJECTS_N];
	tide_objects_texts recommendations, problems;
} tide_objects_snapshot;

typedef struct tide_objects {
	char *program, *python;	  /* owned; NULL = unknown */
	tide_objects_snapshot *v; /* owned; at least one */
	size_t n, cap;
	bool cut; /* the file's last snapshot was truncated and is left out */
} tide_objects;

/* Frees it; a zeroed struct is allowed. */
void tide__objects_free(tide_objects *o);

#endif
