// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ring file: getting blocks of it that can be stored into without fear.
 *
 * A block's space is allocated on disk and its pages are faulted in before anybody sees it; a block
 * that cannot be had is refused (NULL), so a store into one raises SIGBUS only when somebody cuts the
 * file (torn.h). Called with the recorder's lock held, except tide__log_* reads by the writer thread,
 * which also does all that needs the file's descriptor (errand.h).
 *
 * Descriptors (tide_block) are private memory, never freed, used again by the next recording: a
 * pointer to one stays good for the process's life. */
#ifndef TIDE_RUNTIME_RING_FILE_H
#define TIDE_RUNTIME_RING_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/encode.h"
#include "format/rings.h"
#include "runtime/file.h"

/* The shared words of a block, as the recorder touches them. */
typedef struct tide_shared {
	_Atomic uint64_t head, lost_full, lost_signal, lost_other, extra, reserved[3];
	_Atomic uint64_t tail;
} tide_shared;
#define TIDE_SHARED(block_head) ((tide_shared *)(void *)&(block_head)->head)

typedef struct tide_block {
	struct tide_block *next;  /* in its list; set before the block is published */
	tide_block_head *at;	  /* the mapping */
	tide_shared *shared;	  /* its moving words */
	tide_ring_slot *slots;	  /* RING: after the head page. LOG: the stream's bytes */
	uint64_t offset, bytes;	  /* in the ring file; head page included */
	uint64_t n_slots;	  /* RING: as in the head page, which somebody may cut away */
	uint64_t first, capacity; /* LOG: bytes of the stream before it, and in it */
	bool owned;		  /* RING: a thread records into it (under the lock) */
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
	_Atomic bool torn; /* somebody cut the file: what its mappings held is gone (torn.h) */
} tide_ring_file;

/* Create `path` (which must not exist). 0 or an errno; then tide__ring_file_close cleans up. */
int tide__ring_file_open(tide_ring_file *s, const char *path, const uint8_t id[16]);
/* Unmap (unless `keep_maps`: a thread may still be storing) and, if it is open still, close. The file
 * stays. */
void tide__ring_file_close(tide_ring_file *s, bool keep_maps);
/* In a forked child: put private memory in the place of every mapping, forget the rest. */
void tide__ring_file_detach(tide_ring_file *s);

/* A new ring of `bytes` (a power of two) or NULL. Published at once. */
tide_block *tide__ring_file_ring(tide_ring_file *s, size_t bytes);
/* Give a drained ring's disk space back (only when nobody can store into it any more). */
void tide__ring_file_punch(tide_ring_file *s, tide_block *ring, uint64_t from, uint64_t to);

/* The file was cut: if `at` lies in one of its mappings, private memory takes that mapping's place. Safe
 * in a signal handler. */
bool tide__ring_file_tear(tide_ring_file *s, const void *at);
bool tide__ring_file_torn(const tide_ring_file *s);

/* Make room for n more bytes of definitions; then append them. False: no space to be had. */
bool tide__log_reserve(tide_ring_file *s, size_t n);
void tide__log_append(tide_ring_file *s, const void *bytes, size_t n);
/* Bytes of the log that count, and a copy of some of them. */
uint64_t tide__log_used(const tide_ring_file *s);
void tide__log_read(const tide_ring_file *s, uint64_t from, void *out, size_t n);

#endif
