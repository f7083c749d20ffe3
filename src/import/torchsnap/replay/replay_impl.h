// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the replay: replay.c handles order, time and the initial state; apply_event.c
 * applies each event to the model. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_REPLAY_IMPL_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_REPLAY_IMPL_H

#include <pthread.h>

#include "import/torchsnap/replay/baseline.h"
#include "import/torchsnap/replay/geometry.h"
#include "import/torchsnap/replay/replay.h"

typedef struct tide_replay_device {
	uint32_t number;
	tide_device_id id;
	tide_snap_trace trace; /* events borrowed */
	size_t next;	       /* in the trace */
	int64_t last_t;
	tide_geo geo;
	tide_baseline base;
	tide_ordered segments; /* address -> segment row, alive */
	tide_ordered final;    /* address -> index into snap.segments */
	tide_snap_own own;     /* its segments */
	uint32_t *lanes;       /* per stream index; 0 = not made yet */
	tide_map pools;	       /* pool id -> pool row */
	tide_snap_spans spans;
	tide_str context; /* compile_context of the last event */
} tide_replay_device;

typedef struct tide_replay {
	const tide_snap *s;
	tide_model *m;
	tide_error *err;
	tide_replay_device *devices;
	size_t n;
	uint16_t *places; /* device number -> place in devices + 1; the host after all others */
	uint32_t *order;  /* rows of snap.segments, device after device */
	uint32_t *heap;	  /* devices with events left, next one first */
	size_t n_heap;
	int64_t base_us, end_us; /* first and last event */
	bool timed;
	bool history;	   /* the snapshot has a history */
	size_t end_allocs; /* maximum number of rows */
	struct tide_replay_faults {
		pthread_t thread;
		bool runs;
		tide_allocs allocs; /* borrowed columns */
		tide_memory_events memory_events;
	} faults;	 /* touches the pages of reserved rows before the replay needs them */
	int64_t now;	 /* time of the current event */
	uint64_t events; /* done so far */
	uint64_t clamped, unknown_actions, wrapped, odd_bytes;
	uint64_t actions[TIDE_SNAP_N_ACTIONS];
} tide_replay;

struct tide_replay_row {
	uint64_t addr, size, requested;
	tide_pool_id pool;
	tide_lane_id stream;
	uint32_t stack;
	tide_span_id span;
	uint8_t flags;
};

/* apply_event.c. Ids are 0 if memory runs out; codes other than TIDE_OK come with the error set. */

/* Return the pool row of a pool id, the lane of a stream index; created on first use. */
tide_pool_id tide__replay_pool(tide_replay *r, tide_replay_device *d, uint64_t id);
tide_lane_id tide__replay_lane(tide_replay *r, tide_replay_device *d, uint16_t stream);
/* Returns the pool of an area, or of the event if the area is 0. */
tide_pool_id tide__replay_pool_in(tide_replay *r, tide_replay_device *d, uint32_t area,
				  uint32_t event);
/* Add the next alloc row and its ALLOC event; a segment with its SEG_ALLOC; a FREE_ASKED event. */
tide_code tide__replay_alloc(tide_replay *r, const struct tide_replay_row *a);
tide_code tide__replay_segment(tide_replay *r, tide_replay_device *d, uint64_t addr, uint64_t size,
			       bool mapped, uint32_t event, uint32_t stack, uint8_t flags);
tide_code tide__replay_ask(tide_replay *r, uint32_t alloc);
/* Applies an event at r->now. */
tide_code tide__replay_event(tide_replay *r, tide_replay_device *d, uint32_t event);

#endif
