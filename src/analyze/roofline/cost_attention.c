// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fused attention. Queries have batch, heads, length and width; with fewer heads of keys and values
 * each of these serves several heads of queries. */
#include <math.h>
#include <string.h>

#include "analyze/roofline/op_cost.h"

typedef struct sizes {
	double batch, heads, q, k, width, v_width;
} sizes;

/* Reads queries, keys and values from input `at` on. `heads_at`: the dimension of heads, 1 or 2; of
 * lengths it is the other one. */
static bool read_sizes(const tide_op_inputs *x, size_t at, size_t heads_at, sizes *s)
{
	const tide_op_tensor *q = tide__op_tensor(x, at, 4), *k = tide__op_tensor(x, at + 1, 4),
			     *v = tide__op_tensor(x, at + 2, 4);
	size_t length = 3 - heads_at;
	if (!q || !k || !v || q->d[3] != k->d[3] || k->d[length] != v->d[length] ||
	    q->d[0] != k->d[0])
		return false;
	*s = (sizes){ .batch = q->d[0],
		      .heads = q->d[heads_at],
		      .q = q->d[length],
		      .k = k->d[length],
		      .width = q->d[3],
		      .v_width = v->d[3] };
	return true;
}

/* Returns the scores of one head that a causal mask leaves: query i sees keys 0..i, or with `end`
 * those up to its place counted from the end. */
static double causal_scores(double q, double k, bool end)
{
	if (!end)
		return q <= k ? q * (q + 1) / 2 : k * (k + 1) / 2 + (q - k) * k;
	return q <= k ? q * (k - q) + q * (q + 1) / 2 : k * (k + 1) / 2;
}

static double scores(const sizes *s, bool causal, bool end, const tide_cost_context *c)
{
	double one = causal && !c->masked ? causal_scores(s->q, s->k, end) : s->q * s->k;
	return s->batch * s->heads * one;
}

static double size_of(tide_number t)
{
	return t ? tide__number_bytes(t) : (double)NAN;
}

/* Is a flash-attention of its own package: lengths before heads, the mask counts from the end. */
static bool of_package(const tide_op_rule *r)
{
	return strncmp(r->name, "aten::", 6) != 0;
}

/* Sequences of various lengths behind each other: queries [tokens, heads, width], and, from input
 * `offsets` on, where those of queries and keys begin and the greatest length of each. Their lengths
 * are data, so operations are known only if all must have the greatest length. */
static bool varlen(const tide_op_rule *r, const tide_op_inputs *x, size_t offsets,
		   const tide_cost_context *c, tide_op_cost *out)
{
	size_t at = (size_t)r->a;
	const tide_op_tensor *q = tide__op_tensor(x, at, 3), *k = tide__op_tensor(x, at + 1, 3),
			     *v = tide__op_tensor(x, at + 2, 3),
			     *from = tide__op_tensor(x, offsets, 1);
	if (!q || !k || !v || !from || from->d[0] < 2 || q->d[2] != k->d[2] || k->d[0] != v->d[0])
		return false;
	sizes s = { .batch = from->d[0] - 1,
		    .heads = q->d[1],
		    .q = tide__op_int(x, offsets + 2, -1),
		    .k = tide__op_int(x, offsets + 3, -1),
		    .width = q->d[2],
		    .v_width = v->d[2] };
	bool causal = tide__op_is_true(x, (size_t)r->b);
	if (s.q * s.batch == q->d[0] && s.k * s.batch == k->d[0])
		out->flops = 2 * scores(&s, causal, of_package(r), c) * (s.width + s.v_width);
	out->type = (uint8_t)tide__op_type(x, at);
	out->bytes_read = tide__op_bytes_of(x, at, at + 3);
	out->bytes_written = q->d[0] * q->d[1] * v->d[2] * size_of(tide__op_type(x, at));
	out->matrix = true;
	return true;
}

/* a: queries; b: the argument "is_causal". Rules of PyTorch's inner functions (per = 2) have lengths
 * before heads, too. */
bool tide__cost_attention(const tide_op_rule *r, const tide_op_inputs *x,
			  const tide_cost_context *c, tide_op_cost *out)
{
	sizes s;
	size_t q = (size_t)r->a;
	size_t heads_at = r->per == 2 ? 2 : 1;
	if (!read_sizes(x, q, heads_at, &s))
		return r->per == 2 && varlen(r, x, q + 3, c, out);
	bool causal = tide__op_is_true(x, (size_t)r->b);
	out->flops = 2 * scores(&s, causal, of_package(r), c) * (s.width + s.v_width);
	out->type = (uint8_t)tide__op_type(x, q);
	out->bytes_read = tide__op_bytes_of(x, q, q + 4); /* a mask follows the values */
	out->bytes_written = s.batch * s.heads * s.q * s.v_width * size_of(tide__op_type(x, q));
	out->matrix = true;
	return true;
}

/* Counts the scores again, then the gradients of scores, values, queries and keys. The gradient is
 * the first input, queries, keys and values follow. */
bool tide__cost_attention_backward(const tide_op_rule *r, const tide_op_inputs *x,
				   const tide_cost_context *c, tide_op_cost *out)
{
	sizes s;
	if (!read_sizes(x, 1, r->per == 2 ? 2 : 1, &s))
		return false;
	bool causal = tide__op_is_true(x, (size_t)r->b);
	size_t end = (size_t)r->a; /* inputs before the gradients that it writes, or scalars */
	out->flops = 2 * scores(&s, causal, of_package(r), c) * (3 * s.width + 2 * s.v_width);
	out->type = (uint8_t)tide__op_type(x, 1);
	out->bytes_read = tide__op_bytes_of(x, 0, end);
	out->bytes_written = tide__op_bytes(x, 1) + tide__op_bytes(x, 2) + tide__op_bytes(x, 3);
	out->matrix = true;
	return true;
}
