// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Matrix products and convolutions. */
#include <math.h>
#include <string.h>

#include "analyze/roofline/op_cost.h"

/* ---- matrix products ---- */

/* Numbers of c10::ScalarType as an argument "dtype" has them. */
static tide_number type_of_argument(const tide_op_inputs *x, size_t k, tide_number other)
{
	static const struct {
		int number;
		tide_number type;
	} types[] = { { 5, TIDE_NUM_FLOAT16 }, { 6, TIDE_NUM_FLOAT32 }, { 15, TIDE_NUM_BFLOAT16 } };
	double v = tide__op_int(x, k, -1);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (v == types[i].number)
			return types[i].type;
	return v < 0 ? other : TIDE_NUM_UNKNOWN;
}

static double size_of(tide_number t)
{
	return t ? tide__number_bytes(t) : (double)NAN;
}

/* Ops whose result has another type than their first matrix: where its type is. */
static tide_number type_of_result(const tide_op_rule *r, const tide_op_inputs *x, size_t k)
{
	tide_number t = tide__op_type(x, k);
	if (strstr(r->name, "_int_mm"))
		return TIDE_NUM_INT32;
	if (strstr(r->name, "_scaled_mm"))
		return type_of_argument(x, 6, t);
	if (strstr(r->name, "_scaled_grouped_mm"))
		return type_of_argument(x, 7, t);
	return strstr(r->name, "_grouped_mm") ? type_of_argument(x, 4, t) : t;
}

/* a: the first matrix; b: its dimensions, 2, or 3 with a batch first. Tensors behind the matrices
 * are biases and scales, but for mm(out=). */
bool tide__cost_matmul(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		       tide_op_cost *out)
{
	(void)c;
	size_t k = (size_t)r->a, at = (size_t)r->b - 2;
	const tide_op_tensor *p = tide__op_tensor(x, k, r->b), *q = tide__op_tensor(x, k + 1, r->b);
	if (!p || !q || p->d[at + 1] != q->d[at] || (at && p->d[0] != q->d[0]))
		return false;
	bool scaled = strstr(r->name, "scaled");
	out->type = (uint8_t)tide__op_type(x, k);
	out->batch = at ? p->d[0] : 1;
	out->m = p->d[at];
	out->n = q->d[at + 1];
	out->k = p->d[at + 1] * (out->type == TIDE_NUM_FLOAT4 ? 2 : 1);
	out->flops = 2 * out->batch * out->m * out->n * out->k;
	out->bytes_read = tide__op_bytes_of(x, 0, scaled ? x->n : k + 2);
	out->bytes_written = out->batch * out->m * out->n * size_of(type_of_result(r, x, k));
	out->matrix = true;
	return true;
}

/* _grouped_mm(a, b, offsets): rows of a, or columns of b, or the inner dimension, are divided into
 * groups, so the total does not depend on where. */
bool tide__cost_grouped(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
			tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *p = tide__op_tensor(x, 0, -1), *q = tide__op_tensor(x, 1, -1),
			     *offsets = tide__op_tensor(x, (size_t)r->a, 1);
	if (!p || !q || p->n < 2 || p->n > 3 || q->n < 2 || q->n > 3 ||
	    p->d[p->n - 1] != q->d[q->n - 2] || (p->n == 3 && q->n == 3 && p->d[0] != q->d[0]))
		return false;
	bool inner = p->n == 2 && q->n == 2; /* groups of the inner dimension: a result for each */
	if (inner && !offsets)
		return false;
	/* a group has its own rows (2 x 3 dimensions) or columns (3 x 2): each counts once */
	out->batch = p->n == 3 && q->n == 3 ? p->d[0] : 1;
	out->m = p->d[p->n - 2];
	out->n = q->d[q->n - 1];
	out->k = p->d[p->n - 1];
	out->flops = 2 * out->batch * out->m * out->n * out->k;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->bytes_read = tide__op_bytes_of(x, 0, x->n);
	out->bytes_written = out->batch * (inner ? offsets->d[0] : 1) * out->m * out->n *
			     size_of(type_of_result(r, x, 0));
	out->matrix = true;
	return true;
}

