// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Banks of an out-of-memory event, from its text:
 *
 *   Not enough space to allocate 805306368 B DRAM buffer across 12 banks, where each bank needs to
 *   store 67110912 B, but bank size is 1073741792 B (allocated: 1043741792 B, free: 30000000 B,
 *   largest free block: 20000000 B)
 *
 * Older versions end before "but", or before the parenthesis. */
#include "analyze/allocator/oom_banks.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* Returns the number after `words`; TIDE_BANK_UNKNOWN if the text lacks them. */
static uint64_t number_after(const char *text, const char *words)
{
	const char *p = strstr(text, words);
	if (!p)
		return TIDE_BANK_UNKNOWN;
	p += strlen(words);
	return *p >= '0' && *p <= '9' ? strtoull(p, NULL, 10) : TIDE_BANK_UNKNOWN;
}

static void from_text(const char *text, tide_oom_banks *b)
{
	uint64_t n = number_after(text, " across ");
	b->n = n < UINT32_MAX ? (uint32_t)n : 0;
	b->need = number_after(text, "each bank needs to store ");
	b->size = number_after(text, "bank size is ");
	if (b->size == TIDE_BANK_UNKNOWN)
		b->size = number_after(text, "bank size is only ");
	b->allocated = number_after(text, "allocated: ");
	b->free = number_after(text, "free: ");
	b->largest = number_after(text, "largest free block: ");
	b->exact = b->free != TIDE_BANK_UNKNOWN;
}

/* Returns row + 1 of the pool's last state at or before t; 0 = none. */
static size_t state_before(const tide_pool_states *s, uint32_t pool, int64_t t)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, s->n, mid, s->t[mid] <= t);
	while (lo && s->pool[lo - 1].i != pool)
		lo--;
	return lo;
}

static void from_state(const tide_model *m, uint32_t pool, size_t row, tide_oom_banks *b)
{
	if (row && b->size == TIDE_BANK_UNKNOWN)
		b->size = m->pools.capacity[pool] / m->pools.banks[pool];
	if (!row || b->exact)
		return;
	b->allocated = m->pool_states.allocated[row - 1];
	b->free = m->pool_states.free[row - 1];
	b->largest = m->pool_states.largest[row - 1];
}

void tide__oom_banks_find(const tide_model *m, uint32_t mark, tide_oom_banks *out)
{
	static const tide_oom_banks none = { 0 };
	uint32_t pool = m->marks.pool[mark].i, banks = pool ? m->pools.banks[pool] : 0;
	uint64_t asked = m->marks.value[mark] > 0 ? (uint64_t)m->marks.value[mark] : 0;
	*out = none;
	if (!banks)
		return;
	size_t row = state_before(&m->pool_states, pool, m->marks.t[mark]);
	from_text(tide__text(m, m->marks.text[mark], NULL), out);
	if (!row && out->need == TIDE_BANK_UNKNOWN) { /* its banks are unknown */
		*out = none;
		return;
	}
	out->n = out->n ? out->n : banks;
	if (out->need == TIDE_BANK_UNKNOWN)
		out->need = (asked + out->n - 1) / out->n;
	from_state(m, pool, row, out);
}
