// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Encodes ring slots into chunks: the writing half of the format.
 *
 * Used by the recorder's writer thread and by `tidemark recover`. No allocation, no I/O, libc only.
 *
 * State of the wire types t, x, p, q (reset at the start of every chunk):
 *
 *     ticks  = chunk.ticks      t: ticks += value
 *     addr   = 0                x: see below
 *     pool   = 0                p: tag bit 7 ? pool = varint : pool stays
 *     stream = 0                q: tag bit 7 ? stream = varint : stream stays
 *     recent[256] = { 0 }       x: tag bit 6 ? addr = recent[byte] : addr += unzigzag(varint)
 *                                  then recent[TIDE_RECENT(addr)] = addr
 *
 * Bit 7 covers all p and q fields of the record together: if set, both are present; if clear,
 * neither is. A record has at most one t, x, p and q each, and t comes first. Times within a ring
 * never decrease: after a clock steps back, the last time is repeated until the clock has caught
 * up.
 *
 * The open-op count (chunk.depth at the chunk's start; see tide.h): every slot holds the number of
 * ops open before it (END: after it); if that differs from the count, a DEPTH record with the
 * slot's time comes before the event's own record. So every event is one record, besides LANE and
 * DEPTH. */
#ifndef TIDE_FORMAT_ENCODE_H
#define TIDE_FORMAT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "format/rings.h"
#include "format/tide.h"

/* Index of an address in the table of recent ones. */
#define TIDE_RECENT(addr) ((unsigned)(((addr)*UINT64_C(0x9e3779b97f4a7c15)) >> 56))

enum {
	TIDE_RECORD_MAX = 4224,	     /* maximum bytes of one event, with the DEPTH record before
				      * it */
	TIDE_EVENTS_PAYLOAD = 65536, /* maximum bytes of an EVENTS payload */
	TIDE_EVENTS_CHUNK = 64 + TIDE_EVENTS_PAYLOAD,
};

/* ---- writing values; each returns the byte after what it wrote ----------------------------- */

static inline uint8_t *tide__put_v(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *tide__put_z(uint8_t *p, int64_t v)
{
	return tide__put_v(p, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

/* Writes a length and the bytes. */
uint8_t *tide__put_s(uint8_t *p, const void *bytes, size_t n);

/* ---- chunks -------------------------------------------------------------------------------- */

/* Completes a chunk: fills in magic, sizes and checksum of *h for the `n` raw payload bytes. */
void tide__chunk_seal(tide_chunk_head *h, const void *payload, uint32_t n);

/* Writes the SCHEMA payload, at most TIDE_SCHEMA_MAX bytes. *count receives the number of record
 * types. */
enum { TIDE_SCHEMA_MAX = 4096 };
size_t tide__encode_schema(uint8_t *out, uint32_t *count);

/* Returns the checksum of a file head. */
uint64_t tide__file_head_sum(const tide_file_head *h);

/* ---- events -------------------------------------------------------------------------------- */

/* One ring's state from chunk to chunk. Start with everything 0 but `ring`. */
typedef struct tide_encoder {
	uint32_t ring;	 /* its number */
	uint32_t lane;	 /* the thread after the last encoded slot */
	uint32_t depth;	 /* open ops after that slot, as a reader counts them */
	uint64_t next;	 /* number of the next slot to encode */
	uint64_t ticks;	 /* time of the last record */
	uint64_t events; /* encoded so far, without LANE and DEPTH records */
	uint64_t bad;	 /* malformed slots that were skipped (the recorder never writes any) */
} tide_encoder;

/* Returns the number of continuation slots of a slot, or UINT64_MAX if the slot is invalid. */
uint64_t tide__slot_more(const tide_ring_slot *s);

/* Encodes slots [e->next, head) of a ring of mask + 1 slots, as many as fit, into one EVENTS chunk
 * at `out` (TIDE_EVENTS_CHUNK bytes). Returns the chunk's bytes including its head; 0 if there is
 * nothing to encode. The state advances: encode with a copy and keep it once the chunk is safely
 * written. */
size_t tide__encode_events(tide_encoder *e, const tide_ring_slot *slots, uint64_t mask,
			   uint64_t head, uint8_t *out);

#endif
