// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the importer of memory profiles (tracker JSON).
 *
 *   json.c    walks the document: members, elements, numbers, times
 *   read.c    sections -> rows, with the times of the document
 *   snapshot_allocs.c  tensors that snapshots list -> lifetimes, if the document has none
 *   sums.c    sections without moments -> sums of ops
 *   build.c   time zero, order, nesting, memory events, marks
 *   load.c    the input, sniffing
 *
 * import/json reads the values; the document is held whole.
 * docs/formats/tracker.md lists how each field is imported. */
#ifndef TIDE_IMPORT_TRACKER_TRACKER_IMPL_H
#define TIDE_IMPORT_TRACKER_TRACKER_IMPL_H

#include "import/import.h"
#include "base/mem.h"
#include "import/json/reader.h"

typedef struct trk_where { /* where a tensor was allocated or freed */
	int64_t id;	   /* operation_id of the enclosing entry of the log, 0 = none */
	int64_t thread;	   /* TRK_NO_THREAD = unknown */
	int64_t order;	   /* position among all events: orders events of equal time */
	tide_str op;	   /* innermost operation */
} trk_where;
#define TRK_NO_THREAD INT64_MIN

typedef struct trk_life { /* one life of a tensor, times of the document */
	int64_t born, died;
	uint64_t size;
	tide_str device;
	trk_where made, freed;
	uint32_t tensor; /* row in tensors, 0 = nothing known */
	uint32_t row;	 /* in allocs, 0 = not made yet */
	uint8_t role, flags;
	bool listed; /* from snapshots: allocated and freed at an unknown time before they were
	              * taken */
} trk_life;

/* A tensor that one snapshot lists, or bytes of its total that no listed tensor has. */
typedef struct trk_listed {
	uint64_t key; /* the same in every snapshot that lists the same tensor */
	uint64_t size;
	tide_str device, op;
	jsonr_slice shape, dtype, grad, purpose;
} trk_listed;

typedef struct trk_snap { /* one snapshot */
	int64_t t;
	tide_str name;
	size_t first, n; /* its values in trk.totals */
	size_t first_listed, n_listed;
} trk_snap;

typedef struct trk_total { /* a device's figures in a snapshot */
	tide_str device;
	uint64_t bytes;
} trk_total;

typedef struct trk {
	tide_model *m;
	jsonr c;
	tide_error *err;
	tide_code rc;	       /* first failure */
	int64_t zone;	       /* ns to add to a time without a zone */
	bool unix_time;	       /* times count from the epoch: wall time is known */
	uint32_t lane_of_none; /* lane of operations without a thread, 0 = not made yet */
	tide_map lanes;	       /* thread -> lane */
	tide_map devices;      /* tide__mix of a tensor's id -> its device's text + 1 */
	tide_map pools;	       /* device's text -> pool */
	tide_map timed;	       /* operation's name -> runs with a duration */
	TIDE_VEC(trk_life, lives);
	TIDE_VEC(trk_snap, snaps);
	TIDE_VEC(trk_total, totals);
	TIDE_VEC(trk_listed, listed);
	TIDE_VEC(uint8_t, open); /* per span: 1 = its end is unknown */
	TIDE_VEC(int64_t, ids);	 /* per span: operation_id, 0 = none */
	bool list;		 /* no lifecycles: tensors come from snapshots */
	int64_t start, end;	 /* of the document's recording; end < start: unknown */
	uint64_t bad, repeated, without_end;
} trk;

/* ---- json.c ---- */

/* Walks the members of an object or elements of an array; other values have none. */
jsonr_walk tide__tracker_walk(const trk *t, jsonr_slice v);
/* Gets the next one; returns false at the end or after a failure (t->rc). */
bool tide__tracker_next(trk *t, jsonr_walk *w, jsonr_slice *key, jsonr_slice *value);
/* Gets the named members of an object in out[0 .. n); type 0 = absent. */
bool tide__tracker_find_fields(trk *t, jsonr_slice object, const char *const *names, size_t n,
			       jsonr_slice *out);
bool tide__tracker_is(const trk *t, jsonr_slice s, const char *text);

/* Gets a number times `scale`, rounded; returns false if it is none or does not fit. */
bool tide__tracker_parse_number(const trk *t, jsonr_slice v, int64_t scale, int64_t *out);
/* Parses "2025-01-13T10:29:45.123456", with or without a zone (*zoned). Ns since 1970 as if in
 * UTC. */
bool tide__tracker_parse_iso(const trk *t, jsonr_slice v, int64_t *ns, bool *zoned);
/* Interns a text; 0 for null and other values. */
tide_str tide__tracker_intern(trk *t, jsonr_slice v);
/* Interns the JSON of a list or an object in one notation; 0 for other values, and for one that is
 * empty or too long for a shape. */
tide_str tide__tracker_intern_shape(trk *t, jsonr_slice v);
/* Record damage at byte p, or that memory ran out. Both return false. */
bool tide__tracker_fail(trk *t, size_t p);
bool tide__tracker_nomem(trk *t);

/* ---- tensors (read.c) ---- */

uint8_t tide__tracker_role(const trk *t, jsonr_slice name);
/* Returns the row in tensors; 0 if the shape is unknown. */
uint32_t tide__tracker_add_tensor(trk *t, jsonr_slice shape, jsonr_slice dtype, jsonr_slice grad,
				  uint8_t role);
/* Bytes of a record: `bytes`, else `mb` × 1,048,576. */
bool tide__tracker_parse_bytes(const trk *t, jsonr_slice bytes, jsonr_slice mb, uint64_t *out);

/* ---- snapshot_allocs.c ---- */

/* Adds the tensors that a snapshot lists for a device of `total` bytes, and one more for the
 * remaining bytes. */
bool tide__tracker_add_list(trk *t, jsonr_slice tensors, tide_str device, uint64_t total);
/* Adds bytes of a snapshot that belong to none of its devices. */
bool tide__tracker_add_rest(trk *t, uint64_t bytes);
/* Computes lifetimes: from the first snapshot that lists a tensor to the first later one that does
 * not. */
bool tide__tracker_listed_lives(trk *t);

/* ---- sums.c ---- */

bool tide__tracker_read_sums(trk *t, jsonr_slice pytorch, jsonr_slice summary);

/* ---- read.c, build.c, load.c ---- */

bool tide__tracker_read(trk *t);
bool tide__tracker_build(trk *t);
/* An importer of a whole document of n bytes, followed by JSONR_PAD zeros. */
typedef tide_code tide_text_import(const char *text, size_t n, tide_model *m, tide_error *err);
/* Reads a file, plain or compressed and at most 2 GiB, and imports it. */
tide_code tide__tracker_load(const char *path, const tide_load_options *opt,
			     tide_text_import *import, tide_model *m, tide_error *err);
tide_code tide__tracker_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
