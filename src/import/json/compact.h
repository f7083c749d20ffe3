// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One notation for JSON values that are kept as text: "[[2, 3], [4]]", for any white space in
 * the file. Analyses that read such a text again, and figures that group by it, then do not depend
 * on who wrote the file. */
#ifndef TIDE_IMPORT_JSON_COMPACT_H
#define TIDE_IMPORT_JSON_COMPACT_H

#include <stddef.h>

/* Writes the JSON value of n bytes at s without white space between its tokens, but with one blank
 * after each comma and colon; texts within it keep their bytes. Writes at most `room` bytes to
 * `out` and no end mark. Returns the length of the whole result, at most 2 * n. */
size_t tide__jsonr_compact(const char *s, size_t n, char *out, size_t room);

#endif
