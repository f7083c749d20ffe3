// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An out-of-memory event as text and figures, the same in the command and on pages. Defined in
 * docs/analyses/oom.md. */
#ifndef TIDE_RENDER_REPORT_ALLOCATOR_OOM_H
#define TIDE_RENDER_REPORT_ALLOCATOR_OOM_H

#include "analyze/allocator/oom.h"
#include "render/text/json.h"

enum { TIDE_OOM_LINES = 9 }; /* at most */

typedef struct tide_oom_line {
	const char *name; /* two leading blanks: part of the line above */
	bool known;
	uint64_t bytes;
	const char *more; /* explanation; "" = none */
} tide_oom_line;

/* Writes the request and the available memory, in display order. Returns the number of lines. */
size_t tide__oom_write_lines(const tide_oom *o, tide_oom_line out[TIDE_OOM_LINES]);

/* Writes why it was not enough, one or two sentences. Returns buf. */
const char *tide__oom_why(const tide_oom *o, char *buf, size_t n);

enum { TIDE_OOM_WHY = 200 };
/* Writes where a replay differs from the recording, so that free blocks are unknown. Returns false if
 * they are known, or there was no replay. */
bool tide__oom_write_difference(const tide_oom *o, char *buf, size_t n);

/* Writes an object for pages: device, capacity (0 = unknown), banks (0 = none), by (its short
 * stack, null = unknown), lines [[name, bytes or null, more] ...], holders [[key, bytes, count,
 * enough or null] ...]. Returns false if memory runs out. */
bool tide__oom_write_page(tide_json *j, const tide_model *m, const tide_oom *o);

#endif
