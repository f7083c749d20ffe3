// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The .tide file and its ring file: layout, in one place.
 *
 * docs/format.md is the specification; this header is its machine-readable half, used by the
 * recorder's writer and by the reader. Everything is little-endian. libc only.
 *
 *     FILE.tide         head | chunk | chunk | ... | END chunk
 *     FILE.tide-rings   while recording, and after a crash: rings and names, in shared mappings
 *
 * A chunk is a 64-byte head and a payload. It is valid when its magic, sizes and checksum hold; a
 * zero magic (preallocated room) or the end of the file ends the list. EVENTS chunks name
 * their ring and the range of ring slots they hold, so a slot is in the file exactly once: what a
 * crash left in a ring beyond the last valid chunk of that ring is read from the ring file. */
#ifndef TIDE_FORMAT_TIDE_H
#define TIDE_FORMAT_TIDE_H

#include <stdint.h>

#define TIDE_FILE_MAGIC "TIDEMARK" /* 8 bytes, no NUL */
#define TIDE_RINGS_MAGIC "TIDERING"
enum {
	TIDE_FORMAT_MAJOR = 1, /* a reader refuses another major */
	TIDE_FORMAT_MINOR = 0, /* and reads any minor: unknown chunks and records are skipped */
};

typedef struct tide_file_head { /* 128 bytes at offset 0 */
	char magic[8];
	uint16_t major, minor;
	uint32_t head_size;	/* bytes to skip to the first chunk; >= 128 */
	uint8_t recording[16];	/* random id, also in the ring file */
	uint64_t pid;
	uint64_t start_ticks;	/* clock at t = 0 */
	int64_t start_mono_raw; /* ns at t = 0 */
	int64_t start_real;	/* Unix ns at t = 0 */
	uint32_t clock;		/* TIDE_CLOCK_* */
	uint32_t flags;		/* TIDE_FILE_* */
	uint8_t reserved[40];
	uint64_t checksum;	/* XXH3-64 of the bytes before it */
} tide_file_head;
_Static_assert(sizeof(tide_file_head) == 128, "file head");

enum { TIDE_CLOCK_NS = 0 /* ticks are CLOCK_MONOTONIC_RAW ns */, TIDE_CLOCK_TSC = 1, TIDE_CLOCK_CNTVCT = 2 };
enum { TIDE_FILE_PACKED = 1 /* rewritten by `tidemark pack` */, TIDE_FILE_RECOVERED = 2 };

typedef struct tide_chunk_head { /* 64 bytes */
	uint32_t magic;	     /* TIDE_CHUNK_MAGIC */
	uint16_t type;	     /* TIDE_CHUNK_* */
	uint16_t flags;	     /* TIDE_CHUNK_ZSTD */
	uint32_t stored;     /* payload bytes that follow */
	uint32_t raw;	     /* payload bytes after decompression; <= TIDE_CHUNK_RAW_MAX */
	uint32_t ring;	     /* EVENTS: ring number */
	uint32_t lane;	     /* EVENTS: lane (thread) current at the first slot; 0 = none */
	uint64_t first;	     /* EVENTS: first ring slot number held */
	uint64_t slots;	     /* EVENTS: ring slots held; first + slots is the next chunk's first */
	uint64_t count;	     /* records in the payload */
	uint64_t ticks;	     /* EVENTS: clock that the first record's delta counts from */
	uint64_t checksum;   /* XXH3-64 of this head up to here (with seed 0), then of the payload seeded by that */
} tide_chunk_head;
_Static_assert(sizeof(tide_chunk_head) == 64, "chunk head");

#define TIDE_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
#define TIDE_CHUNK_RAW_MAX (64u << 20)

#define TIDE_CHUNKS(X) /* name, number, text */                                                    \
	X(SCHEMA, 1, "schema") /* record types: see docs/format.md; first chunk of every file */   \
	X(DEFS, 2, "definitions") /* names, frames, stacks, devices, pools, streams, lanes */      \
	X(EVENTS, 3, "events")	  /* what one ring recorded */                                     \
	X(CLOCK, 4, "clock")	  /* (ticks, MONOTONIC_RAW, REALTIME) triples */                   \
	X(FACTS, 5, "facts")	  /* settings of the process and the recording */                  \
	X(LOSS, 6, "loss")	  /* per ring, events lost so far */                               \
	X(END, 7, "end")	  /* clean end: totals */
enum {
#define X(name, number, text) TIDE_CHUNK_##name = number,
	TIDE_CHUNKS(X)
#undef X
	TIDE_CHUNK_ZSTD = 1, /* flags: payload is one zstd frame */
};

