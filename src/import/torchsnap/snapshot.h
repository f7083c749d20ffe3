// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A torch memory snapshot as plain arrays: the pickle's content without interpretation.
 *
 * snapshot.c fills this from the pickle (texts, frames and stacks go directly into the model);
 * geometry.c replays it. Sizes are below 2^47 and address + size does not wrap: checked here
 * once. */
#ifndef TIDE_IMPORT_TORCHSNAP_SNAPSHOT_H
#define TIDE_IMPORT_TORCHSNAP_SNAPSHOT_H

#include "import/import.h"

#define TIDE_SNAP_MAX_SIZE (UINT64_C(1) << 47)
#define TIDE_SNAP_NO_TIME  INT64_MIN

typedef enum tide_snap_action {
	TIDE_SNAP_ALLOC,
	TIDE_SNAP_FREE_REQUESTED,
	TIDE_SNAP_FREE_COMPLETED,
	TIDE_SNAP_SEGMENT_ALLOC,
	TIDE_SNAP_SEGMENT_FREE,
	TIDE_SNAP_SEGMENT_MAP,
	TIDE_SNAP_SEGMENT_UNMAP,
	TIDE_SNAP_SNAPSHOT,
	TIDE_SNAP_OOM,
	TIDE_SNAP_USER_DEFINED, /* torch 2.4: a range begins or ends; its only frame has the
				 * details */
	TIDE_SNAP_ANNOTATE,	/* names the allocation at the address */
	TIDE_SNAP_UNKNOWN,
	TIDE_SNAP_N_ACTIONS,
} tide_snap_action;
extern const char *const tide__snap_action_text[TIDE_SNAP_N_ACTIONS];

typedef struct tide_snap_event { /* 32 bytes: a snapshot has millions */
	uint64_t addr;		 /* oom: bytes free on the device */
	uint64_t size;		 /* bytes requested */
	int64_t time_us;	 /* Unix time, or TIDE_SNAP_NO_TIME */
	uint32_t stack;		 /* tide_stack_id */
	uint16_t stream;	 /* index into streams */
	uint8_t action;		 /* tide_snap_action */
	uint8_t extra;		 /* bits: has an extras row; no address given */
} tide_snap_event;
enum { TIDE_SNAP_HAS_EXTRA = 1, TIDE_SNAP_NO_ADDR = 2 };

typedef struct tide_snap_extra { /* rare fields of events; sorted by event */
	uint32_t event;
	tide_str context;  /* compile_context */
	tide_str metadata; /* user_metadata */
	tide_str action;   /* text of an unknown action */
	uint64_t pool;	   /* pool_id, high << 30 | low */
	uint64_t block;	   /* block_size, written by our own exports; 0 = none */
} tide_snap_extra;

typedef struct tide_snap_block {
	uint64_t addr, size, requested;
	uint32_t stack;
	uint8_t state; /* 0 inactive, 1 allocated, 2 waiting for its free */
	bool has_frames;
} tide_snap_block;

typedef struct tide_snap_segment {
	uint64_t addr, size;
	uint64_t pool; /* segment_pool_id, high << 30 | low; 0 = the default pool */
	uint32_t first_block, n_blocks;
	uint32_t stack;
	uint32_t device; /* index; TIDE_SNAP_HOST for pinned host memory */
	uint16_t stream;
	uint8_t kind; /* TIDE_SEGMENT_*: small, large, host */
	bool expandable;
	bool has_frames;
} tide_snap_segment;

typedef struct tide_snap_note { /* external_annotations */
	int64_t time_us;
	tide_str name;
	uint32_t device;
	uint8_t stage; /* 0 START, 1 END, 2 neither: a point in time */
} tide_snap_note;

#define TIDE_SNAP_HOST UINT32_MAX /* device number of pinned host memory */

/* The segments of a device: rows of snap.segments, in order. Borrowed. */
typedef struct tide_snap_own {
	const uint32_t *v;
	size_t n;
} tide_snap_own;

typedef struct tide_snap_trace {
	uint32_t *events; /* owned; indices in time order; NULL: first, first + 1, ... */
	uint32_t first;
	size_t n;
	uint32_t device;
} tide_snap_trace;

static inline uint32_t tide__snap_event(const tide_snap_trace *t, size_t i)
{
	return t->events ? t->events[i] : t->first + (uint32_t)i;
}

typedef struct tide_snap_settings { /* of the caching allocator; defaults where not recorded */
	uint64_t max_split;	    /* bytes; UINT64_MAX = unlimited */
	uint64_t divisions[16];	    /* roundup_power2_divisions of [1,2) MiB, [2,4) ... */
	bool expandable;
	bool exact; /* exact_sizes: exported from a source other than torch; no rounding, any
		     * split */
	bool bare;  /* no_segments: the segments only represent live allocations */
	char *devices, *reserved; /* owned; NULL = none (exported.h) */
} tide_snap_settings;

#define TIDE_SNAP_VEC(type)          \
	struct {                     \
		type *v; /* owned */ \
		size_t n, cap;       \
	}
typedef struct tide_snap {
	TIDE_SNAP_VEC(tide_snap_event) events;
	TIDE_SNAP_VEC(tide_snap_extra) extras;
	TIDE_SNAP_VEC(int64_t) streams;
	TIDE_SNAP_VEC(tide_snap_segment) segments;
	TIDE_SNAP_VEC(tide_snap_block) blocks;
	TIDE_SNAP_VEC(tide_snap_note) notes;
	TIDE_SNAP_VEC(tide_snap_trace) traces;
	tide_snap_settings settings;
} tide_snap;

/* Decodes n bytes of pickle into *s and the texts, frames, stacks and settings of `m`. *s must
 * be zeroed, and freed with tide__snap_free in any case. Long lists of events are divided among
 * threads in slices of `stretch` bytes; 0 = no threads. The result does not depend on it. */
tide_code tide__snap_read(const uint8_t *data, size_t n, const tide_load_options *opt,
			  size_t stretch, tide_snap *s, tide_model *m, tide_error *err);
void tide__snap_free(tide_snap *s);

/* Returns the extra fields of an event that has some. */
const tide_snap_extra *tide__snap_extra_of(const tide_snap *s, uint32_t event);

#endif
