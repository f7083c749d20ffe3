// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The model: one trace, as columns.
 *
 * Every importer fills it and every analysis reads it; importers and analyses do not depend on each
 * other. Nothing here does I/O. A model belongs to one thread while it is built and may be read by
 * many afterwards.
 *
 * Conventions
 *   ids     distinct struct types over uint32_t; id.i is the row; 0 means none. Tables with ids
 *           keep row 0 as the "none" row, so their loops start at 1. Logs (memory_events, uses,
 *           samples, pool_states, documents, flows, attrs, facts, ticks) have no ids; their loops start
 *           at 0.
 *   times   int64_t nanoseconds from the trace's start (model.wall0_ns is that start's Unix time).
 *   sizes   bytes, uint64_t.
 *   live    allocs.died / segments.died / spans.t1 is TIDE_T_NEVER while the thing had not ended
 *           when the trace ended.
 *
 * Invariants (tide__model_check verifies all of them; ids always in range)
 *   S1  spans are sorted by t0; t0 <= t1; parent < child; the parent is on the same lane and
 *       contains the child: parent.t0 <= child.t0, child.t1 <= parent.t1.
 *   S2  spans.cause is a span that started it from elsewhere (a launch for a kernel); never itself.
 *   A1  allocs.born <= allocs.died; size >= 1 unless the source said 0.
 *   M1  memory_events has all memory events in order. Their times (tide__memory_event_time) never
 *       decrease.
 *   M2  every alloc has exactly one ALLOC event, and exactly one FREE event iff died != NEVER; its
 *       FREE comes after its ALLOC. The same for segments and SEG_ALLOC / SEG_FREE.
 *   M3  two allocs of one pool that are alive at once never overlap in address, unless one carries
 *       TIDE_ALLOC_OVERLAPS (the source contradicts itself; counted as a fact) or
 *       TIDE_ALLOC_SAMPLED (its size is an estimate, not an extent).
 *   U1  uses are sorted by position, their t never decreases, and each is within the life of its
 *       allocation. No rows: uses were not recorded, the last use of everything is unknown.
 *   P1  pool_states are sorted by t.
 *   K1  marks are sorted by t; marks.position never decreases and is <= memory_events.n.
 *   T1  attrs are sorted by (span, key); flows by (from, to).
 *
 * Live bytes at any position are therefore a plain sum over the first rows of memory_events: no
 * sorting, no ties to break, and two analyses cannot disagree. */
#ifndef TIDE_MODEL_MODEL_H
#define TIDE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tidemark/error.h>
#include <tidemark/kinds.h>

#include "base/map.h"
#include "base/table.h"

#define TIDE_T_NEVER INT64_MAX

#define TIDE_ID(name)         \
	typedef struct name { \
		uint32_t i;   \
	} name
TIDE_ID(tide_str);	  /* an interned text */
TIDE_ID(tide_frame_id);	  /* a code location */
TIDE_ID(tide_stack_id);	  /* a node of the stack tree: innermost frame, rest = parent */
TIDE_ID(tide_process_id); /* a traced process */
TIDE_ID(tide_device_id);  /* the host or an accelerator */
TIDE_ID(tide_pool_id);	  /* a memory pool of a device */
TIDE_ID(tide_lane_id);	  /* a thread, a stream, a communicator */
TIDE_ID(tide_span_id);	  /* an op, kernel or range with a start and an end */
TIDE_ID(tide_alloc_id);	  /* one allocation's life */
TIDE_ID(tide_segment_id); /* memory an allocator took from the device */
TIDE_ID(tide_mark_id);	  /* a named moment */
TIDE_ID(tide_tensor_id);  /* what an allocation holds */
TIDE_ID(tide_counter_id); /* a series of samples */
TIDE_ID(tide_pending_id); /* a free that was requested but not yet done */

/* ---- kinds ------------------------------------------------------------------------------- */

#define TIDE_LANE_KINDS(X)                          \
	X(UNKNOWN, 0, "unknown")                    \
	X(THREAD, 1, "thread")                      \
	X(STREAM, 2, "stream") /* a device queue */ \
	X(COMM, 3, "communicator")                  \
	X(OTHER, 4, "other")