/* a: a matrix or a vector, then a vector. */
bool tide__cost_vector(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		       tide_op_cost *out)
{
	(void)c;
	size_t k = (size_t)r->a;
	const tide_op_tensor *p = tide__op_tensor(x, k, r->b), *v = tide__op_tensor(x, k + 1, 1);
	if (!p || !v || p->d[p->n - 1] != v->d[0])
		return false;
	out->batch = out->n = 1;
	out->m = p->n == 2 ? p->d[0] : 1;
	out->k = v->d[0];
	out->flops = 2 * out->m * out->k;
	out->type = (uint8_t)tide__op_type(x, k);
	out->bytes_read = tide__op_bytes_of(x, 0, k + 2);
	out->bytes_written = out->m * size_of(tide__op_type(x, k));
	return true;
}

/* ---- convolutions ---- */

typedef struct window {
	double stride[TIDE_OP_LIST], padding[TIDE_OP_LIST], dilation[TIDE_OP_LIST];
	size_t n[3];
} window;

static bool read_window(const tide_op_inputs *x, size_t k, window *w)
{
	double *const v[] = { w->stride, w->padding, w->dilation };
	for (size_t i = 0; i < 3; i++)
		if (!(w->n[i] = tide__op_list(x, k + i, v[i])))
			return false;
	return true;
}

/* A list of one number applies to every dimension. */
static double at(const double *v, size_t n, size_t i)
{
	return v[n > i ? i : 0];
}

/* Returns the points of the output in one dimension. */
static double points(double length, double kernel, const window *w, size_t i)
{
	double span = length + 2 * at(w->padding, w->n[1], i) -
		      at(w->dilation, w->n[2], i) * (kernel - 1) - 1;
	double stride = at(w->stride, w->n[0], i);
	return span < 0 || stride < 1 ? 0 : floor(span / stride) + 1;
}

/* The same of a transposed convolution. */
static double spread(double length, double kernel, const window *w, double more, size_t i)
{
	double n = (length - 1) * at(w->stride, w->n[0], i) - 2 * at(w->padding, w->n[1], i) +
		   at(w->dilation, w->n[2], i) * (kernel - 1) + more + 1;
	return n > 0 ? n : 0;
}

