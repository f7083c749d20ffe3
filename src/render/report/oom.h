// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An out-of-memory event in words and figures, the same in the command and on pages. Defined in
 * docs/analyses/oom.md. */
#ifndef TIDE_RENDER_REPORT_OOM_H
#define TIDE_RENDER_REPORT_OOM_H

#include "analyze/allocator/oom.h"
#include "render/text/json.h"

enum { TIDE_OOM_LINES = 9 };

typedef struct tide_oom_line {
	const char *name; /* two blanks in front: a part of the line above */
	bool known;
	uint64_t bytes;
	const char *more; /* what it is; "" = nothing to add */
} tide_oom_line;

/* What was asked for and what there was, in the order in which it is told. */
void tide__oom_lines(const tide_oom *o, tide_oom_line out[TIDE_OOM_LINES]);

/* Why it was not enough, one or two sentences. Returns buf. */
const char *tide__oom_why(const tide_oom *o, char *buf, size_t n);

/* An object for pages: device, capacity (0 = not known), by (its stack in brief, null = not known),
 * lines [[name, bytes or null, more] ...], holders [[key, bytes, count, enough or null] ...]. False
 * on exhaustion. */
bool tide__oom_page(tide_json *j, const tide_model *m, const tide_oom *o);

#endif
