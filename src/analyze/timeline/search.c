// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each distinct name is compared once, each span by its name's number. */
#include "analyze/timeline/search.h"

#include <string.h>

#include "analyze/common/interval_set.h"
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

/* One byte per text: 1 = does not match, 2 = matches. */
static bool hit(const tide_model *m, uint8_t *seen, tide_str s, const char *text, size_t len)
{
	if (!seen[s.i]) {
		size_t n;
		const char *name = tide__text(m, s, &n);
		seen[s.i] = holds(name, n, text, len) ? 2 : 1;
	}
	return seen[s.i] == 2;
}

/* Converts span numbers to places. */
static bool to_places(const tide_timeline_rows *rows, tide_found *f)
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

tide_code tide__search(const tide_model *m, const tide_timeline_rows *rows, const char *text,
		       int64_t from, uint64_t skip, size_t most, tide_found *out, tide_error *err)
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
		if (m->spans.t0[s] < from || (skip && skip--))
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

uint32_t tide__search_around(const tide_model *m, const tide_timeline_rows *rows, const char *name,
			     int64_t t0, int64_t t1)
{
	tide_str text = { tide__strings_find(m->strings, name, strlen(name)) };
	uint32_t best = 0;
	for (uint32_t s = 1; text.i && s < m->spans.n && m->spans.t0[s] <= t0; s++) {
		int64_t end = tide__span_end(m, s);
		if (m->spans.name[s].i == text.i && end >= t1 &&
		    (!best || end - m->spans.t0[s] < tide__span_end(m, best) - m->spans.t0[best]))
			best = s;
	}
	return best ? tide__timeline_rows_place(rows, m, best) : UINT32_MAX;
}

void tide__found_free(tide_found *f)
{
	tide__free(f->place);
	*f = (tide_found){ 0 };
}
