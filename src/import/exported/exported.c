// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See exported.h. A document is checked once, with tables of the members that answers read; the
 * answers then only look up. */
#include "import/exported/exported.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/mem.h"
#include "import/source.h"

enum { MOST_BYTES = 64 << 20, MOST_DEPTH = 32, LONGEST_NUMBER = 63, HEAD = 128 };
/* Figures of answers are megabytes or milliseconds: their bytes and nanoseconds fit int64_t. */
#define MOST_FIGURE 8e12

static const char *const kinds[TIDE_EXPORTED_N] = { "hta", "compile", "memory", "session" };

const char *tide__exported_text(tide_exported_kind kind)
{
	return kinds[kind];
}

static tide_code damaged(const tide_exported *e, const char *at, const char *what, tide_error *err)
{
	return tide__fail(err, TIDE_ECORRUPT, tide__jsonr_offset(&e->json, at), "%s", what);
}

/* ---- every value ---- */

bool tide__exported_number(jsonr_node v, double *out)
{
	char text[LONGEST_NUMBER + 1], *end;
	if (v.type != '0' || !v.n || v.n > LONGEST_NUMBER)
		return false;
	memcpy(text, v.at, v.n);
	text[v.n] = 0;
	if (strspn(text, "+-.0123456789eE") != v.n || *text == '+' || *text == '.')
		return false;
	*out = strtod(text, &end);
	return end == text + v.n && isfinite(*out);
}

static bool is_word(jsonr_node v)
{
	const char *word = v.type == 't' ? "true" : v.type == 'f' ? "false" : "null";
	return v.n == strlen(word) && !memcmp(v.at, word, v.n);
}

static tide_code check_value(const tide_exported *e, jsonr_node v, unsigned depth, tide_error *err)
{
	double number;
	jsonr_node key, member;
	if (v.type == '"')
		return TIDE_OK;
	if (v.type == '0')
		return tide__exported_number(v, &number)
			       ? TIDE_OK
			       : damaged(e, v.at, "not a number, or too large", err);
	if (v.type != '{' && v.type != '[')
		return is_word(v) ? TIDE_OK : damaged(e, v.at, "damaged JSON", err);
	if (depth == MOST_DEPTH)
		return damaged(e, v.at, "nested too deeply", err);
	jsonr_nodes w = tide__jsonr_walk(v);
	while (tide__jsonr_next_node(&w, &key, &member)) {
		tide_code rc = check_value(e, member, depth + 1, err);
		if (rc != TIDE_OK)
			return rc;
	}
	return w.bad ? damaged(e, w.at, "damaged JSON", err) : TIDE_OK;
}

/* ---- members that answers use ---- */

enum need { OBJECT, TEXTS, ROWS, FIGURE };

