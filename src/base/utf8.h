// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Validates UTF-8, one character at a time. */
#ifndef TIDE_BASE_UTF8_H
#define TIDE_BASE_UTF8_H

#include <stddef.h>

/* Returns the length of the valid UTF-8 character at s (n bytes available, n >= 1), or 0 for
 * invalid bytes, overlong forms, surrogates and code points over U+10FFFF. */
size_t tide__utf8_len(const char *s, size_t n);

#endif
