// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records what your program does with memory and time into a .tide file.
 *
 * Link with libtidemark-rt (pkg-config tidemark-rt). Easiest first:
 *
 *     #include <tidemark/record.h>
 *
 *     tide_start("run.tide", NULL, NULL);
 *     tide_device h200 = tide_device_open(TIDE_DEVICE_CUDA, 0, "H200", 0);
 *     tide_pool gpu = tide_pool_open(h200, TIDE_POOL_DRAM, "DRAM", 0);
 *     tide_op op = tide_op_begin(TIDE_NAME("forward"));
 *     tide_alloc(gpu, (uintptr_t)p, bytes, 0);
 *     tide_free(gpu, (uintptr_t)p);
 *     tide_op_end(op);
 *     tide_mark(TIDE_PHASE, TIDE_NAME("FORWARD_PASS"), 0);
 *     tide_stop(NULL);
 *
 * then `tidemark peak run.tide`, `tidemark phases run.tide`, `tidemark ops run.tide`.
 *
 * Promises
 *   - Any call is harmless at any time from any thread: before tide_start, after tide_stop, in a
 *     forked child, in a signal handler (see Signals below), during exit. Threads need no
 *     registration.
 *   - errno is left alone. Nothing here raises, prints, exits or takes a lock of yours.
 *   - Except for a thread's first event, the first use of a name, and waiting on a full ring (off
 *     by default, bounded), an event takes no lock, makes no system call, allocates nothing.
 *   - An event whose call returned is in one of the recording's two files even if the process is
 *     killed the next moment (kill -9; not power loss), unless it was counted as lost. A loss is counted and shown in
 *     every report.
 *
 * (Ring size, memory bounds, fork, signals and clocks: see the end of this header.) */
#ifndef TIDEMARK_RECORD_H
#define TIDEMARK_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>
#include <tidemark/kinds.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ids; 0 = none and is accepted everywhere. */
typedef uint32_t tide_name;   /* an interned text */
typedef uint32_t tide_stack;  /* an interned call stack */
typedef uint16_t tide_device; /* the host or an accelerator */
typedef uint16_t tide_pool;   /* a memory pool of a device; at most 4095 pools a recording */
typedef uint16_t tide_stream; /* a device queue */
typedef uint32_t tide_op;     /* returned by tide_op_begin, taken by tide_op_end */

/* ---- start and stop ---------------------------------------------------------------------- */

typedef struct tide_options {
	size_t size; /* sizeof(tide_options): set by TIDE_OPTIONS_INIT */
	/* per thread (from the 33rd on less): a power of two, 64 KiB .. 1 GiB; default 1 MiB */
	size_t ring_bytes;
	size_t max_ring_bytes; /* all threads together; default 1 GiB, or 1/8 of the container's
			        * memory if that is less; threads beyond it count losses */
	/* wait at most this long for room in a full ring; default 0: count a loss */
	uint32_t full_wait_us;
	uint32_t tick_ms; /* interval of clock calibration points; default 1000 */
	bool follow_fork; /* forked children record into NAME.PID.tide; default true */
	bool as_child;	  /* for a program that was started by a recorded one: write NAME.PID.tide
			   * beside its parent's NAME.tide; default false */
	/* keep about this many bytes, the latest: the older half moves to NAME.old.tide, whose
	 * previous content is removed; live blocks are carried over. At least 1 MiB; default 0: the
	 * environment variable TIDEMARK_MAX_SIZE in bytes, or everything without it */
	uint64_t max_file_bytes;
} tide_options;
#define TIDE_OPTIONS_INIT                                        \
	{                                                        \
		sizeof(tide_options), 0, 0, 0, 0, true, false, 0 \
	}