static const struct member {
	tide_exported_kind kind;
	const char *part, *key; /* key NULL = the part itself */
	enum need need;
	bool must; /* a document of the kind has it */
} members[] = {
	{ TIDE_EXPORTED_HTA, "temporal_breakdown", NULL, OBJECT, true },
	{ TIDE_EXPORTED_HTA, "temporal_breakdown", "gpu_idle_pct", FIGURE, false },
	{ TIDE_EXPORTED_HTA, "temporal_breakdown", "compute_pct", FIGURE, false },
	{ TIDE_EXPORTED_HTA, "temporal_breakdown", "communication_pct", FIGURE, false },
	{ TIDE_EXPORTED_HTA, "temporal_breakdown", "memory_pct", FIGURE, false },
	{ TIDE_EXPORTED_HTA, "kernel_analysis", NULL, OBJECT, false },
	{ TIDE_EXPORTED_HTA, "kernel_analysis", "top_kernels", ROWS, false },
	{ TIDE_EXPORTED_HTA, "recommendations", NULL, TEXTS, false },
	{ TIDE_EXPORTED_HTA, "bottlenecks", NULL, TEXTS, false },
	{ TIDE_EXPORTED_COMPILE, "compilation", NULL, OBJECT, true },
	{ TIDE_EXPORTED_COMPILE, "compilation", "compile_time_ms", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "graph_breaks", NULL, OBJECT, false },
	{ TIDE_EXPORTED_COMPILE, "graph_breaks", "total", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "graph_breaks", "breaks", ROWS, false },
	{ TIDE_EXPORTED_COMPILE, "fusion", NULL, OBJECT, false },
	{ TIDE_EXPORTED_COMPILE, "fusion", "ratio", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "performance", NULL, OBJECT, false },
	{ TIDE_EXPORTED_COMPILE, "performance", "speedup", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "performance", "eager_time_ms", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "performance", "compiled_time_ms", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "memory", NULL, OBJECT, false },
	{ TIDE_EXPORTED_COMPILE, "memory", "peak_mb", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "memory", "eager_peak_mb", FIGURE, false },
	{ TIDE_EXPORTED_COMPILE, "recommendations", NULL, TEXTS, false },
	{ TIDE_EXPORTED_MEMORY, "timeline", NULL, ROWS, true },
	{ TIDE_EXPORTED_MEMORY, "peak_analysis", NULL, OBJECT, true },
	{ TIDE_EXPORTED_MEMORY, "peak_analysis", "peak_allocated_mb", FIGURE, false },
	{ TIDE_EXPORTED_SESSION, "timing", NULL, OBJECT, true },
};

/* Columns of rows: figures; with `must` one that no row lacks. */
static const struct column {
	tide_exported_kind kind;
	const char *key;
	bool must;
} columns[] = {
	{ TIDE_EXPORTED_HTA, "time_us", true },
	{ TIDE_EXPORTED_HTA, "count", true },
	{ TIDE_EXPORTED_HTA, "pct", false },
	{ TIDE_EXPORTED_MEMORY, "timestamp_ms", true },
	{ TIDE_EXPORTED_MEMORY, "allocated_mb", true },
	{ TIDE_EXPORTED_MEMORY, "peak_allocated_mb", true },
	{ TIDE_EXPORTED_MEMORY, "reserved_mb", false },
};

static bool is_figure(jsonr_node v, bool must)
{
	double x;
	if (!must && (!v.type || v.type == 'n'))
		return true;
	return tide__exported_number(v, &x) && x >= 0 && x <= MOST_FIGURE;
}

static tide_code check_row(const tide_exported *e, jsonr_node row, tide_error *err)
{
	if (row.type != '{')
		return damaged(e, row.at, "a row is not an object", err);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		jsonr_node v;
		(void)tide__jsonr_get(row, columns[i].key, &v);
		if (columns[i].kind == e->kind && !is_figure(v, columns[i].must))
			return damaged(e, v.type ? v.at : row.at,
				       "a figure of a row is missing or out of range", err);
	}
	return TIDE_OK;
}

static tide_code check_list(const tide_exported *e, jsonr_node list, bool rows, tide_error *err)
{
	jsonr_node key, v;
	tide_code rc = TIDE_OK;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (rc == TIDE_OK && tide__jsonr_next_node(&w, &key, &v))
		if (rows)
			rc = check_row(e, v, err);
		else if (v.type != '"')
			rc = damaged(e, v.at, "not a text", err);
	return rc;
}

jsonr_node tide__exported_get(const tide_exported *e, const char *part, const char *key)
{
	jsonr_node v = { 0 };
	if (tide__jsonr_get(e->doc, part, &v) && key) {
		jsonr_node whole = v;
		(void)tide__jsonr_get(whole, key, &v);
	}
	return v;
}

static tide_code check_member(const tide_exported *e, const struct member *m, tide_error *err)
{
	jsonr_node v = tide__exported_get(e, m->part, m->key);
	if (!v.type)
		return m->must ? damaged(e, e->doc.at, "a part of the report is missing", err)
			       : TIDE_OK;
	if (m->need == FIGURE)
		return is_figure(v, false) ? TIDE_OK
					   : damaged(e, v.at, "a figure is out of range", err);
	if (v.type != (m->need == OBJECT ? '{' : '['))
		return damaged(e, v.at, "a part of the report has another type", err);
	return m->need == OBJECT ? TIDE_OK : check_list(e, v, m->need == ROWS, err);
}

