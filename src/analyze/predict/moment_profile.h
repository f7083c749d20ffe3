// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory one recording held on a device, by kind of moment, so that equal moments of recordings
 * of the same program can be matched.
 *
 * Memory is highest right after an allocation, so moments are allocations. The *place* of an
 * allocation is the names of the spans around it, from the outermost inwards (or its call stack's
 * functions if there are none); for a backward op, the module of its forward op. A recording is
 * divided into *intervals* where a step begins and where a model is called; an interval with a
 * backward pass is a training interval. The n-th allocation at a place in an interval of either
 * sort is a *spot*. A spot occurs once in many intervals; the one with most live bytes counts. Definitions:
 * docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_MOMENT_PROFILE_H
#define TIDE_ANALYZE_PREDICT_MOMENT_PROFILE_H

#include "base/map.h"
#include "model/model.h"

typedef struct tide_spot {    /* moments of one kind */
	uint64_t most, least; /* bytes live at the highest and the lowest of them */
	uint64_t bytes;	      /* requested, of the largest allocation */
	uint64_t before;      /* of `most`: allocated before the recording began */
	uint64_t position; /* memory events before the highest moment, or the first of equal ones */
	uint32_t row;	   /* the allocation made there; 0 = no such moment */
} tide_spot;

enum { TIDE_SORTS = 2 }; /* of intervals: without and with a backward pass */

typedef struct tide_place {
	uint64_t hash; /* hash of the names: equal in other recordings */
	uint32_t parent;
	bool backward;
	struct tide_sort {
		size_t first;	/* its spots, one after another */
		uint32_t count; /* maximum in one interval */
		uint64_t times; /* total */
		tide_spot all;	/* of this place and all places inside it */
	} sort[TIDE_SORTS];
} tide_place;

typedef struct tide_moment_profile {
	uint64_t size; /* what the user varies: batch size or sequence length */
	uint64_t peak;
	tide_place *places; /* owned; [0] contains all others */
	size_t n_places, cap_places;
	tide_map by_hash; /* -> place + 1 */
	tide_spot *spots; /* owned */
	size_t n_spots;
	size_t moments, stretches;
	uint32_t *spot_of; /* owned; per allocation its spot + 1; 0 = not of this device */
} tide_moment_profile;

/* O(spans + events). Release with tide__moment_profile_free in any case. */
tide_code tide__find_moment_profile(const tide_model *m, uint32_t device, uint64_t size,
				    tide_moment_profile *out, tide_error *err);
void tide__moment_profile_free(tide_moment_profile *h);

/* Merges two spots into one that represents the moments of both. */
tide_spot tide__spot_merge(const tide_spot *a, const tide_spot *b);

#endif
