// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* "did you mean": the name nearest to a misspelt one. */
#ifndef TIDE_BASE_NEAREST_H
#define TIDE_BASE_NEAREST_H

#include <stddef.h>

/* The name nearest to `word`, or NULL when none is near. `name(user, i)` gives the i-th of n. */
const char *tide__nearest(const char *word, const char *(*name)(const void *user, size_t i),
			  const void *user, size_t n);

#endif
