// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Redacts one text in place: the same length, the same separators, other words.
 *
 *     trainer/data.py(12): load_batch     ->  qkwmzru/dpwz.py(12): wytb_qmnsa
 *     HF_TOKEN=hf_AbCd0123456789...       ->  ED_KWQLX=xxxxxxxxxxxxxxxxxxx...
 *
 * Kept: numbers, separators, public names (redact/public.h), endings of files. Dropped (x): what
 * looks like a secret. Letters outside ASCII become others of their alphabet; bytes that are not
 * UTF-8 become '?'. A redactor belongs to one thread. */
#ifndef TIDE_REDACT_TEXT_H
#define TIDE_REDACT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redact/cipher.h"

struct tide_redact_map; /* redact/map.h */

typedef struct tide_redactor {
	tide_cipher cipher;
	unsigned keep;		     /* TIDE_PUBLIC_* */
	struct tide_redact_map *map; /* remembers what became what; NULL = not wanted */
	uint8_t *marks;		     /* owned: one for each byte of the text */
	size_t cap_marks;
	struct tide_redact_seen *seen; /* owned: recent texts and their replacements */
	uint64_t texts, secrets;       /* texts redacted; secrets dropped */
} tide_redactor;

/* Replaces n bytes. Returns false if memory runs out. */
bool tide__redact_text(tide_redactor *r, char *s, size_t n);
/* The same for the value that follows the name of a secret (tide__redact_names_secret): all of its
 * letters and digits become x. */
bool tide__redact_secret(tide_redactor *r, char *s, size_t n);
/* Returns true if a name is one of a secret: HF_TOKEN, password, api_key. */
bool tide__redact_names_secret(const char *s, size_t n);
void tide__redactor_fini(tide_redactor *r);

#endif
