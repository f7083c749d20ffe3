// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the exporter of torch memory snapshots (snapshot.c: the final state, settings,
 * the file; snapshot_events.c: the events). */
#ifndef TIDE_RENDER_EXPORT_SNAPSHOT_WRITER_H
#define TIDE_RENDER_EXPORT_SNAPSHOT_WRITER_H

#include "model/model.h"
#include "render/export/pickle_writer.h"

/* clang-format off */
#define WORDS(W)                                                                                   \
	W(action) W(addr) W(size) W(stream) W(time_us) W(compile_context) W(user_metadata)         \
	W(frames) W(alloc) W(free_requested) W(free_completed) W(segment_alloc) W(segment_free)    \
	W(segment_map) W(segment_unmap) W(snapshot) W(oom) W(device_free) W(pool_id)               \
	W(block_size) W(name) W(filename) W(line) W(device) W(address) W(total_size)               \
	W(allocated_size) W(active_size) W(requested_size) W(segment_type) W(segment_pool_id)      \
	W(is_expandable) W(blocks) W(state) W(large) W(small) W(inactive) W(active_allocated)      \
	W(active_pending_free) W(stage) W(START) W(END) W(op)
/* clang-format on */
enum word {
#define W(w) W_##w,
	WORDS(W)
#undef W
		W_N
};
struct place {
	uint64_t addr;
	uint32_t device, row;
};

typedef struct shot {
	const tide_model *m;
	tide_pkl p;
	uint32_t word[W_N]; /* memo entry + 1 */
	uint32_t *text;	    /* owned, per text: memo entry + 1 */
	uint32_t *frame;    /* owned, per frame: memo entry + 1 */
	uint32_t *stack;    /* owned, per stack: memo entry + 1 */
	uint32_t *path;	    /* owned, per span: memo entry + 1 of its op path as frames */
	uint32_t *number;   /* owned, per device row: its number in the snapshot */
	uint32_t devices;   /* numbers in all */
	uint8_t *asked;	    /* owned, per alloc: its free was requested */
	struct place *live; /* owned: allocs alive at the end, by device and address */
	struct place *segs; /* owned: segments alive at the end, the same */
	size_t n_live, n_segs;
	struct of_device {		/* those of device d: rows[first[d] .. first[d + 1]) */
		uint32_t *first, *rows; /* owned */
	} events, marks;
	bool started;	     /* an event of this device was written */
	bool host;	     /* there is pinned host memory: its number is `devices` */
	bool exact;	     /* sizes are not torch's: no rounding */
	bool bare;	     /* no segments */
	bool timed, private; /* times are known; there are private pools */
} shot;

/* Writes a repeated text: once in full, then by its memo number. */
void tide__snapshot_write_word(shot *s, enum word w);
void tide__snapshot_text(shot *s, tide_str t);
void tide__snapshot_write_uint(shot *s, enum word key, uint64_t v);
/* Writes key and list of frames; 0 = none. */
void tide__snapshot_write_stack(shot *s, uint32_t stack);
/* Writes the frames of an allocation: its stack, else its op path, innermost first; 0 = none. */
void tide__snapshot_write_frames(shot *s, uint32_t alloc);
/* Returns the number of a pool's device in the snapshot. */
uint32_t tide__snapshot_device(const shot *s, tide_pool_id pool);
/* Writes a private pool's (a, b); (0, 0) for the others. */
void tide__snapshot_write_pool_id(shot *s, tide_pool_id pool);
void tide__snapshot_write_stream(shot *s, tide_lane_id lane);
/* Returns the microseconds of a time in the file. */
int64_t tide__snapshot_us(const shot *s, int64_t t);
/* Writes key and microseconds, if times are known. */
void tide__snapshot_write_time(shot *s, int64_t t);

/* snapshot_events.c: finds the memory events and marks of each device; returns false if memory
 * runs out. */
bool tide__snapshot_sort(shot *s);
/* Writes the list of a device's events, in order. */
void tide__snapshot_write_events(shot *s, uint32_t device);
/* Writes the list of annotations, by time; returns false if memory runs out. */
bool tide__snapshot_write_notes(shot *s);

#endif
