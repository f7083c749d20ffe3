// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the parts of the importer of memory profiles (tracker JSON) hand to each other.
 *
 *   json.c    walking the document: members, elements, numbers, moments
 *   read.c    sections -> rows, with the times of the document
 *   build.c   time zero, order, nesting, moves, marks
 *   load.c    the input, sniffing
 *
 * The scanner and the value reader are those of the Kineto importer; the document is held whole.
 * What becomes of each field: docs/formats/tracker.md. */
#ifndef TIDE_IMPORT_TRACKER_TRACKER_IMPL_H
#define TIDE_IMPORT_TRACKER_TRACKER_IMPL_H

#include "import/import.h"
#include "import/kineto/kineto_impl.h"

typedef struct trk_life { /* one life of a tensor, times of the document */
	int64_t born, died;
	uint64_t size;
	tide_str device, op;
	uint32_t tensor; /* row in tensors, 0 = nothing known */
	uint8_t role;
} trk_life;

typedef struct trk_snap { /* one snapshot */
	int64_t t;
	tide_str name;
	size_t first, n; /* its values in trk.totals */
} trk_snap;

typedef struct trk_total { /* what a snapshot says of a device */
	tide_str device;
	uint64_t bytes;
} trk_total;

typedef struct trk {
	tide_model *m;
	kin_parser c;
	tide_error *err;
	tide_code rc;	       /* first failure */
	int64_t zone;	       /* ns to add to a moment without a zone */
	bool unix_time;	       /* some moments count from the epoch: wall time is known */
	uint32_t lane_of_none; /* lane of operations without a thread, 0 = not made yet */
	tide_map lanes;	       /* thread -> lane */
	tide_map devices;      /* tide__mix of a tensor's id -> its device's text + 1 */
	tide_map pools;	       /* device's text -> pool */
	KIN_VEC(trk_life, lives);
	KIN_VEC(trk_snap, snaps);
	KIN_VEC(trk_total, totals);
	KIN_VEC(uint8_t, open); /* per span: 1 = its end is not told */
	uint64_t bad, repeated, without_end;
} trk;

/* ---- json.c ---- */

typedef struct trk_walk {
	size_t p;
	bool object, begun;
} trk_walk;

/* Members of an object, elements of an array; nothing for anything else. */
trk_walk tide__tracker_walk(const trk *t, kin_slice v);
/* The next one; false at the end or after a failure (t->rc). */
bool tide__tracker_next(trk *t, trk_walk *w, kin_slice *key, kin_slice *value);
/* The members of an object that are named, in out[0 .. n); type 0 = not there. */
bool tide__tracker_fields(trk *t, kin_slice object, const char *const *names, size_t n,
			  kin_slice *out);
bool tide__tracker_is(const trk *t, kin_slice s, const char *text);

/* A number times `scale`, rounded; false: none, or it does not fit. */
bool tide__tracker_number(const trk *t, kin_slice v, int64_t scale, int64_t *out);
/* "2025-01-13T10:29:45.123456", with or without a zone; *zoned tells. Ns since 1970 as if in UTC. */
bool tide__tracker_iso(const trk *t, kin_slice v, int64_t *ns, bool *zoned);
/* A text, interned; 0 for null and what is no text. */
tide_str tide__tracker_str(trk *t, kin_slice v);
/* Any value's JSON, interned. */
tide_str tide__tracker_raw(trk *t, kin_slice v);
/* Damaged at byte p; out of memory: remembered, false. */
bool tide__tracker_bad(trk *t, size_t p);
bool tide__tracker_nomem(trk *t);

/* ---- read.c, build.c, load.c ---- */

bool tide__tracker_read(trk *t);
bool tide__tracker_build(trk *t);
/* A whole document of n bytes, with KIN_PAD zeros after it. */
tide_code tide__tracker_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
