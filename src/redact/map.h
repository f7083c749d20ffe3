// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The owner's map: which text became which. Each different text once, in order of appearance. */
#ifndef TIDE_REDACT_MAP_H
#define TIDE_REDACT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tide_redact_map tide_redact_map;

/* Returns an empty map; NULL if memory runs out. */
tide_redact_map *tide__redact_map_new(void);
/* NULL is allowed. */
void tide__redact_map_free(tide_redact_map *m);
/* Adds a text of n bytes and its replacement of the same length. Returns false if memory runs out. */
bool tide__redact_map_add(tide_redact_map *m, const char *from, const char *to, size_t n);
/* Writes {"texts": [["replacement", "original"], ...]}. Bytes that are not UTF-8 become U+FFFD. */
void tide__redact_map_write(const tide_redact_map *m, FILE *out);

#endif
