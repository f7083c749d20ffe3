// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/select_memory.h"

#include <stdlib.h>

#include "analyze/common/stacks.h"
#include "cli/select_names.h"
#include "cli/select_moment.h"
#include "render/text/labels.h"

char *tide__stack_line(const tide_model *m, tide_stack_id s, char *buf, size_t n)
{
	size_t k, len = 0;
	char *text = NULL;
	const char *op = tide__stack_op(m, s, &k);
	FILE *f = open_memstream(&text, &len);

	if (f) {
		tide__stack_brief(m, s, f);
		fclose(f);
	}
	snprintf(buf, n, "%s%s%.*s", text ? text : "?", op ? ", in " : "",
		 op ? (int)(k < 64 ? k : 64) : 0, op ? op : "");
	free(text);
	return buf;
}

/* Many may have one deep stack, so deep ones are cut, and say so. */
enum { MOST_FRAMES = 2048 };

void tide__stack_json(tide_json *j, const char *key, const tide_model *m, tide_stack_id s)
{
	tide__json_karray(j, key);
	for (int k = 0; s.i && k < MOST_FRAMES; k++, s = m->stacks.parent[s.i]) {
		uint32_t f = m->stacks.frame[s.i].i;

		tide__json_object(j);
		tide__json_ktext(j, "function", m, m->frames.function[f]);
		tide__json_ktext(j, "file", m, m->frames.file[f]);
		tide__json_kuint(j, "line", m->frames.line[f]);
		tide__json_object_end(j);
	}
	if (s.i) {
		tide__json_object(j);
		tide__json_kstr(j, "function", "[more frames]");
		tide__json_kstr(j, "file", "");
		tide__json_kuint(j, "line", 0);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

char *tide__group_line(const tide_groups *g, const tide_model *m, size_t row, char *buf, size_t n)
{
	char *text = NULL;
	size_t len = 0;

	if (g->by == TIDE_BY_STACK && g->rows[row].key && g->rows[row].key != TIDE_GROUP_BEFORE)
		return tide__stack_line(m, (tide_stack_id){ (uint32_t)g->rows[row].key }, buf, n);
	FILE *f = open_memstream(&text, &len);

	if (f) {
		tide__groups_label(g, m, row, &(tide_long){ .brief = true }, f);
		fclose(f);
	}
	snprintf(buf, n, "%s", text ? text : "?");
	free(text);
	return buf;
}

bool tide__story_device(const tide_args *a, const tide_value *v, const tide_model *m, uint32_t *out,
			int *rc)
{
	tide_usage u = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };

	*rc = 2;
	if (!tide__cli_device(a, v, m, out))
		return false;
	if (*out != UINT32_MAX)
		return true;
	if (tide__usage(m, UINT64_MAX, 0, &u, &err) != TIDE_OK) {
		*rc = tide__cli_fail(a->files[0], &err);
		tide__usage_free(&u);
		return false;
	}
	*out = tide__usage_highest(&u);
	tide__usage_free(&u);
	return true;
}

void tide__grid_out(tide_grid *g, const tide_args *a, int indent)
{
	tide__grid_print(g, a->out, &a->style, indent);
	tide__grid_free(g);
}