#define TIDE_SPAN_CATS(X) /* G = work that runs on a device */                                  \
	X(UNKNOWN, 0, "unknown")                                                                \
	X(OP, 1, "op")		      /* framework or recorded op */                            \
	X(USER, 2, "user_annotation") /* range named by the user, on the host */                \
	X(PYTHON, 3, "python_function")                                                         \
	X(RUNTIME, 4, "runtime")	       /* CUDA/HIP runtime call */                      \
	X(DRIVER, 5, "driver")		       /* driver call */                                \
	X(KERNEL, 6, "kernel")		       /* G */                                          \
	X(MEMCPY, 7, "memcpy")		       /* G */                                          \
	X(MEMSET, 8, "memset")		       /* G */                                          \
	X(MTIA, 9, "mtia")		       /* G: mtia_ccp_events */                         \
	X(GPU_USER, 10, "gpu_user_annotation") /* a user range as seen on a stream: not work */ \
	X(SYNC, 11, "sync")		       /* cuda_sync rows: not work */                   \
	X(OVERHEAD, 12, "overhead")	       /* the profiler's own */                         \
	X(COUNTERS, 13, "profiler_range")      /* cuda_profiler_range */                        \
	X(OTHER, 14, "other")

#define TIDE_MARK_KINDS(X)                                                                     \
	X(UNKNOWN, 0, "unknown")                                                               \
	X(PHASE, 1, "phase") /* ends a phase: everything since the previous one is `name` */   \
	X(CHECKPOINT, 2, "checkpoint") /* a named snapshot of memory */                        \
	X(STEP, 3, "step")	       /* a training step begins; value = its number */        \
	X(OOM, 4, "oom")	       /* value = bytes requested, extra = bytes free or -1 */ \
	X(ANNOTATION, 5, "annotation") /* free text */                                         \
	X(SNAPSHOT, 6, "snapshot")

#define TIDE_SEGMENT_KINDS(X)                                                         \
	X(UNKNOWN, 0, "unknown")                                                      \
	X(SMALL, 1, "small")                                                          \
	X(LARGE, 2, "large")                                                          \
	X(EXPANDABLE, 3, "expandable") /* one mapped part of an expandable segment */ \
	X(HOST, 4, "host")

#define TIDE_FLOW_KINDS(X)                                                           \
	X(UNKNOWN, 0, "unknown")                                                     \
	X(LAUNCH, 1, "launch")	/* runtime call -> device work (also spans.cause) */ \
	X(FWD_BWD, 2, "fwdbwd") /* forward op -> backward op */                      \
	X(WAIT, 3, "wait")	/* event record -> wait */                           \
	X(OTHER, 4, "other")

#define TIDE_MEMORY_EVENT_KINDS(X)                                                        \
	X(ALLOC, 0, "alloc") /* row = alloc */                                            \
	X(FREE, 1, "free")   /* row = alloc: its bytes are free again */                  \
	X(FREE_ASKED, 2,                                                                  \
	  "free_requested") /* row = pending: free requested, still in use by a stream */ \
	X(SEG_ALLOC, 3, "segment_alloc") /* row = segment */                              \
	X(SEG_FREE, 4, "segment_free")	 /* row = segment */

/* How an allocation is known. Reports of allocations that are not exact state this (the fact
 * "alloc.basis" has the sentence). */
#define TIDE_ALLOC_BASES(X)                                                        \
	X(EXACT, 0, "exact")	   /* reported by the source */                    \
	X(INFERRED, 1, "inferred") /* derived from pool states before and after */ \
	X(VIRTUAL, 2, "virtual")   /* never allocated: predicted, or recorded without running */

/* The time a pool state refers to. */
#define TIDE_STATE_WHENS(X)                                                                       \
	X(BEFORE, 0, "before") /* before the operation `span` */                                  \
	X(AFTER, 1, "after")   /* after the operation or program `span`; nothing has run since */ \
	X(BETWEEN, 2, "between") /* between programs */

/* The unit of model times. */
#define TIDE_AXES(X)                \
	X(TIME, 0, "time") /* ns */ \
	X(OPS, 1,                   \
	  "ops") /* the source has no clock: operation i begins at i * TIDE_OP_NS, and no \
			    * difference of two times is a duration */
#define TIDE_OP_NS 1000

