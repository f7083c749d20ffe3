// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A small hand-written parser: the figure from the left, the limit from the right of the last ')',
 * because names may hold anything, brackets and '>' included. */
#include "analyze/compare/thresholds.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/wide.h"
#include "model/kind_names.h"

/* ---- parsing ---- */

typedef struct parser {
	const char *text, *at;
	tide_failif *f;
	tide_error *err;
} parser;

static tide_code bad(parser *p, const char *at, const char *what)
{
	return tide__fail(p->err, TIDE_EUSAGE, (uint64_t)(at - p->text), "%s", what);
}

static void blanks(parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static const struct function {
	const char *name;
	tide_fail_function function;
	tide_unit unit;
} functions[] = {
	{ "count", TIDE_FAIL_COUNT, TIDE_UNIT_COUNT },
	{ "op_time", TIDE_FAIL_OP_TIME, TIDE_UNIT_NS },
	{ "self_time", TIDE_FAIL_SELF_TIME, TIDE_UNIT_NS },
	{ "kernel_time", TIDE_FAIL_KERNEL_TIME, TIDE_UNIT_NS },
	{ "peak", TIDE_FAIL_PEAK, TIDE_UNIT_BYTES },
};

/* Accepts known roles only: a misspelt one would be 0 in every trace, and the check would never
 * fail. */
static bool some_role(const char *pattern, size_t n)
{
	for (unsigned k = 0; k < tide__kind_names_count(tide__role_text); k++)
		if (tide__glob_match(pattern, n, tide__role_text(k), strlen(tide__role_text(k))))
			return true;
	return false;
}

static tide_code function(parser *p, const char *name, size_t n)
{
	const char *open = p->at, *close = strrchr(p->at, ')');
	const struct function *fn = NULL;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strlen(functions[i].name) == n && !memcmp(functions[i].name, name, n))
			fn = &functions[i];
	if (!fn)
		return bad(p, name,
			   "no such function: count, op_time, self_time, kernel_time or peak");
	if (!close)
		return bad(p, open, "the '(' is not closed");
	if (close == open + 1)
		return bad(p, open + 1, "a name is missing inside the brackets");
	p->f->function = fn->function;
	p->f->unit = fn->unit;
	p->f->pattern = open + 1;
	p->f->n_pattern = (size_t)(close - open) - 1;
	p->at = close + 1;
	if (fn->function == TIDE_FAIL_PEAK && !some_role(p->f->pattern, p->f->n_pattern))
		return bad(p, open + 1,
			   "no such role: parameter, gradient, optimizer, activation, input, "
			   "temporary, buffer, kv_cache, workspace or unknown");
	return TIDE_OK;
}

static const char *metric_name(const void *user, size_t k)
{
	return tide__metrics[k].key;
}

static tide_code no_figure(parser *p, const char *name, size_t n)
{
	char word[32] = "";
	if (n < sizeof word)
		memcpy(word, name, n);
	const char *near = tide__nearest(word, metric_name, NULL, TIDE_N_METRICS);
	if (!near)
		return bad(p, name, "no such figure: see `tidemark diff --help`");
	return tide__fail(p->err, TIDE_EUSAGE, (uint64_t)(name - p->text),
			  "no such figure (did you mean %s?)", near);
}

static tide_code figure(parser *p)
{
	blanks(p);
	const char *name = p->at;
	while ((*p->at >= 'a' && *p->at <= 'z') || *p->at == '_')
		p->at++;
	size_t n = (size_t)(p->at - name);
	if (!n)
		return bad(p, name, "a figure is expected, such as peak or gpu_time");
	blanks(p);
	if (*p->at == '(')
		return function(p, name, n);
	for (unsigned k = 0; k < TIDE_N_METRICS; k++)
		if (strlen(tide__metrics[k].key) == n && !memcmp(tide__metrics[k].key, name, n)) {
			p->f->metric = (tide_metric)k;
			p->f->unit = tide__metrics[k].unit;
			return TIDE_OK;
		}
	return no_figure(p, name, n);
}

static tide_code compare(parser *p)
{
	blanks(p);
	if (*p->at != '>' && *p->at != '<')
		return bad(p, p->at, "'>', '>=', '<' or '<=' is expected, as in peak>+2%");
	p->f->less = *p->at++ == '<';
	p->f->or_equal = *p->at == '=';
	p->at += p->f->or_equal;
	return TIDE_OK;
}

