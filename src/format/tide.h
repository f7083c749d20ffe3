// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The .tide file and its ring file: layout, in one place.
 *
 * docs/formats/tide.md is the specification; this header is its machine-readable half, used by the
 * recorder's writer and by the reader. Everything is little-endian. libc only.
 *
 *     FILE.tide         head | chunk | chunk | ... | END chunk
 *     FILE.tide-rings   while recording, and after a crash: rings and names, in shared mappings
 *
 * A chunk is a 64-byte head and a payload. It is valid if its magic, sizes and checksum are; a zero
 * magic (preallocated space) or the end of the file ends the list. EVENTS chunks name their ring
 * and the range of ring slots they hold, so a slot is in the file exactly once: after a crash,
 * slots beyond the ring's last valid chunk are read from the ring file. */
#ifndef TIDE_FORMAT_TIDE_H
#define TIDE_FORMAT_TIDE_H

#include <stdbool.h>
#include <stdint.h>

#define TIDE_FILE_MAGIC	 "TIDEMARK" /* 8 bytes, no NUL */
#define TIDE_RINGS_MAGIC "TIDERING"
enum {
	TIDE_FORMAT_MAJOR = 1, /* a reader refuses another major */
	TIDE_FORMAT_MINOR = 5, /* and reads any minor: unknown chunks and records are skipped */
	TIDE_FORMAT_MINOR_TABLES = 3, /* of files with TIDE_FILE_TABLES */
};

typedef struct tide_file_head { /* 128 bytes at offset 0 */
	char magic[8];
	uint16_t major, minor;
	uint32_t head_size;    /* bytes to skip to the first chunk; >= 128 */
	uint8_t recording[16]; /* random id, also in the ring file */
	uint64_t pid;
	uint64_t start_ticks;	/* clock at t = 0 */
	int64_t start_mono_raw; /* ns at t = 0 */
	int64_t start_real;	/* Unix ns at t = 0 */
	uint32_t clock;		/* TIDE_CLOCK_* */
	uint32_t flags;		/* TIDE_FILE_* */
	uint8_t reserved[48];
	uint64_t checksum; /* XXH3-64 of the bytes before it */
} tide_file_head;
_Static_assert(sizeof(tide_file_head) == 128, "file head");

enum {
	TIDE_CLOCK_NS = 0 /* ticks are CLOCK_MONOTONIC_RAW ns */,
	TIDE_CLOCK_TSC = 1,
	TIDE_CLOCK_CNTVCT = 2
};
enum {
	TIDE_FILE_PACKED = 1 /* rewritten by `tidemark pack` */,
	TIDE_FILE_RECOVERED = 2,
	TIDE_FILE_TABLES = 4 /* TABLE chunks instead of events: import/tide/tables.h */,
};

typedef struct tide_chunk_head { /* 64 bytes */
	uint32_t magic;		 /* TIDE_CHUNK_MAGIC */
	uint16_t type;		 /* TIDE_CHUNK_* */
	uint16_t flags;		 /* TIDE_CHUNK_ZSTD */
	uint32_t stored;	 /* payload bytes that follow */
	uint32_t raw;		 /* payload bytes after decompression; <= TIDE_CHUNK_RAW_MAX */
	uint32_t ring;		 /* EVENTS: ring number, from 1 */
	uint32_t lane;	/* EVENTS: lane (thread) current before the first record; 0 = none yet */
	uint64_t first; /* EVENTS: first ring slot number held. DEFS: first byte of the log held */
	uint64_t slots; /* EVENTS: ring slots held; first + slots is that ring's next chunk's first.
			    * DEFS: bytes of the log held (= raw) */
	uint32_t count; /* records in the payload */
	uint32_t depth; /* EVENTS: ops open before the first record */
	uint64_t ticks; /* EVENTS: clock that the first record's delta counts from */
	/* XXH3-64 of the payload, seeded by XXH3-64 (seed 0) of the 56 bytes above */
	uint64_t checksum;
} tide_chunk_head;
_Static_assert(sizeof(tide_chunk_head) == 64, "chunk head");