enum {
#define X(name, number, text) TIDE_BASIS_##name = number,
	TIDE_ALLOC_BASES(X)
#undef X
#define X(name, number, text) TIDE_STATE_##name = number,
		TIDE_STATE_WHENS(X)
#undef X
#define X(name, number, text) TIDE_AXIS_##name = number,
			TIDE_AXES(X)
#undef X
#define X(name, number, text) TIDE_LANE_##name = number,
				TIDE_LANE_KINDS(X)
#undef X
#define X(name, number, text) TIDE_CAT_##name = number,
					TIDE_SPAN_CATS(X)
#undef X
#define X(name, number, text) TIDE_MARK_##name = number,
						TIDE_MARK_KINDS(X)
#undef X
#define X(name, number, text) TIDE_SEGMENT_##name = number,
							TIDE_SEGMENT_KINDS(X)
#undef X
#define X(name, number, text) TIDE_FLOW_##name = number,
								TIDE_FLOW_KINDS(X)
#undef X
#define X(name, number, text) TIDE_MEMORY_##name = number,
									TIDE_MEMORY_EVENT_KINDS(X)
#undef X
};

/* Return the text of a kind; "unknown" for any other number. */
const char *tide__device_kind_text(unsigned k);
const char *tide__pool_kind_text(unsigned k);
const char *tide__lane_kind_text(unsigned k);
const char *tide__cat_text(unsigned k);
const char *tide__mark_kind_text(unsigned k);
const char *tide__role_text(unsigned k);
const char *tide__dtype_text(unsigned k);
/* Returns the bytes of an element; 0 for an unknown type and for types whose elements share
 * bytes. */
unsigned tide__dtype_bytes(unsigned k);
const char *tide__segment_kind_text(unsigned k);
const char *tide__flow_kind_text(unsigned k);
const char *tide__memory_event_text(unsigned k);
const char *tide__basis_text(unsigned k);
const char *tide__axis_text(unsigned k);
const char *tide__state_when_text(unsigned k);

/* Work on a device: kernels, copies, fills (TIDE_CAT_KERNEL, MEMCPY, MEMSET, MTIA). */
static inline bool tide__cat_is_gpu(unsigned cat)
{
	return cat == TIDE_CAT_KERNEL || cat == TIDE_CAT_MEMCPY || cat == TIDE_CAT_MEMSET ||
	       cat == TIDE_CAT_MTIA;
}

enum {				/* allocs.flags */
       TIDE_ALLOC_BEFORE = 1,	/* existed before the recording began; born is the trace's start */
       TIDE_ALLOC_OVERLAPS = 2, /* overlaps another live allocation: the source contradicts
				 * itself */
       TIDE_ALLOC_REUSED = 4,	/* FREE inferred from a new alloc at the same address */
       TIDE_ALLOC_ROLE_CONCLUDED = 8, /* role is the source's conclusion, also if it is unknown */
       TIDE_ALLOC_ASKED = 16,	/* its free was requested while a stream still used it: exactly
				 * one FREE_ASKED event, after which its program no longer counts
				 * it */
       TIDE_ALLOC_SAMPLED = 32, /* represents other allocations too: size is the estimated total,
				 * at least its own size (docs/analyses/heap.md) */
       TIDE_ALLOC_HANDED = 64,	/* ended because another pool counts the same bytes from that
                                 * moment */
       TIDE_ALLOC_ROLE_GUESSED = 128, /* role is the source's guess: any of our rules overrides
                                       * it */
};
enum {			      /* spans.flags */
       TIDE_SPAN_OPEN = 1,    /* never ended; t1 is the trace's end */
       TIDE_SPAN_LOST = 2,    /* its begin was lost; t0 is the first event inside it */
       TIDE_SPAN_UNWOUND = 4, /* ended by its parent's end (exception, longjmp, thread exit) */
       TIDE_SPAN_AGAIN = 8,   /* continues a span that ended before; not counted as a run */
       TIDE_SPAN_NO_END = 16, /* the source has no end of it: t1 - t0 is not a duration */
};
enum {				/* segments.flags */
       TIDE_SEGMENT_BEFORE = 1, /* existed before the recording began */
       TIDE_SEGMENT_PART = 2,	/* remainder of a partial free; born at that free */
};

/* ---- tables ------------------------------------------------------------------------------ */

#define TIDE_FRAME_COLUMNS(C)                  \
	C(tide_str, function, "function name") \
	C(tide_str, file, "source file")       \
	C(uint32_t, line, "line in it, 0 = unknown")

