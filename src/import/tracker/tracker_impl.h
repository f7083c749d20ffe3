// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the importer of memory profiles (tracker JSON).
 *
 *   json.c    walks the document: members, elements, numbers, times
 *   read.c    sections -> rows, with the times of the document
 *   build.c   time zero, order, nesting, moves, marks
 *   load.c    the input, sniffing
 *
 * The scanner and the value reader are those of the Kineto importer; the document is held whole.
 * docs/formats/tracker.md lists how each field is imported. */
#ifndef TIDE_IMPORT_TRACKER_TRACKER_IMPL_H
#define TIDE_IMPORT_TRACKER_TRACKER_IMPL_H

#include "import/import.h"
#include "import/kineto/kineto_impl.h"

typedef struct trk_life { /* the lifetime of a tensor, in the document's times */
	int64_t born, died;
	uint64_t size;
	tide_str device, op;
	uint32_t tensor; /* row in tensors, 0 = unknown */
	uint8_t role;
} trk_life;

typedef struct trk_snap { /* one snapshot */
	int64_t t;
	tide_str name;
	size_t first, n; /* its values in trk.totals */
} trk_snap;

typedef struct trk_total { /* a device's figures in a snapshot */
	tide_str device;
	uint64_t bytes;
} trk_total;

typedef struct trk {
	tide_model *m;
	kin_parser c;
	tide_error *err;
	tide_code rc;	       /* first failure */
	int64_t zone;	       /* ns to add to a time without a zone */
	bool unix_time;	       /* some times count from the epoch: wall time is known */
	uint32_t lane_of_none; /* lane of operations without a thread, 0 = not made yet */
	tide_map lanes;	       /* thread -> lane */
	tide_map devices;      /* tide__mix of a tensor's id -> its device's text + 1 */
	tide_map pools;	       /* device's text -> pool */
	KIN_VEC(trk_life, lives);
	KIN_VEC(trk_snap, snaps);
	KIN_VEC(trk_total, totals);
	KIN_VEC(uint8_t, open); /* per span: 1 = its end is missing */
	uint64_t bad, repeated, without_end;
} trk;

/* ---- json.c ---- */

typedef struct trk_walk {
	size_t p;
	bool object, begun;
} trk_walk;

/* Walks the members of an object or elements of an array; other values have none. */
trk_walk tide__tracker_walk(const trk *t, kin_slice v);
/* Gets the next one; returns false at the end or after a failure (t->rc). */
bool tide__tracker_next(trk *t, trk_walk *w, kin_slice *key, kin_slice *value);
/* Gets the named members of an object in out[0 .. n); type 0 = absent. */
bool tide__tracker_fields(trk *t, kin_slice object, const char *const *names, size_t n,
			  kin_slice *out);
bool tide__tracker_is(const trk *t, kin_slice s, const char *text);

/* Gets a number times `scale`, rounded; returns false if it is none or does not fit. */
bool tide__tracker_number(const trk *t, kin_slice v, int64_t scale, int64_t *out);
/* Parses "2025-01-13T10:29:45.123456", with or without a zone (*zoned). Ns since 1970 as if in
 * UTC. */
bool tide__tracker_iso(const trk *t, kin_slice v, int64_t *ns, bool *zoned);
/* Interns a text; 0 for null and other values. */
tide_str tide__tracker_str(trk *t, kin_slice v);
/* Interns any value's JSON. */
tide_str tide__tracker_raw(trk *t, kin_slice v);
/* Record damage at byte p, or that memory ran out; return false. */
bool tide__tracker_bad(trk *t, size_t p);
bool tide__tracker_nomem(trk *t);

/* ---- read.c, build.c, load.c ---- */

bool tide__tracker_read(trk *t);
bool tide__tracker_build(trk *t);
/* Imports a whole document of n bytes, followed by KIN_PAD zeros. */
tide_code tide__tracker_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
