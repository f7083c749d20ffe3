// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads both files line by line, without holding a document. */
#include "cli/cmd/tt_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct side {
	FILE *f;
	char *line;
	size_t cap;
	int indent;	   /* of an operation's members */
	char *index, *loc; /* owned: as written */
	bool shapes;
} side;

static bool begins(const side *s, const char *member)
{
	int k = 0;
	while (s->line[k] == ' ')
		k++;
	return k == s->indent && !strncmp(s->line + k, member, strlen(member));
}

static void keep(char **to, const side *s)
{
	free(*to);
	*to = strdup(strchr(s->line, ':') + 1);
}

static bool closes(const side *s)
{
	int k = 0;
	while (s->line[k] == ' ')
		k++;
	return k == s->indent - 2 && s->line[k] == '}';
}

/* Reads the next operation. Returns false at the end. */
static bool next(side *s)
{
	bool any = false;
	s->shapes = false;
	while (getline(&s->line, &s->cap, s->f) > 0) {
		if (begins(s, "\"index\":")) {
			keep(&s->index, s);
			any = true;
		} else if (begins(s, "\"loc\":")) {
			keep(&s->loc, s);
		} else if (begins(s, "\"input_shapes\": [") || begins(s, "\"output_shapes\": [")) {
			s->shapes |= !strchr(s->line, ']');
		}
		if (any && closes(s))
			return true;
	}
	return any;
}

/* Returns whether two members are equal, ignoring a comma at the end. */
static bool same(const char *a, const char *b)
{
	size_t n = a ? strcspn(a, "\n") : 0, k = b ? strcspn(b, "\n") : 0;
	n -= n && a[n - 1] == ',';
	k -= k && b[k - 1] == ',';
	return n == k && !memcmp(a ? a : "", b ? b : "", n);
}

static void done(side *s)
{
	if (s->f)
		fclose(s->f);
	free(s->line);
	free(s->index);
	free(s->loc);
}

tide_code tide__tt_check(const char *memory, const char *operations, size_t *n, size_t *no_shapes,
			 tide_error *err)
{
	side m = { .f = fopen(memory, "re"), .indent = 6 },
	     o = { .f = fopen(operations, "re"), .indent = 4 };
	tide_code rc = m.f && o.f ? TIDE_OK : tide__fail_errno(err, "cannot read it back");
	*n = *no_shapes = 0;
	while (rc == TIDE_OK) {
		bool a = next(&m), b = next(&o);
		if (a != b)
			rc = tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					"Mismatched lengths - one file ends after %zu operations",
					*n);
		if (rc != TIDE_OK || !a)
			break;
		if (!same(m.index, o.index))
			rc = tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					"Index mismatch at position %zu", *n);
		else if (!same(m.loc, o.loc))
			rc = tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					"Location mismatch at index %zu", *n);
		*no_shapes += !o.shapes;
		++*n;
	}
	done(&m);
	done(&o);
	return rc;
}
