// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/common/stacks.h"
#include "render/text/format.h"

void tide__write_heading(const tide_out *to, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	fputs(to->style.color ? "\033[1m" : "", to->out);
	if (n >= 0) {
		tide__put_text(to, text); /* names of the input may be in it */
		free(text);
	}
	fputs(to->style.color ? "\033[0m\n" : "\n", to->out);
}

void tide__put_text(const tide_out *to, const char *text)
{
	tide__put_name(to->out, text, strlen(text), 0, to->style.ascii);
}

void tide__put_model_losses(const tide_out *to, const tide_model *m)
{
	tide__put_losses(m, to->out, &to->style);
}

void tide__grid_write(tide_grid *g, const tide_out *to, int indent)
{
	tide__grid_print(g, to->out, &to->style, indent);
	tide__grid_free(g);
}

const char *tide__wall_text(int64_t wall_ns, char *buf, size_t n)
{
	char day[40];
	struct tm tm;
	int64_t part = wall_ns % 1000000000;
	time_t s = (time_t)(wall_ns / 1000000000 - (part < 0));
	if (!gmtime_r(&s, &tm) || !strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, n, "%" PRId64 " ns", wall_ns);
	else
		snprintf(buf, n, "%s.%09" PRId64 " UTC", day, part < 0 ? part + 1000000000 : part);
	return buf;
}

void tide__start_json(tide_json *j, const tide_model *m)
{
	if (m->wall_known)
		tide__json_kint(j, "start_wall_ns", m->wall0_ns);
	else
		tide__json_knull(j, "start_wall_ns");
	int64_t basis = tide__fact_find(m, "alloc.basis");
	if (m->axis != TIDE_AXIS_TIME)
		tide__json_kstr(j, "time_axis", tide__axis_text(m->axis));
	if (basis >= 0)
		tide__json_ktext(j, "alloc_basis", m, m->facts.text[basis]);
}

void tide__grid_put_name(tide_grid *g, const tide_model *m, tide_str s)
{
	tide__grid_name(g, m->strings, s.i);
}

void tide__grid_put_known(tide_grid *g, uint64_t v)
{
	if (v)
		tide__grid_uint(g, v);
	else
		tide__grid_none(g);
}

char *tide__stack_write_line(const tide_model *m, tide_stack_id s, char *buf, size_t n)
{
	size_t k, len = 0;
	char *text = NULL;
	const char *op = tide__stack_op(m, s, &k);
	FILE *f = open_memstream(&text, &len);

	if (f) {
		tide__stack_write_brief(m, s, f);
		fclose(f);
	}
	snprintf(buf, n, "%s%s%.*s", text ? text : "?", op ? ", in " : "",
		 op ? (int)(k < 64 ? k : 64) : 0, op ? op : "");
	free(text);
	return buf;
}

/* Many rows may share one deep stack, so deep ones are truncated, with a note. */
enum { MOST_FRAMES = 2048 };

const tide_member tide__stack_members[] = {
	{ "function", NULL, TIDE_KIND_TEXT, .meaning = "function" },
	{ "file", NULL, TIDE_KIND_TEXT, .meaning = "source file; empty: unknown" },
	{ "line", NULL, TIDE_KIND_COUNT, .meaning = "line; 0: unknown" },
	{ 0 },
};

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

char *tide__group_write_line(const tide_groups *g, const tide_model *m, size_t row, char *buf,
			     size_t n)
{
	char *text = NULL;
	size_t len = 0;

	if (g->by == TIDE_BY_STACK && g->rows[row].key && g->rows[row].key != TIDE_GROUP_BEFORE)
		return tide__stack_write_line(m, (tide_stack_id){ (uint32_t)g->rows[row].key }, buf,
					      n);
	FILE *f = open_memstream(&text, &len);

	if (f) {
		tide__groups_write_brief(g, m, row, &(tide_long){ .brief = true }, f);
		fclose(f);
	}
	snprintf(buf, n, "%s", text ? text : "?");
	free(text);
	return buf;
}
