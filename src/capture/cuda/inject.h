// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernels, copies and device memory of any CUDA program, without a change to it.
 *
 *     inject.c   the driver calls InitializeInjection (CUDA_INJECTION64_PATH): find CUPTI, enable what is
 *                recorded, take its buffers
 *     records.c  CUPTI's records into device logs (format/device_log.h)
 *     names.c    names of kernels and calls as ids of the recorder
 *     nvtx.c     ranges and marks of the program's own (NVTX_INJECTION64_PATH)
 *     nvml.c     a thread that samples the device: memory per process, clocks, power
 *
 * CUPTI's activity interface is used without a subscriber, so that torch.profiler and others find that
 * place free. Whoever registers activity buffers of their own after us takes them over: we say so in
 * the recording and step aside. Without CUPTI or a driver the program
 * runs on and nothing is recorded.
 *
 *   TIDEMARK_GPU         what is recorded: kernels, memory, calls, nvml, source; comma-separated
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
	TIDE_GPU_SOURCE = 16
};

extern cupti_api_table tide__cupti TIDE_HIDDEN;

/* Start recording if nobody has; false: nothing is to be recorded. */
bool tide__gpu_start(void) TIDE_HIDDEN;
/* TIDEMARK_GPU as bits. */
unsigned tide__gpu_wanted(void) TIDE_HIDDEN;

/* Write a completed buffer's records to the recording. */
void tide__cupti_records(uint8_t *buffer, size_t valid) TIDE_HIDDEN;
/* Records that CUPTI dropped. */
void tide__cupti_dropped(uint64_t n) TIDE_HIDDEN;

/* Id of a kernel's name, readable (demangled); of a call, by domain (CUPTI_DOMAIN_*) and number. */
tide_name tide__kernel_name(const char *mangled) TIDE_HIDDEN;
tide_name tide__call_name(int domain, uint32_t id) TIDE_HIDDEN;

/* Append to a log, writing it out when it is full. */
void tide__log_put(tide_device_log *l, unsigned kind, int64_t t, const uint64_t *v,
		   size_t n) TIDE_HIDDEN;
void tide__log_flush(tide_device_log *l) TIDE_HIDDEN;

/* Sample devices every `ms` in a thread of its own. */
void tide__nvml_start(unsigned ms) TIDE_HIDDEN;

#endif
