// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Merges the events of all rings of a file in time order.
 *
 * Each ring is a list of chunks, found by the first pass over the file. A chunk's head holds the
 * earliest time in it, so its payload is loaded only when the merge gets there: memory depends on
 * the number of chunks that overlap in time, not on the number of rings. Events of equal time keep
 * the order of ring numbers. */
#ifndef TIDE_IMPORT_TIDE_MERGE_H
#define TIDE_IMPORT_TIDE_MERGE_H

#include "base/map.h"
#include "format/decode.h"
#include "format/read.h"

typedef struct tide_ring {
	uint32_t number;
	/* the list of chunks */
	tide_chunk *chunks;
	size_t n_chunks, cap_chunks, next;
	uint64_t slots; /* number of the slot after the last chunk added */
	/* the chunk being read */
	struct tide_batch *batch; /* NULL between chunks */
	const tide_event *ev;	  /* the next of n events */
	size_t n;
	uint64_t ticks; /* time of the last event delivered: times never decrease in a ring */
	/* state of the thread, kept by the builder */
	uint32_t lane; /* row, 0 = none yet */
	uint64_t file_lane;
	uint64_t depth; /* ops open */
	uint32_t top;	/* innermost open span, 0 = none */
	struct tide_open {
		uint64_t level; /* ops around it, plus one */
		uint32_t span;
	} * open;
	size_t n_open, cap_open;
} tide_ring;

typedef struct tide_merge {
	tide_reader *reader;	   /* borrowed */
	const tide_schema *schema; /* borrowed */
	tide_ring *rings;
	size_t n, cap;
	tide_map by_number; /* ring number -> index + 1 */
	uint32_t *heap;	    /* indices of rings with events left, earliest first */
	uint64_t *key;	    /* per ring: time of its next event, or a lower bound */
	size_t n_heap;
	struct tide_batch *spare;   /* batches not in use */
	uint64_t missing, repeated; /* ring slots that no chunk holds; chunks whose slots were seen
			      * before */
	uint64_t skipped;	    /* records of unknown types */
	uint64_t unverified;	    /* events of a chunk that the file's end cuts off */
	uint64_t records;	    /* records read */
	uint64_t unread;	    /* records after a malformed one in their chunk */
	tide_error damage;	    /* the first malformed record; code TIDE_OK if there is none */
} tide_merge;

/* Adds an EVENTS chunk. Returns TIDE_ENOMEM. A chunk whose slots were seen before is counted and
 * left out. */
tide_code tide__merge_add(tide_merge *g, const tide_chunk *c, tide_error *err);
/* Returns the number of records that the chunks claim to hold, bounded by their sizes. */
uint64_t tide__merge_records(const tide_merge *g);

/* Starts the merge; all chunks have been added. */
tide_code tide__merge_start(tide_merge *g, tide_error *err);

/* Returns the next run of events of one ring: all that come before any event of other rings. *n
 * is 0 at the end. The events are valid until the next call. Returns TIDE_EIO, TIDE_ENOMEM. */
tide_code tide__merge_next(tide_merge *g, tide_ring **ring, const tide_event **ev, size_t *n,
			   tide_error *err);

void tide__merge_free(tide_merge *g);

#endif
