// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What there is to tell of one span beside its place: its own time, what it did to memory, what it
 * is linked to (docs/analyses/timeline.md, "In the page"). For recordings that are too large for a
 * page to hold such notes of every span. */
#ifndef TIDE_ANALYZE_TIMELINE_SPAN_DETAILS_H
#define TIDE_ANALYZE_TIMELINE_SPAN_DETAILS_H

#include "analyze/timeline/timeline_rows.h"

typedef struct tide_span_link {
	uint32_t from, to; /* spans; one of them is the one asked about */
	uint8_t kind;	   /* TIDE_FLOW_* */
} tide_span_link;

typedef struct tide_span_note {
	int64_t self; /* ns: its length less that of the spans directly inside it, as drawn */
	bool memory;  /* is what follows known? On threads of a trace with allocations */
	uint64_t allocated, freed; /* bytes, in it and in what is nested in it */
	tide_span_link *links;	   /* owned; what started it, what it started, then flows */
	size_t n_links;
	uint64_t all_links; /* those there was no room for included */
} tide_span_note;

/* At most `most` links. Scans what happened while the span lasted, and one column of spans and the
 * flows for links: O(spans + flows + moves in the span). TIDE_OK or TIDE_ENOMEM. */
tide_code tide__span_note(const tide_model *m, const tide_timeline_rows *rows, uint32_t span,
			  size_t most, tide_span_note *out, tide_error *err);
void tide__span_note_free(tide_span_note *n); /* a zeroed one is fine */

#endif
