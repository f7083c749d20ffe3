// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts a snapshot's plain arrays to the model: devices, pools, streams, segments, allocations
 * with their blocks, memory events, marks, annotations.
 *
 *   time     t = 0 is the first event; microseconds become ns. A snapshot without times (torch
 *            before 2.1) uses the event's number as its time, and has the fact loss.times_unknown.
 *   order    events of one device keep their order; several devices are merged by time.
 *   before   state that the events do not explain existed before them: born at 0,
 * TIDE_ALLOC_BEFORE. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_REPLAY_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_REPLAY_H

#include "import/torchsnap/snapshot.h"

tide_code tide__snap_replay(const tide_snap *s, bool threads, tide_model *m, tide_error *err);

/* annotations.c: external_annotations as spans, one lane per device and more if they cross each other.
 * A span that began before t = 0 is cut there and keeps its start in the attribute start_ns. */
typedef struct tide_snap_spans { /* innermost annotation over time, for one device */
	tide_lane_id lane;	 /* its first lane; 0 = no annotations */
	uint32_t next;		 /* next span row to open */
	uint32_t open;		 /* innermost open one */
} tide_snap_spans;
/* `base_us` is t = 0 as Unix time; `end` the last event's t; `events`: some events are
 * annotations. */
tide_code tide__snap_add_notes(const tide_snap *s, tide_model *m, int64_t base_us, int64_t end,
			       bool events, tide_error *err);
/* Returns true and fills *note if the event begins or ends a range. */
bool tide__snap_note_of(const tide_model *m, const tide_snap_event *e, uint32_t device,
			tide_snap_note *note);
/* Returns the innermost annotation of the device at t; t must not decrease from call to call. */
tide_span_id tide__snap_span_at(const tide_model *m, tide_snap_spans *c, int64_t t);

/* Returns the device row for a snapshot's device number, created on first use; 0 if memory runs
 * out. */
tide_device_id tide__snap_get_device(tide_model *m, uint32_t number);

#endif