/* Ring numbers of EVENTS chunks that no thread recorded. */
enum {
	TIDE_RING_CARRIED = 0x7ffffffd, /* live blocks of the part before, and its last frees, whose
					 * blocks may be missing */
	TIDE_RING_NOTES = 0x7ffffffe,	/* annotations of the writer thread */
};

#define TIDE_CHUNK_MAGIC   0x4b4e4843u /* "CHNK" */
#define TIDE_CHUNK_RAW_MAX (64u << 20)

#define TIDE_CHUNKS(X)		  /* name, number, text */                                        \
	X(SCHEMA, 1, "schema")	  /* record types; first chunk of every file */                   \
	X(DEFS, 2, "definitions") /* names, frames, stacks, devices, pools, streams, lanes */     \
	X(EVENTS, 3, "events")	  /* what one ring recorded */                                    \
	X(CLOCK, 4, "clock")	  /* (ticks, MONOTONIC_RAW, REALTIME) triples */                  \
	X(FACTS, 5, "facts")	  /* settings of the process and the recording */                 \
	X(LOSS, 6, "loss")	  /* per ring, events lost so far */                              \
	X(END, 7, "end")	  /* clean end: totals */                                         \
	X(PACKED, 8, "packed") /* whole chunks, one after the other, usually as one zstd frame */ \
	X(TABLE, 9, "table")   /* a piece of a column of the model; TIDE_FILE_TABLES */
enum {
#define X(name, number, text) TIDE_CHUNK_##name = number,
	TIDE_CHUNKS(X)
#undef X
		TIDE_CHUNK_ZSTD = 1, /* flags: payload is one zstd frame */
};

/* ---- records ------------------------------------------------------------------------------
 * A payload is a sequence of records: one tag byte, then the fields of that tag in schema order.
 * The SCHEMA chunk lists every tag with the wire types of its fields (layout: format/encode.h), so
 * an unknown record can be skipped by that list alone.
 *
 * Wire types, plain:
 *   v  varint (LEB128, <= 10 bytes)          z  zigzag varint
 *   s  varint length + bytes                 d  8 bytes, IEEE double
 *   a  varint count + that many varints
 * Wire types with state (EVENTS only; reset at the start of each chunk, see format/encode.h):
 *   t  varint: ticks since the previous record of the chunk; the first counts from chunk.ticks
 *   x  address: tag bit 6 clear: zigzag varint, difference from the previous x of the chunk
 *      (first: from 0); set: one byte, index into the chunk's table of recent addresses
 *   p  pool:    tag bit 7 set: varint; clear: no bytes, same as the previous p of the chunk
 *      (first: 0)
 *   q  stream:  the same with its own state
 *
 * In EVENTS the tag is the low 6 bits (1..63). In other chunks bits 6 and 7 are 0.
 * Depth: a reader keeps, per ring, the number of open ops. BEGIN adds one, END takes one away,
 * LANE sets 0, DEPTH sets the true count: deeper ops end; ops missing from the count began unseen
 * (their begin was lost). The recorder writes DEPTH wherever the true count differs.
 *
 * An op of an asynchronous task, which shares its thread with other tasks, is recorded in parts,
 * one for each time it runs. The args of all parts are equal except for a bit that marks a
 * continuation (below).
 *
 * The SCHEMA payload: per record type one tag byte, then text, wire types and field names, each s.
 * */
enum { TIDE_TAG_POOL = 0x80, TIDE_TAG_RECENT = 0x40, TIDE_TAG_MASK = 0x3f };
#define TIDE_ARG_TASK \
	UINT64_C(0x7469646540000000)	    /* + the op's number below 2^29: its first part */
