// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ops that memory bounds: elementwise, copies, reductions, norms, look-ups, losses, optimizers. */
#include <math.h>
#include <string.h>

#include "analyze/roofline/op_cost.h"

static double size_of(tide_number t)
{
	return t ? tide__number_bytes(t) : (double)NAN;
}

/* Returns the elements of the result of inputs 0..n-1, broadcast; NaN if they do not fit. */
static double broadcast(const tide_op_inputs *x, size_t n)
{
	double v = 1;
	for (size_t dim = 0; dim < TIDE_OP_DIMS; dim++) { /* from the last */
		double d = 1;
		for (size_t i = 0; i < n; i++) {
			const tide_op_tensor *t = tide__op_tensor(x, i, -1);
			double own = t && dim < t->n ? t->d[t->n - 1 - dim] : 1;
			if (own != 1 && d != 1 && own != d)
				return (double)NAN;
			d = own != 1 ? own : d;
		}
		v *= d;
	}
	return v;
}

/* Returns the type of the result of inputs 0..n-1: tensors without dimensions only count if their
 * class is higher. */
static tide_number promoted(const tide_op_inputs *x, size_t n)
{
	tide_number wide = TIDE_NUM_UNKNOWN, zero = TIDE_NUM_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		const tide_op_tensor *t = tide__op_tensor(x, i, -1);
		tide_number *of = t && t->n ? &wide : &zero;
		*of = tide__number_promote(*of, tide__op_type(x, i));
	}
	if (!wide)
		return zero;
	return tide__number_class(zero) > tide__number_class(wide)
		       ? tide__number_promote(wide, zero)
		       : wide;
}

static bool has_shape(const tide_op_inputs *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const tide_op_tensor *t = tide__op_tensor(x, i, -1);
		if (t && (t->n || tide__op_type(x, i)))
			return true;
	}
	return false;
}

/* a: tensors that it reads; b: bytes of an element of the result, 0 = their type, -1 = also a mask of
 * one byte each. */
bool tide__cost_pointwise(const tide_op_rule *r, const tide_op_inputs *x,
			  const tide_cost_context *c, tide_op_cost *out)
{
	size_t n = (size_t)r->a;
	double result = broadcast(x, n);
	if (!has_shape(x, n) || isnan(result))
		return false;
	tide_number type = promoted(x, n);
	if (c->in_place && !tide__op_tensor(x, 0, -1))
		return false;
	out->type = (uint8_t)type;
	out->flops = (double)r->per * result;
	out->bytes_read = tide__op_bytes_of(x, 0, n);
	out->bytes_written = c->in_place ? tide__op_bytes(x, 0)
			     : r->b > 0	 ? result * r->b
					 : result * (size_of(type) + (r->b < 0));
	return true;
}

/* copy_(to, from). a: where it reads. */
bool tide__cost_copy(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	(void)c;
	if (!tide__op_tensor(x, 0, -1) || !tide__op_tensor(x, (size_t)r->a, -1) || !has_shape(x, 2))
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = 0;
	out->bytes_read = tide__op_bytes(x, (size_t)r->a);
	out->bytes_written = tide__op_bytes(x, 0);
	return true;
}

/* Writes its first input, which it does not read. */
bool tide__cost_fill(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	if (!t || !has_shape(x, 1))
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = 0;
	out->bytes_written = tide__op_bytes(x, 0);
	return true;
}

/* ---- reductions ---- */

/* Returns the elements that remain after the dimensions of argument k are reduced; *some: it names
 * some. */
static double reduced(const tide_op_inputs *x, const tide_op_tensor *t, size_t k, bool *some)
{
	double dims[TIDE_OP_LIST], left = t->elements;
	size_t n = tide__op_list(x, k, dims), one;
	if (!n && tide__op_dim(x, k, t->n, &one)) {
		dims[0] = (double)one;
		n = 1;
	}
	for (size_t i = 0; i < n; i++) {
		double d = dims[i] < 0 ? dims[i] + (double)t->n : dims[i];
		if (d < 0 || d >= (double)t->n)
			return 1;
		left /= t->d[(size_t)d] > 0 ? t->d[(size_t)d] : 1;
	}
	*some = n > 0;
	return n ? left : 1;
}

/* a: the argument with the dimensions; b: bytes of an element of the result, 0 = the
 * input's type, -1 = it and, with dimensions, a place of 8 bytes. */
bool tide__cost_reduce(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		       tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	if (!t || !has_shape(x, 1) || tide__op_type(x, 1)) /* max(a, b) reduces nothing */
		return false;
	bool some = false;
	double left = reduced(x, t, (size_t)r->a, &some), size = size_of(tide__op_type(x, 0));
	if (tide__number_class(tide__op_type(x, 0)) < 3 &&
	    (strstr(r->name, "sum") || strstr(r->name, "prod")))
		size = 8;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes(x, 0);
	out->bytes_written = left * (r->b > 0 ? r->b : r->b < 0 && some ? size + 8 : size);
	return true;
}

