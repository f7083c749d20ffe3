// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Work of threads: CUDA calls, NVTX ranges and marks, calls of the C library, overhead. */
#include <string.h>

#include "import/nsys/nsys_impl.h"

/* ---- CUDA calls ---- */

enum { CLASS_RUNTIME, CLASS_DRIVER }; /* eventClass */

static bool is_driver(const nsys *n, const tide_db_rows *r, tide_str name)
{
	if (tide__db_is_int(r, 5))
		return tide__db_int(r, 5, 0) == CLASS_DRIVER;
	const char *s = tide__text(n->m, name, NULL);
	return s[0] == 'c' && s[1] == 'u' && s[2] >= 'A' && s[2] <= 'Z';
}

static bool add_call(nsys *n, const tide_db_rows *r)
{
	int64_t t0 = tide__db_int(r, 0, 0), t1 = tide__db_int(r, 1, 0),
		global = tide__db_int(r, 2, 0), correlation = tide__db_int(r, 4, 0);
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	tide_str name = tide__nsys_call_name(n, r, 3);
	unsigned cat = is_driver(n, r, name) ? TIDE_CAT_DRIVER : TIDE_CAT_RUNTIME;
	uint32_t process = tide__nsys_process(n, global);
	uint32_t row = tide__nsys_span(n, t0, t1, tide__nsys_thread(n, global), name, cat);
	if (!row || !process)
		return false;
	if (correlation <= 0)
		return true;
	tide__nsys_set_raw(n, row, process, correlation, -1);
	return tide__nsys_call(n, process, correlation) ||
	       tide__map_put(&n->calls, tide__nsys_key(process, (uint64_t)correlation), row);
}

/* ---- NVTX ---- */

/* eventType; the second is that of files imported from text */
enum { MARK = 34, MARK_TEXT = 65, PUSH_POP = 59, START_END, PUSH_POP_TEXT = 70, START_END_TEXT };

/* PyTorch's emit_nvtx adds numbers and shapes to the names of ops: "aten::add, seq = 5, op_id = 9".
 * Returns the length of the name before them, n if there are none. */
static size_t op_length(const char *s, size_t n)
{
	static const char *const ends[] = { ", seq = ", ", op_id = ", ", sizes = " };
	size_t least = n;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const char *at = memmem(s, least, ends[i], strlen(ends[i]));
		least = at ? (size_t)(at - s) : least;
	}
	return least;
}

/* Finds the name of a range; *cat: a range of emit_nvtx is an op. */
static bool nvtx_name(nsys *n, const tide_db_rows *r, tide_str *out, unsigned *cat)
{
	size_t len;
	const char *text = tide__db_text(r, 4, &len);
	char copy[512];
	*cat = TIDE_CAT_USER;
	*out = (tide_str){ 0 };
	if (!text || !len) {
		*out = tide__nsys_text(n, r, 5);
		text = tide__text(n->m, *out, &len);
	}
	size_t op = op_length(text, len);
	if (op < len && op && op < sizeof copy) {
		memcpy(copy, text, op); /* interning may move texts */
		*cat = TIDE_CAT_OP;
		*out = tide__intern_n(n->m, copy, op);
		return out->i;
	}
	if (!out->i && len)
		*out = tide__intern_n(n->m, text, len);
	return !len || out->i;
}

static bool add_mark(nsys *n, int64_t t, int64_t global, tide_str name)
{
	tide_marks *k = &n->m->marks;
	uint32_t lane = tide__nsys_thread(n, global), row = tide__push(k, &tide_marks_desc);
	if (!row || !lane)
		return false;
	k->t[row] = t;
	k->extra[row] = -1;
	k->name[row] = name;
	k->lane[row].i = lane;
	k->kind[row] = TIDE_MARK_ANNOTATION;
	return true;
}

/* A range without an end was open when the recording ended: load.c ends it. */
static bool add_range(nsys *n, int64_t t0, bool open, int64_t t1, int64_t global, tide_str name,
		      unsigned cat)
{
	uint32_t row = tide__nsys_span(n, t0, t1, tide__nsys_thread(n, global), name, cat);
	if (row && open)
		n->m->spans.flags[row] = TIDE_SPAN_OPEN;
	return row;
}

static bool add_nvtx(nsys *n, const tide_db_rows *r)
{
	int64_t t0 = tide__db_int(r, 0, 0), type = tide__db_int(r, 1, 0),
		global = tide__db_int(r, 2, 0), t1 = tide__db_int(r, 3, t0);
	bool mark = type == MARK || type == MARK_TEXT;
	bool range = type == PUSH_POP || type == START_END || type == PUSH_POP_TEXT ||
		     type == START_END_TEXT;
	unsigned cat;
	tide_str name;
	if (!mark && !range)
		return true; /* names of domains and categories */
	if (!tide__nsys_times(n, t0, mark ? t0 : t1))
		return tide__nsys_bad(n);
	if (!nvtx_name(n, r, &name, &cat))
		return false;
	return mark ? add_mark(n, t0, global, name)
		    : add_range(n, t0, !tide__db_is_int(r, 3), t1, global, name, cat);
}

/* ---- others ---- */

static bool add_other(nsys *n, const tide_db_rows *r, unsigned cat)
{
	int64_t t0 = tide__db_int(r, 0, 0), t1 = tide__db_int(r, 1, 0);
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	tide_str name = tide__nsys_text(n, r, 3);
	return tide__nsys_span(n, t0, t1, tide__nsys_thread(n, tide__db_int(r, 2, 0)), name, cat);
}

static bool add_library_call(nsys *n, const tide_db_rows *r)
{
	return add_other(n, r, TIDE_CAT_OTHER);
}

static bool add_overhead(nsys *n, const tide_db_rows *r)
{
	return add_other(n, r, TIDE_CAT_OVERHEAD);
}

const nsys_table tide__nsys_host[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME",
	  NULL,
	  add_call,
	  3,
	  { "start", "end", "globalTid", "nameId", "correlationId", "eventClass" } },
	{ "NVTX_EVENTS",
	  NULL,
	  add_nvtx,
	  3,
	  { "start", "eventType", "globalTid", "end", "text", "textId" } },
	{ "OSRT_API", NULL, add_library_call, 3, { "start", "end", "globalTid", "nameId" } },
	{ "PROFILER_OVERHEAD", NULL, add_overhead, 3, { "start", "end", "globalTid", "nameId" } },
	{ "CUPTI_ACTIVITY_KIND_OVERHEAD",
	  NULL,
	  add_overhead,
	  3,
	  { "start", "end", "globalTid", "nameId" } },
};
const size_t tide__nsys_n_host = sizeof tide__nsys_host / sizeof *tide__nsys_host;
