// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One reading of a recording, shared by all requests about it.
 *
 * The model never changes; derived data that several answers need (the holistic analysis, levels of
 * detail) are computed on first use, by one thread while others wait, and then never change either.
 * Reference-counted: the last reference frees it. */
#ifndef TIDE_SERVE_STORE_LOADED_H
#define TIDE_SERVE_STORE_LOADED_H

#include <pthread.h>
#include <stdatomic.h>

#include "analyze/device/hta_job.h"
#include "analyze/timeline/level_of_detail.h"
#include "render/page/page.h"

/* A request that waits for a recording. `ready` is called once, from another thread. */
typedef struct tide_waiter {
	struct tide_waiter *next;
	void (*ready)(struct tide_waiter *w);
} tide_waiter;

typedef struct tide_loaded {
	tide_model *m;	     /* owned */
	char *losses;	     /* owned, from malloc: lines about losses */
	uint64_t generation; /* unique per reading */
	uint64_t bytes;	     /* approximate memory use */
	uint64_t file_size;  /* size of the file when it was read, and its modification time */
	int64_t file_mtime_ns;
	_Atomic uint32_t refs;
	pthread_mutex_t job_lock, lod_lock; /* for computing the data below, independently of
					     * each other */
	bool job_made, lod_made;
	tide_hta_job *job; /* owned; NULL = no device rows */
	tide_lod lod;
	/* its critical path as a page section; owned by critical_path_job.c, under its lock */
	char *critical; /* owned, malloc's; NULL = not found yet */
	size_t n_critical;
} tide_loaded;

/* Takes ownership of `m`, also on failure (NULL). */
tide_loaded *tide__loaded_new(tide_model *m, uint64_t generation);
tide_loaded *tide__loaded_hold(tide_loaded *l);
void tide__loaded_drop(tide_loaded *l); /* NULL is allowed */

/* Gets the holistic analysis; *out is NULL if there are no device rows. Borrowed. */
tide_code tide__loaded_get_job(tide_loaded *l, const tide_hta_job **out, tide_error *err);
/* Gets the levels of detail. Borrowed. */
tide_code tide__loaded_get_lod(tide_loaded *l, const tide_lod **out, tide_error *err);
/* Fills the options for page sections. `job`: also the holistic analysis. */
tide_code tide__loaded_get_page_options(tide_loaded *l, bool job, tide_page_options *out,
					tide_error *err);

/* Returns the file's name without its folders. */
const char *tide__loaded_name(const tide_loaded *l);

#endif
