// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the text renderers share beside the formats declared in grid.h. */
#ifndef TIDE_RENDER_TEXT_FORMAT_H
#define TIDE_RENDER_TEXT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Terminal columns of a text as tide__fmt_name would show it unshortened. */
int tide__columns(const char *s, size_t n);
/* tide__fmt_name straight into a FILE, for names of any length. */
void tide__put_name(FILE *out, const char *s, size_t len, int width, bool ascii);
/* Words of a sentence, begun at column `col` and broken before `width` (0 = one line); further
 * lines begin at `indent`. A newline follows. Hostile bytes come out as tide__fmt_name has them. */
void tide__put_words(FILE *out, const char *s, int col, int indent, int width);

/* Is the valid character at s, `len` bytes, one that nobody sees but a terminal obeys: a control, a
 * mark of direction, an invisible one? */
bool tide__unseen(const char *s, size_t len);
/* The code point of the valid character at s. */
uint32_t tide__code_point(const char *s, size_t len);

#endif
