// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Joins the ledgers of several processes on one device: at each NVML sample, the bytes that every
 * recorded process holds, the bytes that others hold, and the rest. Definitions:
 * docs/analyses/device.md. */
#ifndef TIDE_ANALYZE_MEMORY_LEDGER_DEVICE_JOIN_H
#define TIDE_ANALYZE_MEMORY_LEDGER_DEVICE_JOIN_H

#include "analyze/memory/ledger/device_ledger.h"

typedef struct tide_joined_at {
	int64_t wall_ns;      /* Unix time */
	uint64_t total, used; /* NVML; TIDE_LEDGER_UNKNOWN if missing */
	uint64_t reserved;
	uint64_t others;     /* processes that are not among the recordings */
	int64_t unexplained; /* INT64_MIN = unknown */
} tide_joined_at;

typedef struct tide_joined_device {
	char name[96]; /* "" = unknown */
	int64_t index; /* cuda:N in the recording whose NVML samples count */
	tide_joined_at *at;
	/* [moment * n_parts + k]: bytes of part k at that moment (its t is 0 if it did not
	 * exist) */
	tide_ledger_at *parts;
	size_t *recordings; /* of part k: which recording */
	int64_t *pids;	    /* of part k; -1 = unknown */
	size_t n, n_parts, highest;
} tide_joined_device;

typedef struct tide_joined {
	tide_joined_device *v;
	size_t n;
} tide_joined;

/* Joins the ledgers of n recordings. Devices are the same if they have the same UUID (gpu.uuid.cuda:N) or,
 * without one, the same number on the same host. Release with tide__joined_free in any case. */
tide_code tide__join_ledgers(const tide_ledgers *l, size_t n, tide_joined *out, tide_error *err);
void tide__joined_free(tide_joined *j);

#endif