/** Start recording into `path` (created or replaced; PATH-rings exists beside it while recording).
 *  If another process is recording into it now, the file is NAME.PID.tide instead: ranks of a job
 *  that share one name each keep a recording (tide_recording_path returns the name used).
 *
 *  @param opt  may be NULL: defaults. Start from TIDE_OPTIONS_INIT; numbers that are 0 mean their
 *              default.
 *  @param err  may be NULL.
 *  @return TIDE_OK; TIDE_EBUSY when already recording (that recording continues undisturbed);
 *          TIDE_EIO when the file cannot be created or its space cannot be allocated (disk full,
 *          read-only ...); TIDE_EUSAGE for a bad option. On failure nothing is recorded and nothing
 *          else changes.
 *
 *      tide_options o = TIDE_OPTIONS_INIT;
 *      tide_error err;
 *      o.max_file_bytes = 64 << 20; // keep the last 64 MiB
 *      if (tide_start("run.tide", &o, &err) != TIDE_OK)
 *              fprintf(stderr, "not recording: %s\n", err.text); */
TIDE_API tide_code tide_start(const char *path, const tide_options *opt, tide_error *err);

/** Stop: wait for writers in flight (bounded), write everything, close the file.
 *  Does nothing when not recording. Also runs at exit.
 *  @return TIDE_OK; TIDE_EIO when the file could not be completed (missing events are counted in it
 *          or are in the ring file, which then stays) or when the file was removed meanwhile (the
 *          recording is lost).
 *
 *      tide_error err;
 *      if (tide_stop(&err) != TIDE_OK)
 *              fprintf(stderr, "the recording is incomplete: %s\n", err.text); */
TIDE_API tide_code tide_stop(tide_error *err);

/** Returns true while recording.
 *
 *      if (!tide_recording())
 *              tide_start("run.tide", NULL, NULL); */
TIDE_API bool tide_recording(void);

/** Returns true if the recording's file was removed or replaced (a moved file is not gone); false
 * when not recording.
 *
 *      if (tide_recording_removed()) {
 *              tide_stop(NULL); // there is nothing left to write into
 *              tide_start("again.tide", NULL, NULL);
 *      } */
TIDE_API bool tide_recording_removed(void);

/** Writes the path of this recording's file, or of the last one, into `out`: NUL-terminated, cut to
 *  n bytes.
 *  @return the length of the whole path; 0 if nothing was recorded yet.
 *
 *      char path[4096];
 *      if (tide_recording_path(path, sizeof path))
 *              printf("recorded into %s\n", path); */
TIDE_API size_t tide_recording_path(char *out, size_t n);

/* ---- names ------------------------------------------------------------------------------- */

/** Returns the id of a text that lives as long as the process (a literal). Looked up by pointer: a few ns.
 *
 *      tide_name forward_pass = tide_name_static("forward"); // or TIDE_NAME("forward") */
TIDE_API tide_name tide_name_static(const char *text);
#define TIDE_NAME(literal) tide_name_static("" literal)

/** Returns the id of any text, which is copied (at most 65,535 bytes). Takes a lock: keep the id,
 *  not the text.
 *
 *      tide_name layers[12];
 *      for (int i = 0; i < 12; i++) {
 *              char text[32];
 *              snprintf(text, sizeof text, "layer %d", i);
 *              layers[i] = tide_intern(text);
 *      } */
TIDE_API tide_name tide_intern(const char *text);

/** Build call stacks from the outermost frame inwards; equal arguments give equal ids. Takes a
 * lock.
 *
 *      tide_stack outer = tide_stack_push(0, TIDE_NAME("main"), TIDE_NAME("train.c"), 12);
 *      tide_stack inner = tide_stack_push(outer, TIDE_NAME("step"), TIDE_NAME("train.c"), 34); */
TIDE_API tide_stack tide_stack_push(tide_stack parent, tide_name function, tide_name file,
				    uint32_t line);

/* ---- ops -------------------------------------------------------------------------------- */

/** Begin an op on this thread, inside the innermost open one.
 *
 *      tide_op op = tide_op_begin(TIDE_NAME("forward"));
 *      forward();
 *      tide_op_end(op); */
TIDE_API tide_op tide_op_begin(tide_name name);
/** The same with a number of yours (sequence, correlation ...) stored beside it.
 *
 *      tide_op op = tide_op_begin_arg(TIDE_NAME("forward"), 17); // batch 17
 *      forward();
 *      tide_op_end(op); */
