// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "redact/map.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "model/strings.h"
#include "redact/json_text.h"

struct tide_redact_map {
	tide_strings *from;
	char *to; /* owned: the replacements, one after the other */
	size_t n_to, cap_to;
};

tide_redact_map *tide__redact_map_new(void)
{
	tide_redact_map *m = tide__calloc(1, sizeof *m);
	if (m && !(m->from = tide__strings_new())) {
		tide__free(m);
		return NULL;
	}
	return m;
}

void tide__redact_map_free(tide_redact_map *m)
{
	if (!m)
		return;
	tide__strings_free(m->from);
	tide__free(m->to);
	tide__free(m);
}

bool tide__redact_map_add(tide_redact_map *m, const char *from, const char *to, size_t n)
{
	uint32_t before = tide__strings_count(m->from);
	if (!n || !memcmp(from, to, n))
		return true;
	uint32_t id = tide__strings_add(m->from, from, n);
	if (!id || id <= before)
		return id != 0;
	if (!TIDE_ROOM(m->to, m->cap_to, m->n_to + n))
		return false;
	memcpy(m->to + m->n_to, to, n);
	m->n_to += n;
	return true;
}

void tide__redact_map_write(const tide_redact_map *m, FILE *out)
{
	size_t at = 0, n;
	fputs("{\"texts\": [", out);
	for (uint32_t id = 1; id <= tide__strings_count(m->from); id++, at += n) {
		const char *from = tide__strings_get(m->from, id, &n);
		fputs(id > 1 ? ",\n[" : "\n[", out);
		tide__redact_put_json(out, m->to + at, n);
		fputs(", ", out);
		tide__redact_put_json(out, from, n);
		fputc(']', out);
	}
	fputs("\n]}\n", out);
}
