// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/flop_rules.h"

#include <stdint.h>
#include <string.h>

enum { TENSORS = 12, DIMS = 8 };

typedef struct shape {
	size_t n;
	double d[DIMS];
} shape;

typedef struct shapes {
	size_t n;
	shape v[TENSORS];
} shapes;

/* ---- reading ---- */

static const char *blanks(const char *s)
{
	while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')
		s++;
	return s;
}

/* Reads a list of numbers >= 0, "[1, 2]". Returns its end; NULL if it is not a list, or too long. */
static const char *read_list(const char *s, shape *out)
{
	out->n = 0;
	if (*s++ != '[')
		return NULL;
	for (s = blanks(s); *s != ']';) {
		double v = 0;
		const char *from = s;
		for (; *s >= '0' && *s <= '9'; s++)
			v = v * 10 + (*s - '0');
		if (s == from || out->n == DIMS || v > 9e15)
			return NULL;
		out->d[out->n++] = v;
		s = blanks(s);
		if (*s == ',')
			s = blanks(s + 1);
		else if (*s != ']')
			return NULL;
	}
	return s + 1;
}

/* Reads the shapes of the first inputs; others are ignored. */
static bool read_dims(const char *s, shapes *out)
{
	out->n = 0;
	if (!s || *s++ != '[')
		return false;
	for (s = blanks(s); *s != ']' && out->n < TENSORS;) {
		s = read_list(s, &out->v[out->n++]);
		if (!s)
			return false;
		s = blanks(s);
		if (*s == ',')
			s = blanks(s + 1);
		else if (*s != ']')
			return false;
	}
	return true;
}

/* Returns the k-th text of a list of texts without its quotes, NULL if there is none. */
static const char *nth(const char *s, size_t k)
{
	if (!s || *s++ != '[')
		return NULL;
	for (size_t i = 0;; i++) {
		s = blanks(s);
		if (*s != '"')
			return NULL;
		if (i == k)
			return s + 1;
		s = strchr(s + 1, '"'); /* numbers, lists of them and words have no quotes */
		if (!s)
			return NULL;
		s = blanks(s + 1);
		if (*s++ != ',')
			return NULL;
	}
}

static bool is_word(const char *s, const char *word)
{
	return s && !strncmp(s, word, strlen(word));
}

static bool has(const shapes *s, size_t k, size_t dims)
{
	return k < s->n && s->v[k].n == dims;
}

static double product(const shape *s, size_t from)
{
	double v = 1;
	for (size_t i = from; i < s->n; i++)
		v *= s->d[i];
	return v;
}

/* ---- matrix products ---- */

/* Counts the product of inputs k and k + 1, of two dimensions, or of three with a batch first. */
static bool matmul(const tide_flop_text *t, size_t k, size_t dims, tide_flop_cost *out)
{
	shapes s;
	if (!read_dims(t->dims, &s) || !has(&s, k, dims) || !has(&s, k + 1, dims))
		return false;
	const double *a = s.v[k].d, *b = s.v[k + 1].d;
	double batch = dims == 3 ? a[0] : 1;
	size_t at = dims - 2;
	if (a[at + 1] != b[at] || (dims == 3 && a[0] != b[0]))
		return false;
	out->flops = 2 * batch * a[at] * a[at + 1] * b[at + 1];
	out->elements = product(&s.v[k], 0) + product(&s.v[k + 1], 0) + batch * a[at] * b[at + 1];
	if (k)
		out->elements += product(&s.v[0], 0);
	return true;
}

static bool mm(const tide_flop_text *t, tide_flop_cost *out)
{
	return matmul(t, 0, 2, out);
}
static bool addmm(const tide_flop_text *t, tide_flop_cost *out)
{
	return matmul(t, 1, 2, out);
}
static bool bmm(const tide_flop_text *t, tide_flop_cost *out)
{
	return matmul(t, 0, 3, out);
}
static bool baddbmm(const tide_flop_text *t, tide_flop_cost *out)
{
	return matmul(t, 1, 3, out);
}

/* ---- convolutions ---- */

/* Returns the points of the output in one dimension; a list of one number applies to every
 * dimension. */
static double points(const shape *x, const shape *w, const shape *stride, const shape *padding,
		     const shape *dilation, size_t i)
{
	double p = padding->d[padding->n > i ? i : 0], d = dilation->d[dilation->n > i ? i : 0],
	       s = stride->d[stride->n > i ? i : 0];
	double span = x->d[i + 2] + 2 * p - d * (w->d[i + 2] - 1) - 1;
	return span < 0 || s < 1 ? 0 : (double)(int64_t)(span / s) + 1;
}

