// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* FILE.tide-rings: the part of a recording that is not in FILE.tide yet.
 *
 * It exists beside the file while the process records, is written through shared mappings, and is
 * removed by a clean stop. After kill -9 it completes the recording. Little-endian.
 *
 *     head (one page) | block | block | ...
 *
 * Blocks follow each other without gaps: the first at head_size, the next at this one's start +
 * size. A block counts once its magic is there (stored last); a zero magic, or a block that reaches
 * beyond the end of the file, ends the list. Block sizes are multiples of 4096.
 *
 * RING blocks hold one ring: `slots` (a power of two) events of 32 bytes after a page of head.
 *   Slot number q (from 0, never wraps) lies at index q % slots. The valid numbers are [tail, head),
 *   head - tail <= slots. The recorder raises tail only after the chunk that holds those slots is
 *   completely in FILE.tide, so with `next` = first + slots of this ring's last valid EVENTS chunk
 *   (0 if none): tail <= next <= head, and the events not in the file are exactly [next, head).
 *
 * LOG blocks hold the definitions log: a byte stream (the same records as in DEFS chunks), cut into
 *   blocks at any byte, so records may straddle them. Block i's bytes are stream bytes
 *   [first, first + capacity); the stream's length is head.log_used. DEFS chunks name the range of
 *   the stream they hold (first, slots), so the bytes not in the file are [end of last DEFS,
 *   log_used).
 *
 * If the ring file exists, a chunk of FILE.tide that fails its checksum was being written when the
 * process died: it ends the file's list, and its slots are still in the ring. */
#ifndef TIDE_FORMAT_RINGS_H
#define TIDE_FORMAT_RINGS_H

#include <stdint.h>

#include <tidemark/detail/slot.h>

#define TIDE_RINGS_SUFFIX "-rings"

typedef struct tide_rings_head { /* 4096 bytes at offset 0 */
	char magic[8];		 /* TIDE_RINGS_MAGIC */
	uint16_t major, minor;	 /* as in the file head */
	uint32_t head_size;	 /* 4096 */
	uint8_t recording[16];	 /* same id as the file's; otherwise this ring file belongs to
				  * another recording */
	uint64_t pid;
	uint64_t reserved0[3];
	/* from here on written while recording */
	uint64_t log_used;    /* valid bytes of the definitions log */
	uint64_t lost_other;  /* events of threads that have no ring */
	uint64_t lost_signal; /*   "  */
	/* written by other processes to control a recording (`tidemark ctl`): text and command
	 * first, then the sequence number; the recorder stores that number in control_done when
	 * finished */
	uint64_t control_seq;
	uint64_t control;      /* TIDE_CONTROL_* */
	uint64_t control_done; /* written by the recorder */
	uint64_t reserved1[2];
	char control_text[192]; /* TIDE_CONTROL_MARK: the mark's name */
	uint8_t pad[4096 - 320];
} tide_rings_head;
_Static_assert(sizeof(tide_rings_head) == 4096, "rings head");

enum { TIDE_CONTROL_OFF = 1, TIDE_CONTROL_ON, TIDE_CONTROL_MARK };

#define TIDE_BLOCK_MAGIC 0x4b434c42u /* "BLCK" */
enum { TIDE_BLOCK_RING = 1, TIDE_BLOCK_LOG = 2 };

typedef struct tide_block_head { /* 4096 bytes: first page of a block */
	uint32_t magic;		 /* TIDE_BLOCK_MAGIC; stored last */
	uint32_t type;		 /* TIDE_BLOCK_* */
	uint64_t size;		 /* bytes of the block, this page included; a multiple of 4096 */
	uint32_t ring;		 /* RING: its number, from 1, in order of appearance */
	uint32_t reserved0;
	uint64_t slots;	   /* RING: slots, a power of two; LOG: 0 */
	uint64_t first;	   /* LOG: stream offset of its first byte */
	uint64_t capacity; /* bytes after this page: size - 4096 */
	uint64_t reserved1[2];
	/* line 1: written by the recording thread */
	uint64_t head;	      /* next slot number */
	uint64_t lost_full;   /* events dropped: ring full */
	uint64_t lost_signal; /* events dropped: signal handler inside the recorder */
	uint64_t lost_other;  /* events dropped: value out of range */
	uint64_t extra;	      /* slots that are not events of their own: LANE, continuations */
	uint64_t reserved2[3];
	/* line 2: written by the recorder's writer thread */
	uint64_t tail; /* first slot number still needed */
	uint64_t reserved3[7];
	uint8_t pad[4096 - 192];
} tide_block_head;
_Static_assert(sizeof(tide_block_head) == 4096, "block head");

/* An event is one slot, or a slot and its continuation slots; the ring's head moves past all of
 * them at once, so an event is complete or absent. (The slot itself: tidemark/detail/slot.h.) */
_Static_assert(sizeof(tide_ring_slot) == 32, "ring slot");

/* Fields and continuation slots by type (the tag of the record that the slot becomes):
 *
 *   LANE         a lane, b tid (64 bits)
 *   BEGIN        c name; depth: before it
 *   BEGIN_ARG    c name, a arg; depth: before it
 *   BEGIN_FULL   c name, a arg, b: bits 0..31 stack, 32..63 origin, nothing if arg is 0;
 *                depth: before it; encoded as the shortest record that can hold it
 *   END          depth: after it (ops deeper than this end)
 *   ALLOC        a addr, b size + stream
 *   ALLOC_STACK  a addr, b size + stream, c stack
 *   ALLOC_FULL   a addr, b size + stream, c stack; 1 continuation: ticks field = requested
 *   FREE         a addr
 *   USE          a addr
 *   SEG_ALLOC    a addr, b size + stream, c kind
 *   SEG_FREE     a addr, b size
 *   TENSOR       a addr, c name, b: bits 0..7 dtype, 8..15 role, 16..23 requires_grad, 24..31 ndim;
 *                (ndim + 3) / 4 continuations, each four u64 of the shape
 *   VIEW         as TENSOR; (ndim + 4) / 4 continuations of u64: the offset in bytes, then
 *                the shape
 *   SAMPLE       a bits of the double, c counter
 *   MARK         a value (int64), c name, b kind
 *   ANNOTATE     a length in bytes (<= 4096), c key; (a + 31) / 32 continuations with the text
 *   DEVICE_LOG   a length in bytes (<= 4096); (a + 31) / 32 continuations with the records
 *   OOM          a free bytes (int64), b size
 *
 * Encoding slots as records: format/encode.h. */

#endif