#define TIDE_STACK_COLUMNS(C)                                    \
	C(tide_frame_id, frame, "innermost frame of this stack") \
	C(tide_stack_id, parent, "the rest of it, towards the outermost; always a smaller id")

#define TIDE_PROCESS_COLUMNS(C)                                          \
	C(int64_t, pid, "process id")                                    \
	C(int64_t, parent_pid, "process id of the parent, -1 = unknown") \
	C(int64_t, rank, "rank in a distributed job, -1 = none")         \
	C(int64_t, world, "number of ranks, -1 = unknown")               \
	C(tide_str, command, "command line or process name")             \
	C(tide_str, host, "host name")

#define TIDE_DEVICE_COLUMNS(C)                                   \
	C(int64_t, index, "number of the device among its kind") \
	C(uint64_t, capacity, "bytes of memory, 0 = unknown")    \
	C(tide_str, name, "model name, e.g. NVIDIA H200")        \
	C(uint8_t, kind, "TIDE_DEVICE_*")

#define TIDE_POOL_COLUMNS(C)                                                 \
	C(tide_device_id, device, "the device it belongs to")                \
	C(uint64_t, capacity, "bytes, 0 = unknown")                          \
	C(uint32_t, banks, "banks the capacity is spread over, 0 = unknown") \
	C(tide_str, name, "name, e.g. DRAM, or the id of a private pool")    \
	C(uint8_t, kind, "TIDE_POOL_*")

#define TIDE_LANE_COLUMNS(C)                                                    \
	C(tide_process_id, process, "process it belongs to")                    \
	C(tide_device_id, device, "device, for a stream")                       \
	C(int64_t, number, "thread id or stream number as the source gives it") \
	C(tide_str, name, "name")                                               \
	C(uint8_t, kind, "TIDE_LANE_*")

#define TIDE_SPAN_COLUMNS(C)                                                                \
	C(int64_t, t0, "start, ns")                                                         \
	C(int64_t, t1, "end, ns")                                                           \
	C(tide_lane_id, lane, "where it ran")                                               \
	C(tide_str, name, "its name")                                                       \
	C(tide_span_id, parent, "innermost span around it on the same lane")                \
	C(tide_span_id, cause, "span that started it from another lane: a kernel's launch") \
	C(tide_stack_id, stack, "call stack at its start")                                  \
	C(uint8_t, cat, "TIDE_CAT_*")                                                       \
	C(uint8_t, flags, "TIDE_SPAN_*")

#define TIDE_ALLOC_COLUMNS(C)                                                              \
	C(uint64_t, addr, "address on its device")                                         \
	C(uint64_t, size, "bytes it takes from the pool (block size)")                     \
	C(uint64_t, requested, "bytes the program asked for; <= size")                     \
	C(int64_t, born, "ns")                                                             \
	C(int64_t, died, "ns; TIDE_T_NEVER while live at the end")                         \
	C(tide_pool_id, pool, "pool it came from")                                         \
	C(tide_span_id, span, "innermost span on the allocating thread")                   \
	C(tide_span_id, free_span, "innermost span on the thread that freed it, if known") \
	C(tide_stack_id, stack, "call stack that allocated")                               \
	C(tide_lane_id, lane, "thread that allocated")                                     \
	C(tide_lane_id, stream, "stream it was allocated for")                             \
	C(uint8_t, role, "TIDE_ROLE_*")                                                    \
	C(uint8_t, basis, "TIDE_BASIS_*: exact, inferred or virtual")                      \
	C(uint8_t, flags, "TIDE_ALLOC_*")

#define TIDE_SEGMENT_COLUMNS(C)                                    \
	C(uint64_t, addr, "address on its device")                 \
	C(uint64_t, size, "bytes")                                 \
	C(int64_t, born, "ns")                                     \
	C(int64_t, died, "ns; TIDE_T_NEVER while live at the end") \
	C(tide_pool_id, pool, "pool it serves")                    \
	C(tide_stack_id, stack, "call stack that needed it")       \
	C(tide_lane_id, stream, "stream it serves")                \
	C(uint8_t, kind, "TIDE_SEGMENT_*")                         \
	C(uint8_t, flags, "TIDE_SEGMENT_*")