static tide_code number(parser *p)
{
	const char *first = p->at;
	int digits = 0;
	bool point = false;
	p->f->scale = 1;
	for (; (*p->at >= '0' && *p->at <= '9') || (*p->at == '.' && !point); p->at++) {
		if (*p->at == '.') {
			point = true;
			continue;
		}
		if (++digits > 15)
			return bad(p, first, "the number has too many digits");
		p->f->number = p->f->number * 10 + (*p->at - '0');
		if (point)
			p->f->scale *= 10;
	}
	return digits ? TIDE_OK : bad(p, first, "a number is expected");
}

static const struct unit {
	const char *name;
	int unit; /* tide_unit */
	int64_t factor;
} units[] = {
	{ "ns", TIDE_UNIT_NS, 1 },
	{ "us", TIDE_UNIT_NS, 1000 },
	{ "ms", TIDE_UNIT_NS, 1000000 },
	{ "s", TIDE_UNIT_NS, 1000000000 },
	{ "B", TIDE_UNIT_BYTES, 1 },
	{ "KiB", TIDE_UNIT_BYTES, 1024 },
	{ "MiB", TIDE_UNIT_BYTES, 1048576 },
	{ "GiB", TIDE_UNIT_BYTES, 1073741824 },
	{ "TiB", TIDE_UNIT_BYTES, 1099511627776 },
	{ "KB", TIDE_UNIT_BYTES, 1024 },
	{ "MB", TIDE_UNIT_BYTES, 1048576 },
	{ "GB", TIDE_UNIT_BYTES, 1073741824 },
	{ "TB", TIDE_UNIT_BYTES, 1099511627776 },
};

static tide_code unit(parser *p)
{
	static const char *const wanted[] = {
		"this figure is a count: the limit has no unit",
		"this figure is a time: ns, us, ms or s is expected, or +2%",
		"this figure is in bytes: B, KiB, MiB, GiB or TiB, or +2%"
	};
	blanks(p);
	const char *name = p->at;
	size_t n = strcspn(name, " \t");
	p->f->factor = 1;
	p->at += n;
	if (*name == '%' && n == 1) {
		p->f->percent = true;
		return p->f->change ? TIDE_OK
				    : bad(p, name, "a percentage is a change: write +2% or -2%");
	}
	if (!n) /* counts and 0 need no unit */
		return p->f->unit == 0 || !p->f->number ? TIDE_OK
							: bad(p, name, wanted[p->f->unit]);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == n && !memcmp(units[i].name, name, n) &&
		    units[i].unit == (int)p->f->unit) {
			p->f->factor = units[i].factor;
			return TIDE_OK;
		}
	return bad(p, name, wanted[p->f->unit]);
}

static tide_code limit(parser *p)
{
	blanks(p);
	bool minus = *p->at == '-';
	p->f->change = minus || *p->at == '+';
	p->at += p->f->change;
	blanks(p);
	tide_code rc = number(p);
	if (rc == TIDE_OK)
		rc = unit(p);
	if (minus)
		p->f->number = -p->f->number;
	return rc;
}

tide_code tide__failif_parse(const char *text, tide_failif *out, tide_error *err)
{
	parser p = { text, text, out, err };
	*out = (tide_failif){ 0 };
	tide_code rc = figure(&p);
	if (rc == TIDE_OK)
		rc = compare(&p);
	if (rc == TIDE_OK)
		rc = limit(&p);
	if (rc != TIDE_OK)
		return rc;
	blanks(&p);
	return *p.at ? bad(&p, p.at, "nothing is expected after the limit") : TIDE_OK;
}

/* ---- names ---- */

bool tide__glob_match(const char *pattern, size_t n_pattern, const char *text, size_t n)
{
	size_t i = 0, k = 0, star = SIZE_MAX, back = 0;
	while (k < n) {
		if (i < n_pattern && pattern[i] == '*') {
			star = i++;
			back = k;
		} else if (i < n_pattern && pattern[i] == text[k]) {
			i++;
			k++;
		} else if (star != SIZE_MAX) { /* let the last star match one more character */
			i = star + 1;
			k = ++back;
		} else {
			return false;
		}
	}
	while (i < n_pattern && pattern[i] == '*')
		i++;
	return i == n_pattern;
}

typedef struct column {
	tide_diff_kind kind;
	size_t at; /* offset of the A, B pair in tide_diff_row */
} column;

