// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The output of a report, and the parts that every text report uses: headings, names, stacks,
 * cells. */
#ifndef TIDE_RENDER_TEXT_OUT_H
#define TIDE_RENDER_TEXT_OUT_H

#include <stdio.h>

#include "analyze/memory/groups.h"
#include "render/text/grid.h"
#include "render/text/labels.h"
#include "render/text/losses.h"

/* Note below a table whose memory columns are unknown. */
#define TIDE_NO_MEMORY_TEXT "\nThe trace records no allocations: what was allocated is unknown.\n"

typedef struct tide_out {
	FILE *out;	  /* borrowed */
	tide_style style; /* width and capabilities of the terminal */
	uint64_t *cut;	  /* receives the number of long texts that were cut; may be NULL */
} tide_out;

/* Prints a bold heading and a newline. */
void tide__write_heading(const tide_out *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints a text from the input: control bytes escaped, never shortened. */
void tide__put_text(const tide_out *to, const char *text);
/* Prints one line per loss or repair of the model, after a report. */
void tide__put_model_losses(const tide_out *to, const tide_model *m);
/* Prints a grid and frees it. */
void tide__grid_write(tide_grid *g, const tide_out *to, int indent);

/* "2026-01-31 12:00:00.123456789 UTC". Returns buf. */
const char *tide__wall_text(int64_t wall_ns, char *buf, size_t n);
/* Member "start_wall_ns": Unix ns of t = 0, or null. */
void tide__start_json(tide_json *j, const tide_model *m);

/* Add cells: an interned text ("-" for none), a number (0 = unknown). */
void tide__grid_put_name(tide_grid *g, const tide_model *m, tide_str s);
void tide__grid_put_known(tide_grid *g, uint64_t v);

/* "function (file:line) < caller (file:line), in op": the stack in brief (labels.h) and its op.
 * Returns buf. */
char *tide__stack_write_line(const tide_model *m, tide_stack_id s, char *buf, size_t n);
/* Member `key`: frames from the innermost on, [{"function", "file", "line"}]; [] for none. */
extern const tide_member tide__stack_members[]; /* of a frame */
void tide__stack_json(tide_json *j, const char *key, const tide_model *m, tide_stack_id s);
/* Label of a group: stacks by their line, everything else as labels.h. Returns buf. */
char *tide__group_write_line(const tide_groups *g, const tide_model *m, size_t row, char *buf,
			     size_t n);

#endif