/* softmax(input, dim, half_to_float) */
bool tide__cost_softmax(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
			tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	if (!t || !has_shape(x, 1))
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes(x, 0);
	out->bytes_written =
		t->elements * (tide__op_is_true(x, 2) ? 4 : size_of(tide__op_type(x, 0)));
	return true;
}

/* softmax_backward_data(gradient, result, dim, type): the gradient of an input of this type. */
bool tide__cost_softmax_backward(const tide_op_rule *r, const tide_op_inputs *x,
				 const tide_cost_context *c, tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	double type = tide__op_int(x, 3, -1);
	if (!t || !tide__op_tensor(x, 1, (int)t->n))
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes_of(x, 0, 2);
	out->bytes_written =
		t->elements * (type == 5 || type == 15 ? 2 : size_of(tide__op_type(x, 0)));
	return true;
}

/* ---- norms ---- */

/* a: the last input that is read; b: statistics of 4 bytes per row that it writes, -b per channel.
 * A row is what the list in argument 1 names, or the input without its first dimension. */
bool tide__cost_norm(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	double shape[TIDE_OP_LIST], row = 1, statistics;
	if (!t || !t->n)
		return false;
	size_t n = tide__op_list(x, 1, shape);
	for (size_t i = 0; i < n; i++)
		row *= shape[i] > 0 ? shape[i] : 1;
	if (r->b >= 0)
		statistics = n ? r->b * t->elements / row : 0;
	else
		statistics = t->n > 1 ? -r->b * t->d[1] : 0;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes_of(x, 0, (size_t)r->a + 1);
	out->bytes_written = t->elements * size_of(tide__op_type(x, 0)) + 4 * floor(statistics);
	return true;
}

/* Reads all of its inputs up to a; writes the gradients of the input and of inputs from b to a that
 * are weight and bias. */
bool tide__cost_norm_backward(const tide_op_rule *r, const tide_op_inputs *x,
			      const tide_cost_context *c, tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	if (!t || !t->n)
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes_of(x, 0, (size_t)r->a + 1);
	out->bytes_written = t->elements * size_of(tide__op_type(x, 0)) +
			     tide__op_bytes_of(x, (size_t)r->b, (size_t)r->a + 1);
	return true;
}

/* ---- look-ups ---- */

/* Reads rows of a table. a: the table; b: the indices, with an element for each element of the
 * result (gather, per = 1), or for each row of it (per = 0). */
bool tide__cost_lookup(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		       tide_op_cost *out)
{
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, (size_t)r->a, -1),
			     *at = tide__op_tensor(x, (size_t)r->b, -1);
	double size = size_of(tide__op_type(x, (size_t)r->a)), row = 1;
	if (!t || !at || !t->n || !tide__op_type(x, (size_t)r->b))
		return false;
	size_t dim = 0;
	if (r->b == 2 && !tide__op_dim(x, 1, t->n, &dim))
		return false;
	if (r->per == 0) /* all but the looked-up dimension */
		row = t->d[dim] > 0 ? t->elements / t->d[dim] : 0;
	double result = at->elements * row;
	out->type = (uint8_t)tide__op_type(x, (size_t)r->a);
	out->flops = 0;
	out->bytes_read = tide__op_bytes(x, (size_t)r->b) +
			  size * (result < t->distinct ? result : t->distinct);
	out->bytes_written = result * size;
	return true;
}

/* index(table, indices): one list of index tensors; known when the trace has their shapes. */
bool tide__cost_index(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		      tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1);
	if (!t || x->n < 2 || !x->v[1].list || x->v[1].n != 1 || !t->n || t->d[0] <= 0)
		return false;
	double at = x->t[x->v[1].at].elements, size = size_of(tide__op_type(x, 0));
	double result = at * t->elements / t->d[0];
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = 0;
	out->bytes_read = 8 * at + size * (result < t->distinct ? result : t->distinct);
	out->bytes_written = result * size;
	return true;
}

/* embedding_dense_backward(gradient, indices, rows of the table, ...) writes the whole table. */
bool tide__cost_lookup_backward(const tide_op_rule *r, const tide_op_inputs *x,
				const tide_cost_context *c, tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *g = tide__op_tensor(x, 0, -1);
	double rows = tide__op_int(x, 2, -1);
	if (!g || !g->n || !tide__op_type(x, 1) || rows < 0)
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = g->elements;
	out->bytes_read = tide__op_bytes_of(x, 0, 2);
	out->bytes_written = rows * g->d[g->n - 1] * size_of(tide__op_type(x, 0));
	return true;
}

