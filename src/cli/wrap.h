// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Lines broken between words where the terminal ends, for all that commands print.
 *
 * Tables shorten their texts themselves (render/text/grid.h); what is still too long, sentences above
 * all, is broken here, in one place. A line that fits passes through untouched. */
#ifndef TIDE_CLI_WRAP_H
#define TIDE_CLI_WRAP_H

#include <stdio.h>

/* A stream whose lines are written to `to` in at most `width` columns. Further lines of one begin
 * where its last column of text does (after two blanks or more), else two columns in from its
 * start. A word that is longer than a line stays whole; ANSI colours take no room. Closing it
 * leaves `to` open. NULL when there is no memory. */
FILE *tide__wrap_open(FILE *to, int width);

#endif
