// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Device memory events reported later: merged into the model's memory events by time. */
#ifndef TIDE_IMPORT_TIDE_DEVICE_MEMORY_H
#define TIDE_IMPORT_TIDE_DEVICE_MEMORY_H

#include "import/tide/defs.h"

struct tide_device_memory {
	int64_t t; /* Unix ns */
	uint64_t addr, bytes, correlation;
	uint32_t device, source; /* source: the file's name id of a library; 0 = unknown */
	uint8_t memory;		 /* TIDE_DEVICE_MEMORY_* */
	uint8_t call;		 /* TIDE_VMM_*: the call that made the record, where it is known */
	bool free;
};

/* Physical memory is created, then mapped somewhere; CUPTI may report either. */
enum { TIDE_VMM_NONE, TIDE_VMM_CREATE, TIDE_VMM_MAP };

struct tide_device_pool { /* bytes that a stream-ordered pool holds from `t` on */
	int64_t t;	  /* Unix ns */
	uint64_t addr, bytes, used;
	uint32_t device;
	bool gone;
};

/* Sorts n of them and adds them to the model. Returns false if memory runs out. */
bool tide__device_memory_put(tide_model *m, tide_defs *defs, struct tide_device_memory *v,
			     size_t n);

/* Adds n states of pools to the model, as the counters cuda_pools.cuda:N.reserved_bytes and
 * .used_bytes (sums over the device's pools). Returns false if memory runs out. */
bool tide__device_pools_put(tide_model *m, struct tide_device_pool *v, size_t n);

/* device_rows.c: converts a moment of Unix time to the trace's axis; returns the row of CUDA device
 * `index`, created if needed (0 if memory runs out). */
int64_t tide__real_to_t(const tide_model *m, int64_t real);
uint32_t tide__device_get_row(tide_model *m, uint32_t index);

#endif
