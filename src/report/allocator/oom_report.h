// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The out-of-memory report: text and JSON of a result (analyze/allocator/oom_events.h). */
#ifndef TIDE_REPORT_ALLOCATOR_OOM_REPORT_H
#define TIDE_REPORT_ALLOCATOR_OOM_REPORT_H

#include "analyze/allocator/oom_events.h"
#include "render/text/out.h"

/* Without losses. Needs the sums of events that are not explained in full (TIDE_OOM_SUM). */
void tide__oom_text(const tide_oom_events *x, const tide_out *to);
/* Rows of the tables "holders" and "settings" of an event. */
extern const tide_member tide__oom_holder_members[], tide__oom_setting_members[];
/* Writes its members. Needs the figures of all events (TIDE_OOM_LIST). */
void tide__oom_json(const tide_oom_events *x, tide_json *j);

#endif
