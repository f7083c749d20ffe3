// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/page/page_stacks.h"

#include "base/mem.h"

bool tide__page_stacks_init(tide_page_stacks *x, const tide_model *m, tide_box *b,
			    tide_page_names *names)
{
	*x = (tide_page_stacks){ .m = m, .b = b, .names = names };
	x->st_frame = tide__box_add_column(b, "stack_frame", TIDE_COL_UINT);
	x->st_parent = tide__box_add_column(b, "stack_parent", TIDE_COL_UINT);
	x->fr_function = tide__box_add_column(b, "frame_function", TIDE_COL_UINT);
	x->fr_file = tide__box_add_column(b, "frame_file", TIDE_COL_UINT);
	x->fr_line = tide__box_add_column(b, "frame_line", TIDE_COL_UINT);
	x->stack = tide__calloc(m->stacks.n, sizeof *x->stack);
	x->up = tide__calloc(m->stacks.n, sizeof *x->up);
	x->frame = tide__calloc(m->frames.n, sizeof *x->frame);
	return x->stack && x->up && x->frame;
}

void tide__page_stacks_free(tide_page_stacks *x)
{
	tide__free(x->stack);
	tide__free(x->up);
	tide__free(x->frame);
}

uint32_t tide__page_stacks_add_frame(tide_page_stacks *x, tide_frame_id f)
{
	const tide_frames *v = &x->m->frames;
	if (!f.i || x->frame[f.i])
		return f.i ? x->frame[f.i] : 0;
	tide__box_put(x->b, x->fr_function, tide__page_name(x->names, x->b, v->function[f.i]));
	tide__box_put(x->b, x->fr_file, tide__page_name(x->names, x->b, v->file[f.i]));
	tide__box_put(x->b, x->fr_line, v->line[f.i]);
	return x->frame[f.i] = ++x->n_frames;
}

/* Climbs to the nearest numbered node, then numbers the nodes on the way back down, without
 * recursion. `up` keeps the path as parent -> child. */
uint32_t tide__page_stacks_add(tide_page_stacks *x, tide_stack_id s)
{
	const tide_stacks *v = &x->m->stacks;
	uint32_t at = s.i, below = 0;
	while (at && !x->stack[at]) {
		x->up[at] = below;
		below = at;
		at = v->parent[at].i;
	}
	for (; below; below = x->up[below]) {
		tide__box_put(x->b, x->st_frame, tide__page_stacks_add_frame(x, v->frame[below]));
		tide__box_put(x->b, x->st_parent, x->stack[v->parent[below].i]);
		x->stack[below] = ++x->n_stacks;
	}
	return s.i ? x->stack[s.i] : 0;
}
