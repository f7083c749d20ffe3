// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the critical path of a recording, which takes seconds and much memory. A separate thread
 * does one recording at a time, so that it delays neither answers nor readings; clients wait
 * without occupying a thread, as for a reading. */
#ifndef TIDE_SERVE_STORE_CRITICAL_PATH_JOB_H
#define TIDE_SERVE_STORE_CRITICAL_PATH_JOB_H

#include "serve/store/loaded.h"

typedef struct tide_critical_path_job tide_critical_path_job;

/* `max_bytes`: memory limit of one search. Returns NULL if memory runs out. */
tide_critical_path_job *tide__critical_path_job_new(uint64_t max_bytes);
/* Stops: calls all waiters. */
void tide__critical_path_job_stop(tide_critical_path_job *s);
/* After that: waits for the thread, at most 1 to 2 seconds. Returns false if it is still
 * working; then nothing was freed, and the program should exit. NULL is allowed. */
bool tide__critical_path_job_free(tide_critical_path_job *s);

/* Returns the section "critical" of a reading, as in a page: TIDE_OK with *out, owned by l; it
 * contains the reason if there is no path. TIDE_EBUSY: it is being computed, and `w` will be
 * called. For more than TIDE_CRITICAL_MANY spans it is computed only if `all`; otherwise TIDE_OK
 * with *out NULL. */
enum { TIDE_CRITICAL_MANY = 400000 };
tide_code tide__critical_path_job_run(tide_critical_path_job *s, tide_loaded *l, bool all,
				      tide_waiter *w, const char **out, size_t *n);

#endif