/* Adds or writes a source into places of its first input. a: the indices; b: the source. */
bool tide__cost_scatter(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
			tide_op_cost *out)
{
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1),
			     *from = tide__op_tensor(x, (size_t)r->b, -1);
	double size = size_of(tide__op_type(x, 0));
	if (!t || !from || !tide__op_type(x, (size_t)r->a))
		return false;
	double places = from->elements < t->elements ? from->elements : t->elements;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = (double)r->per * from->elements;
	out->bytes_read = tide__op_bytes(x, (size_t)r->a) + tide__op_bytes(x, (size_t)r->b) +
			  (r->per > 0 ? places * size : 0);
	out->bytes_written = (c->in_place ? places : t->elements) * size;
	return true;
}

/* ---- losses ---- */

/* nll_loss(scores, targets, weight): one score of each row. */
bool tide__cost_loss(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 0, -1), *at = tide__op_tensor(x, 1, -1);
	double size = size_of(tide__op_type(x, 0));
	if (!t || !at || !tide__op_type(x, 1))
		return false;
	out->type = (uint8_t)tide__op_type(x, 0);
	out->flops = at->elements;
	out->bytes_read = at->elements * size + tide__op_bytes_of(x, 1, 3);
	out->bytes_written = 2 * size;
	return true;
}

/* nll_loss_backward(gradient, scores, targets, ...) writes a gradient of all scores. */
bool tide__cost_loss_backward(const tide_op_rule *r, const tide_op_inputs *x,
			      const tide_cost_context *c, tide_op_cost *out)
{
	(void)r;
	(void)c;
	const tide_op_tensor *t = tide__op_tensor(x, 1, -1), *at = tide__op_tensor(x, 2, -1);
	if (!t || !t->n || !at || !tide__op_type(x, 2))
		return false;
	out->type = (uint8_t)tide__op_type(x, 1);
	out->flops = at->elements;
	out->bytes_read = tide__op_bytes(x, 0) + tide__op_bytes(x, 2);
	out->bytes_written = t->elements * size_of(tide__op_type(x, 1));
	return true;
}

/* ---- lists of tensors ---- */

bool tide__op_has_hidden_list(const tide_op_inputs *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].list && !x->v[i].n)
			return true;
	return false;
}

/* Fills the elements and bytes of a list; of one whose shapes are left out the context knows. */
static bool measure_list(const tide_op_inputs *x, size_t k, const tide_cost_context *c,
			 double *elements, double *bytes)
{
	if (k >= x->n || !x->v[k].list)
		return false;
	if (!x->v[k].n) {
		*elements = c->elements;
		*bytes = c->bytes;
		return c->elements > 0;
	}
	*elements = 0;
	for (size_t i = 0; i < x->v[k].n; i++)
		*elements += x->t[x->v[k].at + i].elements;
	*bytes = c->type ? *elements * tide__number_bytes((tide_number)c->type) : (double)NAN;
	return true;
}

/* An op on lists of tensors of equal shapes reads each list. a: 1 = writes the first or a new one,
 * 0 = writes next to nothing; b: the first list that it reads. */
bool tide__cost_lists(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		      tide_op_cost *out)
{
	double elements = 0, bytes = 0, lists = 0;
	for (size_t i = 0; i < x->n; i++)
		lists += x->v[i].list && i >= (size_t)r->b;
	if (!measure_list(x, 0, c, &elements, &bytes))
		return false;
	out->type = c->type;
	out->flops = (double)r->per * elements;
	out->bytes_read = lists * bytes;
	out->bytes_written = r->a * bytes;
	return true;
}

/* A fused optimizer reads `a` lists (of those that are not empty) and writes all but the gradients. */
bool tide__cost_adam(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		     tide_op_cost *out)
{
	double elements = 0, bytes = 0;
	if (!measure_list(x, 0, c, &elements, &bytes))
		return false;
	out->type = c->type;
	out->flops = (double)r->per * elements;
	out->bytes_read = r->a * bytes;
	out->bytes_written = (r->a - 1) * bytes;
	return true;
}

/* cat(tensors): their type is not in the trace, unless it gives one. */
bool tide__cost_cat(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		    tide_op_cost *out)
{
	(void)r;
	(void)c;
	if (!x->n || !x->v[0].list || !x->v[0].n)
		return false;
	out->flops = 0;
	return true;
}

/* ---- functions of servers, which get their results as arguments ---- */

/* a, b: the inputs that it writes, a to b, and reads; with b < 0 it writes a without reading it. */
bool tide__cost_arguments(const tide_op_rule *r, const tide_op_inputs *x,
			  const tide_cost_context *c, tide_op_cost *out)
{
	(void)c;
	size_t a = (size_t)r->a, last = r->b < 0 ? a : (size_t)r->b;
	const tide_op_tensor *t = tide__op_tensor(x, a, -1);
	if (!t || !t->n || x->n <= last)
		return false;
	out->type = (uint8_t)tide__op_type(x, a);
	out->flops = (double)r->per * t->elements;
	out->bytes_read = tide__op_bytes_of(x, r->b < 0 ? a + 1 : 0, x->n);
	out->bytes_written = tide__op_bytes_of(x, a, last + 1);
	return true;
}
