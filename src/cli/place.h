// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Where the program's own files are, and variables for a child that needs them. */
#ifndef TIDE_CLI_PLACE_H
#define TIDE_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The first of "build tree beside the program" and "installed" that is there; an installed path
 * that is relative (in a Python package) is seen from the program too. False if neither is. */
bool tide__place(char *out, size_t n, const char *in_tree, const char *installed);

/* Put `value` before what the variable has, `between` them; alone where it has nothing. */
void tide__prepend(const char *name, const char *value, char between);

#endif
