// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the known name nearest to a misspelt one, for "did you mean" hints. */
#ifndef TIDE_BASE_NEAREST_H
#define TIDE_BASE_NEAREST_H

#include <stddef.h>

/* Returns the name nearest to `word`, or NULL if none is near. `name(user, i)` returns the i-th of
 * n. */
const char *tide__nearest(const char *word, const char *(*name)(const void *user, size_t i),
			  const void *user, size_t n);

#endif
