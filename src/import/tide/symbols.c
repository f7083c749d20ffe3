// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/symbols.h"

#include "base/error.h"
#include "base/mem.h"

struct names { /* of a frame row: symbols[first .. first + n), outermost first */
	uint32_t first, n;
};

/* Groups symbols by frame row. A frame whose records are not consecutive keeps the first group. */
static bool group(const tide_defs *d, struct names *of)
{
	for (size_t i = 0; i < d->n_symbols;) {
		uint64_t frame = d->symbols[i].frame;
		size_t from = i;
		while (i < d->n_symbols && d->symbols[i].frame == frame)
			i++;
		uint32_t row = frame < d->frames.n ? d->frames.v[frame] : 0;
		if (row && !of[row].n && i <= UINT32_MAX)
			of[row] = (struct names){ (uint32_t)from, (uint32_t)(i - from) };
	}
	return true;
}

/* Adds the frame under `parent`, as one stack node or several (inlined functions). Returns 0 if
 * memory runs out. */
static tide_stack_id push(tide_defs *d, const struct names *of, tide_stack_id parent,
			  uint32_t frame)
{
	tide_stack_id at = parent;
	if (!of[frame].n)
		return tide__stack_intern(d->m, parent, (tide_frame_id){ frame });
	for (uint32_t i = 0; i < of[frame].n; i++) {
		const struct tide_symbol *s = &d->symbols[of[frame].first + i];
		tide_frame_id f = tide__frame_intern(d->m, s->function, s->file, s->line);
		at = f.i ? tide__stack_intern(d->m, at, f) : (tide_stack_id){ 0 };
		if (!at.i)
			break;
	}
	return at;
}

tide_code tide__symbols_apply(tide_defs *d, tide_error *err)
{
	tide_model *m = d->m;
	size_t frames = m->frames.n, stacks = m->stacks.n;
	if (!d->n_symbols)
		return TIDE_OK;
	struct names *of = tide__calloc(frames, sizeof *of);
	uint32_t *now = tide__calloc(stacks, sizeof *now);
	bool ok = of && now && group(d, of);
	for (size_t i = 1; ok && i < stacks; i++) { /* a parent is a smaller id */
		tide_stack_id parent = { now[m->stacks.parent[i].i] };
		now[i] = push(d, of, parent, m->stacks.frame[i].i).i;
		ok = now[i] != 0;
	}
	for (size_t i = 0; ok && i < d->stacks.n; i++)
		d->stacks.v[i] = now[d->stacks.v[i]];
	tide__free(of);
	tide__free(now);
	return ok ? TIDE_OK : tide__nomem(err);
}