/* ---- records ------------------------------------------------------------------------------
 * A payload is a sequence of records: one tag byte, then the fields of that tag in schema order.
 * The SCHEMA chunk lists every tag with the wire types of its fields, so an unknown record can be
 * skipped, and a known one with fields added at its end is read as far as it is known.
 *
 * Wire types: v = varint (LEB128, <= 10 bytes)      z = zigzag varint
 *             s = varint length + bytes             d = 8 bytes, IEEE double
 *             a = varint count + that many varints
 * Fields marked delta hold the difference to the same field of the previous record in the chunk that
 * has it: `dt` (ticks, v: never negative within a ring) and `addr` (z).
 * In EVENTS, tag bits 7 and 6 are flags of the record, and tags are 1..63:
 *     TIDE_TAG_SAME   the fields `pool` and `depth` are left out: as in the record before it in this
 *                     chunk (each as it was last seen there; 0 at the chunk's start)
 *     TIDE_TAG_PLAIN  the fields `stream`, `stack`, `arg` and `kind` are left out: 0
 * A flag that concerns no field of the record type says nothing. Writers need not use them.
 *
 * The SCHEMA payload: per record type one tag byte, then text, wire types and field names, each s. */
enum { TIDE_TAG_SAME = 0x80, TIDE_TAG_PLAIN = 0x40, TIDE_TAG_MASK = 0x3f };
#define TIDE_RECORDS(R) /* name, tag, text, wire types, field names */                             \
	/* events: what a thread did */                                                            \
	R(LANE, 1, "lane", "vvv", "dt,lane,tid")	    /* events of this thread follow */     \
	R(BEGIN, 2, "begin", "vvvv", "dt,depth,name,arg")   /* an op begins; depth = ops around it */ \
	R(END, 3, "end", "vv", "dt,depth")		    /* ops deeper than depth end */        \
	R(ALLOC, 4, "alloc", "vzvvvvv", "dt,addr,size,pool,depth,stream,stack")                    \
	R(FREE, 5, "free", "vzvv", "dt,addr,pool,depth")                                           \
	R(SEG_ALLOC, 6, "segment_alloc", "vzvvvvv", "dt,addr,size,pool,depth,stream,kind")         \
	R(SEG_FREE, 7, "segment_free", "vzvvv", "dt,addr,size,pool,depth")                         \
	R(TENSOR, 8, "tensor", "vzvvvvvva", "dt,addr,pool,depth,name,dtype,role,grad,shape")       \
	R(SAMPLE, 9, "sample", "vvvd", "dt,depth,counter,value")                                   \
	R(MARK, 10, "mark", "vvvvz", "dt,depth,kind,name,value")                                   \
	R(ANNOTATE, 11, "annotation", "vvvs", "dt,depth,key,text")                                 \
	R(OOM, 12, "oom", "vvvvz", "dt,depth,pool,size,free")                                      \
	R(ALLOC_REQ, 13, "alloc_requested", "vzvvvvvv",                                            \
	  "dt,addr,size,pool,depth,stream,stack,requested")                                        \
	/* definitions: ids are dense from 1 in each kind, defined before use */                   \
	R(NAME, 32, "name", "vs", "id,text")                                                       \
	R(FRAME, 33, "frame", "vvvv", "id,function,file,line")                                     \
	R(STACK, 34, "stack", "vvv", "id,parent,frame")                                            \
	R(DEVICE, 35, "device", "vvzvv", "id,kind,index,name,capacity")                            \
	R(POOL, 36, "pool", "vvvvvv", "id,device,kind,name,capacity,banks")                        \
	R(STREAM, 37, "stream", "vvzv", "id,device,number,name")                                   \
	R(THREAD, 38, "thread", "vvv", "lane,tid,name")                                            \
	/* the rest */                                                                             \
	R(TICK, 48, "tick", "vvz", "ticks,mono_raw,real") /* absolute values */                    \
	R(FACT_TEXT, 49, "fact_text", "ss", "key,text")                                            \
	R(FACT_NUM, 50, "fact_number", "sz", "key,number")                                         \
	R(LOST, 51, "lost", "vvvv", "ring,full,signal,other")                                      \
	R(TOTAL, 52, "total", "vvv", "events,lost,rings")
enum {
#define R(name, tag, text, wire, fields) TIDE_REC_##name = tag,
	TIDE_RECORDS(R)
#undef R
};

/* ---- the ring file ------------------------------------------------------------------------
 * head page(s), then blocks: rings and name logs. Written in place through shared mappings. */

typedef struct tide_ring_slot { /* one event, 32 bytes; longer ones take several slots */
	uint64_t ticks;
	uint64_t addr;	/* or: arg, counter value bits, ... per type */
	uint64_t size;	/* bits 0..47 size, 48..63 stream */
	uint32_t stack; /* or: name id, ... per type */
	uint32_t head;	/* bits 0..7 type (TIDE_REC_*), 8..19 pool, 20..31 depth */
} tide_ring_slot;
_Static_assert(sizeof(tide_ring_slot) == 32, "ring slot");

#endif
