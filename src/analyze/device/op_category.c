// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/op_category.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "model/strings.h"

const char *const tide__op_category_text[TIDE_OP_CATEGORY_COUNT] = {
#define X(name, text) [TIDE_OPS_OF_##name] = text,
	TIDE_OP_CATEGORIES(X)
#undef X
};

/* ---- the table ---- */

enum { OP = 1, KERNEL = 2, WHOLE = 4, BOTH = OP | KERNEL };

/* A name that contains `part` has the category; case does not matter. "^part" is the beginning of
 * the name, and of its last part behind "::" ("aten::mm" begins with "mm"); "=part" is all of that
 * part without a trailing '_'. The first row that fits decides. */
static const struct rule {
	uint8_t category, where;
	const char *part;
} rules[] = {
#define RULE(category, where, part) { TIDE_OPS_OF_##category, where, part },
	RULE(COMMUNICATION, OP, "^nccl:") RULE(COMMUNICATION, OP, "^c10d::") RULE(
		COMMUNICATION,
		OP, "^_c10d_functional") RULE(COMMUNICATION, BOTH,
					      "all_reduce") RULE(COMMUNICATION, BOTH,
								 "allreduce") RULE(COMMUNICATION,
										   BOTH, "all_gather") RULE(COMMUNICATION, BOTH, "reduce_scatter") RULE(COMMUNICATION, BOTH, "all_to_all")

		RULE(OPTIMIZER, OP | WHOLE, "^optimizer.step") RULE(OPTIMIZER, BOTH | WHOLE, "fused_adam") RULE(
			OPTIMIZER, BOTH | WHOLE,
			"fusedadam") RULE(OPTIMIZER, BOTH | WHOLE,
					  "fused_sgd") RULE(OPTIMIZER, BOTH | WHOLE,
							    "fused_adagrad")
			RULE(OPTIMIZER, OP | WHOLE, "^_foreach_") RULE(
				OPTIMIZER,
				OP | WHOLE,
				"^_amp_foreach") RULE(OPTIMIZER, KERNEL,
						      "multi_tensor_apply") RULE(OPTIMIZER, KERNEL,
										 "adamw") RULE(OPTIMIZER,
											       KERNEL,
											       "lamb_")

				RULE(MOE, BOTH,
				     "moe_align") RULE(MOE, BOTH,
						       "moe_sum") RULE(MOE, BOTH,
								       "topk_softmax") RULE(MOE,
											    BOTH,
											    "topkgating")
					RULE(MOE, BOTH, "topk_gating") RULE(MOE, BOTH, "grouped_topk") RULE(
						MOE,
						BOTH,
						"moe_permute") RULE(MOE, BOTH,
								    "moe_unpermute") RULE(MOE, BOTH, "moe_sort")
						RULE(MOE, BOTH, "moesorting") RULE(
							MOE,
							BOTH,
							"select_experts") RULE(MOE, BOTH,
									       "count_and_sort_expert")

							RULE(ATTENTION, BOTH | WHOLE, "attention") RULE(ATTENTION, BOTH | WHOLE, "flash_attn") RULE(
								ATTENTION, BOTH | WHOLE,
								"flash_fwd") RULE(ATTENTION,
										  BOTH | WHOLE,
										  "flash_bwd") RULE(ATTENTION,
												    BOTH,
												    "fmha")
								RULE(ATTENTION, BOTH, "sdpa") RULE(
									ATTENTION, KERNEL,
									"attn_fwd") RULE(ATTENTION,
											 KERNEL,
											 "attn_bwd") RULE(ATTENTION,
													  KERNEL,
													  "flash_")
									RULE(ATTENTION, KERNEL,
									     "mla_") RULE(ATTENTION,
											  BOTH,
											  "reshape_and_cache") RULE(ATTENTION,
														    BOTH,
														    "paged_attn")

										RULE(CONVOLUTION, OP, "convolution") RULE(
											CONVOLUTION,
											OP,
											"^conv1d") RULE(CONVOLUTION, OP, "^conv2d")
											RULE(CONVOLUTION, OP, "^conv3d") RULE(
												CONVOLUTION,
												OP,
												"^conv_") RULE(CONVOLUTION,
													       OP,
													       "_conv2d") RULE(CONVOLUTION,
															       KERNEL, "implicit_gemm") RULE(CONVOLUTION, KERNEL, "convolve") RULE(CONVOLUTION, KERNEL, "winograd") RULE(CONVOLUTION,
																													 KERNEL,
																													 "wgrad") RULE(CONVOLUTION,
																														       KERNEL,
																														       "dgrad") RULE(CONVOLUTION,
																																     KERNEL, "fprop") RULE(CONVOLUTION, KERNEL,
																																			   "im2col") RULE(CONVOLUTION,
																																					  KERNEL, "col2im") RULE(CONVOLUTION,
																																								 KERNEL, "igemm_fwd") RULE(CONVOLUTION,
																																											   KERNEL,
																																											   "igemm_bwd") RULE(CONVOLUTION,
																																													     KERNEL,
																																													     "conv_depthwise") RULE(CONVOLUTION,
																																																    KERNEL,
																																																    "conv2d") RULE(CONVOLUTION,
																																																		   KERNEL,
																																																		   "miopenSp3Asm")

												RULE(GEMM, OP, "=mm") RULE(
													GEMM,
													OP,
													"=addmm")
													RULE(GEMM, OP, "=bmm") RULE(GEMM, OP, "=baddbmm") RULE(GEMM, OP, "=addbmm") RULE(GEMM, OP, "=mv") RULE(GEMM, OP, "=addmv") RULE(GEMM, OP, "=dot") RULE(GEMM,
																															       OP, "=vdot") RULE(GEMM, OP, "=linear") RULE(GEMM, OP, "=matmul") RULE(GEMM,
																																								     OP,
																																								     "=addr") RULE(GEMM,
																																										   OP,
																																										   "_addmm_activation") RULE(GEMM,
																																													     BOTH,
																																													     "scaled_mm") RULE(GEMM,
																																															       BOTH,
																																															       "grouped_mm") RULE(GEMM, BOTH, "_int_mm") RULE(GEMM, BOTH, "gemm") RULE(GEMM,
																																																								       BOTH,
																																																								       "gemv") RULE(GEMM, KERNEL, "^Cijk_") RULE(GEMM, KERNEL, "nvjet") RULE(GEMM, KERNEL, "cutlass") RULE(GEMM, KERNEL, "splitKreduce") RULE(GEMM,
																																																																									      KERNEL,
																																																																									      "cublasLt") RULE(GEMM,
																																																																											       KERNEL,
																																																																											       "triton_tem_fused_mm") RULE(GEMM,
																																																																															   KERNEL,
																																																																															   "triton_tem_fused_addmm") RULE(GEMM, KERNEL, "triton_tem_fused_bmm") RULE(GEMM,
																																																																																								     KERNEL,
																																																																																								     "fmoe")
														RULE(GEMM, BOTH, "fused_moe") RULE(
															GEMM,
															BOTH,
															"moe_gemm") RULE(GEMM,
																	 BOTH,
																	 "ck_moe")
															RULE(GEMM,
															     OP,
															     "moe_forward")

																RULE(NORM,
																     BOTH,
																     "layer_norm")
																	RULE(
																		NORM,
																		BOTH,
																		"layernorm") RULE(NORM, BOTH, "rms_norm") RULE(NORM, BOTH, "rmsnorm") RULE(NORM, BOTH, "batch_norm") RULE(NORM,
																															  BOTH,
																															  "batchnorm") RULE(NORM,
																																	    BOTH, "group_norm") RULE(NORM,
																																				     BOTH, "groupnorm") RULE(NORM,
																																							     BOTH,
																																							     "instance_norm") RULE(NORM,
																																										   KERNEL, "bn_fw") RULE(NORM,
																																													 KERNEL, "bn_bw") RULE(NORM,
																																															       KERNEL, "rowwisemoments") RULE(NORM,
																																																			      KERNEL,
																																																			      "gammabeta") RULE(NORM,
																																																						KERNEL,
																																																						"_mean_mul_pow_rsqrt")

																		RULE(
																			COPY,
																			OP,
																			"=copy") RULE(COPY,
																				      OP,
																				      "=_to_copy") RULE(COPY, OP, "=to") RULE(COPY, OP, "=clone") RULE(COPY,
																												       OP, "=contiguous") RULE(COPY,
																															       OP,
																															       "=cat") RULE(COPY, OP, "=stack") RULE(COPY,
																																				     OP,
																																				     "=fill") RULE(COPY,
																																						   OP,
																																						   "=zero") RULE(COPY, OP, "=repeat") RULE(COPY,
																																											   OP,
																																											   "_copy") RULE(COPY,
																																													 OP, "=_local_scalar_dense") RULE(COPY, OP, "=constant_pad_nd") RULE(COPY,
																																																					     OP, "=roll") RULE(COPY,
																																																							       OP,
																																																							       "=flip") RULE(COPY,
																																																									     KERNEL,
																																																									     "copy")
																			RULE(COPY, KERNEL, "fillfunctor") RULE(
																				COPY,
																				KERNEL,
																				"transpose")

																				RULE(
																					INDEXING, OP, "embedding") RULE(INDEXING, OP, "^index") RULE(INDEXING,
																												     OP,
																												     "^_index")
																					RULE(INDEXING,
																					     OP,
																					     "^gather")
																						RULE(
																							INDEXING, OP, "^scatter") RULE(INDEXING, OP, "^take") RULE(INDEXING,
																														   OP, "masked_select") RULE(INDEXING,
																																	     OP,
																																	     "=nonzero")
																							RULE(
																								INDEXING,
																								KERNEL, "index") RULE(INDEXING, KERNEL, "gather") RULE(INDEXING, KERNEL, "scatter")
																								RULE(
																									INDEXING,
																									KERNEL, "embedding")

																									RULE(REDUCTION,
																									     OP, "softmax") RULE(REDUCTION, OP, "=sum") RULE(REDUCTION,
																															     OP, "=mean") RULE(REDUCTION,
																																	       OP, "=amax") RULE(REDUCTION,
																																				 OP, "=amin") RULE(REDUCTION, OP, "=max") RULE(REDUCTION, OP, "=min") RULE(REDUCTION,
																																													   OP,
																																													   "=argmax") RULE(REDUCTION, OP, "=argmin") RULE(REDUCTION, OP,
																																																			  "=std") RULE(REDUCTION,
																																																				       OP, "=var") RULE(REDUCTION,
																																																							OP, "=prod") RULE(REDUCTION, OP, "=norm") RULE(REDUCTION, OP, "=all") RULE(REDUCTION, OP, "=any") RULE(REDUCTION, OP, "linalg_vector_norm") RULE(REDUCTION, OP, "^cum") RULE(REDUCTION, OP, "=topk") RULE(REDUCTION,
																																																																																  OP, "=sort") RULE(REDUCTION, OP, "^logsumexp") RULE(REDUCTION, OP, "nll_loss") RULE(REDUCTION, OP, "cross_entropy") RULE(REDUCTION, OP, "mse_loss") RULE(REDUCTION,
																																																																																																			   OP,
																																																																																																			   "pool") RULE(REDUCTION,
																																																																																																					OP, "=nansum") RULE(REDUCTION,
																																																																																																							    KERNEL,
																																																																																																							    "softmax") RULE(REDUCTION, KERNEL, "reduce") RULE(REDUCTION,
																																																																																																													      KERNEL,
																																																																																																													      "^triton_red_") RULE(REDUCTION, KERNEL, "^triton_per_") RULE(REDUCTION,
																																																																																																																					   KERNEL,
																																																																																																																					   "radixsort") RULE(REDUCTION,
																																																																																																																							     KERNEL, "topk") RULE(REDUCTION, KERNEL, "nll_loss") RULE(REDUCTION, KERNEL, "scan")
																										RULE(REDUCTION,
																										     KERNEL,
																										     "argmax") RULE(REDUCTION,
																												    KERNEL,
																												    "pool")

																											RULE(
																												ELEMENTWISE, OP, "^add") RULE(ELEMENTWISE, OP, "^sub") RULE(ELEMENTWISE, OP, "^mul") RULE(ELEMENTWISE, OP, "^div") RULE(ELEMENTWISE,
																																											OP, "=pow") RULE(ELEMENTWISE, OP, "=neg") RULE(ELEMENTWISE,
																																																       OP,
																																																       "sqrt") RULE(ELEMENTWISE,
																																																		    OP,
																																																		    "=exp") RULE(ELEMENTWISE,
																																																				 OP, "=log") RULE(ELEMENTWISE,
																																																						  OP,
																																																						  "=sin") RULE(ELEMENTWISE, OP, "=cos") RULE(ELEMENTWISE,
																																																											     OP,
																																																											     "tanh") RULE(ELEMENTWISE, OP, "sigmoid") RULE(ELEMENTWISE, OP,
																																																																	   "relu") RULE(ELEMENTWISE,
																																																																			OP,
																																																																			"gelu") RULE(ELEMENTWISE, OP, "silu") RULE(ELEMENTWISE,
																																																																								   OP, "dropout") RULE(ELEMENTWISE, OP, "threshold") RULE(ELEMENTWISE, OP, "=where") RULE(ELEMENTWISE, OP, "masked_fill") RULE(ELEMENTWISE,
																																																																																							       OP,
																																																																																							       "^clamp") RULE(ELEMENTWISE,
																																																																																									      OP,
																																																																																									      "^bitwise") RULE(ELEMENTWISE, OP, "^logical") RULE(ELEMENTWISE, OP, "=eq") RULE(ELEMENTWISE, OP, "=ne") RULE(ELEMENTWISE,
																																																																																																							   OP,
																																																																																																							   "=lt") RULE(ELEMENTWISE,
																																																																																																								       OP, "=le") RULE(ELEMENTWISE,
																																																																																																										       OP, "=gt") RULE(ELEMENTWISE,
																																																																																																												       OP, "=ge") RULE(ELEMENTWISE,
																																																																																																														       OP,
																																																																																																														       "=abs") RULE(ELEMENTWISE, OP, "=sgn") RULE(ELEMENTWISE, OP, "=isnan") RULE(ELEMENTWISE,
																																																																																																																								  OP,
																																																																																																																								  "=rsub") RULE(ELEMENTWISE, OP, "=reciprocal") RULE(ELEMENTWISE, OP, "^lerp") RULE(ELEMENTWISE, OP, "=triu") RULE(ELEMENTWISE,
																																																																																																																																						   OP,
																																																																																																																																						   "=tril") RULE(ELEMENTWISE,
																																																																																																																																								 OP,
																																																																																																																																								 "=arange") RULE(ELEMENTWISE,
																																																																																																																																										 OP, "=erf") RULE(ELEMENTWISE, OP, "^fmod") RULE(ELEMENTWISE,
																																																																																																																																																 OP,
																																																																																																																																																 "^remainder") RULE(ELEMENTWISE,
																																																																																																																																																		    OP,
																																																																																																																																																		    "^normal") RULE(ELEMENTWISE,
																																																																																																																																																				    OP, "^uniform") RULE(ELEMENTWISE, OP, "^bernoulli") RULE(ELEMENTWISE, OP, "=random") RULE(ELEMENTWISE,
																																																																																																																																																															      OP, "=glu") RULE(ELEMENTWISE, BOTH, "rotary") RULE(ELEMENTWISE, KERNEL, "elementwise") RULE(ELEMENTWISE,
																																																																																																																																																																											  KERNEL,
																																																																																																																																																																											  "^triton_poi_") RULE(ELEMENTWISE,
																																																																																																																																																																													       KERNEL,
																																																																																																																																																																													       "dropout")
																												RULE(ELEMENTWISE,
																												     KERNEL,
																												     "act_and_mul")
																													RULE(ELEMENTWISE,
																													     KERNEL,
																													     "distribution_")
																														RULE(ELEMENTWISE,
																														     KERNEL,
																														     "relu")
#undef RULE
};
enum { N_RULES = sizeof rules / sizeof *rules };

