// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernel names of PyTorch, cuDNN, cuBLAS, CUTLASS, NCCL and Tensile, and names that are none. */
#include <stdlib.h>
#include <string.h>

#include "render/text/grid.h"
#include "render/text/kernel_name.h"
#include "testing.h"

#define NS   "at::native::"
#define ANON "(anonymous namespace)::"

static const struct {
	const char *name, *want;
} rows[] = {
	{ "void " NS "vectorized_elementwise_kernel<4, " NS
	  "sqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}"
	  "::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, " NS
	  "sqrt_kernel_cuda(at::TensorIteratorBase&), std::array<char*, 2ul>)",
	  "vectorized_elementwise<sqrt, float>" },
	{ "void " NS "vectorized_elementwise_kernel<4, " NS "AUnaryFunctor<float, float, float, " NS
	  "binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)",
	  "vectorized_elementwise<Mul, float>" },
	{ "void " NS "vectorized_elementwise_kernel<8, " NS
	  "CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
	  "vectorized_elementwise<add, bf16>" },
	{ "void " NS ANON "multi_tensor_apply_kernel<" NS ANON "TensorListMetadata<1>, " NS ANON
	  "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(int)",
	  "multi_tensor_apply<multiplies, float>" },
	{ "void " NS ANON "vectorized_layer_norm_kernel<float, float, false>(int, float)",
	  "vectorized_layer_norm<float>" },
	{ "void " NS "reduce_kernel<128, 4, " NS "ReduceOp<c10::BFloat16, " NS
	  "func_wrapper_t<c10::BFloat16, " NS
	  "sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda("
	  "float, float)#1}>, unsigned int, c10::BFloat16, 4> >(int)",
	  "reduce<sum, bf16>" },
	{ "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(cutlass_80::Params)",
	  "tensorop_s1688gemm_256x64_16x4_nn_align4" },
	{ "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
	  "(cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)",
	  "nchwToNhwc<float>" },
	{ "ampere_sgemm_128x32_nt", "sgemm_128x32_nt" },
	{ "cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", "scudnn_128x64_relu_small_nn_v1" },
	{ "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
	  "alignc4_execute_kernel__5x_cublas",
	  "gemm_f32f32_f32f32_f32_tn_n_128x128x8" },
	{ "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_"
	  "k_off_kernel__5x_cublas",
	  "gemm_bf16bf16_bf16f32_f32_tn_n_128x128x64" },
	{ "void " NS "elementwise_kernel<128, 4, " NS "gpu_kernel_impl_nocast<" NS
	  "BinaryFunctor<float, float, float, " NS
	  "binary_internal::DivFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
	  "elementwise<Div, float>" },
	{ "Cijk_Ailk_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC1",
	  "Cijk_Ailk_Bljk_HHS_BH MT256x256x64" },
	{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	  "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
	{ "triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0" },
	{ "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
	  "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT" },
	/* not kernels */
	{ "aten::mm", "aten::mm" },
	{ "autograd::engine::evaluate_function: AddmmBackward0",
	  "autograd::engine::evaluate_function: AddmmBackward0" },
	{ "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)" },
	{ "Memset (Device)", "Memset (Device)" },
	{ "torch/nn/modules/linear.py(114): forward", "torch/nn/modules/linear.py(114): forward" },
	{ "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
	  "<built-in method run_backward of torch._C._EngineBase object at 0x7f>" },
	{ "nn.Module: Linear_0", "nn.Module: Linear_0" },
	{ "", "" },
	{ "void ", "void " },
	{ "f<", "f" },
	{ "(", "(" },
	{ "x::y(", "y" },
};

static void table(void **state)
{
	char out[TIDE_KERNEL_NAME];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = tide__kernel_shorten(rows[i].name, strlen(rows[i].name), out);
		if (strcmp(out, rows[i].want) != 0 || n != strlen(out))
			fail_msg("%.60s: %s, not %s", rows[i].name, out, rows[i].want);
	}
}

/* Any bytes, any length: it stays within its room. */
static void bounded(void **state)
{
	char name[3000], out[TIDE_KERNEL_NAME];
	uint32_t seed = 7;
	static const char some[] = "<>()::,_ abK4\xc3\xa9";
	for (int round = 0; round < 4000; round++) {
		size_t n = (seed = seed * 1664525 + 1013904223) % (round % 5 ? 200 : sizeof name);
		for (size_t i = 0; i < n; i++)
			name[i] = some[(seed = seed * 1664525 + 1013904223) >> 8 & 15];
		size_t k = tide__kernel_shorten(name, n, out);
		assert_true(k < TIDE_KERNEL_NAME && out[k] == 0 && (k || !n));
	}
}

/* Names that shorten alike stay distinct in a table; JSON has them whole. */
static void distinct(void **state)
{
	static const tide_grid_col cols[] = { { "kernel", "Kernel", TIDE_CELL_KERNEL } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	tide_style style = { 0 };
	tide_grid *g = tide__grid_new(cols, 1);
	tide__grid_text(g, "void f<4, float>(int)");
	tide__grid_text(g, "void f<8, float>(int)");
	tide__grid_text(g, "void f<4, float>(int)");
	tide__grid_text(g, "volta_sgemm_64x64_nt");
	tide__grid_print(g, out, &style, 0);
	style.full_names = true;
	tide__grid_print(g, out, &style, 0);
	tide_json j;
	tide__json_begin(&j, out, false);
	tide__grid_json(g, &j);
	fclose(out);
	char tag[2][8];
	char want[600];
	tide__kernel_write_tag("void f<4, float>(int)", 21, tag[0]);
	tide__kernel_write_tag("void f<8, float>(int)", 21, tag[1]);
	assert_string_not_equal(tag[0], tag[1]);
	snprintf(want, sizeof want, "f<float> %s\nf<float> %s\nf<float> %s\nsgemm_64x64_nt\n",
		 tag[0], tag[1], tag[0]);
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(text, "void f<8, float>(int)\nvoid f<4, float>(int)\nvolta_sgemm"));
	assert_non_null(strstr(text, "\"kernel\":\"volta_sgemm_64x64_nt\""));
	free(text);
	tide__grid_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table), cmocka_unit_test(bounded),
					    cmocka_unit_test(distinct) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