TIDE_API tide_op tide_op_begin_arg(tide_name name, uint64_t arg);
/** The same with its call stack and its origin. arg 0: none. stack 0: that of the enclosing op.
 *  origin joins backward ops with their forward ops by a thread number of yours and by arg:
 *      0                a plain op
 *      thread << 1      a forward op of `thread`; its backward op will have the same arg
 *      thread << 1 | 1  the backward op of the last forward op of `thread` with this arg
 *
 *      tide_stack stack = tide_stack_push(0, TIDE_NAME("step"), TIDE_NAME("train.c"), 34);
 *      tide_op op = tide_op_begin_full(TIDE_NAME("forward"), 17, stack, 0);
 *      forward();
 *      tide_op_end(op); */
TIDE_API tide_op tide_op_begin_full(tide_name name, uint64_t arg, tide_stack stack,
				    uint32_t origin);
/** End an op, and everything begun inside it that is still open: after an exception or longjmp, the
 *  end of an outer op is enough. Ending an op twice is ignored.
 *
 *      tide_op outer = tide_op_begin(TIDE_NAME("step"));
 *      tide_op_begin(TIDE_NAME("forward"));
 *      tide_op_end(outer); // ends "forward" and "step" */
TIDE_API void tide_op_end(tide_op op);

/* ---- memory ------------------------------------------------------------------------------ */

/** Define a device, a pool of it, a stream of it; kinds are TIDE_DEVICE_CUDA …, TIDE_POOL_DRAM …
 *  (tidemark/kinds.h). Equal arguments give equal ids; capacity 0 = unknown. Take a lock: call once
 *  and keep the id.
 *
 *      tide_device gpu = tide_device_open(TIDE_DEVICE_CUDA, 0, "H200", 141ull << 30);
 *      tide_pool dram = tide_pool_open(gpu, TIDE_POOL_DRAM, "DRAM", 141ull << 30);
 *      tide_stream copies = tide_stream_open(gpu, 7, "copies"); */
TIDE_API tide_device tide_device_open(int kind, int index, const char *name, uint64_t capacity);
TIDE_API tide_pool tide_pool_open(tide_device device, int kind, const char *name,
				  uint64_t capacity);
TIDE_API tide_stream tide_stream_open(tide_device device, int64_t number, const char *name);

/** `size` bytes (below 2^48) at `addr` were allocated from `pool`, inside the innermost open op.
 *
 *      tide_alloc(pool, (uintptr_t)p, bytes, stream); // stream 0: none */
TIDE_API void tide_alloc(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream);
/** The same with the call stack and the bytes the program requested (0 = same as size).
 *
 *      tide_stack stack = tide_stack_push(0, TIDE_NAME("load"), TIDE_NAME("data.c"), 9);
 *      tide_alloc_full(pool, (uintptr_t)p, 512, stream, stack, 500); // 500 rounded to 512 */
TIDE_API void tide_alloc_full(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream,
			      tide_stack stack, uint64_t requested);
/** The allocation at `addr` was freed. Any thread may free. Call before the memory can be
 * reused.
 *
 *      tide_free(pool, (uintptr_t)p);
 *      free(p); */
TIDE_API void tide_free(tide_pool pool, uint64_t addr);

/** An op that ends now read or wrote the allocation alive at `addr` in `pool`. A program that
 *  reports uses reports all of them, each allocation once for each op: reports then name memory
 *  that is held after its last use.
 *
 *      tide_use(pool, address); */
TIDE_API void tide_use(tide_pool pool, uint64_t addr);

/** An allocator took a segment from the device, or returned one or part of one. kind: 0 unknown,
 *  1 small, 2 large, 3 mapped part of an expandable segment, 4 host.
 *
 *      tide_segment_alloc(pool, address, 20 << 20, stream, 2);
 *      tide_segment_free(pool, address, 20 << 20); */
TIDE_API void tide_segment_alloc(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream,
				 int kind);
TIDE_API void tide_segment_free(tide_pool pool, uint64_t addr, uint64_t size);

