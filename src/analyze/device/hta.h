// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The holistic analysis of one trace: all figures of `tidemark hta` for one rank.
 *
 * Each file answers one question (breakdown.c, kernels.c, idle.c, ...) with a pure function from
 * the model and its device rows to a part of this result; tide__hta_analyze runs them all. The
 * result owns its texts and borrows nothing from the model, so a model can be freed before the next
 * is loaded. Its tables are plain old data, so a result can be sent between processes as bytes
 * (hta_pack.c). hta_job.h combines many ranks. docs/analyses/ defines every figure. Times are
 * ns. */
#ifndef TIDE_ANALYZE_DEVICE_HTA_H
#define TIDE_ANALYZE_DEVICE_HTA_H

#include "analyze/device/gpu_rows.h"
#include "analyze/common/statistics.h"
#include "model/model.h"

enum { TIDE_IDLE_HOST_WAIT, TIDE_IDLE_KERNEL_WAIT, TIDE_IDLE_OTHER, TIDE_IDLE_CLASSES };
extern const char *const tide__idle_text[TIDE_IDLE_CLASSES]; /* "host_wait" ... */

enum {			      /* what the host did while a stream waited for it (idle_cause.c) */
       TIDE_CAUSE_SYNC,	      /* a synchronising call */
       TIDE_CAUSE_ALLOC,      /* device or pinned memory was allocated or freed */
       TIDE_CAUSE_DATA,	      /* data loading */
       TIDE_CAUSE_COMPILE,    /* torch.compile, Triton, module loading */
       TIDE_CAUSE_RUNTIME,    /* any other runtime or driver call */
       TIDE_CAUSE_OP,	      /* inside an op, between its calls */
       TIDE_CAUSE_PYTHON,     /* Python */
       TIDE_CAUSE_USER,	      /* only a user range is known */
       TIDE_CAUSE_UNRECORDED, /* nothing recorded on the launching thread */
       TIDE_CAUSE_LAUNCH,     /* from the launch call to the start on the device */
       TIDE_CAUSES,
};
extern const char *const tide__cause_text[TIDE_CAUSES];

enum { TIDE_PCT_50, TIDE_PCT_90, TIDE_PCT_95, TIDE_PCT_99, TIDE_PCTS };
extern const unsigned tide__pcts[TIDE_PCTS]; /* 50, 90, 95, 99 */

/* ---- tables: plain old data, texts as ids of the result's own strings ---------------------- */

typedef struct tide_hta_stream {
	int64_t device, number; /* device: its number among its kind, -1 = unknown */
	tide_str kind;		/* of the device: "cuda"; none = unknown */
	uint32_t pad;
	uint64_t rows, overlapping; /* overlapping: rows that start before an earlier one of the
				     * stream ended */
	int64_t span, busy;
	int64_t idle[TIDE_IDLE_CLASSES];
	uint64_t gaps[TIDE_IDLE_CLASSES];
	uint64_t unlaunched_gaps; /* gaps before a row whose launch is not in the trace */
	int64_t unlaunched_ns;	  /* their length; part of kernel_wait and other */
	tide_stat dur;		  /* its rows' durations */
	/* queue: launched and not yet started, one entry per launch (a graph counts once) */
	uint64_t queue_entries,
		queue_early; /* early: device start before the launch call's start */
	uint64_t queue_max;
	uint64_t queue_pct[TIDE_PCTS]; /* of time */
	int64_t queue_time;	       /* from the first launch to the last start */
	int64_t queue_full;	       /* time at TIDE_QUEUE_LIMIT or more */
	uint64_t queue_area[2];	       /* integral of length over time, low limb first */
} tide_hta_stream;
enum { TIDE_QUEUE_LIMIT = 1024 };

typedef struct tide_hta_kernel {
	tide_str name;
	uint32_t type; /* TIDE_GPU_* */
	uint32_t custom;
	uint32_t pct_known;
	tide_stat dur;
	int64_t pct[TIDE_PCTS];
	uint64_t chunk; /* first of its duration chunks + 1; 0 = none kept */
	/* Its longest launch; none or -1 = not recorded, or not requested (TIDE_WANT_SHAPES). */
	int64_t launch_ns;
	tide_str grid, block;	   /* as written in the trace: "[8, 1, 1]" */
	int64_t registers, shared; /* registers a thread, bytes of shared memory */
	int64_t device, stream;
} tide_hta_kernel;

/* Sorted durations of one kernel in one rank, as varints of differences, for percentiles. */
typedef struct tide_hta_chunk {
	uint64_t at, bytes, n, next; /* next chunk of the same kernel + 1 */
} tide_hta_chunk;

typedef struct tide_hta_step {
	int64_t number, t0, t1;
	uint64_t rows;
	int64_t busy, first, last; /* of the device rows launched in it; 0 if there are none */
	int64_t type_ns[TIDE_GPU_TYPES];
} tide_hta_step;

