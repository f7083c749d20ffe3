// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Details of one span: its self time, its memory, its links (docs/analyses/timeline.md, "In the
 * page"). For recordings that are too large for a page to hold such details of every span. */
#ifndef TIDE_ANALYZE_TIMELINE_SPAN_DETAILS_H
#define TIDE_ANALYZE_TIMELINE_SPAN_DETAILS_H

#include "analyze/timeline/timeline_rows.h"

typedef struct tide_span_link {
	uint32_t from, to; /* spans; one of them is the given one */
	uint8_t kind;	   /* TIDE_FLOW_* */
} tide_span_link;

typedef struct tide_span_details {
	int64_t self; /* ns: its length minus that of the spans directly inside it, as drawn */
	bool memory;  /* true if the next two are known: on threads of a trace with allocations */
	uint64_t allocated, freed; /* bytes, including nested spans */
	tide_span_link *links;	   /* owned; its cause, the spans it caused, then flows */
	size_t n_links;
	uint64_t all_links; /* total, including those beyond `most` */
} tide_span_details;

/* Returns at most `most` links. Scans the memory events during the span, and for links one
 * column of spans and the flows: O(spans + flows + events in the span). Returns TIDE_OK or
 * TIDE_ENOMEM. */
tide_code tide__span_details_find(const tide_model *m, const tide_timeline_rows *rows,
				  uint32_t span, size_t most, tide_span_details *out,
				  tide_error *err);
void tide__span_details_free(tide_span_details *n); /* accepts a zeroed one */

#endif