/* Returns the operations of one pass of kernel `w` over `points` positions. */
static double pass(double batch, double points, const shape *w)
{
	return 2 * batch * points * product(w, 0);
}

static bool read_nth(const tide_flop_text *t, size_t k, shape *out)
{
	const char *s = nth(t->concrete, k);
	return s && read_list(s, out) && out->n;
}

static bool convolution(const tide_flop_text *t, tide_flop_cost *out)
{
	shapes s;
	shape stride, padding, dilation;
	if (!read_dims(t->dims, &s) || s.n < 2 || s.v[0].n < 3 || s.v[1].n != s.v[0].n ||
	    !read_nth(t, 3, &stride) || !read_nth(t, 4, &padding) || !read_nth(t, 5, &dilation))
		return false;
	const shape *x = &s.v[0], *w = &s.v[1];
	bool transposed = is_word(nth(t->concrete, 6), "True");
	double slid = transposed ? product(x, 2) : 1;
	for (size_t i = 0; !transposed && i + 2 < x->n; i++)
		slid *= points(x, w, &stride, &padding, &dilation, i);
	out->flops = pass(x->d[0], slid, w);
	/* the output size of a transposed convolution is not computed: its input counts twice */
	out->elements = product(x, 0) + product(w, 0) +
			(transposed ? product(x, 0) : x->d[0] * w->d[0] * slid);
	return true;
}

static bool convolution_backward(const tide_flop_text *t, tide_flop_cost *out)
{
	shapes s;
	const char *mask = nth(t->concrete, 10);
	if (!read_dims(t->dims, &s) || s.n < 3 || s.v[0].n < 3 || s.v[1].n != s.v[0].n ||
	    s.v[2].n != s.v[0].n || !mask || *mask != '[')
		return false;
	const shape *grad = &s.v[0], *x = &s.v[1], *w = &s.v[2];
	const char *second = strchr(mask, ',');
	bool transposed = is_word(nth(t->concrete, 7), "True");
	int passes = is_word(mask + 1, "True") + (second && is_word(blanks(second + 1), "True"));
	out->flops = passes * pass(x->d[0], product(transposed ? x : grad, 2), w);
	out->elements = product(grad, 0) + product(x, 0) + product(w, 0) +
			(is_word(mask + 1, "True") ? product(x, 0) : 0) +
			(second && is_word(blanks(second + 1), "True") ? product(w, 0) : 0);
	return true;
}

/* ---- attention: batch, heads, length, width ---- */

static bool attention_of(const tide_flop_text *t, size_t k, int q_products, int v_products,
			 tide_flop_cost *out)
{
	shapes s;
	if (!read_dims(t->dims, &s) || !has(&s, k, 4) || !has(&s, k + 1, 4) || !has(&s, k + 2, 4))
		return false;
	const double *q = s.v[k].d, *key = s.v[k + 1].d, *v = s.v[k + 2].d;
	if (q[3] != key[3] || key[2] != v[2])
		return false;
	out->flops = 2 * q[0] * q[1] * q[2] * key[2] * (q_products * q[3] + v_products * v[3]);
	double result = q[0] * q[1] * q[2] * v[3],
	       inputs = product(&s.v[k], 0) + product(&s.v[k + 1], 0) + product(&s.v[k + 2], 0);
	out->elements = k ? 2 * inputs + 2 * result : inputs + result;
	return true;
}

static bool attention(const tide_flop_text *t, tide_flop_cost *out)
{
	return attention_of(t, 0, 1, 1, out);
}
/* Counts the scores again, then the gradients of scores, values, queries and keys; the gradient is
 * the first input. */
static bool attention_backward(const tide_flop_text *t, tide_flop_cost *out)
{
	return attention_of(t, 1, 3, 2, out);
}

#define SDPA "aten::_scaled_dot_product_"
const tide_flop_op tide__flop_ops[] = {
	{ "aten::mm", mm },
	{ "aten::addmm", addmm },
	{ "aten::bmm", bmm },
	{ "aten::baddbmm", baddbmm },
	{ "aten::_scaled_mm", mm },
	{ "aten::convolution", convolution },
	{ "aten::convolution_backward", convolution_backward },
	{ SDPA "flash_attention", attention },
	{ SDPA "flash_attention_for_cpu", attention },
	{ SDPA "efficient_attention", attention },
	{ SDPA "cudnn_attention", attention },
	{ SDPA "flash_attention_backward", attention_backward },
	{ SDPA "flash_attention_for_cpu_backward", attention_backward },
	{ SDPA "efficient_attention_backward", attention_backward },
	{ SDPA "cudnn_attention_backward", attention_backward },
};
const size_t tide__flop_ops_count = sizeof tide__flop_ops / sizeof *tide__flop_ops;
