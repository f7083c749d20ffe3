// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An index of the device work of a trace: rows with their type, stream and step.
 *
 * A device row is a span of category kernel, memcpy, memset or mtia, regardless of its arguments.
 * Every analysis of device time starts from this index, so that all of them count the same rows.
 * Types (docs/analyses/breakdown.md):
 *
 *   memory   memcpy and memset rows, and kernels whose name starts with __amd_rocclr_copy or
 *            __amd_rocclr_fill: copies and fills that ROCm's runtime does with a kernel
 *   comm     kernels whose name starts with nccl, rccl or hccl, or contains ncclKernel,
 *            ncclDevKernel or rcclGenericKernel, XLA's all-reduce.3 and such, or that carry the argument "Collective name"
 *   compute  every other kernel, including custom collectives (also listed separately)
 *   other    MTIA bookkeeping rows only */
#ifndef TIDE_ANALYZE_DEVICE_GPU_ROWS_H
#define TIDE_ANALYZE_DEVICE_GPU_ROWS_H

#include "analyze/common/steps.h"

enum { TIDE_GPU_COMPUTE, TIDE_GPU_COMM, TIDE_GPU_MEMORY, TIDE_GPU_OTHER, TIDE_GPU_TYPES };
/* "compute", "communication", "memory", "other". */
extern const char *const tide__gpu_type_text[TIDE_GPU_TYPES];

/* Returns true if a kernel of this name is a copy or fill of ROCm's runtime. */
bool tide__copy_name(const char *name);

typedef struct tide_gpu_stream {
	int64_t device, number; /* as in the trace; device -1 = unknown */
	unsigned kind;		/* TIDE_DEVICE_*: cuda:0 and tt:0 have separate streams */
	tide_str name;		/* of a device of another kind: npu:0 and ipu:0 are different */
	tide_device_id row;	/* the device row; none = unknown */
} tide_gpu_stream;

typedef struct tide_gpu_rows {
	size_t n;
	uint32_t *span;		  /* owned; span ids, sorted by (t0, t1, id) */
	uint8_t *type;		  /* owned; TIDE_GPU_* */
	uint8_t *custom;	  /* owned; 1 = a custom collective, which counts as compute */
	uint32_t *stream;	  /* owned; index into streams */
	uint32_t *step;		  /* owned; index of the step its launch began in + 1, 0 = none */
	tide_gpu_stream *streams; /* owned; sorted by (device, kind, name, number) */
	size_t n_streams;
	size_t left_out; /* device rows of the trace outside the window */
} tide_gpu_rows;

/* Indexes the device rows in the window. `extra` adds n_extra name parts to the list of custom
 * collectives (collective_names.h); may be NULL. O(spans + attrs + strings). */
tide_code tide__gpu_rows_find(const tide_model *m, const tide_steps *steps,
			      const tide_span_window *w, const char *const *extra, size_t n_extra,
			      tide_gpu_rows *out, tide_error *err);
void tide__gpu_rows_free(tide_gpu_rows *r);

#endif
