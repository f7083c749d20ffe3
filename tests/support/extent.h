// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How many rounds of a random test run: `make test` runs a quarter, `make check-all` (TIDE_TESTS=all)
 * every round. extent.py does the same for tests in Python. */
#ifndef TIDE_TESTS_EXTENT_H
#define TIDE_TESTS_EXTENT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many of n rounds run. */
static inline uint32_t rounds(uint32_t n)
{
	const char *extent = getenv("TIDE_TESTS");
	return extent && !strcmp(extent, "all") ? n : n / 4;
}

#endif
