// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Formats sizes in the texts of advice as commands and pages do: "12.34 MiB". */
#ifndef TIDE_ANALYZE_ADVICE_SIZE_TEXT_H
#define TIDE_ANALYZE_ADVICE_SIZE_TEXT_H

#include <stdio.h>

typedef struct tide_size_text {
	char text[24];
} tide_size_text;

/* Returns the size in KiB below 1 MiB, in GiB from 1 GiB, else in MiB. */
static inline tide_size_text tide__size_text(double bytes)
{
	const double mib = 1024.0 * 1024.0;
	tide_size_text out;
	bool large = bytes >= 1024 * mib, small = bytes < mib;

	snprintf(out.text, sizeof out.text, "%.2f %s",
		 bytes / mib / (large ? 1024 : 1) * (small ? 1024 : 1),
		 large	 ? "GiB"
		 : small ? "KiB"
			 : "MiB");
	return out;
}

#endif