/* ---- matching ---- */

static bool begins(const char *name, const char *part)
{
	return !strncasecmp(name, part, strlen(part));
}

/* Returns the part of an op's name behind its last "::". */
static const char *last_part(const char *name)
{
	for (const char *at; (at = strstr(name, "::"));)
		name = at + 2;
	return name;
}

static bool is_all(const char *name, const char *part)
{
	size_t n = strlen(part);
	return begins(name, part) && (!name[n] || (name[n] == '_' && !name[n + 1]));
}

static bool fits(const char *name, const char *part)
{
	if (*part == '^')
		return begins(name, part + 1) || begins(last_part(name), part + 1);
	return *part == '=' ? is_all(last_part(name), part + 1) : strcasestr(name, part) != NULL;
}

static const struct rule *rule_of(const char *name, unsigned where)
{
	for (size_t i = 0; i < N_RULES; i++)
		if (rules[i].where & where && fits(name, rules[i].part))
			return &rules[i];
	return NULL;
}

tide_op_category tide__op_category_of_op(const char *name, bool *whole)
{
	const struct rule *r = rule_of(name, OP);
	*whole = r && r->where & WHOLE;
	return r ? (tide_op_category)r->category : TIDE_OPS_OF_OTHER;
}

tide_op_category tide__op_category_of_kernel(const char *name)
{
	const struct rule *r = rule_of(name, KERNEL);
	return r ? (tide_op_category)r->category : TIDE_OPS_OF_OTHER;
}

