// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Cuts names to a number of columns so that the part that distinguishes them stays: whole frames of a
 * stack from the user's on, line numbers always, both ends of other names. */
#ifndef TIDE_RENDER_TEXT_CUT_NAME_H
#define TIDE_RENDER_TEXT_CUT_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { TIDE_CUT_NAME = 2048 }; /* enough bytes for a cut name of up to a fifth of that in columns */

/* Writes the text in at most `width` columns into out (n bytes), with control characters escaped as
 * tide__fmt_name does. Returns out. */
char *tide__cut_name(const char *s, size_t len, int width, bool ascii, char *out, size_t n);

#endif
