// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Text functions in addition to the formats declared in grid.h. */
#ifndef TIDE_RENDER_TEXT_FORMAT_H
#define TIDE_RENDER_TEXT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the terminal columns of a text as tide__fmt_name would show it unshortened. */
int tide__columns(const char *s, size_t n);
/* Writes tide__fmt_name's result directly to a FILE, for names of any length. */
void tide__put_name(FILE *out, const char *s, size_t len, int width, bool ascii);
/* Prints the words of a sentence, starting at column `col` and wrapped at `width` (0 = one
 * line); further lines begin at `indent`. A newline follows. Bytes are escaped like in
 * tide__fmt_name. */
void tide__put_words(FILE *out, const char *s, int col, int indent, int width);

/* Returns true if the valid character at s, `len` bytes, is invisible but affects a terminal: a
 * control character, a direction mark, an invisible one. */
bool tide__is_invisible(const char *s, size_t len);
/* Returns true for valid UTF-8 of at most `most` bytes in which every character is visible; line
 * feeds are allowed. */
bool tide__is_visible_text(const char *s, size_t most);
/* Returns the code point of the valid character at s. */
uint32_t tide__code_point(const char *s, size_t len);

#endif