#define TIDE_USE_COLUMNS(C)                                                      \
	C(int64_t, t, "ns")                                                      \
	C(uint64_t, position, "number of memory events that happened before it") \
	C(tide_alloc_id, alloc, "allocation that an op read or wrote")           \
	C(tide_span_id, span, "the op")

#define TIDE_HOLDER_COLUMNS(C)                                                             \
	C(int64_t, t, "ns")                                                                \
	C(uint64_t, position, "number of memory events that happened before it")           \
	C(tide_alloc_id, alloc, "allocation that Python objects referred to; 0 = a graph") \
	C(int64_t, sequence, "sequence number of a function in a living graph, -1 = none") \
	C(tide_str, path, "how the program reaches it")

#define TIDE_PENDING_COLUMNS(C)                                        \
	C(tide_alloc_id, alloc, "allocation whose free was asked for") \
	C(int64_t, t, "when, ns")

#define TIDE_MEMORY_EVENT_COLUMNS(C)                                          \
	C(uint32_t, row, "row in allocs, pendings or segments, as kind says") \
	C(uint8_t, kind, "TIDE_MEMORY_*")

#define TIDE_COUNTER_COLUMNS(C)                                    \
	C(tide_str, name, "what is counted")                       \
	C(tide_str, unit, "unit, e.g. bytes; none = plain number") \
	C(tide_lane_id, lane, "lane it belongs to, if any")        \
	C(tide_device_id, device, "device it belongs to, if any")

#define TIDE_SAMPLE_COLUMNS(C)                 \
	C(int64_t, t, "ns")                    \
	C(double, value, "value from then on") \
	C(tide_counter_id, counter, "series")

#define TIDE_MARK_COLUMNS(C)                                                     \
	C(int64_t, t, "ns")                                                      \
	C(int64_t, value, "step number; bytes asked for (oom)")                  \
	C(int64_t, extra, "bytes free (oom), -1 = unknown")                      \
	C(uint64_t, position, "number of memory events that happened before it") \
	C(tide_str, name, "name")                                                \
	C(tide_str, text, "text of an annotation")                               \
	C(tide_lane_id, lane, "thread that set it")                              \
	C(tide_pool_id, pool, "pool it is about (oom)")                          \
	C(tide_stack_id, stack, "call stack, where known")                       \
	C(uint8_t, kind, "TIDE_MARK_*")

#define TIDE_POOL_STATE_COLUMNS(C)                                                              \
	C(int64_t, t, "ns")                                                                     \
	C(uint64_t, allocated, "bytes allocated in one bank of the pool")                       \
	C(uint64_t, free, "bytes free in one bank")                                             \
	C(uint64_t, largest, "largest contiguous free bytes in one bank; UINT64_MAX = unknown") \
	C(tide_pool_id, pool, "the pool")                                                       \
	C(tide_span_id, span, "the op that ran next or had run (see when); 0 = unknown")        \
	C(uint8_t, when, "TIDE_STATE_*")

#define TIDE_DOCUMENT_COLUMNS(C)                        \
	C(int64_t, t, "when the source had it, ns")     \
	C(tide_str, kind, "what it is, e.g. mlir.ttnn") \
	C(tide_str, text, "all of it")                  \
	C(tide_lane_id, lane, "lane it came from, if any")

#define TIDE_TENSOR_COLUMNS(C)                                     \
	C(tide_alloc_id, alloc, "allocation that holds it")        \
	C(uint64_t, dims, "first of its dimensions in model.dims") \
	C(uint32_t, ndim, "number of dimensions")                  \
	C(tide_str, name, "name, e.g. a parameter's path")         \
	C(uint8_t, dtype, "TIDE_DTYPE_*")                          \
	C(uint8_t, role, "TIDE_ROLE_*")                            \
	C(uint8_t, requires_grad, "0 no, 1 yes, 2 unknown")

#define TIDE_VIEW_COLUMNS(C)                                                 \
	C(tide_alloc_id, alloc, "allocation that it is a part of")           \
	C(uint64_t, offset, "bytes from the allocation's beginning")         \
	C(uint64_t, bytes, "bytes; offset + bytes <= the allocation's size") \
	C(uint64_t, dims, "first of its dimensions in model.dims")           \
	C(uint32_t, ndim, "number of dimensions")                            \
	C(tide_str, name, "name, e.g. a parameter's path")                   \
	C(uint8_t, dtype, "TIDE_DTYPE_*")                                    \
	C(uint8_t, role, "TIDE_ROLE_*")                                      \
	C(uint8_t, requires_grad, "0 no, 1 yes, 2 unknown")

