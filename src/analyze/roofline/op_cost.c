// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of ops with a rule. */
#include "analyze/roofline/op_cost.h"

#include <math.h>

/* name, function, category, a, b, operations per element, also with '_' */
#define ROW(name, cost, category, a, b, per) \
	{ name, tide__cost_##cost, TIDE_OPS_OF_##category, a, b, per, false },
#define BOTH(name, cost, category, a, b, per) \
	{ name, tide__cost_##cost, TIDE_OPS_OF_##category, a, b, per, true },
#define UNARY(name, per)  BOTH("aten::" name, pointwise, ELEMENTWISE, 1, 0, per)
#define BINARY(name, per) BOTH("aten::" name, pointwise, ELEMENTWISE, 2, 0, per)
#define THREE(name, per)  BOTH("aten::" name, pointwise, ELEMENTWISE, 3, 0, per)
#define TEST(name)	  ROW("aten::" name, pointwise, ELEMENTWISE, 2, 1, 1)
#define FILL(name)	  ROW("aten::" name, fill, COPY, 0, 0, 0)
#define SDPA		  "aten::_scaled_dot_product_"
#define LISTS(name, writes, first, per) \
	BOTH("aten::_foreach_" name, lists, OPTIMIZER, writes, first, per)

/* clang-format off */
const tide_op_rule tide__op_rules[] = {
	/* a: first matrix; b: dimensions */
	ROW("aten::mm", matmul, GEMM, 0, 2, 0)
	ROW("aten::addmm", matmul, GEMM, 1, 2, 0)
	ROW("aten::addmm_", matmul, GEMM, 1, 2, 0)
	ROW("aten::_addmm_activation", matmul, GEMM, 1, 2, 0)
	ROW("aten::bmm", matmul, GEMM, 0, 3, 0)
	ROW("aten::baddbmm", matmul, GEMM, 1, 3, 0)
	ROW("aten::baddbmm_", matmul, GEMM, 1, 3, 0)
	ROW("aten::_scaled_mm", matmul, GEMM, 0, 2, 0)
	ROW("aten::_int_mm", matmul, GEMM, 0, 2, 0)
	ROW("aten::_grouped_mm", grouped, GEMM, 2, 0, 0)
	ROW("aten::_scaled_grouped_mm", grouped, GEMM, 4, 0, 0)
	ROW("aten::mv", vector, GEMM, 0, 2, 0)
	ROW("aten::addmv", vector, GEMM, 1, 2, 0)
	ROW("aten::addmv_", vector, GEMM, 1, 2, 0)
	ROW("aten::dot", vector, GEMM, 0, 1, 0)
	ROW("aten::vdot", vector, GEMM, 0, 1, 0)

	ROW("aten::convolution", convolution, CONVOLUTION, 0, 0, 0)
	ROW("aten::convolution_overrideable", convolution, CONVOLUTION, 0, 0, 0)
	ROW("aten::convolution_backward", convolution_backward, CONVOLUTION, 0, 0, 0)
	ROW("aten::convolution_backward_overrideable", convolution_backward, CONVOLUTION, 0, 0, 0)

	/* a: queries; b: is_causal; 2 = lengths before heads */
	ROW(SDPA "flash_attention", attention, ATTENTION, 0, 4, 0)
	ROW(SDPA "flash_attention_for_cpu", attention, ATTENTION, 0, 4, 0)
	ROW(SDPA "efficient_attention", attention, ATTENTION, 0, 6, 0)
	ROW(SDPA "cudnn_attention", attention, ATTENTION, 0, 6, 0)
	ROW(SDPA "fused_attention_overrideable", attention, ATTENTION, 0, 5, 0)
	ROW("aten::_flash_attention_forward", attention, ATTENTION, 0, 8, 2)
	ROW("flash_attn::_flash_attn_forward", attention, ATTENTION, 0, 5, 2)
	ROW("flash_attn::_flash_attn_varlen_forward", attention, ATTENTION, 0, 9, 2)
	/* a: inputs that it reads */
	ROW(SDPA "flash_attention_backward", attention_backward, ATTENTION, 6, 11, 0)
	ROW(SDPA "flash_attention_for_cpu_backward", attention_backward, ATTENTION, 6, 7, 0)
	ROW(SDPA "efficient_attention_backward", attention_backward, ATTENTION, 7, 11, 0)
	ROW(SDPA "cudnn_attention_backward", attention_backward, ATTENTION, 6, 14, 0)
	ROW("aten::_flash_attention_backward", attention_backward, ATTENTION, 6, 11, 2)
	ROW("flash_attn::_flash_attn_backward", attention_backward, ATTENTION, 6, 11, 2)

	BINARY("add", 1) BINARY("sub", 1) BINARY("rsub", 1) BINARY("mul", 1) BINARY("div", 1)
	BINARY("maximum", 1) BINARY("minimum", 1) BINARY("pow", 1) BINARY("remainder", 1)
	BINARY("fmod", 1) BINARY("atan2", 1) BINARY("floor_divide", 1) BINARY("bitwise_and", 1)
	BINARY("bitwise_or", 1) BINARY("bitwise_xor", 1) BINARY("__and__", 1) BINARY("__or__", 1)
	UNARY("neg", 1) UNARY("abs", 1) UNARY("exp", 1) UNARY("exp2", 1) UNARY("log", 1)
	UNARY("log2", 1) UNARY("log1p", 1) UNARY("sqrt", 1) UNARY("rsqrt", 1) UNARY("reciprocal", 1)
	UNARY("sin", 1) UNARY("cos", 1) UNARY("tanh", 1) UNARY("erf", 1) UNARY("sigmoid", 1)
	UNARY("relu", 1) UNARY("sign", 1) UNARY("floor", 1) UNARY("ceil", 1) UNARY("round", 1)
	UNARY("clamp", 2) UNARY("clamp_min", 1) UNARY("clamp_max", 1) UNARY("hardtanh", 2)
	UNARY("bitwise_not", 1) UNARY("gelu", 5) UNARY("silu", 2) UNARY("leaky_relu", 2)
	UNARY("elu", 3) UNARY("mish", 4) UNARY("softplus", 3) UNARY("hardswish", 4)
	UNARY("hardsigmoid", 3) UNARY("square", 1) UNARY("logit", 3) UNARY("tril", 0)
	UNARY("triu", 0) UNARY("cumsum", 1) UNARY("flip", 0) UNARY("nan_to_num", 1)
	BINARY("threshold_backward", 1) BINARY("gelu_backward", 8) BINARY("silu_backward", 5)
	BINARY("tanh_backward", 3) BINARY("sigmoid_backward", 3) BINARY("leaky_relu_backward", 2)
	BINARY("hardtanh_backward", 2) BINARY("hardswish_backward", 4) BINARY("elu_backward", 3)
	BINARY("softplus_backward", 4) BINARY("mish_backward", 8)
	BINARY("native_dropout_backward", 2) BINARY("_masked_scale", 2) BINARY("mse_loss", 2)
	THREE("addcmul", 3) THREE("addcdiv", 3) THREE("lerp", 3) THREE("where", 0)
	BINARY("masked_fill", 0) THREE("mse_loss_backward", 3)
	ROW("aten::native_dropout", pointwise, ELEMENTWISE, 1, -1, 3)
	ROW("aten::_fused_dropout", pointwise, ELEMENTWISE, 1, -1, 3)
	TEST("eq") TEST("ne") TEST("gt") TEST("ge") TEST("lt") TEST("le") TEST("logical_and")
	TEST("logical_or") TEST("logical_xor")
	ROW("aten::logical_not", pointwise, ELEMENTWISE, 1, 1, 1)
	ROW("aten::isnan", pointwise, ELEMENTWISE, 1, 1, 1)
	ROW("aten::isinf", pointwise, ELEMENTWISE, 1, 1, 1)
	ROW("aten::isfinite", pointwise, ELEMENTWISE, 1, 1, 1)

	ROW("aten::copy_", copy, COPY, 1, 0, 0)
	FILL("fill_") FILL("zero_") FILL("normal_") FILL("uniform_") FILL("random_") FILL("bernoulli_")
	FILL("exponential_") FILL("eye_out")
	ROW("aten::cat", cat, COPY, 0, 0, 0)

	/* a: the argument with the dimensions; b: bytes of a result */
	ROW("aten::sum", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::nansum", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::mean", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::amax", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::amin", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::max", reduce, REDUCTION, 1, -1, 1)
	ROW("aten::min", reduce, REDUCTION, 1, -1, 1)
	ROW("aten::prod", reduce, REDUCTION, 1, 0, 1)
	ROW("aten::argmax", reduce, REDUCTION, 1, 8, 1)
	ROW("aten::argmin", reduce, REDUCTION, 1, 8, 1)
	ROW("aten::any", reduce, REDUCTION, 1, 1, 1)
	ROW("aten::all", reduce, REDUCTION, 1, 1, 1)
	ROW("aten::logsumexp", reduce, REDUCTION, 1, 0, 4)
	ROW("aten::var", reduce, REDUCTION, 1, 0, 4)
	ROW("aten::std", reduce, REDUCTION, 1, 0, 4)
	ROW("aten::norm", reduce, REDUCTION, 2, 0, 2)
	ROW("aten::linalg_vector_norm", reduce, REDUCTION, 2, 0, 2)
	ROW("aten::_softmax", softmax, REDUCTION, 0, 0, 5)
	ROW("aten::_log_softmax", softmax, REDUCTION, 0, 0, 5)
	ROW("aten::_softmax_backward_data", softmax_backward, REDUCTION, 0, 0, 4)
	ROW("aten::_log_softmax_backward_data", softmax_backward, REDUCTION, 0, 0, 4)

	/* a: last input that is read; b: statistics */
	ROW("aten::native_layer_norm", norm, NORM, 3, 2, 8)
	ROW("aten::_fused_rms_norm", norm, NORM, 2, 1, 4)
	ROW("aten::native_batch_norm", norm, NORM, 4, -2, 8)
	ROW("aten::cudnn_batch_norm", norm, NORM, 4, -2, 8)
	ROW("aten::miopen_batch_norm", norm, NORM, 4, -2, 8)
	ROW("aten::_batch_norm_with_update", norm, NORM, 4, -2, 8)
	ROW("aten::native_group_norm", norm, NORM, 2, 0, 8)
	ROW("aten::native_layer_norm_backward", norm_backward, NORM, 6, 5, 14)
	ROW("aten::_fused_rms_norm_backward", norm_backward, NORM, 4, 4, 8)
	ROW("aten::native_batch_norm_backward", norm_backward, NORM, 2, 2, 11)
	ROW("aten::cudnn_batch_norm_backward", norm_backward, NORM, 2, 2, 11)
	ROW("aten::miopen_batch_norm_backward", norm_backward, NORM, 2, 2, 11)
	ROW("aten::native_group_norm_backward", norm_backward, NORM, 4, 4, 14)

	/* vLLM, SGLang; a: result, b: last of several that are read, too */
	ROW("_C::rms_norm", arguments, NORM, 0, -1, 4)
	ROW("_C::fused_add_rms_norm", arguments, NORM, 0, 1, 5)
	ROW("_C::silu_and_mul", arguments, ELEMENTWISE, 0, -1, 3)
	ROW("_C::gelu_and_mul", arguments, ELEMENTWISE, 0, -1, 6)
	ROW("sgl_kernel::rmsnorm", arguments, NORM, 0, -1, 4)
	ROW("sgl_kernel::fused_add_rmsnorm", arguments, NORM, 0, 1, 5)
	ROW("sgl_kernel::silu_and_mul", arguments, ELEMENTWISE, 0, -1, 3)

	/* a: table; b: indices; 1 = an index for each element */
	ROW("aten::embedding", lookup, INDEXING, 0, 1, 0)
	ROW("aten::index_select", lookup, INDEXING, 0, 2, 0)
	ROW("aten::gather", lookup, INDEXING, 0, 2, 1)
	ROW("aten::index", index, INDEXING, 0, 0, 0)
	ROW("aten::embedding_dense_backward", lookup_backward, INDEXING, 0, 0, 1)
	/* a: indices; b: what is scattered */
	ROW("aten::scatter", scatter, INDEXING, 2, 3, 0)
	ROW("aten::scatter_", scatter, INDEXING, 2, 3, 0)
	ROW("aten::scatter_add_", scatter, INDEXING, 2, 3, 1)
	ROW("aten::index_add_", scatter, INDEXING, 2, 3, 1)

	ROW("aten::nll_loss_forward", loss, REDUCTION, 0, 0, 1)
	ROW("aten::nll_loss2d_forward", loss, REDUCTION, 0, 0, 1)
	ROW("aten::nll_loss_backward", loss_backward, REDUCTION, 0, 0, 1)
	ROW("aten::nll_loss2d_backward", loss_backward, REDUCTION, 0, 0, 1)

	/* a: dimensions; b: bytes of a place */
	ROW("aten::max_pool2d_with_indices", pool, REDUCTION, 2, 8, 1)
	ROW("aten::max_pool3d_with_indices", pool, REDUCTION, 3, 8, 1)
	ROW("aten::avg_pool2d", pool, REDUCTION, 2, 0, 1)
	ROW("aten::avg_pool3d", pool, REDUCTION, 3, 0, 1)
	ROW("aten::max_pool2d_with_indices_backward", pool_backward, REDUCTION, 1, 7, 1)
	ROW("aten::avg_pool2d_backward", pool_backward, REDUCTION, 1, 7, 1)

	LISTS("add", 1, 0, 1) LISTS("sub", 1, 0, 1) LISTS("mul", 1, 0, 1) LISTS("div", 1, 0, 1)
	LISTS("sqrt", 1, 0, 1) LISTS("rsqrt", 1, 0, 1) LISTS("reciprocal", 1, 0, 1)
	LISTS("neg", 1, 0, 1) LISTS("abs", 1, 0, 1) LISTS("sign", 1, 0, 1) LISTS("pow", 1, 0, 1)
	LISTS("exp", 1, 0, 1) LISTS("maximum", 1, 0, 1) LISTS("minimum", 1, 0, 1)
	LISTS("clamp_max", 1, 0, 1) LISTS("clamp_min", 1, 0, 1) LISTS("lerp", 1, 0, 3)
	LISTS("addcmul", 1, 1, 3) /* factors may be one list: counted once */ LISTS("addcdiv", 1, 0, 3) LISTS("norm", 0, 0, 2)
	LISTS("copy", 1, 1, 0) LISTS("zero", 1, 1, 0)
	/* a: lists that it reads, one of them gradients */
	ROW("aten::_fused_adam_", adam, OPTIMIZER, 4, 0, 13)
	ROW("aten::_fused_adamw_", adam, OPTIMIZER, 4, 0, 15)
	ROW("aten::_fused_adagrad_", adam, OPTIMIZER, 3, 0, 7)
};
/* clang-format on */
const size_t tide__op_rules_count = sizeof tide__op_rules / sizeof *tide__op_rules;

/* Whole numbers up to 2^53 are exact; no call of a device does more. */
static double checked(double v)
{
	return v >= 0 && v <= 9007199254740992.0 ? rint(v) : (double)NAN;
}

bool tide__op_cost(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		   tide_op_cost *out)
{
	*out = (tide_op_cost){ .flops = (double)NAN,
			       .bytes_read = (double)NAN,
			       .bytes_written = (double)NAN,
			       .category = r->category };
	if (!r->cost(r, x, c, out))
		return false;
	out->flops = checked(out->flops);
	out->bytes_read = checked(out->bytes_read);
	out->bytes_written = checked(out->bytes_written);
	return !isnan(out->flops) || !isnan(out->bytes_read) || !isnan(out->bytes_written);
}
