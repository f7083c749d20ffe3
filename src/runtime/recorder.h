// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recording in progress, and the threads that take part in it.
 *
 * One struct, one per process. Who may touch what:
 *   - a traced thread: its own tide_thread, and its ring's head and loss counters; of another's, that
 *     an op of it has ended (tide__end_elsewhere);
 *   - the writer thread: sink, encoders, rings' tails, log_written;
 *   - everything else: slow sections (guard.h).
 *
 * The end of a recording, against threads that are storing an event at that moment: a thread sets
 * its `busy`, then looks at the generation; stop sets the generation to 0, makes every core see it
 * (membarrier), then waits until nobody is busy. Whoever looks later finds another generation and
 * stores nothing. A thread that stays busy beyond the bounded wait (stopped by a debugger, say)
 * keeps the mappings: then they are never unmapped, and its late store reaches nobody. */
#ifndef TIDE_RUNTIME_RECORDER_H
#define TIDE_RUNTIME_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tidemark/quick.h>
#include <tidemark/record.h>

#include "runtime/clock.h"
#include "runtime/guard.h"
#include "runtime/sink.h"
#include "runtime/ring_file.h"

/* A traced thread. Private memory, never freed; used again after the thread has ended. tide__self
 * points to its beginning. */
typedef struct tide_thread {
	tide_quick quick;
	tide_shared *shared; /* NULL: no ring to be had; every event is a loss */
	tide_block *ring;
	tide_rings_head *file; /* for losses without a ring */
	uint32_t denied;       /* losses since a ring was last asked for */
	uint32_t in_vain;      /* waits for room that ran out, one after the other */
	_Atomic bool ended;    /* others have ended ops of this thread */
	uint64_t tid;
	struct tide_thread *next; /* all there are; or the free ones */
	struct tide_thread *next_free;
} tide_thread;

static inline tide_thread *tide__thread(tide_quick *t)
{
	return (tide_thread *)t;
}

enum { TIDE_IDLE, TIDE_RUNNING, TIDE_STOPPING };

typedef struct tide_recorder {
	uint32_t state;		    /* TIDE_IDLE ... */
	tide_options opt;	    /* as used, defaults filled in */
	char rings_path[4096 + 16]; /* absolute, of its ring file */
	char path[4096];	    /* absolute, of the .tide file */
	char base[4096];	    /*   "  , as first given: children's names are made from it */
	uint8_t id[16];		    /* of this recording */
	uint8_t first[16];	    /* of the one that its family began with; 0: it does */
	uint64_t generations;	    /* recordings started so far */
	uint32_t lanes;		    /* threads seen in this recording */
	tide_ring_file space;
	tide_sink sink;
	_Atomic(tide_thread *) threads; /* all descriptors; grows only */
	tide_thread *free_threads;
	pthread_t writer;
	_Atomic uint32_t finish;   /* 1: the writer is to write the rest and end */
	bool opened;		   /* writer thread: both files are there */
	_Atomic bool no_space;	   /* the file took no more in the writer's last round */
	bool stuck;		   /* a thread stayed busy: mappings must stay */
	bool complete;		   /* the writer wrote everything, END included */
	bool removed, rings_there; /* as it found them when it closed them */
	bool rings_left;	   /* the ring file has a name, but not the one we know */
	int close_error;	   /* 0, or why it could not close the file */
	uint64_t log_written;	   /* bytes of the log that are in the file */
	_Atomic uint64_t events;   /* in the file */
	tide_stats last;	   /* of the recording that ended last */
} tide_recorder;
extern tide_recorder tide__rec __attribute__((visibility("hidden")));

/* start.c: first call of a process, or of a forked child. Lock held. */
void tide__awake(void);
/* A forked child's first event: start its own file if it is to. Lock held. */
void tide__follow(void);

/* thread.c: the calling thread takes part from now on: busy is set and its thread returned, or NULL
 * when there is nothing to record. */
tide_thread *tide__thread_join(void);
/* The slow side of a full ring: room for n slots after all, or false and the loss is counted. */
bool tide__make_room(tide_thread *t, uint64_t n);
/* A signal handler found its thread recording. */
void tide__count_signal(tide_thread *t);
bool tide__thread_init(void);
/* Bytes of the next ring; 0: there is no room for one. */
size_t tide__ring_size(void);
/* A new ring of that size or, where the disk has no room for it, of the largest half of it that fits;
 * NULL with errno. On the writer thread. */
tide_block *tide__ring_that_fits(void);

/* writer.c: the writer thread's body, and what start writes before it. */
void *tide__writer(void *unused);
bool tide__write_opening(void);
/* facts.c: the FACTS payload; returns bytes, *count records. */
size_t tide__facts(uint8_t *out, size_t cap, uint32_t *count);
void tide__hex(char out[33], const uint8_t id[16]);

/* control.c: do what somebody asked for through the ring file; called by the writer thread. */
void tide__control_init(void); /* lock held */
void tide__control_look(void);
/* Recording is switched off for a while: threads keep their rings, and store nothing. */
extern _Atomic bool tide__paused __attribute__((visibility("hidden")));
/* The generation's number is marked while that is so, so that no thread takes part. */
#define TIDE_PAUSED_BIT (UINT64_C(1) << 63)
/* writer.c: an annotation that the writer itself makes. */
void tide__write_note(uint32_t key, const char *text);

/* start.c */
void tide__stats_now(tide_stats *out);

#endif
