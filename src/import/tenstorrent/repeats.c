// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Remembers the states of recent lines. An operation changes one pool or two, so most states of a
 * log repeat an earlier line byte by byte: comparing it costs a tenth of parsing it. A table with
 * one place for each hash; a new line replaces the one in its place. */
#include <string.h>

#include "import/tenstorrent/ttlog_impl.h"

static bool may_be_state(const char *s, size_t n)
{
	return n >= TT_REPEAT_LEAST && n <= TT_REPEAT_MOST && s[n - 1] == '}';
}

/* Rank, pool and largest free bytes are near these bytes; the length counts the other digits. */
static size_t place_of(const char *s, size_t n)
{
	uint64_t begin, middle, end;
	memcpy(&begin, s, 8);
	memcpy(&middle, s + n / 4, 8);
	memcpy(&end, s + n - 12, 8);
	uint64_t h = (begin ^ middle * UINT64_C(0x9e3779b97f4a7c15) ^ n) + end;
	return h * UINT64_C(0xd6e8feb86659fd93) >> 58;
}

bool tide__ttlog_find_repeat(const tt_repeats *v, const char *s, size_t n, tt_line *out)
{
	if (!may_be_state(s, n))
		return false;
	const tt_repeat *l = &v->lines[place_of(s, n)];
	if (l->n != n || memcmp(l->text, s, n))
		return false;
	*out = l->line;
	if (out->rank.n)
		out->rank.s = s + l->rank_at;
	return true;
}

void tide__ttlog_remember(tt_repeats *v, const char *s, size_t n, const tt_line *line)
{
	if (line->what != TT_STATE || line->cut || !may_be_state(s, n))
		return;
	tt_repeat *l = &v->lines[place_of(s, n)];
	l->n = n;
	l->rank_at = line->rank.n ? (size_t)(line->rank.s - s) : 0;
	l->line = *line;
	l->line.text = l->line.all = (tide_slice){ NULL, 0 };
	memcpy(l->text, s, n);
}
