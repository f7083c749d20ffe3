// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Validates and writes UTF-8, one character at a time. */
#ifndef TIDE_BASE_UTF8_H
#define TIDE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of the valid UTF-8 character at s (n bytes available, n >= 1), or 0 for
 * invalid bytes, overlong forms, surrogates and code points over U+10FFFF. */
size_t tide__utf8_len(const char *s, size_t n);
/* Writes the character of a code point up to U+10FFFF. Returns its length, 1 to 4. */
size_t tide__utf8_put(uint32_t code, char out[4]);
/* Copies a text as valid UTF-8: a bad byte 0xNN becomes the character U+00NN, as in JSON. `out` has
 * room for 2 * n bytes. Returns the length. */
size_t tide__utf8_clean(const char *s, size_t n, char *out);

#endif