typedef struct tide_hta_api {
	tide_str name;
	uint32_t graph; /* its launches started several rows each */
	uint64_t rows;	/* device rows they started */
	uint64_t short_kernels, runtime_outliers, delay_outliers;
	tide_stat cpu, delay, gpu; /* one value per launch */
} tide_hta_api;

typedef struct tide_hta_op { /* device time by the innermost op around the launch */
	tide_str name;	     /* none = no op around it, or no launch */
	uint32_t why;	     /* 0 an op; 1 launched outside any op; 2 launch not in the trace */
	tide_stat dur;
} tide_hta_op;

typedef struct tide_hta_op_kernel {
	tide_str op, kernel;
	uint32_t why, type;
	tide_stat dur;
} tide_hta_op_kernel;

typedef struct tide_hta_annotation {
	tide_str name;
	uint32_t gpu; /* 1 = as seen on a stream */
	tide_stat dur;
	uint64_t rows; /* host side: device rows launched inside it */
	int64_t rows_ns;
} tide_hta_annotation;

typedef struct tide_hta_collective {
	tide_str group, desc, name; /* process group, its description, collective; none = unknown */
	uint32_t pad;
	uint64_t size; /* group size, 0 = unknown */
	tide_stat dur;
	int64_t busy, overlap; /* union; its part during compute */
	uint64_t sized;	       /* rows whose bytes are known */
	int64_t sized_ns;      /* their durations */
	uint64_t bytes, bus_bytes;
} tide_hta_collective;

typedef struct tide_hta_comm {	     /* one communication row, to compare ranks */
	tide_str name, group, ranks; /* kernel; process group and its ranks, none = unknown */
	uint32_t ordinal;  /* rows of this name and group before it in its step, or with its
			    * sequence number */
	int64_t step, dur; /* step -1 = launched in none */
	int64_t seq;	   /* number of the collective in its group, -1 = unknown */
	int64_t size;	   /* ranks in the group, -1 = unknown */
} tide_hta_comm;

/* Parts of a rank's time before it came to a collective (collective_calls.c). */
enum {
	TIDE_BEFORE_COMPUTE, /* compute ran on its device */
	TIDE_BEFORE_COMM,    /* else other collectives */
	TIDE_BEFORE_MEMORY,  /* else copies and fills */
	TIDE_BEFORE_DATA,    /* else its host loaded data */
	TIDE_BEFORE_LAUNCH,  /* else: its device waited for the host */
	TIDE_BEFORES,
};
extern const char *const tide__before_text[TIDE_BEFORES];

typedef struct tide_hta_pg { /* a process group as a rank names it */
	tide_str name, desc, ranks;
	uint32_t pad;
	int64_t size, first, stride; /* ranks; the first one and their distance; -1 = unknown */
} tide_hta_pg;

enum { TIDE_CALL_SYNC = 1, TIDE_CALL_HOST = 2, TIDE_CALL_ODD = 4 };

typedef struct tide_hta_call { /* one collective on one rank */
	tide_str name, dtype;
	uint32_t pg;		  /* of pgs, + 1; 0 = unknown */
	uint32_t flags;		  /* SYNC: no rank leaves before all came; HOST: no device row; ODD:
				   * impossible sizes */
	uint32_t ordinal, kernel; /* ordinal as in tide_hta_comm */
	int64_t step, seq;
	int64_t t0, t1;
	int64_t bytes, bus_bytes;     /* -1 = unknown */
	int64_t since;		      /* end of the rank's previous call in the group, -1 = none */
	int64_t before[TIDE_BEFORES]; /* its parts of [since, t0) */
} tide_hta_call;

typedef struct tide_hta_split { /* all-to-all with split sizes: one peer */
	uint32_t pg;		/* of pgs, + 1 */
	uint32_t received;	/* 0 sent to it, 1 received from it */
	uint64_t peer;		/* place in the group */
	uint64_t calls, bytes;
} tide_hta_split;

typedef struct tide_hta_copy {
	tide_str kind; /* "HtoD", "DtoD", ... from the row's name */
	uint32_t set;  /* 1 = memset */
	tide_stat dur;
	int64_t busy;		  /* union */
	uint64_t sized, timeless; /* rows whose bytes are known; of these, rows without a
				   * duration */
	int64_t sized_busy;	  /* union of rows with known bytes and a duration */
	uint64_t bytes;		  /* of all sized rows */
	double peak;		  /* bytes per second; concurrent rows are added */
	double pct[TIDE_PCTS];	  /* of the time in sized_busy */
} tide_hta_copy;

typedef struct tide_hta_loss {
	tide_str key, text; /* key without "loss."; text none = number */
	int64_t number;
} tide_hta_loss;

