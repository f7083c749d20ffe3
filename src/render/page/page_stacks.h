// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Call stacks as columns of a section: only requested ones, a parent before its child.
 * "stack_frame", "stack_parent" are the tree, "frame_function", "frame_file", "frame_line" its
 * frames, with texts of the section's names. */
#ifndef TIDE_RENDER_PAGE_PAGE_STACKS_H
#define TIDE_RENDER_PAGE_PAGE_STACKS_H

#include "render/page/page_parts.h"

typedef struct tide_page_stacks {
	const tide_model *m;
	tide_box *b;
	tide_page_names *names; /* borrowed */
	uint32_t *stack;	/* owned; stack -> its number in the page + 1 */
	uint32_t *up;		/* owned; scratch */
	uint32_t *frame;	/* owned; frame -> its number in the page + 1 */
	uint32_t n_stacks, n_frames;
	int st_frame, st_parent, fr_function, fr_file, fr_line; /* columns */
} tide_page_stacks;

/* Adds the columns. Returns false if memory runs out; free it in any case. */
bool tide__page_stacks_init(tide_page_stacks *x, const tide_model *m, tide_box *b,
			    tide_page_names *names);
void tide__page_stacks_free(tide_page_stacks *x);

/* Returns its number + 1; 0 for none. */
uint32_t tide__page_stacks_add(tide_page_stacks *x, tide_stack_id s);
uint32_t tide__page_stacks_add_frame(tide_page_stacks *x, tide_frame_id f);

#endif