static void add_matching(const tide_failif *f, const tide_diff *d, column c, tide_fail_result *r)
{
	const tide_diff_table *t = &d->table[c.kind];
	for (size_t i = 0; i < t->n; i++) {
		size_t n;
		const char *name = tide__flame_name(d->tree, t->rows[i].node, &n);
		uint64_t pair[2];
		if (!tide__glob_match(f->pattern, f->n_pattern, name, n))
			continue;
		memcpy(pair, (const char *)&t->rows[i] + c.at, sizeof pair);
		r->a += pair[0];
		r->b += pair[1];
		r->matched = true;
	}
}

/* Sums the time of matching host spans inside no other matching one: `aten::*` must not count
 * nested ops again. A node comes after its parent. */
static uint64_t outermost_time(const tide_failif *f, const tide_flame *tree, bool *matched)
{
	const tide_nodes *t = &tree->nodes;
	uint8_t *in = tide__calloc(t->n, 1); /* matches, or is inside one that does */
	uint64_t sum = 0;
	for (uint32_t i = 1; in && i < t->n; i++) {
		size_t n;
		const char *name = tide__flame_name(tree, i, &n);
		bool hit = tide__glob_match(f->pattern, f->n_pattern, name, n);
		if (hit && !in[t->parent[i]])
			sum += t->total[i];
		in[i] = hit || in[t->parent[i]];
		*matched |= hit;
	}
	tide__free(in);
	return sum;
}

/* The columns that a function sums, and the metric that shows whether a trace has them. */
static const struct {
	column columns[2];
	size_t n;
	tide_metric known;
} sums[] = {
	[TIDE_FAIL_COUNT] = { { { TIDE_DIFF_OP, offsetof(tide_diff_row, count) },
				{ TIDE_DIFF_KERNEL, offsetof(tide_diff_row, count) } },
			      2,
			      TIDE_METRIC_TIME },
	[TIDE_FAIL_OP_TIME] = { { { TIDE_DIFF_OP, offsetof(tide_diff_row, total) } },
				1,
				TIDE_METRIC_CPU_TIME },
	[TIDE_FAIL_SELF_TIME] = { { { TIDE_DIFF_OP, offsetof(tide_diff_row, value) } },
				  1,
				  TIDE_METRIC_CPU_TIME },
	[TIDE_FAIL_KERNEL_TIME] = { { { TIDE_DIFF_KERNEL, offsetof(tide_diff_row, value) } },
				    1,
				    TIDE_METRIC_GPU_TIME },
	[TIDE_FAIL_PEAK] = { { { TIDE_DIFF_ROLE, offsetof(tide_diff_row, value) } },
			     1,
			     TIDE_METRIC_PEAK },
};

/* ---- the decision ---- */

/* Compares x with number / scale × factor, both sides multiplied by scale (and by 100 for percent
 * of a). */
bool tide__failif_crossed(const tide_failif *f, uint64_t a, uint64_t b)
{
	tide_i128 x = f->change ? (tide_i128)b - (tide_i128)a : (tide_i128)b;
	tide_i128 left = x * f->scale * (f->percent ? 100 : 1);
	tide_i128 right = (tide_i128)f->number * (f->percent ? (tide_i128)a : (tide_i128)f->factor);
	if (left == right)
		return f->or_equal;
	return f->less ? left < right : left > right;
}

tide_fail_result tide__failif_check(const tide_failif *f, const tide_diff *d)
{
	tide_fail_result r = { 0 };
	tide_metric known = f->metric;
	if (f->function == TIDE_FAIL_METRIC) {
		r.matched = true;
		r.a = d->metric[f->metric][0];
		r.b = d->metric[f->metric][1];
	} else if (f->function == TIDE_FAIL_OP_TIME && d->host[0] && d->host[1]) {
		known = sums[f->function].known;
		r.a = outermost_time(f, d->host[0], &r.matched);
		r.b = outermost_time(f, d->host[1], &r.matched);
	} else {
		known = sums[f->function].known;
		for (size_t i = 0; i < sums[f->function].n; i++)
			add_matching(f, d, sums[f->function].columns[i], &r);
	}
	for (int side = 0; side < 2; side++)
		r.known[side] = f->function == TIDE_FAIL_COUNT
					? d->known[TIDE_METRIC_OPS][side] ||
						  d->known[TIDE_METRIC_KERNELS][side]
					: d->known[known][side];
	r.decided = r.known[1] && (r.known[0] || !f->change);
	r.crossed = r.decided && tide__failif_crossed(f, r.a, r.b);
	return r;
}
