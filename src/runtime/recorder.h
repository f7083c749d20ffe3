// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recording in progress, and the threads that take part in it.
 *
 * One struct, one per process. Access:
 *   - a traced thread: its own tide_thread, its ring's head and loss counters; in another
 *     thread's descriptor only the end of an op (tide__end_elsewhere);
 *   - the writer thread: sink, encoders, rings' tails, log_written;
 *   - everything else: slow sections (guard.h).
 *
 * Stopping while threads store events: a thread sets its `busy`, then reads the generation; stop
 * sets the generation to 0, makes every core see it (membarrier), then waits until no thread is
 * busy. A thread that reads it later finds another generation and stores nothing. A thread that
 * stays busy beyond the bounded wait (stopped by a debugger, say) keeps the mappings alive: they
 * are then never unmapped, and its late store is discarded. */
#ifndef TIDE_RUNTIME_RECORDER_H
#define TIDE_RUNTIME_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tidemark/detail/quick.h>
#include <tidemark/record.h>

#include "runtime/clock.h"
#include "runtime/guard.h"
#include "runtime/sink.h"
#include "runtime/ring_file.h"

/* A traced thread. Private memory, never freed; reused after the thread has ended. tide__self
 * points to its beginning. */
typedef struct tide_thread {
	tide_quick quick;
	tide_shared *shared; /* NULL: no ring could be allocated; every event is a loss */
	tide_block *ring;
	tide_rings_head *file; /* for losses without a ring */
	uint32_t denied;       /* losses since the last attempt to get a ring */
	uint32_t in_vain;      /* consecutive waits for space that timed out */
	_Atomic bool ended;    /* other threads have ended ops of this thread */
	uint64_t tid;
	struct tide_thread *next; /* in the list of all, or of free descriptors */
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
	uint8_t first[16];	    /* id of the first recording of its process family; 0 = this is
	                             * the first */
	uint64_t generations;	    /* recordings started so far */
	uint32_t lanes;		    /* threads seen in this recording */
	tide_ring_file space;
	tide_sink sink;
	tide_file_head head;		/* of the file */
	_Atomic(tide_thread *) threads; /* all descriptors; grows only */
	tide_thread *free_threads;
	pthread_t writer;
	_Atomic uint32_t finish; /* 1: the writer must write the rest and end */
	_Atomic uint32_t writer_ended;
	bool opened;		   /* writer thread: both files are open */
	_Atomic bool no_space;	   /* the disk was full in the writer's last round */
	tide_quick *stopper;	   /* thread that called tide_stop; NULL: it records nothing */
	bool stuck;		   /* a thread stayed busy: mappings must stay */
	bool complete;		   /* the writer wrote everything, END included */
	bool removed, rings_there; /* state found when the files were closed */
	bool rings_left;	   /* the ring file has been renamed */
	bool misled;		   /* a file of the program may have been written to */
	int close_error;	   /* 0, or why it could not close the file */
	uint64_t log_written;	   /* bytes of the log that are in the file */
	_Atomic uint64_t events;   /* written to the file */
	uint64_t part_from;	   /* bytes at the start of the file: definitions and live blocks */
	uint64_t parts;		   /* files that were begun because one was full */
	uint64_t events_before;	   /* events of earlier files that this one does not have */
	tide_stats last;	   /* of the last recording that ended */
} tide_recorder;
extern tide_recorder tide__rec __attribute__((visibility("hidden")));

/* start.c: initialises at the first call of a process, or of a forked child. Lock held. */
void tide__recorder_init(void);
/* start.c: a forked child's first event: starts its own file if follow_fork is set. Lock held. */
void tide__follow(void);

/* thread.c: the calling thread joins the recording: sets busy and returns its descriptor, or NULL
 * if nothing is being recorded. */
tide_thread *tide__thread_join(void);
/* Full ring: returns true once n slots are free, or counts the loss and returns false. */
bool tide__make_room(tide_thread *t, uint64_t n);
/* Counts an event of a signal handler that interrupted its thread while recording. */
void tide__count_signal(tide_thread *t);
/* Counts an event that has no ring, or whose values are out of range. */
void tide__count_other(tide_thread *t);
/* Adds to a count in the ring file and to its private copy. */
static inline void tide__count(_Atomic uint64_t *in_file, _Atomic uint64_t *mine, uint64_t n)
{
	atomic_fetch_add_explicit(in_file, n, memory_order_relaxed);
	atomic_fetch_add_explicit(mine, n, memory_order_relaxed);
}
/* Counts slots that are no events of their own. Called by a ring's owner. */
static inline void tide__count_extra(tide_thread *t, uint64_t n)
{
	_Atomic uint64_t *mine = &t->ring->counts.extra;
	n += atomic_load_explicit(mine, memory_order_relaxed);
	atomic_store_explicit(mine, n, memory_order_relaxed);
	atomic_store_explicit(&t->shared->extra, n, memory_order_relaxed);
}
/* Returns the events of a ring that cannot get into the file because the ring file was truncated;
 * 0 if it was not, or while the program records. */
uint64_t tide__events_cut(const tide_block *b);
bool tide__thread_init(void);
/* Returns the bytes of the next ring; 0 if there is no memory for one. */
size_t tide__ring_size(void);
/* Creates a ring of that size, halved until the disk has space for it; NULL with errno. On the
 * writer thread. */
tide_block *tide__ring_that_fits(void);

/* writer.c: the writer thread's body, and the chunks written before it starts. */
void *tide__writer_run(void *unused);
bool tide__write_opening(void);
/* facts.c: writes the FACTS payload; returns its bytes, *count records. */
size_t tide__facts_write(uint8_t *out, size_t cap, uint32_t *count);
void tide__hex_write(char out[33], const uint8_t id[16]);

/* writer.c */
enum { TIDE_FILE_BYTES_LEAST = 1 << 20 };
#define TIDE_OLD_SUFFIX ".old"

/* control.c: handles a request made through the ring file; called by the writer thread. */
void tide__control_init(void); /* lock held */
void tide__control_look(void);
/* Recording is paused: threads keep their rings and store nothing. */
extern _Atomic bool tide__paused __attribute__((visibility("hidden")));
/* Set in the generation while paused, so that no thread takes part. */
#define TIDE_PAUSED_BIT (UINT64_C(1) << 63)
/* writer.c: writes an annotation of the writer itself. */
void tide__write_note(uint32_t key, const char *text);

/* start.c */
void tide__stats_read(tide_stats *out);

#endif
