// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The host heap of a program: high-water mark, blocks that were never freed, temporary allocations,
 * by call stack. Definitions: docs/analyses/heap.md. */
#ifndef TIDE_ANALYZE_MEMORY_HEAP_H
#define TIDE_ANALYZE_MEMORY_HEAP_H

#include "model/model.h"

typedef struct tide_heap_row {
	tide_stack_id stack;
	uint64_t peak;	    /* bytes alive at the high-water mark */
	uint64_t left;	    /* bytes alive at the end */
	uint64_t allocated; /* bytes allocated in all */
	double count;	    /* allocations; an estimate for a sampled heap */
	double left_count;  /* of these, never freed */
	uint64_t temporary; /* of these, temporary; 0 for a sampled heap */
	/* standard errors of the estimates; 0 when exact */
	double peak_error, left_error, count_error, left_count_error;
} tide_heap_row;

typedef struct tide_heap {
	uint32_t pool;	     /* 0: the trace has no host heap */
	double mean;	     /* bytes between samples; 0 = every allocation was recorded */
	uint64_t samples;    /* allocations that were recorded */
	tide_heap_row total; /* sum of all stacks; its stack is none */
	int64_t peak_t;	     /* when the high-water mark was reached */
	double peak_error, left_error; /* standard errors of the estimates, bytes; 0 when exact */
	double count_error, left_count_error; /* of the numbers of blocks in `total` */
	tide_heap_row *rows; /* per stack, by peak, then left, then allocated, descending */
	size_t n;
} tide_heap;

/* Returns the pool of malloc and its family; 0 = none was recorded. */
uint32_t tide__heap_pool(const tide_model *m);

/* Returns the mean bytes between samples of the host heap; 0 = every call was recorded, or none. */
double tide__heap_mean(const tide_model *m);

/* Release with tide__heap_report_free in any case. O(events + stacks log stacks). */
tide_code tide__heap_report_find(const tide_model *m, tide_heap *out, tide_error *err);
void tide__heap_report_free(tide_heap *h);

/* Returns the size of a sampled block from its estimate: the s for which s / (1 - exp(-s /
 * mean)) = `estimate`, within 1 byte. */
double tide__heap_own_size(double estimate, double mean);

#endif
