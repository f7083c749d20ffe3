// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decodes a slice of event dicts independently: no decoder state, no model, nothing shared.
 *
 * Almost all of a snapshot is one list of events of the same form. Inside such a list, any part can
 * be decoded by any thread, in any order, from any position where an opcode begins. References stay
 * unresolved: stacks are byte ranges, memo reads are numbers. parallel_decode.c distributes slices
 * to threads and resolves the results. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_EVENT_SLICE_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_EVENT_SLICE_H

#include "import/torchsnap/pickle/pickle_vm.h"
#include "import/torchsnap/reader.h"

/* The decoder's state inside a list of events. Copied, never shared. */
enum { TIDE_VIEW_WORDS = 256, TIDE_VIEW_STREAMS = 16 };
typedef struct tide_view {
	tide_snap_key shape[TIDE_SNAP_SHAPE]; /* keys of the last event */
	size_t n_shape;
	size_t n_words;
	struct { /* memo entries that are keywords; by index, open addressing; packed 0 = free */
		uint32_t index, packed;
	} words[TIDE_VIEW_WORDS];
	int64_t streams[TIDE_VIEW_STREAMS]; /* the first ones, in the order of the snapshot's */
	size_t n_streams;
	uint32_t version;
} tide_view;

/* Adds a memo entry; returns false if there is no space. */
bool tide__view_add(tide_view *v, uint32_t index, uint32_t packed);

/* Lists of memo reads seen so far by one decoder: run i is bytes [off, off + len) of the input,
 * including its APPENDS. Entries are written once, so other threads may read entries they were
 * given. */
enum { TIDE_RUNS = 1 << 15 };
typedef struct tide_event_slice_run {
	uint64_t off;
	uint32_t len;
	uint32_t at; /* of the decoder's copy of its bytes */
} tide_event_slice_run;

typedef struct tide_decoder {
	const uint8_t *data;
	size_t n;
	tide_view view;
	tide_event_slice_run *runs; /* TIDE_RUNS; owned */
	size_t n_runs;
	struct tide_run_slot *slots; /* hash -> run */
	uint8_t *bytes;		     /* a copy of the bytes of all runs */
	size_t n_bytes, cap_bytes;
	uint16_t *after; /* the run that followed two others */
	uint16_t *heads; /* by its first bytes: the run seen last */
	uint32_t last[2];
} tide_decoder;

/* Returns false if memory runs out. Free it in any case. */
bool tide__decoder_init(tide_decoder *d, const uint8_t *data, size_t n);
void tide__decoder_free(tide_decoder *d);

/* Location of the frames of an event, in `stack` of its row. */
enum { TIDE_STRETCH_MEMO = (int)0x80000000 }; /* set: a memo entry; else a run + 1, 0 = no frames */

typedef struct tide_event_slice {
	const uint8_t *from, *to; /* decoded: [from, to) */
	tide_snap_event *events;  /* owned */
	size_t n, cap;
	size_t appended; /* events before its last APPENDS; the others wait for theirs */
	bool appends;	 /* it has one */
	uint32_t *memo;	 /* owned; entries it makes, packed; events by position, stacks by run +
			  * 1 */
	size_t n_memo, cap_memo;
} tide_event_slice;

/* Decodes events from s->from on to `stop` or as long as they have the usual form. The decoder
 * handles anything else. Returns false if memory runs out. */
bool tide__event_slice_read(tide_decoder *d, tide_event_slice *s, const uint8_t *stop);
void tide__event_slice_free(tide_event_slice *s);

#endif