typedef struct tide_tensor_info {
	tide_name name;	       /* 0 = none */
	uint8_t dtype;	       /* TIDE_DTYPE_F32 …; 0 = unknown */
	uint8_t role;	       /* TIDE_ROLE_PARAMETER …; 0 = unknown */
	uint8_t requires_grad; /* 0 no, 1 yes, 2 unknown */
	uint8_t ndim;	       /* at most 16 */
	const uint64_t *shape; /* ndim numbers, borrowed for the call */
} tide_tensor_info;
/** Describe the allocation alive at `addr` in `pool`. The last description wins; fields it leaves
 *  unknown (name, role, requires_grad; dtype and shape together) keep their values.
 *
 *      const uint64_t shape[] = { 64, 32 };
 *      tide_tensor_info info = { TIDE_NAME("weight"), TIDE_DTYPE_F32, TIDE_ROLE_PARAMETER, 1, 2, shape };
 *      tide_tensor(pool, address, &info); */
TIDE_API void tide_tensor(tide_pool pool, uint64_t addr, const tide_tensor_info *info);
/** Describe a part of that allocation, starting `offset` bytes in: one of several tensors that
 *  share it (a gradient bucket, flattened parameters). The last description of an offset wins, as
 *  above.
 *
 *      const uint64_t shape[] = { 64, 32 };
 *      tide_tensor_info info = { TIDE_NAME("a"), TIDE_DTYPE_F32, TIDE_ROLE_GRADIENT, 0, 2, shape };
 *      tide_tensor_view(pool, address, 0, &info);
 *      info.name = TIDE_NAME("b");
 *      tide_tensor_view(pool, address, 64 * 32 * 4, &info); // behind the first one */
TIDE_API void tide_tensor_view(tide_pool pool, uint64_t addr, uint64_t offset,
			       const tide_tensor_info *info);

/** An allocation failed: `size` bytes (below 2^63) were requested, `free_bytes` were free (-1 =
 * unknown).
 *
 *      tide_oom(pool, 2ull << 30, 512 << 20); // 2 GiB requested, 512 MiB free */
TIDE_API void tide_oom(tide_pool pool, uint64_t size, int64_t free_bytes);

/* ---- marks and counters ----------------------------------------------------------------- */

enum { TIDE_PHASE = 1, TIDE_CHECKPOINT, TIDE_STEP };
/** Set a mark at this moment.
 *      TIDE_PHASE       ends a phase: everything since the previous TIDE_PHASE is called `name`
 *      TIDE_CHECKPOINT  a moment with a name; divides the recording if it has no TIDE_PHASE
 *      TIDE_STEP        step `value` begins. Marks that are set after the work of a step are
 *                       recognised (docs/analyses/leaks.md)
 *  `value` is stored with the mark; only TIDE_STEP uses it.
 *
 *      for (int64_t step = 0; step < 3; step++) {
 *              tide_mark(TIDE_STEP, TIDE_NAME("step"), step);
 *              forward();
 *              tide_mark(TIDE_PHASE, TIDE_NAME("FORWARD_PASS"), 0);
 *              backward();
 *              tide_mark(TIDE_PHASE, TIDE_NAME("BACKWARD_PASS"), 0);
 *      } */
TIDE_API void tide_mark(int kind, tide_name name, int64_t value);
/** Set a counter's value from now on.
 *
 *      tide_counter(TIDE_NAME("loss"), 0.25); */
TIDE_API void tide_counter(tide_name counter, double value);
/** Store an annotation; the text is copied (at most 4,096 bytes).
 *
 *      tide_annotate(TIDE_NAME("config"), "batch 64, bf16"); */
TIDE_API void tide_annotate(tide_name key, const char *text);

/* ---- statistics of the recorder --------------------------------------------------------- */

typedef struct tide_stats {
	uint64_t events;    /* recorded by all threads of this recording, without lost ones */
	uint64_t lost_full; /* dropped: ring full */
	/* dropped: a signal handler recorded while its thread was recording */
	uint64_t lost_signal;
	uint64_t lost_other; /* dropped: no ring could be allocated, or a value was out of range */
	uint64_t written;    /* bytes in the file so far */
	uint64_t memory;     /* bytes of the recorder's rings and tables */
	uint32_t threads;    /* seen so far */
	uint32_t rings;	     /* created so far (rings of finished threads are reused) */
} tide_stats;
/** Statistics of the recording in progress, or of the last one.
 *
 *      tide_stats s;
 *      tide_stats_get(&s);
 *      printf("%" PRIu64 " events, %" PRIu64 " lost\n", s.events,
 *             s.lost_full + s.lost_signal + s.lost_other); */
