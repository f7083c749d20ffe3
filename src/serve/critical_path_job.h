// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What takes seconds and much memory: the critical path of a recording. One thread of its own, one
 * recording at a time, so that it holds up neither answers nor readings; those who asked wait
 * without holding a thread, as for a reading. */
#ifndef TIDE_SERVE_CRITICAL_PATH_JOB_H
#define TIDE_SERVE_CRITICAL_PATH_JOB_H

#include "serve/loaded.h"

typedef struct tide_critical_path_job tide_critical_path_job;

/* `max_bytes`: what finding one may take at most. NULL on exhaustion. */
tide_critical_path_job *tide__critical_path_job_new(uint64_t max_bytes);
/* Nobody waits any more: all who do are called. */
void tide__critical_path_job_stop(tide_critical_path_job *s);
/* After that: waits for the thread, but not longer than a second or two. False when it is still at
 * work; then nothing was freed, and the program should end. NULL is fine. */
bool tide__critical_path_job_free(tide_critical_path_job *s);

/* The section "critical" of a reading, as a page holds it: TIDE_OK with *out, which l keeps; it
 * says why where there is no path. TIDE_EBUSY: it is being found, and `w` will be called. Of more
 * than TIDE_CRITICAL_MANY spans it is only found when `all` says so: TIDE_OK with *out NULL else.
 */
enum { TIDE_CRITICAL_MANY = 400000 };
tide_code tide__critical_path_job_run(tide_critical_path_job *s, tide_loaded *l, bool all,
				      tide_waiter *w, const char **out, size_t *n);

#endif
