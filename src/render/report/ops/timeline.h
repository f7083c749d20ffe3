// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Parts of the timeline's JSON that the report and the server share. */
#ifndef TIDE_RENDER_REPORT_OPS_TIMELINE_H
#define TIDE_RENDER_REPORT_OPS_TIMELINE_H

#include "analyze/timeline/timeline.h"
#include "render/text/out.h"

/* Name of a lane: "thread 1234 (main)", "stream 7 on cuda:0". Returns buf. */
char *tide__lane_write_label(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

/* Writes "summary": {..}: figures in ms and us with common profilers' names, and in ns. */
void tide__timeline_summary_json(const tide_timeline *t, tide_json *j);
/* Writes one span: its name, times, lane and place in the source. */
void tide__timeline_event_json(const tide_model *m, tide_json *j, size_t span);

#endif
