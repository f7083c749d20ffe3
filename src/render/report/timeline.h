// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The timeline as JSON, as tables, and as one strip of activity per lane. */
#ifndef TIDE_RENDER_REPORT_TIMELINE_H
#define TIDE_RENDER_REPORT_TIMELINE_H

#include "analyze/timeline/timeline.h"
#include "render/text/out.h"

/* Name of a lane: "thread 1234 (main)", "stream 7 on cuda:0". Returns buf. */
char *tide__lane_label(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

/* "summary": {..}: figures in ms and us as profilers of the field name them, and in ns. */
void tide__timeline_summary_json(const tide_timeline *t, tide_json *j);
/* One row a lane, `top` rows at most (0 = all). NULL on exhaustion. */
tide_grid *tide__timeline_lanes(const tide_model *m, const tide_timeline *t, size_t top);
/* One span as those below have it. */
void tide__timeline_event_json(const tide_model *m, tide_json *j, size_t span);
/* "cpu_timeline": [..], "gpu_timeline": [..]: every span that counts, in order of start. */
void tide__timeline_events_json(const tide_model *m, const tide_timeline_options *opt,
				tide_json *j);
/* Total, CPU, GPU, overlap; then a strip for each side and lane: a cell is `total / cells` long and
 * as high as the part of it that was active. */
void tide__timeline_print(const tide_model *m, const tide_timeline *t, FILE *out,
			  const tide_style *style, size_t top);

/* The whole report of one trace as text, `top` lanes at most (0 = all); as one JSON object, with
 * every span if `events`. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__timeline_text(const tide_model *m, const tide_timeline *t, size_t top,
			      const tide_out *to);
tide_code tide__timeline_json(const tide_model *m, const tide_timeline *t,
			      const tide_timeline_options *o, const char *file, bool events,
			      tide_json *j);

#endif
