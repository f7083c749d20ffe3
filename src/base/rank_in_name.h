// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The rank that a file's name gives. */
#ifndef TIDE_BASE_RANK_IN_NAME_H
#define TIDE_BASE_RANK_IN_NAME_H

#include <stdint.h>

/* Returns the rank in a file's name: the number after the last "rank", optionally after one of -
 * _ . ("rank-12.Apr.json", "trace_rank_3.json"); -1 = none. */
int64_t tide__rank_in_name(const char *path);

#endif
