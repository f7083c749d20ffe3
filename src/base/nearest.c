// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

/* Edit distance, capped: only small distances matter. Two neighbours that changed places, "hat" for
 * "hta", are 1 edit. */
static unsigned distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	size_t na = strlen(a), nb = strlen(b);
	unsigned d[MAX + 1][MAX + 1];
	if (na > MAX || nb > MAX)
		return MAX;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		d[i][0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
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
