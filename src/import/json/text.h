// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The texts of one reader: each is stored once and never moves, so an importer may keep pointers to
 * them until the reader ends. Also JSON's escapes. */
#ifndef TIDE_IMPORT_JSON_TEXT_H
#define TIDE_IMPORT_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Decodes JSON escapes of s[0..n) into out (n bytes); returns the new length. Surrogate pairs
 * become one character, a lone surrogate becomes three bytes that are not UTF-8; unknown escapes
 * are kept. */
size_t tide__jsonr_unescape(const char *s, size_t n, char *out);

typedef struct jsonr_text {
	uint64_t hash;
	uint32_t len;
	uint32_t global; /* the importer's number for it (id in the model's strings), 0 = not yet */
	char s[];	 /* len bytes, then NUL */
} jsonr_text;

typedef struct jsonr_arena {
	struct jsonr_block *head; /* owned */
	size_t left;
	char *at;
} jsonr_arena;

/* Returns 8-aligned memory that lives as long as the arena; NULL if memory runs out. */
void *tide__jsonr_arena_take(jsonr_arena *a, size_t n);
void tide__jsonr_arena_fini(jsonr_arena *a);

typedef struct jsonr_texts {
	jsonr_arena arena;
	jsonr_text **slots; /* owned */
	size_t mask, n;
} jsonr_texts;

/* Returns the single entry for these bytes; NULL if memory runs out. */
jsonr_text *tide__jsonr_text(jsonr_texts *t, const char *s, size_t n);
void tide__jsonr_texts_fini(jsonr_texts *t);

#endif
