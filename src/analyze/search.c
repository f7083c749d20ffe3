// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each name is looked at once, each span by its name's number. */
#include "analyze/search.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/strings.h"

static unsigned char fold(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool holds(const char *s, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; len <= n && i <= n - len; i++) {
		size_t k = 0;
		while (k < len && fold(s[i + k]) == fold(text[k]))
			k++;
		if (k == len)
			return true;
	}
	return false;
}

/* One byte a text: 1 = looked at and not it, 2 = it. */
static bool hit(const tide_model *m, uint8_t *seen, tide_str s, const char *text, size_t len)
{
	if (!seen[s.i]) {
		size_t n;
		const char *name = tide__text(m, s, &n);
		seen[s.i] = holds(name, n, text, len) ? 2 : 1;
	}
	return seen[s.i] == 2;
}

/* Turn span numbers into places. */
static bool to_places(const tide_rows *rows, tide_found *f)
{
	tide_map at = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < f->n; i++)
		ok = tide__map_put(&at, f->place[i], (uint32_t)i + 1);
	for (uint32_t p = 0; ok && p < rows->n; p++) {
		uint32_t i = tide__map_get(&at, rows->order[p]);
		if (i)
			f->place[i - 1] = p;
	}
	tide__map_free(&at);
	return ok;
}

tide_code tide__search(const tide_model *m, const tide_rows *rows, const char *text, int64_t from,
		       size_t most, tide_found *out, tide_error *err)
{
	size_t len = strlen(text);
	uint8_t *seen = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	*out = (tide_found){ 0 };
	out->place = tide__alloc(most, sizeof *out->place);
	bool ok = seen && out->place;
	for (uint32_t s = 1; ok && s < m->spans.n; s++) {
		if (!hit(m, seen, m->spans.name[s], text, len))
			continue;
		out->total++;
		if (m->spans.t0[s] < from)
			out->before++;
		else if (out->n < most)
			out->place[out->n++] = s;
	}
	ok = ok && to_places(rows, out);
	tide__free(seen);
	if (ok)
		return TIDE_OK;
	tide__found_free(out);
	return tide__nomem(err);
}

void tide__found_free(tide_found *f)
{
	tide__free(f->place);
	*f = (tide_found){ 0 };
}
