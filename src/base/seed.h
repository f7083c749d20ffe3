// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A random number per process, to seed hash tables whose keys come from the input.
 *
 * Without it a file could contain keys that all collide, and a table of n of them would cost n²
 * steps. Results never depend on it: no table is iterated in slot order. */
#ifndef TIDE_BASE_SEED_H
#define TIDE_BASE_SEED_H

#include <stdint.h>

/* Returns the same number at every call in a process, never 0. Thread-safe. */
uint64_t tide__seed(void);

#endif
