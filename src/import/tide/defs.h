// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads definitions, facts, clock points and losses of a .tide file into the model's tables.
 *
 * Ids in the file are dense from 1 in each kind; here they become rows of the model. An undefined
 * id becomes none and is counted. If bytes of the definitions log are lost, ids are skipped and
 * count as undefined. */
#ifndef TIDE_IMPORT_TIDE_DEFS_H
#define TIDE_IMPORT_TIDE_DEFS_H

#include "format/schema.h"
#include "import/tide/clock.h"
#include "model/model.h"

typedef struct tide_ids { /* file id -> row of the model; v[0] = 0 */
	uint32_t *v;
	size_t n, cap; /* ids 0 .. n-1 are defined; n = 0 before the first */
} tide_ids;

typedef struct tide_defs {
	tide_model *m; /* borrowed */
	tide_ids names, frames, stacks, devices, pools, streams;
	tide_map lanes;	    /* file lane -> row */
	tide_map fact_rows; /* key -> row + 1: files may hold many facts */
	tide_map lost_rows; /* ring -> 1 + index in lost */
	struct tide_lost {
		uint64_t full, signal, other;
	} * lost;
	size_t n_lost, cap_lost;
	struct tide_symbol {	/* of a native frame, in the order of the file */
		uint64_t frame; /* the file's id */
		tide_str function, file;
		uint32_t line;
	} * symbols;
	size_t n_symbols, cap_symbols;
	tide_timebase clock;
	int64_t mono0;	       /* MONOTONIC_RAW at t = 0 */
	uint64_t lost_bytes;   /* of the definitions log: at most this many ids may be skipped */
	uint64_t undefined;    /* uses of ids that were never defined */
	uint64_t skipped;      /* records of unknown types */
	uint64_t total_events; /* of the END chunk */
	bool has_total;
} tide_defs;

enum { TIDE_IDS_PASSED_MAX = 1 << 22 }; /* per step: bounds the memory of a hostile file */
#define TIDE_ID_LOST UINT32_MAX		/* an id whose definition is lost */

void tide__defs_free(tide_defs *d);

/* Reads the records of a DEFS, CLOCK, FACTS, LOSS or END payload; any record may be in any of
 * them. `at` is the payload's byte in the file, for errors; `packed`: report the chunk instead.
 * Returns TIDE_ECORRUPT at a malformed record; the records before it count. */
tide_code tide__defs_read(tide_defs *d, const tide_schema *s, const uint8_t *p, size_t n,
			  uint64_t at, bool packed, tide_error *err);

/* Returns the row of the thread, created on first use; 0 if memory runs out. */
uint32_t tide__defs_get_lane(tide_defs *d, uint64_t lane, uint64_t tid);

/* Returns the row of an id; 0, and counts it, if it is not defined. */
static inline uint32_t tide__ids_get(const tide_ids *ids, uint64_t id, uint64_t *undefined)
{
	if (id < ids->n && ids->v[id] != TIDE_ID_LOST)
		return ids->v[id];
	*undefined += id != 0;
	return 0;
}

#endif
