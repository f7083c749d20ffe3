// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The out-of-memory report: text and JSON.
 *
 * Events are found and written one by one, because there may be very many. */
#ifndef TIDE_RENDER_REPORT_ALLOCATOR_OOM_REPORT_H
#define TIDE_RENDER_REPORT_ALLOCATOR_OOM_REPORT_H

#include "analyze/allocator/oom.h"
#include "render/text/out.h"

typedef struct tide_oom_query {
	uint32_t device; /* TIDE_ANY = all */
	tide_group_by by;
	size_t top;  /* groups to try freeing */
	size_t full; /* events to explain in full, at most TIDE_OOM_MOST_EVENTS */
} tide_oom_query;

tide_code tide__oom_text(const tide_model *m, const tide_oom_query *q, const tide_out *to,
			 tide_error *err);
tide_code tide__oom_json(const tide_model *m, const tide_oom_query *q, tide_json *j,
			 tide_error *err);

#endif