static double product(const tide_op_tensor *t, size_t from)
{
	double v = 1;
	for (size_t i = from; i < t->n; i++)
		v *= t->d[i];
	return v;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
bool tide__cost_convolution(const tide_op_rule *r, const tide_op_inputs *x,
			    const tide_cost_context *c, tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *in = tide__op_tensor(x, 0, -1), *w = tide__op_tensor(x, 1, -1);
	window win;
	double more[TIDE_OP_LIST], result = 1;
	if (!in || !w || in->n < 3 || w->n != in->n || !read_window(x, 3, &win))
		return false;
	bool transposed = tide__op_is_true(x, 6);
	size_t n_more = tide__op_list(x, 7, more);
	for (size_t i = 0; i + 2 < in->n; i++)
		result *= transposed ? spread(in->d[i + 2], w->d[i + 2], &win,
					      n_more ? at(more, n_more, i) : 0, i)
				     : points(in->d[i + 2], w->d[i + 2], &win, i);
	double channels = transposed ? w->d[1] * tide__op_int(x, 8, 1) : w->d[0];
	out->flops = 2 * in->d[0] * (transposed ? product(in, 2) : result) * product(w, 0);
	out->type = (uint8_t)tide__op_type(x, 0);
	out->bytes_read = tide__op_bytes_of(x, 0, 3);
	out->bytes_written = in->d[0] * channels * result * size_of(tide__op_type(x, 0));
	out->matrix = true;
	return true;
}

/* Reads "[True, False, True]", of up to 3 flags. */
static bool read_mask(const char *s, bool *flags)
{
	if (!s || *s++ != '[')
		return false;
	for (size_t i = 0; i < 3; i++) {
		while (*s == ' ' || *s == ',')
			s++;
		flags[i] = !strncmp(s, "True", 4);
		if (!flags[i] && strncmp(s, "False", 5) != 0)
			return false;
		s += flags[i] ? 4 : 5;
	}
	return true;
}

/* convolution_backward(gradient, input, weight, bias_sizes, stride, padding, dilation, transposed,
 * output_padding, groups, mask): the gradients of input, weight and bias that the mask requests. */
bool tide__cost_convolution_backward(const tide_op_rule *r, const tide_op_inputs *x,
				     const tide_cost_context *c, tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *g = tide__op_tensor(x, 0, -1), *in = tide__op_tensor(x, 1, -1),
			     *w = tide__op_tensor(x, 2, -1);
	bool want[3];
	if (!g || !in || !w || in->n < 3 || w->n != in->n || g->n != in->n ||
	    !read_mask(tide__op_scalar(x, 10), want))
		return false;
	bool transposed = tide__op_is_true(x, 7);
	double size = size_of(tide__op_type(x, 1));
	out->flops = (want[0] + want[1]) * 2 * in->d[0] * product(transposed ? in : g, 2) *
		     product(w, 0);
	out->type = (uint8_t)tide__op_type(x, 1);
	out->bytes_read = tide__op_bytes(x, 0) + (want[1] ? tide__op_bytes(x, 1) : 0) +
			  (want[0] ? tide__op_bytes(x, 2) : 0);
	out->bytes_written = size * ((want[0] ? in->elements : 0) + (want[1] ? w->elements : 0) +
				     (want[2] ? g->d[1] : 0));
	out->matrix = true;
	return true;
}

/* ---- pools: the window of a convolution, without weights ---- */

/* max_pool2d_with_indices(input, kernel, stride, padding, dilation): values and their places. a:
 * dimensions; b: bytes of a place. */
bool tide__cost_pool(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *in = tide__op_tensor(x, 0, -1);
	window win = { .dilation = { 1 }, .n = { 0, 0, 1 } };
	double kernel[TIDE_OP_LIST], area = 1, result = 1;
	size_t dims = (size_t)r->a, n = tide__op_list(x, 1, kernel);
	if (!in || in->n < dims + 1 || !n || tide__op_is_true(x, r->b ? 5 : 4))
		return false;
	win.n[0] = tide__op_list(x, 2, win.stride);
	win.n[1] = tide__op_list(x, 3, win.padding);
	if (r->b && tide__op_list(x, 4, win.dilation) > 1)
		win.n[2] = tide__op_list(x, 4, win.dilation);
	if (!win.n[0]) { /* the kernel's */
		memcpy(win.stride, kernel, sizeof kernel);
		win.n[0] = n;
	}
	win.n[1] = win.n[1] ? win.n[1] : 1;
	for (size_t i = 0; i < dims; i++) {
		area *= at(kernel, n, i);
		result *= points(in->d[in->n - dims + i], at(kernel, n, i), &win, i);
	}
	for (size_t i = 0; i + dims < in->n; i++)
		result *= in->d[i];
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = result * area;
	out->bytes_read = tide__op_bytes(x, 0);
	out->bytes_written = result * (size_of(tide__op_type(x, 0)) + r->b);
	return true;
}

/* a: the input, as large as the gradient that is written; reads the gradient, and from b on. */
bool tide__cost_pool_backward(const tide_op_rule *r, const tide_op_inputs *x,
			      const tide_cost_context *c, tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *g = tide__op_tensor(x, 0, -1),
			     *in = tide__op_tensor(x, (size_t)r->a, -1);
	if (!g || !in || !g->n || !in->n)
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = in->elements;
	out->bytes_read = tide__op_bytes(x, 0) + tide__op_bytes_of(x, (size_t)r->b, x->n);
	out->bytes_written = in->elements * size_of(tide__op_type(x, 0));
	return true;
}
