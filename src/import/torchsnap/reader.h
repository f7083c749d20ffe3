// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by snapshot.c (compacting while the pickle is decoded) and schema_walk.c (the rest,
 * afterwards). */
#ifndef TIDE_IMPORT_TORCHSNAP_READER_H
#define TIDE_IMPORT_TORCHSNAP_READER_H

#include "import/torchsnap/keywords.h"
#include "import/torchsnap/pickle/pickle.h"
#include "import/torchsnap/snapshot.h"

enum { MADE_FRAME = 1, MADE_STACK, MADE_EVENT };

enum { TIDE_SNAP_SHAPE = 16 };
typedef struct tide_snap_key { /* a key of an event as the bytes of its memo read */
	uint64_t mask, want;
	uint8_t len, key;
} tide_snap_key;

typedef struct tide_snap_reader {
	tide_snap *s;
	tide_model *m;
	tide_error *err;
	tide_pickle_client client;
	const tide_load_options *opt;
	uint64_t n_bytes;      /* of the pickle */
	uint64_t unknown_keys; /* skipped */
	int64_t last_stream;   /* streams.v[last_index] */
	uint16_t last_index;
	uint32_t *frames, *nodes; /* the last stack, outermost first: frame ids, stack ids */
	size_t depth, cap_frames, cap_nodes;
	tide_snap_key shape[TIDE_SNAP_SHAPE]; /* keys of the last event */
	size_t n_shape;
	uint32_t shape_gen;
	tide_pv empty;	       /* an empty text seen before */
	struct tide_pickle *p; /* while walking */
	struct tide_parallel_decode
		*crew;	/* owned; the threads that decode slices of events, once there are any */
	size_t stretch; /* bytes of a slice; 0 = no threads */
	bool no_crew;	/* threads cannot be used */
} tide_snap_reader;

/* Required keys of an event dict, bits of `have`. */
enum { TIDE_EVENT_ACTION = 1, TIDE_EVENT_ADDR = 2, TIDE_EVENT_SIZE = 4 };
static inline bool tide__snap_event_sane(const tide_snap_event *e, unsigned have)
{
	unsigned need = e->action <= TIDE_SNAP_SEGMENT_UNMAP ? 7
			: e->action == TIDE_SNAP_OOM	     ? 5
							     : 1;
	if ((have & need) != need || e->size >= TIDE_SNAP_MAX_SIZE)
		return e->action >= TIDE_SNAP_SNAPSHOT && e->action != TIDE_SNAP_OOM;
	if (e->action <= TIDE_SNAP_SEGMENT_UNMAP && e->addr > UINT64_MAX - e->size)
		return false;
	/* within +-146 years of 1970, so that ns fit */
	return e->time_us == TIDE_SNAP_NO_TIME ||
	       (e->time_us > INT64_MIN / 2000 && e->time_us < INT64_MAX / 2000);
}

/* Ensures space for one more element of a TIDE_SNAP_VEC. */
#define TIDE_SNAP_ROOM(vec) tide__pickle_room(&(vec).v, &(vec).cap, (vec).n, sizeof *(vec).v)

/* Finds the index of a stream number; returns false if memory runs out (the reader's error is
 * set). */
bool tide__snap_get_stream(tide_snap_reader *r, int64_t number, uint16_t *index);
/* Gets a stack from a settled `frames` value; returns false for anything else. */
bool tide__snap_stack(tide_pv v, uint32_t *stack);
/* Gets (high, low) of a pool id: a pair, or a tuple or list of two integers. */
bool tide__snap_pool_id(const tide_pickle *p, tide_pv v, uint64_t *pool);

/* Records for the decoder that memory ran out. Returns NONE. */
tide_pv tide__snap_nomem(tide_snap_reader *r);

/* events.c */
tide_pv tide__snap_make_event(tide_snap_reader *r, tide_pickle *p, const tide_pv *kv, size_t n);
const uint8_t *tide__snap_read_flat_event(void *user, tide_pickle *p, const uint8_t *at,
					  tide_pv *made);

/* parallel_decode.c: slices begin and end at the pickle's FRAME opcodes. */
const uint8_t *tide__parallel_decode_frame(void *user, tide_pickle *p, const uint8_t *op);
void tide__parallel_decode_end(tide_snap_reader *r);

/* schema_walk.c */
tide_code tide__snap_walk(tide_snap_reader *r, tide_pickle *p, tide_pv root);

#endif
