// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One reading of a recording, shared by everybody who asks about it.
 *
 * The model never changes once it is here; what several answers need of it (the holistic analysis,
 * levels of detail) is made when first asked for, by one thread while others wait, and then never
 * changes either. Counted: the last one to let go frees it. */
#ifndef TIDE_SERVE_LOADED_H
#define TIDE_SERVE_LOADED_H

#include <pthread.h>
#include <stdatomic.h>

#include "analyze/device/hta_job.h"
#include "analyze/timeline/level_of_detail.h"
#include "render/page/page.h"

/* Somebody who waits for a recording. `ready` is called once, from another thread. */
typedef struct tide_waiter {
	struct tide_waiter *next;
	void (*ready)(struct tide_waiter *w);
} tide_waiter;

typedef struct tide_loaded {
	tide_model *m;	     /* owned */
	char *losses;	     /* owned, malloc's: lines of what was lost */
	uint64_t generation; /* no two readings have the same */
	uint64_t bytes;	     /* about what it holds */
	uint64_t file_size;  /* of the file when it was read, and its time of change */
	int64_t file_mtime_ns;
	_Atomic uint32_t refs;
	pthread_mutex_t job_lock, lod_lock; /* for making what follows: none waits for the other */
	bool job_made, lod_made;
	tide_hta_job *job; /* owned; NULL = no device rows */
	tide_lod lod;
	/* its critical path: the section of a page; critical_path_job.c's, under its lock */
	char *critical; /* owned, malloc's; NULL = not found yet */
	size_t n_critical;
} tide_loaded;

/* Takes `m` over, also on failure (NULL). */
tide_loaded *tide__loaded_new(tide_model *m, uint64_t generation);
tide_loaded *tide__loaded_hold(tide_loaded *l);
void tide__loaded_drop(tide_loaded *l); /* NULL is fine */

/* The holistic analysis; *out is NULL when there are no device rows. Borrowed. */
tide_code tide__loaded_job(tide_loaded *l, const tide_hta_job **out, tide_error *err);
/* Levels of detail. Borrowed. */
tide_code tide__loaded_lod(tide_loaded *l, const tide_lod **out, tide_error *err);
/* What the sections of a page want. `job`: the holistic analysis too. */
tide_code tide__loaded_page(tide_loaded *l, bool job, tide_page_options *out, tide_error *err);

/* The file's name without its folders. */
const char *tide__loaded_name(const tide_loaded *l);

#endif
