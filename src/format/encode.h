// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ring slots into chunks: the writing half of the format.
 *
 * Used by the recorder's writer thread and by `tidemark recover`. No allocation, no I/O, libc only.
 *
 * The memory of the wire types t, x, p, q (all of it starts anew in every chunk):
 *
 *     ticks  = chunk.ticks      t: ticks += value
 *     addr   = 0                x: see below
 *     pool   = 0                p: tag bit 7 ? pool = varint : pool stays
 *     stream = 0                q: tag bit 7 ? stream = varint : stream stays
 *     recent[256] = { 0 }       x: tag bit 6 ? addr = recent[byte] : addr += unzigzag(varint)
 *                                  then recent[TIDE_RECENT(addr)] = addr
 *
 * Bit 7 stands for all p and q fields of the record together: set, both are there; clear, neither is.
 * A record has at most one t, x, p and q each, and t comes first.
 * Times within a ring never decrease: a clock that steps back is held until it has caught up.
 *
 * The open-op count (chunk.depth at the chunk's start; see tide.h): every slot tells how many ops were
 * open; where that differs from the count, a DEPTH record with the slot's time comes before the
 * event's record. An END slot that does not simply end the innermost op becomes a DEPTH alone. */
#ifndef TIDE_FORMAT_ENCODE_H
#define TIDE_FORMAT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "format/rings.h"
#include "format/tide.h"

/* Index of an address in the table of recent ones. */
#define TIDE_RECENT(addr) ((unsigned)(((addr) * UINT64_C(0x9e3779b97f4a7c15)) >> 56))

enum {
	TIDE_RECORD_MAX = 4200,	     /* bytes that one event can take, DEPTH before it included */
	TIDE_EVENTS_PAYLOAD = 65536, /* usual size of an EVENTS payload; never more than this */
};

#endif
