// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces words by words of the same length, one to one.
 *
 * Each letter and digit of a word becomes another of its kind. All of them depend on all the
 * others and on the key, as in format-preserving encryption: a Feistel network of 10 rounds whose
 * function is SipHash-2-4. So equal words get equal replacements, different words different ones,
 * in every file that is redacted with the same key, and nothing has to be remembered. No
 * allocation; a cipher may be used by many threads. */
#ifndef TIDE_REDACT_CIPHER_H
#define TIDE_REDACT_CIPHER_H

#include <stddef.h>
#include <stdint.h>

typedef struct tide_cipher {
	uint64_t k0, k1;
} tide_cipher;

enum { TIDE_CIPHER_MOST = 256 }; /* values of a word; longer ones are replaced in parts */

/* Makes the cipher of a key of n bytes. */
tide_cipher tide__cipher_make(const void *key, size_t n);

/* Returns SipHash-2-4 of n bytes. */
uint64_t tide__siphash(const tide_cipher *c, const void *bytes, size_t n);

/* Replaces v[0 .. n), where v[i] < radix[i] and radix[i] <= 65536. n <= TIDE_CIPHER_MOST. */
void tide__cipher_values(const tide_cipher *c, uint32_t *v, const uint32_t *radix, size_t n);

#endif