#define TIDE_FLOW_COLUMNS(C)                  \
	C(tide_span_id, from, "earlier span") \
	C(tide_span_id, to, "later span")     \
	C(uint8_t, kind, "TIDE_FLOW_*")

#define TIDE_ATTR_COLUMNS(C)                                                                    \
	C(tide_span_id, span, "span it describes")                                              \
	C(tide_str, key, "argument name as the source spells it")                               \
	C(tide_str, text, "value, when it is a text; none = number, or empty: TIDE_FACT_EMPTY") \
	C(int64_t, number, "value, when it is a number")

#define TIDE_FACT_COLUMNS(C)                                         \
	C(tide_str, key, "e.g. loss.events, torch.version")          \
	C(tide_str, text, "value, when it is a text; none = number") \
	C(int64_t, number, "value, when it is a number")

#define TIDE_TOTAL_UNKNOWN INT64_MIN
#define TIDE_OP_TOTAL_COLUMNS(C)                                                             \
	C(tide_str, name, "op")                                                              \
	C(tide_str, shapes, "shapes of its inputs, as the source writes them")               \
	C(int64_t, count, "calls")                                                           \
	C(int64_t, cpu_ns, "time of all calls; TIDE_TOTAL_UNKNOWN, here and below")          \
	C(int64_t, device_ns, "time on the device")                                          \
	C(int64_t, host_bytes, "change of host memory")                                      \
	C(int64_t, device_bytes, "change of device memory")                                  \
	C(int64_t, change_bytes, "change of all memory, where the source does not split it") \
	C(int64_t, most_bytes, "greatest change of one call")

#define TIDE_TICK_COLUMNS(C)                                               \
	C(uint64_t, ticks, "raw clock (TSC) reading")                      \
	C(int64_t, mono_raw, "CLOCK_MONOTONIC_RAW at the same moment, ns") \
	C(int64_t, real, "CLOCK_REALTIME at the same moment, ns")          \
	C(int64_t, t, "the same moment on the trace's time axis, ns")

/* struct name, member, COLUMNS, has a none row, description */
#define TIDE_TABLES(T)                                                                           \
	T(tide_frames, frames, TIDE_FRAME_COLUMNS, 1, "code locations")                          \
	T(tide_stacks, stacks, TIDE_STACK_COLUMNS, 1, "nodes of the stack tree")                 \
	T(tide_processes, processes, TIDE_PROCESS_COLUMNS, 1, "traced processes")                \
	T(tide_devices, devices, TIDE_DEVICE_COLUMNS, 1, "the host and accelerators")            \
	T(tide_pools, pools, TIDE_POOL_COLUMNS, 1, "memory pools")                               \
	T(tide_lanes, lanes, TIDE_LANE_COLUMNS, 1, "threads, streams, communicators")            \
	T(tide_spans, spans, TIDE_SPAN_COLUMNS, 1, "ops, kernels, ranges")                       \
	T(tide_allocs, allocs, TIDE_ALLOC_COLUMNS, 1, "allocations")                             \
	T(tide_segments, segments, TIDE_SEGMENT_COLUMNS, 1, "memory reserved from devices")      \
	T(tide_pendings, pendings, TIDE_PENDING_COLUMNS, 1, "frees that wait for a stream")      \
	T(tide_memory_events, memory_events, TIDE_MEMORY_EVENT_COLUMNS, 0,                       \
	  "memory events, in order")                                                             \
	T(tide_uses, uses, TIDE_USE_COLUMNS, 0, "uses of allocations by ops, in order")          \
	T(tide_referrers, referrers, TIDE_HOLDER_COLUMNS, 0, "what referred to allocations")     \
	T(tide_counters, counters, TIDE_COUNTER_COLUMNS, 1, "series of samples")                 \
	T(tide_samples, samples, TIDE_SAMPLE_COLUMNS, 0, "values of counters over time")         \
	T(tide_pool_states, pool_states, TIDE_POOL_STATE_COLUMNS, 0,                             \
	  "figures that pools reported")                                                         \
	T(tide_documents, documents, TIDE_DOCUMENT_COLUMNS, 0, "texts that came with the trace") \
	T(tide_marks, marks, TIDE_MARK_COLUMNS, 1, "named moments")                              \
	T(tide_tensors, tensors, TIDE_TENSOR_COLUMNS, 1, "tensors in allocations")               \
	T(tide_views, views, TIDE_VIEW_COLUMNS, 1, "tensors that share an allocation")           \
	T(tide_flows, flows, TIDE_FLOW_COLUMNS, 0, "links between spans")                        \
	T(tide_attrs, attrs, TIDE_ATTR_COLUMNS, 0, "arguments of spans that analyses need")      \
	T(tide_op_totals, op_totals, TIDE_OP_TOTAL_COLUMNS, 0, "sums without single calls")      \
	T(tide_facts, facts, TIDE_FACT_COLUMNS, 0, "facts of the whole trace")                   \
	T(tide_ticks, ticks, TIDE_TICK_COLUMNS, 0, "clock calibration points")

