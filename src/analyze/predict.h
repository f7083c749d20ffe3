// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory at another size of the work (batch, sequence length), from recordings of the same program
 * at two sizes.
 *
 * What a recording held is one number after each of its allocations and frees. Where two recordings
 * allocate and free in the same order, in ops of the same names, the k-th number of one belongs to
 * the k-th of the other, and each k has a line of its own through the two: the peak at a size is
 * the highest of these lines there. It is no line itself: which moment is the highest changes with
 * the size. Where the orders differ the same is done with one number each, the peak. Integers
 * throughout; a prediction is rounded up. Definitions for readers: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_H
#define TIDE_ANALYZE_PREDICT_H

#include "model/model.h"

typedef struct tide_held { /* what one recording held on one device */
	uint64_t size;	   /* of the work */
	uint64_t *live;	   /* owned; bytes after each step */
	uint64_t *what; /* owned; a free: the how-manieth allocation it frees. An allocation: a hash
			 * of the op it was made in, else of its innermost function */
	uint32_t *row;	/* owned; the allocation, a row of the model's */
	size_t n;
} tide_held;

enum { TIDE_MOST_SIZE = 1000000000 }; /* of the work: products stay far within 128 bits */

/* Allocations and frees of a device, in order. O(moves). Release with tide__held_free. */
tide_code tide__held(const tide_model *m, uint32_t device, uint64_t size, tide_held *out,
		     tide_error *err);
/* One number: all that is left where the order of steps does not tell. */
tide_code tide__held_one(uint64_t size, uint64_t bytes, tide_held *out, tide_error *err);
/* The same with `by` more bytes after every step: what an allocator keeps besides. */
tide_code tide__held_raised(const tide_held *h, uint64_t by, tide_held *out, tide_error *err);
void tide__held_free(tide_held *h);

/* Steps from the first on that are the same in both: all of them when it is a->n == b->n. */
size_t tide__held_same(const tide_held *a, const tide_held *b);

/* Highest bytes at `size`, by a line through a and b for each step; a->size < b->size, a->n == b->n
 * > 0. `at` (may be NULL): the first step that is as high. */
uint64_t tide__predict(const tide_held *a, const tide_held *b, uint64_t size, size_t *at);

/* The largest size whose prediction is at most `capacity`: 0 = not even 1 is, TIDE_MOST_SIZE = as
 * large as that, or memory does not grow with it. */
uint64_t tide__predict_fits(const tide_held *a, const tide_held *b, uint64_t capacity);

#endif
