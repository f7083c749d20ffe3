// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Accounts for a device's memory: explains NVML's figure by the recorded allocations. Definitions:
 * docs/analyses/device.md. */
#ifndef TIDE_ANALYZE_MEMORY_LEDGER_DEVICE_LEDGER_H
#define TIDE_ANALYZE_MEMORY_LEDGER_DEVICE_LEDGER_H

#include "model/model.h"

#define TIDE_LEDGER_UNKNOWN UINT64_MAX

typedef struct tide_ledger_at { /* bytes at one moment; TIDE_LEDGER_UNKNOWN if not recorded */
	int64_t t;
	uint64_t total, used;  /* NVML, the whole device */
	uint64_t reserved;     /* part of `used`: the driver and the firmware, no process */
	uint64_t live, cached; /* of the framework's allocator: in use, cached */
	uint64_t other;	       /* other device memory of this process, recorded by CUPTI */
	uint64_t pooled;       /* held by stream-ordered pools (cudaMallocAsync) and not in use */
	uint64_t context;      /* the CUDA context and kernel code: unexplained memory that stays */
	uint64_t profiler;     /* CUPTI's own buffers */
	uint64_t others;       /* other processes */
	int64_t unexplained;   /* used minus all of the above; INT64_MIN = unknown */
} tide_ledger_at;

typedef struct tide_ledger_source { /* holders of `other` at the highest moment */
	tide_str library;	    /* none = unknown */
	uint64_t bytes, count;
} tide_ledger_source;

typedef struct tide_ledger {
	uint32_t device;    /* row */
	int64_t index;	    /* cuda:N */
	int64_t wall0_ns;   /* Unix time of t 0 */
	int64_t pid;	    /* -1 = unknown */
	char id[256];	    /* the same for one device in all recordings: its UUID, else "host:N" */
	char name[96];	    /* "" = unknown */
	tide_ledger_at *at; /* one per NVML sample; without NVML one, at the end */
	size_t n, highest;  /* highest: index of the moment with most bytes used */
	uint64_t context_first; /* `context` at the first allocation; it may grow */
	tide_ledger_source *sources;
	size_t n_sources;
} tide_ledger;

typedef struct tide_ledgers {
	tide_ledger *v; /* per CUDA device */
	size_t n;
} tide_ledgers;

/* Release with tide__ledgers_free in any case. */
tide_code tide__find_ledgers(const tide_model *m, tide_ledgers *out, tide_error *err);
void tide__ledgers_free(tide_ledgers *l);
/* Returns true if a recording has device memory that NVML or CUPTI reported. */
bool tide__has_ledger(const tide_model *m);
/* Keeps at most `most` moments (more than 0): in each interval the one with most bytes in use. */
void tide__ledger_downsample(tide_ledger *l, size_t most);

#endif
