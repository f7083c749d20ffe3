// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Results of analyses as tracks of an exported trace: the critical path with flows from span to span,
 * curves (queue length, bandwidth), findings. Readers of Tidemark leave these rows out, by their
 * category, so that an exported trace still reads back as itself. */
#ifndef TIDE_RENDER_EXPORT_OVERLAY_H
#define TIDE_RENDER_EXPORT_OVERLAY_H

#include "analyze/device/device_series.h"
#include "analyze/device/hta_job.h"
#include "model/strings.h"

#define TIDE_OVERLAY_CAT  "tidemark_overlay"
#define TIDE_OVERLAY_NAME "Tidemark"
/* As a Chrome trace has it: no process has this number. */
#define TIDE_OVERLAY_PID (INT64_C(1) << 40)

enum {
	TIDE_OVERLAY_CRITICAL = 1,
	TIDE_OVERLAY_QUEUE = 2,
	TIDE_OVERLAY_BANDWIDTH = 4,
	TIDE_OVERLAY_FINDINGS = 8,
	TIDE_OVERLAY_ALL = 15
};
/* Their names, comma-separated, in the order of their bits. */
#define TIDE_OVERLAY_WORDS "critical-path,queue,bandwidth,findings"

typedef struct tide_overlay_slice {
	uint32_t track;	       /* of `tracks` */
	uint32_t name, detail; /* of `texts`; detail 0 = none */
	int64_t t0, t1;	       /* t0 = t1: an instant */
	uint32_t from, to;     /* spans joined by a flow; 0 = none */
} tide_overlay_slice;

typedef struct tide_overlay {
	tide_strings *texts;	    /* owned */
	uint32_t tracks[2];	    /* texts: critical path, findings */
	tide_overlay_slice *slices; /* owned; of a track in order of time, one after another */
	size_t n_slices, cap_slices;
	tide_series queue, bandwidth;
	const char *no_path; /* static text: why there is no critical path; NULL = there is */
} tide_overlay;

/* Writes a curve's name, "queue of cuda:0 stream 7", "HtoD GB/s". Returns buf. */
char *tide__overlay_curve(const tide_series_curve *k, char *buf, size_t n);

/* Makes the tracks. `what`: TIDE_OVERLAY_*; the critical path needs a model with TIDE_WANT_RAW. `file`:
 * its name in findings. Free in any case. */
tide_code tide__overlay_make(const tide_model *m, const char *file, unsigned what,
			     tide_overlay *out, tide_error *err);
void tide__overlay_free(tide_overlay *o);

#endif
