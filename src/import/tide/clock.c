// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/clock.h"

#include "base/mem.h"
#include "base/search.h"

static bool push(tide_timebase *tb, tide_event_slice s)
{
	if (!TIDE_ROOM(tb->s, tb->cap, tb->n + 1))
		return false;
	s.scale = (uint64_t)(((tide_u128)s.dn << 48) / s.dk);
	tb->s[tb->n++] = s;
	return true;
}

bool tide__timebase_add(tide_timebase *tb, uint64_t ticks, int64_t ns)
{
	if (!tb->any) {
		tb->any = true;
		tb->last_k = ticks;
		tb->last_n = ns;
		return true;
	}
	if (ticks == tb->last_k && ns == tb->last_n)
		return true; /* the same moment twice */
	uint64_t dk = ticks - tb->last_k, dn = (uint64_t)ns - (uint64_t)tb->last_n;
	if (ticks <= tb->last_k || ns < tb->last_n || ns > TIDE_TIME_MAX || dn / dk > UINT16_MAX) {
		tb->dropped++;
		return true;
	}
	if (!push(tb, (tide_event_slice){ .k0 = tb->last_k, .dk = dk, .n0 = tb->last_n, .dn = dn }))
		return false;
	tb->last_k = ticks;
	tb->last_n = ns;
	return true;
}

bool tide__timebase_close(tide_timebase *tb, uint64_t dk, uint64_t dn)
{
	tb->at = 0;
	return tb->n || push(tb, (tide_event_slice){
					 .k0 = tb->last_k, .dk = dk, .n0 = tb->last_n, .dn = dn });
}

void tide__timebase_free(tide_timebase *tb)
{
	tide__free(tb->s);
	*tb = (tide_timebase){ 0 };
}

/* Finds the interval of a reading: the last that begins at or before it. */
static size_t find(const tide_timebase *tb, uint64_t ticks)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, tb->n, mid, tb->s[mid].k0 <= ticks);
	return lo ? lo - 1 : 0;
}

int64_t tide__timebase_slow(tide_timebase *tb, uint64_t ticks)
{
	tb->at = find(tb, ticks);
	const tide_event_slice *s = &tb->s[tb->at];
	bool back = ticks < s->k0;
	uint64_t d = back ? s->k0 - ticks : ticks - s->k0;
	tide_u128 q = (tide_u128)d * s->dn;
	q = (q + (back ? s->dk - 1 : 0)) / s->dk; /* rounded towards minus infinity in both
	                                           * directions */
	if (q > TIDE_TIME_MAX)
		return back ? 0 : TIDE_TIME_MAX;
	int64_t t = back ? s->n0 - (int64_t)q : s->n0 + (int64_t)q;
	return t < 0 ? 0 : t > TIDE_TIME_MAX ? TIDE_TIME_MAX : t;
}
