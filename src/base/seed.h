// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A number nobody outside this process knows, for hash tables whose keys come from the input.
 *
 * Without it a file could be made of keys that all fall into one place, and a table of n of them
 * would cost n² steps. Results never depend on it: no table is walked in the order of its slots. */
#ifndef TIDE_BASE_SEED_H
#define TIDE_BASE_SEED_H

#include <stdint.h>

/* The same at every call of a process, never 0. Any thread. */
uint64_t tide__seed(void);

#endif