bool tide__exported_figures(const tide_exported *e)
{
	bool any = e->kind == TIDE_EXPORTED_SESSION;
	for (size_t i = 0; !any && i < sizeof members / sizeof *members; i++) {
		const struct member *m = &members[i];
		double x;
		jsonr_node key, row, v = tide__exported_get(e, m->part, m->key);
		jsonr_nodes w = tide__jsonr_walk(v);
		if (m->kind != e->kind)
			continue;
		any = m->need == FIGURE ? tide__exported_number(v, &x)
					: m->need == ROWS && tide__jsonr_next_node(&w, &key, &row);
	}
	return any;
}

/* ---- the document ---- */

static tide_code find_kind(tide_exported *e, tide_error *err)
{
	jsonr_node v;
	if (e->doc.type != '{' || !tide__jsonr_get(e->doc, "format", &v) ||
	    !tide__jsonr_is(v, "tidemark-profiling"))
		return tide__fail(err, TIDE_EFORMAT, 0, "not a report of tidemark.profiling");
	(void)tide__jsonr_get(e->doc, "report", &v);
	for (int i = 0; i < TIDE_EXPORTED_N; i++)
		if (v.type == '"' && tide__jsonr_is(v, kinds[i])) {
			e->kind = (tide_exported_kind)i;
			return TIDE_OK;
		}
	return damaged(e, v.type ? v.at : e->doc.at, "a report of an unknown kind", err);
}

tide_code tide__exported_read(const char *text, size_t n, tide_exported *e, tide_error *err)
{
	*e = (tide_exported){ 0 };
	if (!n)
		return tide__fail(err, TIDE_EFORMAT, 0, "the file is empty");
	if (!tide__jsonr_open(&e->json, text, n, &e->doc))
		return e->json.why == JSONR_NOMEM ? tide__nomem(err)
		       : e->json.why == JSONR_MORE
			       ? tide__fail(err, TIDE_ECORRUPT, n, "the report is truncated")
			       : tide__fail(err, TIDE_ECORRUPT, 0, "damaged JSON");
	tide_code rc = find_kind(e, err);
	rc = rc == TIDE_OK ? check_value(e, e->doc, 0, err) : rc;
	for (size_t i = 0; rc == TIDE_OK && i < sizeof members / sizeof *members; i++)
		if (members[i].kind == e->kind)
			rc = check_member(e, &members[i], err);
	return rc;
}

bool tide__exported_begins(const char *path)
{
	static const char *const words[] = { "{", "\"format\"", ":", "\"tidemark-profiling\"" };
	char head[HEAD + 1] = "";
	size_t n = 0;
	int fd = tide__input_open(path, O_NONBLOCK);
	if (fd < 0)
		return false;
	bool ok = tide__input_read_at(fd, (uint8_t *)head, HEAD, 0, &n);
	close(fd);
	const char *s = head;
	for (size_t i = 0; ok && i < sizeof words / sizeof *words; i++) {
		s += strspn(s, " \t\r\n");
		ok = !strncmp(s, words[i], strlen(words[i]));
		s += ok ? strlen(words[i]) : 0;
	}
	return ok;
}

tide_code tide__exported_load(const char *path, tide_exported *e, tide_error *err)
{
	tide_whole_file in = { 0 };
	*e = (tide_exported){ 0 };
	if (!tide__exported_begins(path))
		return tide__fail(err, TIDE_EFORMAT, 0, "not a report of tidemark.profiling");
	tide_code rc = tide__source_read_all(path, 0, MOST_BYTES, 0, &in, err);
	if (rc == TIDE_OK)
		rc = tide__exported_read((const char *)in.data, in.n, e, err);
	tide__free(in.data);
	return rc;
}

void tide__exported_free(tide_exported *e)
{
	tide__jsonr_fini(&e->json);
}
