// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ring file: allocates blocks that can be stored into safely.
 *
 * A block's space is allocated on disk and its pages are faulted in before it is published; if that
 * fails, the result is NULL. So a store into a block raises SIGBUS only when another process
 * truncates the file (ring_sigbus.h). Called with the recorder's lock held, except tide__log_* reads by
 * the writer thread, which also does everything that needs the file's descriptor (writer_tasks.h).
 *
 * Descriptors (tide_block) are private memory, never freed, reused by the next recording: a pointer
 * to one stays valid for the process's life. */
#ifndef TIDE_RUNTIME_RING_FILE_H
#define TIDE_RUNTIME_RING_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/encode.h"
#include "format/rings.h"
#include "runtime/file.h"

/* The shared words of a block. */
typedef struct tide_shared {
	_Atomic uint64_t head, lost_full, lost_signal, lost_other, extra, reserved[3];
	_Atomic uint64_t tail;
} tide_shared;
#define TIDE_SHARED(block_head) ((tide_shared *)(void *)&(block_head)->head)

/* The counts of a ring file, or of a ring, in private memory: those in the file are for readers
 * after a kill, and are gone once it is truncated. */
typedef struct tide_counts {
	_Atomic uint64_t lost_full, lost_signal, lost_other, extra;
} tide_counts;

typedef struct tide_block {
	struct tide_block *next;  /* in its list; set before the block is published */
	tide_block_head *at;	  /* the mapping */
	tide_shared *shared;	  /* its words that change */
	tide_ring_slot *slots;	  /* RING: after the head page. LOG: the stream's bytes */
	uint64_t offset, bytes;	  /* in the ring file; head page included */
	uint64_t n_slots;	  /* RING: as in the head page, which could be cut off */
	uint64_t first, capacity; /* LOG: bytes of the stream before it, and in it */
	bool owned;		  /* RING: a thread records into it (under the lock) */
	uint64_t left;		  /* RING: its head when the last owner left it (under the lock) */
	tide_counts counts;	  /* RING */
	uint64_t goal;		  /* RING, writer thread: head as seen at the start of this round */
	uint64_t flushed_ns;	  /*   "  : when it last wrote a chunk of it */
	tide_encoder encoder;	  /*   "  */
} tide_block;

typedef struct tide_ring_file {
	tide_file file;			   /* fd -1: closed */
	uint64_t size;			   /* bytes of the ring file */
	tide_rings_head *head;		   /* its first page, mapped */
	_Atomic(tide_block *) rings, logs; /* newest first; grow only, until close */
	uint32_t n_rings;
	uint64_t ring_total; /* bytes of all rings */
	uint64_t log_capacity;
	tide_counts counts; /* of threads without a ring */
	_Atomic bool torn;  /* the file was truncated: the content of its mappings is lost
	                    * (ring_sigbus.h) */
} tide_ring_file;

/* Creates `path` (which must not exist). Returns 0 or an errno; call tide__ring_file_close after a
 * failure too. */
int tide__ring_file_open(tide_ring_file *s, const char *path, const uint8_t id[16]);
/* Unmaps (unless `keep_maps`: a thread may still be storing) and closes the file if it is open. The
 * file stays. */
void tide__ring_file_close(tide_ring_file *s, bool keep_maps);
/* In a forked child: replaces every mapping by private memory and forgets the rest. */
void tide__ring_file_detach(tide_ring_file *s);

/* Returns a new ring of `bytes` (a power of two), published at once, or NULL. */
tide_block *tide__ring_file_add_ring(tide_ring_file *s, size_t bytes);
/* Frees a drained ring's disk space. No thread may store into it afterwards. */
void tide__ring_file_punch(tide_ring_file *s, tide_block *ring, uint64_t from, uint64_t to);

/* After the file was truncated: if `at` lies in one of its mappings, replaces that mapping by
 * private memory. Async-signal-safe. */
bool tide__ring_file_tear(tide_ring_file *s, const void *at);
bool tide__ring_file_torn(const tide_ring_file *s);

/* Reserves space for n more bytes of definitions (false if there is none); appends them. */
bool tide__log_reserve(tide_ring_file *s, size_t n);
void tide__log_append(tide_ring_file *s, const void *bytes, size_t n);
/* Returns the valid bytes of the log; copies some of them. */
uint64_t tide__log_used(const tide_ring_file *s);
void tide__log_read(const tide_ring_file *s, uint64_t from, void *out, size_t n);

#endif
