// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/span_args.h"

#include <string.h>

#include "base/search.h"
#include "model/strings.h"

tide_str tide__attr_key(const tide_model *m, const char *key)
{
	return (tide_str){ tide__strings_find(m->strings, key, strlen(key)) };
}

static int64_t digits(const char *s, size_t n)
{
	int64_t v = 0;
	if (!n || n > 18)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		v = v * 10 + (s[i] - '0');
	}
	return v;
}

int64_t tide__attr_number(const tide_model *m, uint32_t span, tide_str key)
{
	int64_t at = key.i && span ? tide__attr_find(m, (tide_span_id){ span }, key) : -1;
	if (at < 0)
		return -1;
	if (!m->attrs.text[at].i)
		return m->attrs.number[at] >= 0 ? m->attrs.number[at] : -1;
	size_t n;
	const char *s = tide__text(m, m->attrs.text[at], &n);
	return digits(s, n);
}

tide_str tide__attr_text(const tide_model *m, uint32_t span, tide_str key)
{
	int64_t at = key.i && span ? tide__attr_find(m, (tide_span_id){ span }, key) : -1;
	return at < 0 ? (tide_str){ 0 } : m->attrs.text[at];
}

size_t tide__attr_first(const tide_model *m, uint32_t span)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, m->attrs.n, mid, m->attrs.span[mid].i < span);
	return lo;
}
