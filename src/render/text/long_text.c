// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/long_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

void tide__long_free(tide_long *l)
{
	tide__free(l->seen);
	l->seen = NULL;
	l->of = NULL;
}

/* Returns true at the first use of a text; false if memory runs out. */
static bool first(tide_long *l, const tide_strings *s, uint32_t id)
{
	if (!l->of) {
		l->of = s;
		l->n = tide__strings_count(s);
		l->seen = tide__calloc((size_t)l->n / 8 + 1, 1);
	}
	if (l->of != s || !l->seen || id > l->n)
		return false;
	uint8_t *byte = &l->seen[id / 8], bit = (uint8_t)(1u << id % 8);
	bool is_new = !(*byte & bit);
	*byte |= bit;
	return is_new;
}

const char *tide__long_get(tide_long *l, const tide_strings *s, uint32_t id, size_t *n)
{
	size_t len, keep = TIDE_LONG_KEEP;
	const char *text = tide__strings_get(s, id, &len);
	if (len > TIDE_LONG &&
	    (l->brief || (!first(l, s, id) && (l->again += len) > TIDE_LONG_AGAIN))) {
		while (keep > TIDE_LONG_KEEP - 4 && ((unsigned char)text[keep] & 0xc0) == 0x80)
			keep--; /* not inside a character */
		memcpy(l->text, text, keep);
		len = keep + (size_t)snprintf(l->text + keep, sizeof l->text - keep,
					      "... (text %" PRIu32 ", %zu bytes)", id, len);
		text = l->text;
		l->cut++;
	}
	if (n)
		*n = len;
	return text;
}

char *tide__long_path(tide_long *l, const tide_paths *p, const tide_model *m, uint32_t node,
		      char *buf, size_t n)
{
	bool brief = l->paths > TIDE_LONG_PATHS && n > TIDE_LONG_KEEP;
	tide__paths_text(p, m, node, buf, brief ? TIDE_LONG_KEEP : n);
	l->paths += strlen(buf);
	l->cut += brief && !strncmp(buf, ".../", 4);
	return buf;
}
