// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Wraps everything that commands print between words at the terminal's edge.
 *
 * Tables shorten their texts themselves (render/text/grid.h); anything still too long, mostly
 * sentences, is wrapped here, in one place. A line that fits passes through unchanged. */
#ifndef TIDE_CLI_OUTPUT_WRAP_H
#define TIDE_CLI_OUTPUT_WRAP_H

#include <stdio.h>

/* Returns a stream whose lines are written to `to` in at most `width` columns. Continuation
 * lines begin at the line's last column of text (after 2 blanks or more), else 2 columns right
 * of its start. A word longer than a line stays whole; ANSI colours have no width. Closing it
 * leaves `to` open. NULL if memory runs out. */
FILE *tide__wrap_open(FILE *to, int width);

#endif
