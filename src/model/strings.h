// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Interned texts: equal bytes give the same id, ids are dense from 1, texts never move away from
 * their id. Ids fit uint32_t; running out is a failure, never a wrap. Not thread-safe. */
#ifndef TIDE_MODEL_STRINGS_H
#define TIDE_MODEL_STRINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tide_strings tide_strings;

tide_strings *tide__strings_new(void);
void tide__strings_free(tide_strings *s);
/* Returns the id of the text, adding it if new; 0 for an empty text or if memory runs out. */
uint32_t tide__strings_add(tide_strings *s, const char *text, size_t n);
/* Returns the id of the text, 0 if absent. */
uint32_t tide__strings_find(const tide_strings *s, const char *text, size_t n);
/* Returns the NUL-terminated text; "" for 0 or an unknown id. Valid until the next add. */
const char *tide__strings_get(const tide_strings *s, uint32_t id, size_t *n);
/* Number of texts: ids are 1..count. */
uint32_t tide__strings_count(const tide_strings *s);
size_t tide__strings_bytes(const tide_strings *s);

#endif
