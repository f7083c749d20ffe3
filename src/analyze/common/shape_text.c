// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/shape_text.h"

#include <stddef.h>
#include <stdint.h>

enum { DEEP = 3 }; /* inputs, a list of tensors among them, a shape */

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	return s;
}

/* Returns the end of a number from 0 to 2^63 - 1, NULL if there is none. */
static const char *skip_number(const char *s)
{
	int64_t v = 0;
	const char *from = s;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return NULL;
	return s == from ? NULL : s;
}

bool tide__shape_text_is_sound(const char *s)
{
	int depth = 0;
	size_t numbers = 0; /* of the list being read */
	bool value = true;  /* a value may follow, else a comma or the end of the list */
	if (!s || *(s = skip_blanks(s)) != '[')
		return false;
	for (bool begun = false; depth || !begun; s = skip_blanks(s)) {
		begun = true;
		if (*s == '[' && value && depth < DEEP) {
			depth++;
			numbers = 0;
			s++;
		} else if (*s == ']' && depth) {
			depth--;
			value = false;
			s++;
		} else if (*s == ',' && !value) {
			value = true;
			s++;
		} else if (value && depth > 1 && (s = skip_number(s))) {
			value = false;
			if (++numbers > TIDE_SHAPE_DIMS)
				return false;
		} else {
			return false;
		}
	}
	return !*s;
}
