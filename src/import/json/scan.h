// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Navigates JSON text without looking at every byte.
 *
 * The scanner keeps four bit maps over a buffer, one bit per byte: quotes that open or close a
 * string; opening brackets, closing brackets and commas outside strings. Vector code builds them a
 * window ahead of the reader, so the text is read while it is in cache, and they turn "end of this
 * string" and "end of this object" into a few bit operations. The code above the scanner is a plain
 * reader of JSON, so any layout gives the same result; nothing recurses.
 *
 * After damage (a stray quote swaps inside and outside), tide__jsonr_scan_restart starts again at
 * a given byte. */
#ifndef TIDE_IMPORT_JSON_SCAN_H
#define TIDE_IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JSONR_PAD = 128,   /* zero bytes that must follow the text */
	JSONR_WINDOW = 64, /* bit map words computed at a time: 4 KiB of text */
};

typedef struct jsonr_scan {
	const char *b; /* borrowed text; b[n .. n + JSONR_PAD) are zeros */
	size_t n;
	uint64_t *quotes, *opens, *closes, *commas; /* owned; one zero word after the last */
	size_t words;				    /* words computed so far */
	size_t total;				    /* words of the whole text */
	size_t cap;				    /* words allocated */
	uint64_t in_string; /* all ones if the next word starts inside a string */
	uint64_t escaped;   /* 1 if its first byte is escaped */
	uint64_t keep;	    /* bits of the next word to use (restart inside it) */
	bool slashes;	    /* the text contains a backslash */
} jsonr_scan;

/* Starts on a new text. Returns false if memory runs out. */
bool tide__jsonr_scan_text(jsonr_scan *s, const char *text, size_t n);
void tide__jsonr_scan_fini(jsonr_scan *s);
/* Discards the bit maps from byte p on; p is outside any string. */
void tide__jsonr_scan_restart(jsonr_scan *s, size_t p);
/* Computes the next window; returns false at the end of the text. */
bool tide__jsonr_scan_more(jsonr_scan *s);
/* Returns the byte after the closing bracket of the container that opens at p; SIZE_MAX if the
 * text ends first or no container opens at p. */
size_t tide__jsonr_scan_skip(jsonr_scan *s, size_t p);
/* Tests: use the portable code only (the vector code must give the same maps). */
void tide__jsonr_scan_portable(bool on);

/* Makes the maps cover the 64 bytes from p on, up to the end of the text. */
static inline void jsonr_reach(jsonr_scan *s, size_t p)
{
	while (__builtin_expect((p >> 6) + 1 >= s->words, 0))
		if (!tide__jsonr_scan_more(s))
			return;
}

/* Returns the bits of the 64 bytes from p on. */
static inline uint64_t jsonr_bits(const uint64_t *map, size_t p)
{
	return map[p >> 6] >> (p & 63) | (map[(p >> 6) + 1] << 1) << (63 - (p & 63));
}

size_t tide__jsonr_far_quote(jsonr_scan *s, size_t p);

/* Returns the first quote that opens or closes a string at or after p, or s->n. */
static inline size_t jsonr_quote(jsonr_scan *s, size_t p)
{
	jsonr_reach(s, p);
	uint64_t w = jsonr_bits(s->quotes, p);
	return __builtin_expect(w != 0, 1) ? p + (size_t)__builtin_ctzll(w)
					   : tide__jsonr_far_quote(s, p);
}

/* Returns true if the bracket at p opens something outside a string, as far as the maps reach. */
static inline bool jsonr_is_open(jsonr_scan *s, size_t p)
{
	jsonr_reach(s, p);
	return jsonr_bits(s->opens, p) & 1;
}

static inline bool jsonr_is_ws(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns the first byte at or after p that is not white space. */
static inline size_t jsonr_ws(const char *b, size_t p)
{
	while (jsonr_is_ws(b[p]))
		p++;
	return p;
}

#endif
