// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses decimal numbers exactly: times in microseconds become int64 nanoseconds without passing
 * through a double; integers keep all 64 bits or are rejected. */
#ifndef TIDE_IMPORT_JSON_NUMBER_H
#define TIDE_IMPORT_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum jsonr_num {
	JSONR_NUM_OK,
	JSONR_NUM_NOT,	 /* not a number: NaN, null, text, or empty */
	JSONR_NUM_RANGE, /* a number that does not fit */
} jsonr_num;

/* Converts decimal microseconds (sign, digits, fraction, exponent) to nanoseconds, rounded half
 * to even if the text has more than 3 decimals. */
jsonr_num tide__jsonr_parse_ns(const char *s, size_t n, int64_t *ns);
/* Parses an integer: sign, digits, or 0x and hex digits; no fraction or exponent. Magnitudes
 * over 63 bits wrap as two's complement only if unsigned. */
jsonr_num tide__jsonr_parse_i64(const char *s, size_t n, int64_t *v);

/* Parses a decimal number times `scale`, rounded half away from zero. Returns false for anything
 * else and for what does not fit. */
bool tide__jsonr_parse_scaled(const char *s, size_t n, int64_t scale, int64_t *out);

#endif
