// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A chunk's head has the state of its ring before the chunk; the state after the last one is
 * found by decoding it. */
#include "format/ring_ends.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "format/decode.h"

bool tide__ring_ends_add(tide_ring_ends *e, const tide_chunk *c)
{
	uint64_t end = c->head.first + c->head.slots;
	if (c->head.type == TIDE_CHUNK_DEFS && end > e->defs)
		e->defs = end;
	if (c->head.type != TIDE_CHUNK_EVENTS)
		return true;
	uint32_t at = tide__map_get(&e->rows, c->head.ring);
	if (!at) {
		if (e->n >= UINT32_MAX / 2 || !TIDE_ROOM(e->last, e->cap, e->n + 1))
			return false;
		at = (uint32_t)e->n + 1;
		if (!tide__map_put(&e->rows, c->head.ring, at))
			return false;
		e->n++;
		e->last[at - 1] = *c;
	} else if (end >= e->last[at - 1].head.first + e->last[at - 1].head.slots) {
		e->last[at - 1] = *c;
	}
	return true;
}

void tide__ring_ends_free(tide_ring_ends *e)
{
	tide__map_free(&e->rows);
	tide__free(e->last);
	*e = (tide_ring_ends){ 0 };
}

struct asking {
	const tide_ring_ends *e;
	tide_reader *r;
	const tide_schema *schema;
	tide_payload buf;
	bool no_memory;
};

static void follow(tide_ring_end *end, const tide_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (ev[i].tag) {
		case TIDE_REC_LANE:
			end->lane = ev[i].name;
			end->depth = 0;
			break;
		case TIDE_REC_BEGIN:
			end->depth++;
			break;
		case TIDE_REC_END:
			end->depth -= end->depth > 0;
			break;
		case TIDE_REC_DEPTH:
			end->depth = (uint32_t)ev[i].size;
			break;
		default:
			break;
		}
	}
}

static tide_ring_end end_of(void *user, uint32_t ring)
{
	struct asking *a = user;
	tide_ring_end end = { 0 };
	uint32_t at = tide__map_get(&a->e->rows, ring);
	if (!at)
		return end;
	const tide_chunk *c = &a->e->last[at - 1];
	end = (tide_ring_end){ c->head.lane, c->head.depth, c->head.first + c->head.slots,
			       c->head.ticks };
	tide_code rc = tide__reader_read_payload(a->r, c, &a->buf, NULL);
	a->no_memory |= rc == TIDE_ENOMEM;
	if (rc)
		return end; /* it changed since it was verified: use the head's values */
	tide_cursor cur;
	tide_event ev[64];
	size_t n;
	tide__cursor_start(&cur, a->schema, a->buf.bytes, a->buf.n, c->head.ticks);
	while ((n = tide__events_decode(&cur, ev, 64)) > 0)
		follow(&end, ev, n);
	end.ticks = cur.ticks;
	return end;
}

tide_code tide__ring_ends_read_tail(const tide_ring_ends *e, tide_reader *r,
				    const tide_schema *schema, const char *path, tide_tail *tail,
				    tide_error *err)
{
	struct asking a = { .e = e, .r = r, .schema = schema };
	tide_code rc = tide__rings_read_tail(path, tide__reader_head(r)->recording, schema, end_of,
					     &a, e->defs, tail, err);
	tide__payload_free(&a.buf);
	return !rc && a.no_memory ? tide__nomem(err) : rc;
}
