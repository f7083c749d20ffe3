// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records kernels, copies and device memory of any CUDA program, without changing it.
 *
 *     inject.c   the driver calls InitializeInjection (CUDA_INJECTION64_PATH): finds CUPTI, enables its records, receives its buffers
 *     records.c  converts CUPTI's records to device logs (format/device_log.h)
 *     virtual.c  cuMemCreate, cuMemMap ..., which make no such records (CUPTI's callbacks)
 *     graphs.c   nodes of CUDA graphs when they are made (CUPTI's callbacks)
 *     launches.c calls that start work, by callbacks: cheaper than their activity records
 *     names.c    names of kernels and calls as ids of the recorder
 *     nvtx.c     ranges and marks of the program itself (NVTX_INJECTION64_PATH)
 *     nvml.c     a thread that samples the device: memory per process, clocks, power
 *
 * CUPTI's activity interface needs no subscriber; virtual.c is one, and leaves when torch.profiler
 * or another tool that links CUPTI subscribes. A tool that registers activity buffers later takes
 * them over: the recording notes that and stops recording them. Without CUPTI or a driver the
 * program continues and nothing is recorded.
 *
 * A process that is already running (tidemark.profiling) loads the library itself and calls
 * tide_gpu_begin() and tide_gpu_end() around the measured code.
 *
 *   TIDEMARK_GPU         what is recorded: kernels, memory, calls, runtime, nvml, source,
 *                        virtual (cuMemCreate; with memory), graphs (nodes of graphs; with
 *                        kernels); comma-separated
 *   TIDEMARK_RECORD ...  where (torch/start.h) */
#ifndef TIDE_CAPTURE_CUDA_INJECT_H
#define TIDE_CAPTURE_CUDA_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <tidemark/record.h>

#include "capture/cuda/cupti_abi.h"
#include "format/device_log.h"

#define TIDE_HIDDEN __attribute__((visibility("hidden")))

enum {
	TIDE_GPU_KERNELS = 1,
	TIDE_GPU_MEMORY = 2,
	TIDE_GPU_CALLS = 4,
	TIDE_GPU_NVML = 8,
	TIDE_GPU_SOURCE = 16,
	TIDE_GPU_RUNTIME = 32, /* all calls of the CUDA runtime except a list of queries */
	TIDE_GPU_VIRTUAL = 64,
	TIDE_GPU_LAUNCHES = 128, /* calls that start work or wait for it, in a running process */
	TIDE_GPU_CALLBACKS =
		256, /* with RUNTIME or LAUNCHES: use callbacks if no other tool has subscribed */
	TIDE_GPU_GRAPHS = 512
};

extern cupti_api_table tide__cupti TIDE_HIDDEN;

/* Starts recording if it has not started; returns false if nothing is to be recorded. */
bool tide__gpu_start(void) TIDE_HIDDEN;
/* The kinds of events that are recorded now, as bits. */
extern unsigned tide__gpu_wanted TIDE_HIDDEN;

enum { /* what tide_gpu_begin() returns */
       TIDE_GPU_ON = 0,
       TIDE_GPU_NOT_RECORDING = 1, /* no recording is in progress */
       TIDE_GPU_NO_CUPTI = 2,	   /* libcupti was not found */
       TIDE_GPU_REFUSED = 3,	   /* CUPTI refused: another profiler may be using it */
       TIDE_GPU_INJECTED = 4	   /* `tidemark run --gpu` records already; end() leaves it on */
};
/* Records device work from now on into the recording in progress. `what` has the syntax of
 * TIDEMARK_GPU and is borrowed for the call. One thread may call it at a time. Work that was
 * started before is not recorded. */
int tide_gpu_begin(const char *what);
/* Lets another profiler of this process subscribe to CUPTI; later calls are not recorded. Does
 * nothing without begin. */
void tide_gpu_leave(void);
/* Writes the records that CUPTI still holds, and stops. The caller must have synchronised its
 * devices. Does nothing without begin. */
void tide_gpu_end(void);

/* Returns CUPTI's own function; NULL if there is none. */
void *tide__cupti_function(const char *name) TIDE_HIDDEN;
/* Returns Unix time in ns, CUPTI's default clock. torch.profiler sets another clock (CPU ticks),
 * which remains set after it has ended. */
uint64_t tide__gpu_now(void) TIDE_HIDDEN;
/* Writes the records that CUPTI holds, if its buffers are ours. */
void tide__gpu_flush(void) TIDE_HIDDEN;
/* Subscribes to calls about virtual memory, and to nodes of graphs, as `want` says; ends the
 * subscription so that others can subscribe. Both may be repeated. */
void tide__virtual_start(unsigned want) TIDE_HIDDEN;
void tide__virtual_stop(void) TIDE_HIDDEN;
/* Subscribes to these functions, by CUPTI's numbers, and records each call. Returns false if
 * another tool has subscribed. Off writes the recorded calls. One thread may call it at a time. */
bool tide__launches_start(const uint16_t *runtime, size_t n_runtime, const uint16_t *driver,
			  size_t n_driver) TIDE_HIDDEN;
void tide__launches_stop(void) TIDE_HIDDEN;

/* Makes a subscriber receive callbacks about nodes of graphs; records one of them. */
void tide__graphs_enable(void *subscriber) TIDE_HIDDEN;
void tide__graphs_record(uint32_t id, const void *data) TIDE_HIDDEN;
/* Records a call of the driver if it updates an executable graph; returns false if it is another
 * call. */
bool tide__graphs_record_call(uint32_t id, const cupti_callback *c) TIDE_HIDDEN;

/* Writes a completed buffer's records to the recording. */
void tide__cupti_read_records(uint8_t *buffer, size_t valid) TIDE_HIDDEN;
/* Counts records that CUPTI dropped. */
void tide__cupti_count_dropped(uint64_t n) TIDE_HIDDEN;

/* Returns the id of a kernel's demangled name; of a call, by domain (CUPTI_DOMAIN_*) and number. */
tide_name tide__kernel_name(const char *mangled) TIDE_HIDDEN;
tide_name tide__call_name(int domain, uint32_t id) TIDE_HIDDEN;

/* Appends to a log; writes the log out when it is full. */
void tide__log_put(tide_device_log *l, unsigned kind, int64_t t, const uint64_t *v,
		   size_t n) TIDE_HIDDEN;
void tide__log_flush(tide_device_log *l) TIDE_HIDDEN;

/* Samples devices every `ms` in a separate thread. */
void tide__nvml_start(unsigned ms) TIDE_HIDDEN;
/* Samples once more, at the end of the program, and stops. Waits 200 ms at most. */
void tide__nvml_sample_last(void) TIDE_HIDDEN;

#endif