#define TIDE_HTA_TABLES(T)                  \
	T(tide_hta_stream, streams)         \
	T(tide_hta_step, steps)             \
	T(tide_hta_collective, collectives) \
	T(tide_hta_comm, comms)             \
	T(tide_hta_pg, pgs)                 \
	T(tide_hta_call, calls)             \
	T(tide_hta_split, splits)           \
	T(tide_hta_copy, copies)            \
	T(tide_hta_loss, losses)            \
	T(tide_hta_kernel, kernels)         \
	T(tide_hta_chunk, chunks)           \
	T(tide_hta_api, apis)               \
	T(tide_hta_op, ops)                 \
	T(tide_hta_op_kernel, op_kernels)   \
	T(tide_hta_annotation, annotations) \
	T(uint8_t, bytes) /* of the chunks */

typedef struct tide_hta_head {
	int64_t rank, world;	 /* -1 = unknown */
	uint64_t rank_from_name; /* 1 = the rank comes from the file's name, not from the trace */
	int64_t wall0;		 /* Unix time of t = 0; 0 = unknown */
	uint64_t spans, rows, left_out, linked;
	uint64_t rows_of[TIDE_GPU_TYPES];
	int64_t sum_of[TIDE_GPU_TYPES]; /* sums of durations */
	int64_t first, kernel_time, busy, idle, non_compute, overlap;
	int64_t type_ns[TIDE_GPU_TYPES];     /* union per type */
	int64_t set_ns[1 << TIDE_GPU_TYPES]; /* time with exactly this set of types; [0] = idle */
	uint64_t graph_launches, graph_rows;
	uint64_t custom_rows;
	int64_t custom_ns;	    /* union of custom collectives; part of compute */
	int64_t cause[TIDE_CAUSES]; /* sum over all host_wait gaps */
	int64_t waited;		    /* part of the largest cause spent in spans of one name */
	uint32_t waited_cause;
	tide_str waited_in; /* that name; for several ranks, the one with the longest; 0 = none */
	uint64_t launches, short_kernels, runtime_outliers, delay_outliers;
	tide_stat cpu, delay; /* of all launches */
	int64_t cpu_pct[TIDE_PCTS], delay_pct[TIDE_PCTS];
	int64_t idle_host_active; /* part of idle with recorded host activity */
	uint64_t device_capacity; /* of the largest device, 0 = unknown */
	uint64_t no_ops;	  /* without device rows: 1 = also without ops of the host */
	uint64_t holds; /* as in overview/hints.h, by a caller that frees the model; else 0 */
	uint64_t pairs; /* sends and receives, which are not in calls */
	uint64_t splits_unknown; /* all-to-alls whose split sizes cannot be used */
} tide_hta_head;

typedef struct tide_strings tide_strings;

typedef struct tide_hta {
	tide_hta_head h;
	tide_strings *strings; /* owned */
	bool failed;	       /* a text could not be stored: the result is unusable */
#define T(type, member)              \
	struct {                     \
		type *v; /* owned */ \
		size_t n, cap;       \
	} member;
	TIDE_HTA_TABLES(T)
#undef T
} tide_hta;

typedef struct tide_hta_options {
	tide_window window;
	const char *const *custom; /* additional name parts of custom collectives; borrowed */
	size_t n_custom;
	int64_t kernel_wait_ns; /* shorter gaps are kernel_wait; 0 = 30,000 */
	int64_t short_ns;	/* runtime cut-off of launch statistics; 0 = 50,000 */
	unsigned threads;	/* 1 = only the caller's thread; 0 = may use one more */
	int64_t delay_ns;	/* launch-delay cut-off; 0 = 100,000 */
	bool calls;		/* only tables pgs, calls, splits: for rank_collectives.h */
} tide_hta_options;

/* Analyses a trace. A trace without device rows gives a result without rows, and TIDE_OK. `opt`
 * may be NULL. *out is owned by the caller: tide__hta_free. */
tide_code tide__hta_analyze(const tide_model *m, const tide_hta_options *opt, tide_hta **out,
			    tide_error *err);
void tide__hta_free(tide_hta *h); /* NULL is allowed */

/* Returns an empty result; NULL if memory runs out. */
tide_hta *tide__hta_new(void);
/* Appends a zeroed row to a table of a result: TIDE_HTA_PUSH(h, kernels). NULL if memory runs
 * out. */
#define TIDE_HTA_PUSH(h, member) \
	((__typeof__((h)->member.v))tide__hta_push(&(h)->member, sizeof *(h)->member.v))
void *tide__hta_push(void *table, size_t size);
/* Interns a text in the result; the second copies it from a model. Returns none for "", and if
 * memory runs out (h->failed is then set). */
tide_str tide__hta_intern(tide_hta *h, const char *s, size_t n);
tide_str tide__hta_take(tide_hta *h, const tide_model *m, tide_str s);
const char *tide__hta_str(const tide_hta *h, tide_str s, size_t *n);

/* Converts a result to bytes (owned by the caller, tide__free) and back. Between processes of
 * one program: lengths and ids are checked, so that a damaged message is an error, not a crash. */
tide_code tide__hta_pack(const tide_hta *h, uint8_t **out, size_t *n, tide_error *err);
tide_code tide__hta_unpack(const uint8_t *p, size_t n, tide_hta **out, tide_error *err);

#endif
