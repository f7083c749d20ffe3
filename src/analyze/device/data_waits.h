// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Waits for batches of a DataLoader: who made the batch, in which function, and what it did meanwhile.
 *
 *     tide_data_waits w = { 0 };
 *     for each process of the program: tide__data_waits_add(&w, model, file, err);
 *     tide__data_waits_finish(&w, err);
 *     ... w.waits, w.groups ...
 *     tide__data_waits_free(&w);
 *
 * Waits are in the program's recording, the batches that workers made in theirs; both have the time of
 * day. Models may be freed after tide__data_waits_add. docs/analyses/waits.md defines the figures. */
#ifndef TIDE_ANALYZE_DEVICE_DATA_WAITS_H
#define TIDE_ANALYZE_DEVICE_DATA_WAITS_H

#include "model/model.h"
#include "model/strings.h"

/* Parts of a wait, by what the worker did. The first 4 are figures of the recording. */
enum {
	TIDE_DATA_COMPUTED,
	TIDE_DATA_STARVED, /* ready to run, without a processor */
	TIDE_DATA_READ,
	TIDE_DATA_WAITED,
	TIDE_DATA_HANDOVER, /* no batch was being made: start of a worker, queue, copy */
	TIDE_DATA_PARTS,
	TIDE_DATA_UNKNOWN = TIDE_DATA_PARTS, /* the worker is not recorded */
	TIDE_DATA_DID
};
extern const char *const tide__data_text[TIDE_DATA_DID];

typedef struct tide_data_wait {
	int64_t t0, t1;	 /* Unix time, or of the only trace */
	int64_t at;	 /* from the start of its trace */
	int64_t process; /* pid that waited */
	int64_t worker;	 /* pid that made the batch; -1 = unknown */
	int64_t idle_ns; /* of the devices in it; -1 = the trace has no device rows */
	int64_t part[TIDE_DATA_PARTS];
	uint32_t function; /* of names; 0 = unknown */
	uint8_t did;
	bool batch; /* it ended with a batch */
} tide_data_wait;

typedef struct tide_data_function { /* in a fetch: of the dataset, then collate */
	uint32_t name;
	int64_t t0, t1;
	int64_t figure[TIDE_DATA_WAITED + 1];
} tide_data_function;

typedef struct tide_data_fetch {
	int64_t process, t0, t1;
	size_t first, n; /* functions */
} tide_data_fetch;

typedef struct tide_data_group { /* waits by function and what it did */
	uint32_t function;
	uint8_t did;
	uint64_t waits, workers;
	int64_t ns, idle_ns, longest;
	int64_t part[TIDE_DATA_PARTS];
} tide_data_group;

typedef struct tide_data_worker {
	int64_t process;
	bool itself; /* the program's own process */
	uint64_t fetches, waits;
	int64_t ns, wait_ns; /* of its fetches; of waits for it */
	int64_t figure[TIDE_DATA_WAITED + 1];
} tide_data_worker;

typedef struct tide_data_waits {
	tide_strings *names; /* owned */
	tide_data_wait *waits;
	size_t n_waits, cap_waits;
	tide_data_function *functions;
	size_t n_functions, cap_functions;
	tide_data_fetch *fetches;
	size_t n_fetches, cap_fetches;
	bool device; /* a trace with waits has device rows */
	/* results */
	tide_data_group *groups; /* most time first */
	size_t n_groups, cap_groups;
	tide_data_worker *workers; /* by process */
	size_t n_workers, cap_workers;
} tide_data_waits;

tide_code tide__data_waits_add(tide_data_waits *w, const tide_model *m, tide_error *err);
/* Adds the waits and batches of another one. This one is not finished. */
tide_code tide__data_waits_join(tide_data_waits *w, const tide_data_waits *more, tide_error *err);
/* Matches waits with fetches; waits are then longest first. */
tide_code tide__data_waits_finish(tide_data_waits *w, tide_error *err);
void tide__data_waits_free(tide_data_waits *w);

#endif
