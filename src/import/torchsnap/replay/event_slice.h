// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A stretch of event dicts, decoded on its own: no machine, no model, nothing shared.
 *
 * Almost all of a snapshot is one list of events of the same form. Where such a list is known to
 * be going on, a part of it can be read by anyone, out of turn, from any place where an opcode
 * begins. What it refers to is left open: stacks stay stretches of bytes, memo reads stay numbers.
 * parallel_decode.c gives stretches to threads and puts the results in their places. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_EVENT_SLICE_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_EVENT_SLICE_H

#include "import/torchsnap/pickle/pickle_vm.h"
#include "import/torchsnap/reader.h"

/* What the machine knows when a list of events goes on. Copied, never shared. */
enum { TIDE_VIEW_WORDS = 256, TIDE_VIEW_STREAMS = 16 };
typedef struct tide_view {
	tide_snap_key shape[TIDE_SNAP_SHAPE]; /* keys of the last event */
	size_t n_shape;
	size_t n_words;
	struct { /* memo entries that are words; by index, open addressing; packed 0 = free */
		uint32_t index, packed;
	} words[TIDE_VIEW_WORDS];
	int64_t streams[TIDE_VIEW_STREAMS]; /* the first ones, in the order of the snapshot's */
	size_t n_streams;
	uint32_t version;
} tide_view;

/* Add a memo entry; false if there is no room. */
bool tide__view_add(tide_view *v, uint32_t index, uint32_t packed);

/* Lists of memo reads met so far by one decoder: run i is bytes [off, off + len) of the input, its
 * APPENDS included. Entries are written once, so others may read those they were told of. */
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
	uint16_t *heads; /* by its first bytes: the run last met */
	uint32_t last[2];
} tide_decoder;

/* False when out of memory. Free it whatever the result. */
bool tide__decoder_init(tide_decoder *d, const uint8_t *data, size_t n);
void tide__decoder_free(tide_decoder *d);

/* Where the frames of an event are: in `stack` of its row. */
enum { TIDE_STRETCH_MEMO = (int)0x80000000 }; /* set: a memo entry; else a run + 1, 0 = no frames */

typedef struct tide_event_slice {
	const uint8_t *from, *to; /* decoded: [from, to) */
	tide_snap_event *events;  /* owned */
	size_t n, cap;
	size_t appended; /* events before the last APPENDS in it; the others wait for theirs */
	bool appends;	 /* it has one */
	uint32_t *memo;	 /* owned; entries it makes, packed; events by place, stacks by run + 1 */
	size_t n_memo, cap_memo;
} tide_event_slice;

/* Decode events from s->from on to `stop` or as far as they have the usual form. What stops it is
 * left to the machine. False when out of memory. */
bool tide__event_slice_read(tide_decoder *d, tide_event_slice *s, const uint8_t *stop);
void tide__event_slice_free(tide_event_slice *s);

#endif