#define C(type, name, doc) type *name;
#define T(st, member, COLUMNS, none, doc) \
	typedef struct st {               \
		size_t n, cap;            \
		COLUMNS(C)                \
	} st;                             \
	extern const tide_table_desc st##_desc;
TIDE_TABLES(T)
#undef T
#undef C

typedef struct tide_strings tide_strings; /* model/strings.h */

typedef struct tide_raw { /* identifiers of a span in the input; -1 = absent */
	int64_t event;	  /* its number in the input, from 0 */
	int64_t corr, stream;
} tide_raw;

typedef struct tide_model {
#define T(st, member, COLUMNS, none, doc) st member;
	TIDE_TABLES(T)
#undef T
	tide_strings *strings;				/* owned */
	tide_map frame_files, frame_lines, stack_nodes; /* interning of frames and stacks */
	uint64_t *dims;					/* owned; dimensions of all tensors */
	size_t n_dims, cap_dims;
	uint64_t *span_src; /* owned, may be NULL: per span, its byte offset in the input + 1 */
	tide_raw *span_raw; /* owned, may be NULL: per span */
	/* owned, may be NULL: per span, the call that put a kernel of a graph replay into its graph
	 * when that was captured (analyze/device/captured.h); 0 = none */
	uint32_t *span_captured;
	uint8_t axis;	  /* TIDE_AXIS_* */
	int64_t t_end;	  /* ns: the last moment the trace covers */
	int64_t wall0_ns; /* Unix time of t = 0, ns; meaningless unless wall_known */
	bool wall_known;
	unsigned loaded;       /* TIDE_WANT_* that it was read with, 0 = what nearly all need */
	char *path;	       /* owned; the file it came from */
	char *format;	       /* owned; importer's name: "tide", "kineto", "torchsnap" ... */
	_Atomic uint32_t held; /* reference count: tide__model_hold less tide__model_free */
} tide_model;

/* Returns a new, empty model with its none rows, or NULL. */
tide_model *tide__model_new(void);
/* Adds a reference and returns m. tide__model_free drops one; the last one frees. */
tide_model *tide__model_hold(tide_model *m);
/* Drops a reference; frees the model with the last one. NULL is allowed. */
void tide__model_free(tide_model *m);

/* Append one zeroed row; 0 if memory runs out or when ids would wrap (never a wrapped id).
 *     uint32_t r = tide__push(&m->spans, &tide_spans_desc);  m->spans.t0[r] = ...;
 * For logs without ids use tide__table_push. */
uint32_t tide__push(void *table, const tide_table_desc *d);

/* Interns a text (model/strings.h has the table). Returns none if memory runs out, and for an empty
 * text. */
tide_str tide__intern(tide_model *m, const char *text);
tide_str tide__intern_n(tide_model *m, const char *text, size_t n);
/* Returns the text of an id, NUL-terminated, "" for none. *n (may be NULL) receives its length.
 * Borrowed until the next intern or the model's end. May contain any bytes: renderers escape. */
const char *tide__text(const tide_model *m, tide_str s, size_t *n);

/* Returns true if the Kineto importer made the rows, which then keeps those as written if asked
 * (TIDE_WANT_RAW). */