/* ---- the ops around a launch ---- */

enum { SEEN = 128, ALL = 64, CATEGORY = 63 }; /* of a name, and of a span */

static uint8_t name_says(const tide_model *m, uint8_t *names, tide_str name)
{
	bool whole = false;
	if (!names[name.i]) {
		const char *text = tide__text(m, name, NULL);
		unsigned category = begins(text, "nn.Module: ") /* "nn.Module: GPT.attention" */
					    ? TIDE_OPS_OF_OTHER
					    : tide__op_category_of_op(text, &whole);
		names[name.i] = (uint8_t)(SEEN | (whole ? ALL : 0) | category);
	}
	return names[name.i];
}

/* Ops decide, and the range that PyTorch puts around an optimizer's step. */
static bool decides(const tide_model *m, uint32_t span)
{
	return m->spans.cat[span] == TIDE_CAT_OP ||
	       (m->spans.cat[span] == TIDE_CAT_USER &&
		begins(tide__text(m, m->spans.name[span], NULL), "Optimizer.step"));
}

uint8_t *tide__op_categories_find(const tide_model *m, const uint32_t *op_of)
{
	const tide_spans *s = &m->spans;
	uint8_t *names = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	uint8_t *out = tide__calloc(s->n, 1);
	for (uint32_t i = 1; names && out && i < s->n; i++) {
		uint8_t range = out[s->parent[i].i], around = out[op_of[i]];
		if (!(around & ALL) && range & ALL)
			around = range;
		uint8_t own = decides(m, i) ? name_says(m, names, s->name[i]) : 0;
		out[i] = around & ALL || !(own & CATEGORY) ? around : own & (ALL | CATEGORY);
	}
	for (uint32_t i = 1; names && out && i < s->n; i++)
		out[i] &= CATEGORY;
	if (!names) {
		tide__free(out);
		out = NULL;
	}
	tide__free(names);
	return out;
}
