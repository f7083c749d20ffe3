// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A call stack in one short line, innermost frame first, for tables that people read: the innermost
 * Python frame and the user's own frames around it; without Python the frame that names the stack
 * (tide__stack_face). Two stacks may look the same in brief: JSON has them whole. */
#include <string.h>

#include "analyze/stacks.h"
#include "render/labels.h"

enum { MAX_FRAMES = 5 };

static bool is_python(const tide_model *m, tide_frame_id f)
{
	size_t n;
	const char *file = tide__text(m, m->frames.file[f.i], &n);
	return n > 3 && !memcmp(file + n - 3, ".py", 3);
}

/* The innermost stack node with a Python frame, none = there is none. */
static tide_stack_id innermost_python(const tide_model *m, tide_stack_id s)
{
	while (s.i && !is_python(m, m->stacks.frame[s.i]))
		s = m->stacks.parent[s.i];
	return s;
}

static bool worth_showing(const tide_model *m, tide_frame_id f)
{
	return tide__frame_is_user(m, f) &&
	       strcmp(tide__text(m, m->frames.function[f.i], NULL), "<module>");
}

static void put_frame(const tide_model *m, tide_frame_id f, FILE *out)
{
	char text[1024];
	fputs(tide__frame_text(m, f, text, sizeof text), out);
}

void tide__stack_brief(const tide_model *m, tide_stack_id s, FILE *out)
{
	tide_stack_id at = innermost_python(m, s);
	unsigned shown = 1;
	if (!s.i) {
		fputs("(no stack)", out);
		return;
	}
	put_frame(m, at.i ? m->stacks.frame[at.i] : tide__stack_face(m, s), out);
	while (at.i && (at = m->stacks.parent[at.i]).i) {
		if (!worth_showing(m, m->stacks.frame[at.i]))
			continue;
		fputs(" < ", out);
		if (shown++ == MAX_FRAMES) {
			fputs("...", out);
			return;
		}
		put_frame(m, m->stacks.frame[at.i], out);
	}
}

void tide__groups_brief(const tide_groups *g, const tide_model *m, size_t row, FILE *out)
{
	uint32_t key = (uint32_t)g->rows[row].key;
	if (g->by == TIDE_BY_STACK)
		tide__stack_brief(m, (tide_stack_id){ key }, out);
	else if (g->by == TIDE_BY_FRAME && key)
		put_frame(m, (tide_frame_id){ key }, out);
	else
		tide__groups_label(g, m, row, out);
}