TIDE_API void tide_stats_get(tide_stats *out);

/* ---- details ---------------------------------------------------------------------
 *
 * Rings and memory. Each thread that records has a ring of ring_bytes in PATH-rings: 32 bytes an
 * event (a shape or an annotation takes more). Its space is allocated on disk and its pages are
 * faulted in before the thread uses it, so storing into it cannot fail; if that space cannot be
 * allocated, the thread's events are counted as lost (lost_other) and it tries again every 256
 * events. When a thread ends, its ring goes to the next thread that needs one. The first 32 live
 * threads get rings of ring_bytes, the next 32 half of that, the next 64 a quarter, the next 128 an
 * eighth, and so on down to 64 KiB: with 4 MiB, 2,048 threads hold 512 MiB. If the address space is
 * limited (RLIMIT_AS), a ring takes at most 1/64 of the rest: smaller rings, down to 64 KiB, then
 * none. A ring is fully resident from its first use on, as pages of its file: the kernel can write
 * them out and reclaim them, unless the file is in memory (tmpfs). So the recorder holds at most
 *     rings        min(max_ring_bytes, ring_bytes * highest number of live threads), plus a page
 *                  each
 *     definitions  their texts twice (process, ring file) and 16 to 32 bytes each; at most 256 MiB
 *                  (1/64 of a limited address space), then new names get id 0
 *     threads      20 KiB each (touched as deep as their ops nest), reused after the thread ends
 *     the writer   0.5 MiB
 * all of it outside malloc. The default ring holds 32,768 events; the writer thread empties rings
 * every 0.25 to 5 ms. A loop that records more than some millions of events a second for longer
 * than that needs larger rings, or full_wait_us.
 *
 * Disk full. File space is allocated ahead of need and some is reserved for the end. When the disk
 * is full, rings fill and losses are counted at once (full_wait_us is for a busy writer); tide_stop
 * then gives the ring file's space to the rest of the events piece by piece. If that fails as well,
 * PATH-rings stays: the two files together hold everything that was not counted as lost, and every
 * command reads both.
 *
 * Killed. PATH and PATH-rings together are the recording; `tidemark recover` merges them into one
 * file.
 *
 * Fork. A child never touches its parent's recording (fork, vfork + exec, raw clone alike). With
 * follow_fork (the default) its first event starts NAME.PID.tide beside NAME.tide, with all names
 * and pools and with the same ids (or records nothing if that file cannot be created); tide_start
 * in the child before that chooses another file. A program started by exec records nothing by
 * itself. A child that ends by _exit leaves its -rings file, which readers understand. Tokens of
 * ops begun before the fork are ignored in the child.
 *
 * Signals. Handlers may call everything here. An event from a handler that interrupted its thread
 * inside an event is dropped and counted (lost_signal): the window is some ten nanoseconds. Names
 * and start/stop block signals for their duration. A handler that leaves by longjmp from inside
 * that window leaves its thread counting losses until the recording ends.
 *
 * Ops. At most 4,095 open on a thread; a deeper begin is counted as lost_other and returns 0. An op
 * that is open when its thread ends, or when the recording stops, has no end. A token is valid on
 * the thread and in the recording that made it; elsewhere tide_op_end ignores it (stale tokens are
 * recognised as long as fewer than 2^19 ops were begun in between).
 *
 * Clocks. Times are the CPU's counter (x86: invariant TSC; arm64: CNTVCT) if the kernel trusts it,
 * else CLOCK_MONOTONIC_RAW; TIDEMARK_CLOCK=ns|tsc in the environment overrides this. Every tick_ms
 * (more often at first), and at start and stop, the file gets a (counter, MONOTONIC_RAW, REALTIME)
 * triple, so that long recordings do not drift and can be joined with others. Within a thread times
 * never decrease.
 *
 * Stop and exit. tide_stop waits at most a second for threads that are inside an event at that
 * moment (one that a debugger holds there, say); then it continues without them, and what they
 * store later is discarded. Events after it are ignored. exit() and the end of main stop the
 * recording; _exit, abort and signals leave the files as a kill does. The library is never unloaded
 * (dlclose has no effect): there is one recorder per process, shared by all its users. */

#ifdef __cplusplus
}
#endif
#endif
