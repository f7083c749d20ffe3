// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parses decimal numbers of options exactly: "12.5" with 3 decimals is 12500. */
#ifndef TIDE_CLI_DECIMAL_H
#define TIDE_CLI_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a plain non-negative decimal number as a count of 10^-decimals. Returns false for
 * anything else, for more decimals, and on overflow. */
static inline bool tide__parse_decimal(const char *s, int decimals, int64_t *out)
{
	int64_t v = 0;
	int left = -1; /* decimals left; -1 before the point */
	bool digits = false;
	for (; *s; s++) {
		if (*s == '.' && left < 0) {
			left = decimals;
			continue;
		}
		if (*s < '0' || *s > '9' || !left || v > (INT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (*s - '0');
		digits = true;
		left -= left > 0;
	}
	for (left = left < 0 ? decimals : left; left; left--) {
		if (v > INT64_MAX / 10)
			return false;
		v *= 10;
	}
	*out = v;
	return digits;
}

#endif
