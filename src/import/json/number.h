// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Numbers as decimal text, exactly: times in microseconds become int64 nanoseconds and never pass
 * through a double; integers keep all 64 bits or are refused. */
#ifndef TIDE_IMPORT_JSON_NUMBER_H
#define TIDE_IMPORT_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kin_num {
	KIN_NUM_OK,
	KIN_NUM_NOT,   /* not a number: NaN, null, text, nothing */
	KIN_NUM_RANGE, /* a number that does not fit */
} kin_num;

/* Decimal microseconds (sign, digits, fraction, exponent) to nanoseconds, rounded half to even
 * where the text has more than three decimals. */
kin_num tide__kineto_ns(const char *s, size_t n, int64_t *ns);
/* Whole number: sign, digits, or 0x and hex digits; not with a fraction or exponent. Magnitudes over
 * 63 bits wrap as two's complement only when unsigned. */
kin_num tide__kineto_i64(const char *s, size_t n, int64_t *v);

#endif
