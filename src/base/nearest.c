// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

/* Edit distance, capped: only small distances matter. */
static unsigned distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	size_t na = strlen(a), nb = strlen(b);
	unsigned row[MAX + 1];
	if (na > MAX || nb > MAX)
		return MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned diag = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = diag + (a[i - 1] != b[j - 1]);
			diag = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

const char *tide__nearest(const char *word, const char *(*name)(const void *user, size_t i),
			  const void *user, size_t n)
{
	const char *best = NULL;
	unsigned best_d = strlen(word) < 4 ? 2 : 3; /* names at this distance or more are not
	                                             * suggested */
	for (size_t i = 0; i < n; i++) {
		const char *s = name(user, i);
		bool prefix = strlen(word) > 1 && !strncmp(s, word, strlen(word));
		unsigned d = prefix ? 1 : distance(word, s);
		if (d < best_d) {
			best_d = d;
			best = s;
		}
	}
	return best;
}
