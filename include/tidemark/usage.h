// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A memory usage tracker: memory between snapshots, printed as trackers print it.
 *
 *     tide_usage_begin(TIDE_USAGE_NORMAL, NULL, NULL);
 *     model_create();            tide_usage_snapshot("MODEL_CREATION", NULL);
 *     optimizer_create();        tide_usage_snapshot("OPTIMIZER_CREATION", NULL);
 *     forward();                 tide_usage_snapshot("FORWARD_PASS", NULL);
 *     backward();                tide_usage_snapshot("BACKWARD_PASS", NULL);
 *     tide_usage_end("ITERATION_COMPLETE", NULL);
 *     tide_usage_print(stdout, NULL);
 *     tide_usage_clear();
 *
 * Counted is what the program records through record.h (tide_alloc, tide_free) and, under `tidemark
 * run`, PyTorch's tensors. A capture is a recording: where one is in progress its marks go into
 * that, else one is made among temporary files and removed by tide_usage_clear.
 *
 * Link with libtidemark-usage (and the recorder). One capture a process; every function may be called from any
 * thread, one at a time. `err` may be NULL everywhere. */
#ifndef TIDEMARK_USAGE_H
#define TIDEMARK_USAGE_H

#include <stdint.h>
#include <stdio.h>

#include <tidemark/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_usage_mode {
	TIDE_USAGE_NORMAL = 0,
	TIDE_USAGE_NO_DISPATCH =
		1, /* nothing runs: what is recorded was never allocated (a prediction) */
} tide_usage_mode;

/* Begin a capture. `path` is the recording; NULL = among temporary files.
 * TIDE_EBUSY, "MemoryUsageTracker: Capture already active"; TIDE_EIO if it cannot be written. */
tide_code tide_usage_begin(tide_usage_mode mode, const char *path, tide_error *err);

/* Everything since the last snapshot, or since the begin, is called `name`. Names may repeat.
 * TIDE_EUSAGE without a capture. */
tide_code tide_usage_snapshot(const char *name, tide_error *err);

/* A last snapshot (NULL: "END_TRACE") and the end of the capture. Without one: nothing. */
tide_code tide_usage_end(const char *name, tide_error *err);

/* Print the last capture, ended or not; "WARNING: No traces captured" if there was none. */
tide_code tide_usage_print(FILE *out, tide_error *err);

/* Forget it. A capture in progress is ended. */
void tide_usage_clear(void);

typedef struct tide_usage_figures { /* bytes */
	int64_t segment_peak, allocations, deallocations, change, cumulative_peak, current;
	int64_t l1_peak_cb, l1_peak_buffer, l1_peak_total;
} tide_usage_figures;

/* Figures of the snapshot of that name. TIDE_ENOTFOUND if there is none; TIDE_EUSAGE if several
 * have the name: ask for all. */
tide_code tide_usage_get(const char *name, tide_usage_figures *out, tide_error *err);
/* Number of snapshots, and the k-th with its name (borrowed until the next call here). */
size_t tide_usage_count(void);
tide_code tide_usage_at(size_t k, const char **name, tide_usage_figures *out, tide_error *err);

#ifdef __cplusplus
}
#endif
#endif