static inline bool tide__is_of_kineto(const tide_model *m)
{
	return m->format && (!strcmp(m->format, "kineto") || !strcmp(m->format, "perfetto"));
}

/* Returns a device's name without its number: the text of its kind, or its own name if the kind is
 * OTHER and the name is one word ("npu"). Borrowed like tide__text's result. */
const char *tide__device_kind_name(const tide_model *m, uint32_t device);

/* Intern a frame, a stack node. Equal arguments give equal ids. 0 if memory runs out. */
tide_frame_id tide__frame_intern(tide_model *m, tide_str function, tide_str file, uint32_t line);
tide_stack_id tide__stack_intern(tide_model *m, tide_stack_id parent, tide_frame_id frame);

/* Facts. A loss is a fact whose key starts with "loss.": every report shows it.
 * tide__fact_add adds to an existing number. */
bool tide__fact_text(tide_model *m, const char *key, const char *text);
/* facts.number of a fact whose text is empty. */
#define TIDE_FACT_EMPTY INT64_MIN
static inline bool tide__fact_is_text(const tide_model *m, size_t row)
{
	return m->facts.text[row].i || m->facts.number[row] == TIDE_FACT_EMPTY;
}
bool tide__fact_set_number(tide_model *m, const char *key, int64_t number);
bool tide__fact_add(tide_model *m, const char *key, int64_t number);
/* Returns the row of a fact, or -1. */
int64_t tide__fact_find(const tide_model *m, const char *key);

/* Returns the time of memory event i. */
int64_t tide__memory_event_time(const tide_model *m, size_t i);
/* Returns the index of the first memory event at time t or later; memory_events.n if there is
 * none. */
size_t tide__memory_event_from(const tide_model *m, int64_t t);

/* Returns the allocation that memory event i ends from its program's view (torch's
 * allocated_bytes): at its FREE, or at the FREE_ASKED before it if a stream still used it. 0 = none
 * ends. */
static inline uint32_t tide__memory_event_ends(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i];
	if (m->memory_events.kind[i] == TIDE_MEMORY_FREE)
		return m->allocs.flags[row] & TIDE_ALLOC_ASKED ? 0 : row;
	if (m->memory_events.kind[i] != TIDE_MEMORY_FREE_ASKED)
		return 0;
	row = m->pendings.alloc[row].i;
	return m->allocs.flags[row] & TIDE_ALLOC_ASKED ? row : 0;
}

/* Returns the allocation that begins (*made) or ends with memory event i, from its program's view;
 * 0 = none. */
static inline uint32_t tide__memory_event_life(const tide_model *m, size_t i, bool *made)
{
	*made = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
	return *made ? m->memory_events.row[i] : tide__memory_event_ends(m, i);
}

/* Returns true for on-chip memory (L1), which is separate from the DRAM of its device. */
static inline bool tide__pool_is_l1(const tide_model *m, uint32_t pool)
{
	return m->pools.kind[pool] == TIDE_POOL_L1 || m->pools.kind[pool] == TIDE_POOL_L1_SMALL;
}

/* Returns true if the device of an L1 pool has no other memory. */
bool tide__l1_is_alone(const tide_model *m, uint32_t pool);

/* Returns true if the pool counts in the figures of its device. L1 beside other memory does not: it
 * has figures of its own only. */
static inline bool tide__pool_in_device(const tide_model *m, uint32_t pool)
{
	return !tide__pool_is_l1(m, pool) || tide__l1_is_alone(m, pool);
}

/* Returns the span that launched device work, for the op, module and stack that it is in: for a
 * kernel of a graph replay the call at capture if it is known, else the cause; 0 = unknown. */
static inline uint32_t tide__launched_by(const tide_model *m, uint32_t span)
{
	uint32_t captured = m->span_captured ? m->span_captured[span] : 0;
	return captured ? captured : m->spans.cause[span].i;
}

/* Returns the row in attrs of a span's argument, or -1. */
int64_t tide__attr_find(const tide_model *m, tide_span_id span, tide_str key);

/* Verifies every invariant above. Returns TIDE_OK, or TIDE_ECORRUPT with a text that names the
 * invariant and the row. */
tide_code tide__model_check(const tide_model *m, tide_error *err);

/* Returns the bytes of all tables, strings included. */
size_t tide__model_bytes(const tide_model *m);

#endif
