// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finding one's way in JSON text without looking at every byte.
 *
 * The scanner keeps four bit maps over a buffer, one bit a byte: quotes that open or close a
 * string; opening brackets, closing brackets and commas outside strings. They are made by vector
 * code a window ahead of the reader, so the text is touched while it is in cache, and they turn
 * "end of this string" and "end of this object" into a few bit operations. Everything above is a
 * plain reader of JSON, so any layout gives the same result; nothing recurses.
 *
 * After damage (a stray quote turns inside out) kin_scan_restart begins anew at a given byte. */
#ifndef TIDE_IMPORT_JSON_SCAN_H
#define TIDE_IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KIN_PAD = 128,	 /* zero bytes that must follow the text */
	KIN_WINDOW = 64, /* words of bit map made at a time: 4 KiB of text */
};

typedef struct kin_scan {
	const char *b; /* borrowed text; b[n .. n + KIN_PAD) are zeros */
	size_t n;
	uint64_t *quotes, *opens, *closes, *commas; /* owned; one zero word after the last */
	size_t words;				    /* words made so far */
	size_t total;				    /* words the text has */
	size_t cap;				    /* words there is room for */
	uint64_t in_string; /* all ones if the next word starts inside a string */
	uint64_t escaped;   /* 1 if its first byte is escaped */
	uint64_t keep;	    /* bits of the next word to look at (restart inside it) */
	bool slashes;	    /* a backslash was seen somewhere in the text */
} kin_scan;

/* Look at a new text. False when memory is exhausted. */
bool tide__kineto_scan_text(kin_scan *s, const char *text, size_t n);
void tide__kineto_scan_fini(kin_scan *s);
/* Forget the bit maps from byte p on: p is outside any string. */
void tide__kineto_scan_restart(kin_scan *s, size_t p);
/* Make the next window; false when there is no more text. */
bool tide__kineto_scan_more(kin_scan *s);
/* End of the container that opens at p: the byte after its closing bracket; SIZE_MAX if the text
 * ends first or no container opens at p. */
size_t tide__kineto_scan_skip(kin_scan *s, size_t p);
/* Tests: use the portable code only (the vector code must give the same maps). */
void tide__kineto_scan_portable(bool on);

/* Have the maps cover the 64 bytes from p on, as far as there is text. */
static inline void kin_reach(kin_scan *s, size_t p)
{
	while (__builtin_expect((p >> 6) + 1 >= s->words, 0))
		if (!tide__kineto_scan_more(s))
			return;
}

/* The bits of the 64 bytes from p on. */
static inline uint64_t kin_bits(const uint64_t *map, size_t p)
{
	return map[p >> 6] >> (p & 63) | (map[(p >> 6) + 1] << 1) << (63 - (p & 63));
}

size_t tide__kineto_far_quote(kin_scan *s, size_t p);

/* The first quote that opens or closes a string at or after p, or s->n. */
static inline size_t kin_quote(kin_scan *s, size_t p)
{
	kin_reach(s, p);
	uint64_t w = kin_bits(s->quotes, p);
	return __builtin_expect(w != 0, 1) ? p + (size_t)__builtin_ctzll(w)
					   : tide__kineto_far_quote(s, p);
}

/* Whether the bracket at p opens something outside a string, as far as the maps know. */
static inline bool kin_is_open(kin_scan *s, size_t p)
{
	kin_reach(s, p);
	return kin_bits(s->opens, p) & 1;
}

static inline bool kin_is_ws(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte at or after p that is not white space. */
static inline size_t kin_ws(const char *b, size_t p)
{
	while (kin_is_ws(b[p]))
		p++;
	return p;
}

#endif
