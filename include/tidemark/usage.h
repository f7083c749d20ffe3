// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A memory usage tracker: reports memory between snapshots in the tracker's table format.
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
 * It counts what the program records through record.h (tide_alloc, tide_free) and, under `tidemark
 * run`, PyTorch's tensors. A capture is a recording: if one is in progress, the marks go into it;
 * otherwise a temporary recording is made, which tide_usage_clear or the end of the program removes.
 *
 * Link with libtidemark-usage (and the recorder). One capture per process; functions may be called
 * from any thread, one call at a time. `err` may be NULL everywhere; any other pointer that is NULL
 * where the function does not say so is refused with TIDE_EUSAGE. */
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
		1, /* nothing runs: the recorded allocations are predicted, not real */
} tide_usage_mode;

/* Begin a capture. `path` is the recording; NULL = a temporary file.
 * Returns TIDE_EBUSY ("MemoryUsageTracker: Capture already active") or TIDE_EIO if the file cannot
 * be written.
 *
 *      tide_error err;
 *      if (tide_usage_begin(TIDE_USAGE_NORMAL, "capture.tide", &err) != TIDE_OK)
 *              fprintf(stderr, "%s\n", err.text); */
tide_code tide_usage_begin(tide_usage_mode mode, const char *path, tide_error *err);

/* End a phase: everything since the last snapshot, or since the begin, is called `name`. Names may
 * repeat. Returns TIDE_EUSAGE without a capture.
 *
 *      forward();
 *      tide_usage_snapshot("FORWARD_PASS", NULL); */
tide_code tide_usage_snapshot(const char *name, tide_error *err);

/* Take a last snapshot (NULL: "END_TRACE") and end the capture. Does nothing without a capture.
 *
 *      tide_usage_end(NULL, NULL); */
tide_code tide_usage_end(const char *name, tide_error *err);

/* Print the last capture, ended or not; "WARNING: No traces captured" if there was none.
 *
 *      tide_usage_print(stdout, NULL); */
tide_code tide_usage_print(FILE *out, tide_error *err);

/* Discard the capture, ending it if it is in progress.
 *
 *      tide_usage_clear(); */
void tide_usage_clear(void);

typedef struct tide_usage_figures { /* bytes */
	int64_t segment_peak, allocations, deallocations, change, cumulative_peak, current;
	int64_t l1_peak_cb, l1_peak_buffer, l1_peak_total;
} tide_usage_figures;

/* Figures of the snapshot with that name. Returns TIDE_ENOTFOUND if there is none, TIDE_EUSAGE if
 * several have the name (use tide_usage_count and tide_usage_at).
 *
 *      tide_usage_figures f;
 *      if (tide_usage_get("FORWARD_PASS", &f, NULL) == TIDE_OK)
 *              printf("peak of the forward pass: %" PRId64 " bytes\n", f.segment_peak); */
tide_code tide_usage_get(const char *name, tide_usage_figures *out, tide_error *err);
/* Number of snapshots; the k-th snapshot with its name (borrowed until the next call here).
 *
 *      for (size_t k = 0; k < tide_usage_count(); k++) {
 *              const char *name;
 *              tide_usage_figures f;
 *              if (tide_usage_at(k, &name, &f, NULL) == TIDE_OK)
 *                      printf("%s: %" PRId64 " bytes\n", name, f.current);
 *      } */
size_t tide_usage_count(void);
tide_code tide_usage_at(size_t k, const char **name, tide_usage_figures *out, tide_error *err);

#ifdef __cplusplus
}
#endif
#endif
