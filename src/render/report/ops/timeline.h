// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The timeline as JSON, as tables, and as one strip of activity per lane. */
#ifndef TIDE_RENDER_REPORT_OPS_TIMELINE_H
#define TIDE_RENDER_REPORT_OPS_TIMELINE_H

#include "analyze/timeline/timeline.h"
#include "render/text/out.h"

/* Name of a lane: "thread 1234 (main)", "stream 7 on cuda:0". Returns buf. */
char *tide__lane_write_label(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

/* Writes "summary": {..}: figures in ms and us with common profilers' names, and in ns. */
void tide__timeline_summary_json(const tide_timeline *t, tide_json *j);
/* Returns one row per lane, at most `top` rows (0 = all). NULL if memory runs out. */
tide_grid *tide__timeline_lanes(const tide_model *m, const tide_timeline *t, size_t top);
/* Writes one span in the format of the next function. */
void tide__timeline_event_json(const tide_model *m, tide_json *j, size_t span);
/* Writes "cpu_timeline": [..], "gpu_timeline": [..]: every counted span, in order of start. */
void tide__timeline_events_json(const tide_model *m, const tide_timeline_options *opt,
				tide_json *j);
/* Prints total, CPU, GPU, overlap; then a strip for each side and lane: a cell is `total /
 * cells` long, and its height is the active part of it. */
void tide__timeline_print(const tide_model *m, const tide_timeline *t, FILE *out,
			  const tide_style *style, size_t top);

/* Writes the whole report of one trace as text, at most `top` lanes (0 = all); as one JSON
 * object, with every span if `events`. Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__timeline_text(const tide_model *m, const tide_timeline *t, size_t top,
			      const tide_out *to);
tide_code tide__timeline_json(const tide_model *m, const tide_timeline *t,
			      const tide_timeline_options *o, const char *file, bool events,
			      tide_json *j);

#endif
