// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports Flight Recorder dumps of torch.distributed: the collectives that one rank called last.
 *
 * A dump is a pickle (data only: import/torchsnap/pickle) or JSON; both readers fill the same rows,
 * and build.c makes the model of them:
 *
 *     process  rank from the file's name: a dump does not say it; world from the group default_pg
 *     lane     one per process group (TIDE_LANE_COMM), its name the group's name
 *     span     one per recorded op, with the FR_ATTRS below; OPEN while it is not finished
 *     fact     flightrec.version; per lane flightrec.{desc,ranks,enqueued,started,completed}.LANE
 *
 * docs/formats/flight-recorder.md has the fields and what is read of them. */
#ifndef TIDE_IMPORT_FLIGHTREC_FLIGHTREC_H
#define TIDE_IMPORT_FLIGHTREC_FLIGHTREC_H

#include "base/map.h"
#include "import/import.h"

/* One recorded op. Texts are interned; numbers are -1 if the dump does not have them. */
typedef struct fr_entry {
	tide_str name, group, desc, state;
	tide_str in_sizes, out_sizes, in_types, out_types;
	tide_stack_id stack;
	int64_t record, pg, seq, p2p_seq, op, created, started, completed, timeout_ms;
	int64_t in_count, out_count; /* elements */
	bool p2p, retired;
} fr_entry;

typedef struct fr_group { /* of pg_config and pg_status */
	tide_str name, desc, ranks;
	int64_t pg; /* pg_status: its number; name is none then */
	int64_t enqueued, started, completed;
} fr_group;

enum { FR_KEYS = 16 };
typedef struct fr_dump {
	tide_model *m;
	tide_error *err;
	fr_entry *v; /* owned */
	size_t n, cap;
	fr_group *groups; /* owned */
	size_t n_groups, cap_groups;
	tide_str keys[FR_KEYS];	  /* of attributes; interned first, so in order */
	uint64_t dims, most_dims; /* dimensions converted, and their limit */
	tide_code rc;
} fr_dump;

/* Fields of an entry that are numbers: key in the dump, member. */
#define FR_NUMBERS(X)                              \
	X(record_id, record)                       \
	X(pg_id, pg)                               \
	X(collective_seq_id, seq)                  \
	X(seq_id, seq) /* before 2.4 */            \
	X(p2p_seq_id, p2p_seq)                     \
	X(op_id, op)                               \
	X(time_created_ns, created)                \
	X(time_discovered_started_ns, started)     \
	X(time_discovered_completed_ns, completed) \
	X(timeout_ms, timeout_ms)
/* Flags. */
#define FR_FLAGS(X)    \
	X(is_p2p, p2p) \
	X(retired, retired)
/* Texts. */
#define FR_TEXTS(X)             \
	X(profiling_name, name) \
	X(state, state)
/* Lists, per tensor. */
#define FR_LISTS(X)                \
	X(input_sizes, in_sizes)   \
	X(output_sizes, out_sizes) \
	X(input_dtypes, in_types)  \
	X(output_dtypes, out_types)
/* Numbers of pg_status. */
#define FR_STATUS(X)                          \
	X(last_enqueued_collective, enqueued) \
	X(last_started_collective, started)   \
	X(last_completed_collective, completed)

/* Reads a whole dump of n bytes. `rank` -1 = unknown. JSON: KIN_PAD zeros are not needed. */
tide_code tide__flightrec_import(const uint8_t *data, size_t n, int64_t rank, tide_model *m,
				 tide_error *err);

/* Begins on an empty model. Returns d->rc. */
tide_code tide__fr_begin(fr_dump *d);
/* pickle.c, json.c: fill d. Return d->rc. */
tide_code tide__fr_read_pickle(fr_dump *d, const uint8_t *data, size_t n);
tide_code tide__fr_read_json(fr_dump *d, const char *text, size_t n);
/* Makes the model. */
tide_code tide__fr_build(fr_dump *d, int64_t rank);

/* Adds an entry or a group with unknown fields; NULL if memory runs out. */
fr_entry *tide__fr_entry(fr_dump *d);
fr_group *tide__fr_group(fr_dump *d);
/* Sets a fact to an interned text. */
bool tide__fr_fact(fr_dump *d, const char *key, tide_str text);
/* Keep the first failure. They return false. */
bool tide__fr_nomem(fr_dump *d);
bool tide__fr_fail(fr_dump *d, tide_code code, uint64_t at, const char *what);

/* Text of sizes or types: "[[4, 2], [8]]". */
enum { FR_LIST_TEXT = 240 };
typedef struct fr_list {
	char text[FR_LIST_TEXT];
	size_t n;
	bool cut;	  /* the text ends in "..." */
	int64_t elements; /* of all tensors; saturates */
} fr_list;
void tide__fr_list_put(fr_list *l, const char *text, size_t n);
/* Counts a dimension; fails with TIDE_ELIMIT if a dump repeats long lists without end. */
bool tide__fr_dimension(fr_dump *d, uint64_t at);
/* Multiplies saturating; a dimension that is not positive gives 0. */
int64_t tide__fr_times(int64_t a, int64_t b);
int64_t tide__fr_plus(int64_t a, int64_t b);

#endif