#define TIDE_ARG_AGAIN UINT64_C(0x20000000) /* in it: a continuation, not the first part */
static inline bool tide__arg_goes_on(uint64_t arg)
{
	return arg >> 29 == (TIDE_ARG_TASK | TIDE_ARG_AGAIN) >> 29;
}
#define TIDE_RECORDS(R) /* name, tag, text, wire types, field names */                            \
	/* events: what a thread did */                                                           \
	R(LANE, 1, "lane", "tvv", "dt,lane,tid") /* events of this thread follow; depth is 0 */   \
	R(BEGIN, 2, "begin", "tv", "dt,name")	 /* an op begins inside the open one */           \
	R(END, 3, "end", "t", "dt")		 /* the innermost op ends */                      \
	R(ALLOC, 4, "alloc", "txvpq", "dt,addr,size,pool,stream")                                 \
	R(FREE, 5, "free", "txp", "dt,addr,pool")                                                 \
	R(SEG_ALLOC, 6, "segment_alloc", "txvpqv", "dt,addr,size,pool,stream,kind")               \
	R(SEG_FREE, 7, "segment_free", "txvp", "dt,addr,size,pool")                               \
	R(TENSOR, 8, "tensor", "txpvvvva", "dt,addr,pool,name,dtype,role,grad,shape")             \
	R(SAMPLE, 9, "sample", "tvd", "dt,counter,value")                                         \
	R(MARK, 10, "mark", "tvvz", "dt,kind,name,value")                                         \
	R(ANNOTATE, 11, "annotation", "tvs", "dt,key,text")                                       \
	R(OOM, 12, "oom", "tpvz", "dt,pool,size,free")                                            \
	R(ALLOC_FULL, 13, "alloc_full", "txvpqvv", "dt,addr,size,pool,stream,stack,requested")    \
	R(ALLOC_STACK, 14, "alloc_stack", "txvpqv", "dt,addr,size,pool,stream,stack")             \
	R(BEGIN_ARG, 15, "begin_arg", "tvv", "dt,name,arg") /* BEGIN with a number */             \
	R(DEPTH, 16, "depth", "tv", "dt,depth")		    /* number of ops that are open now */ \
	R(BEGIN_FULL, 17, "begin_full", "tvvvv",                                                  \
	  "dt,name,arg,stack,origin")			    /* BEGIN with its origin */           \
	R(DEVICE_LOG, 18, "device_log", "ts", "dt,records") /* format/device_log.h */             \
	R(VIEW, 19, "view", "txpvvvvav",                                                          \
	  "dt,addr,pool,name,dtype,role,grad,shape,offset") /* a part of the \
		allocation at addr, `offset` bytes in */                    \
	R(USE, 20, "use", "txp", "dt,addr,pool") /* an op read or wrote the allocation */         \
	/* definitions: ids are dense from 1 in each kind, defined before use */                  \
	R(NAME, 32, "name", "vs", "id,text")                                                      \
	R(FRAME, 33, "frame", "vvvv", "id,function,file,line")                                    \
	R(STACK, 34, "stack", "vvv", "id,parent,frame")                                           \
	R(DEVICE, 35, "device", "vvzvv", "id,kind,index,name,capacity")                           \
	R(POOL, 36, "pool", "vvvvvv", "id,device,kind,name,capacity,banks")                       \
	R(STREAM, 37, "stream", "vvzv", "id,device,number,name")                                  \
	R(THREAD, 38, "thread", "vvv", "lane,tid,name")                                           \
	/* resolved native frames, found after the run; several rows for one frame: inlined
	 * functions, outermost first */       \
	R(SYMBOL, 39, "symbol", "vssv", "frame,function,file,line")                               \
	/* several STACK with ids from `id` on, outermost first, each the parent of the next */   \
	R(STACKS, 40, "stacks", "vva", "id,parent,frames")                                        \
	/* other records */                                                                       \
	R(TICK, 48, "tick", "vvz", "ticks,mono_raw,real") /* absolute values */                   \
	R(FACT_TEXT, 49, "fact_text", "ss", "key,text")                                           \
	R(FACT_NUM, 50, "fact_number", "sz", "key,number")                                        \
	R(LOST, 51, "lost", "vvvv", "ring,full,signal,other")                                     \
	R(TOTAL, 52, "total", "vvv", "events,lost,rings")
enum {
#define R(name, tag, text, wire, fields) TIDE_REC_##name = tag,
	TIDE_RECORDS(R)
#undef R
};

/* The ring file: format/rings.h. */

#endif
