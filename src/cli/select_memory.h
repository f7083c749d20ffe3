// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How the allocator commands (allocator, leaks, oom, whatif) name stacks, moments and devices. */
#ifndef TIDE_CLI_SELECT_MEMORY_H
#define TIDE_CLI_SELECT_MEMORY_H

#include "analyze/memory/groups.h"
#include "cli/cli.h"

/* "function (file:line) < caller (file:line), in op": the stack in brief (render/text/labels.h) and the op it
 * is in. Returns buf. */
char *tide__stack_line(const tide_model *m, tide_stack_id s, char *buf, size_t n);
/* Member `key`: frames from the innermost on, [{"function", "file", "line"}]; [] for none. */
void tide__stack_json(tide_json *j, const char *key, const tide_model *m, tide_stack_id s);
/* Label of a key: stacks by their line, everything else as render/text/labels.h. Returns buf. */
char *tide__group_line(const tide_groups *g, const tide_model *m, size_t row, char *buf, size_t n);

/* The device of --device, else the one with the highest peak. False after a message (exit 2, or 1
 * when memory ran out: *rc). */
bool tide__story_device(const tide_args *a, const tide_value *v, const tide_model *m, uint32_t *out,
			int *rc);

/* A grid that is printed or becomes a JSON member, then freed. */
void tide__grid_out(tide_grid *g, const tide_args *a, int indent);

#endif
