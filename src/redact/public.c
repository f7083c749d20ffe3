// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "redact/public.h"

#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Identifiers that stay wherever they are. */
static const char words[] =
	"True\nFalse\nNone\nnull\ntrue\nfalse\ninf\nnan\nint\nfloat\nbool\nstr\nTensor\nTensorList\nScalar\n"
	"ScalarList\nGenericList\nDevice\nLayout\nfloat16\nfloat32\nfloat64\nbfloat16\nBFloat16\nHalf\n"
	"int8\nint16\nint32\nint64\nuint8\nfloat8_e4m3fn\nfloat8_e5m2\nlong\nshort\ndouble\nchar\n"
	"unsigned\nsigned\nvoid\nc10\ncuda\ncpu\nhip\nmps\nxpu\nGPU\nCPU\nCUDA\nProfilerStep\nnn\nModule\n"
	"Optimizer\noptimizer\nstep\nzero_grad\nDataLoader\nenumerate\n__next__\n__init__\n__call__\n"
	"__main__\n__getitem__\n__enter__\n__exit__\n_call_impl\n_wrapped_call_impl\nforward\nbackward\n"
	"main\nmodule\nlambda\nlistcomp\ngenexpr\ndictcomp\nrun\nmm\n"
	"_SingleProcessDataLoaderIter\n_MultiProcessingDataLoaderIter\n_BaseDataLoaderIter\n"
	"autograd\nengine\nevaluate_function\nAccumulateGrad\nautograd_function\nCompiledFunction\n"
	"Memcpy\nMemset\nHtoD\nDtoH\nDtoD\nHtoH\nPtoP\nPinned\nPageable\nArray\nUnknown\nunknown\n"
	"Stream\nstream\nEvent\nContext\nSync\nWait\nthread\nThread\ntask\npython\nPython\n"
	"torch\naten\nprims\nc10d\nprofiler\nnccl\ngloo\nrccl\nhccl\ndefault_pg\nundefined\n"
	"coalesced\nall_reduce\nall_gather\nreduce_scatter\nall_to_all\nbroadcast\nsend\nrecv\n"
	"rank\nRank\nlayer\nusr\nlib\nlib64\nhome\ntmp\nopt\nsrc\nsite\ndist\npackages\nbin\nmnt\nroot\n"
	"NVIDIA\nAMD\nTesla\nInstinct\nGraphics\nTorch\nCompiled\nRegion\nCall\nCompiledFxGraph\n"
	"iteration\nMarker\nRecord\nWindow\nEnd\nTriton\ntriton\n"
	"before\nthe\nrecording\npython3\nPyTorch\nProfiler\nTrace\nSpans\nActivity\nBuffer\nRequest\n"
	"Instrumentation\nResource\nLazy\nFunction\nLoading\nLaunch\nQueue\nFull\nIteration\n"
	"process_sort_index\nthread_sort_index\nvllm\nsglang\ntransformers\ncache_utils\ncache_engine\n"
	"model_loader\nmem_cache\nexecute_model\nload_model\nload_weights\nkv_cache\nrun_batch\nprofile_run\n"
	"init_kv_cache\ninitialize_kv_cache\n"
	"hook\ntidemark\nsitecustomize\nmemory\nanonymous\nnamespace\nnative\nconst\n"
	"tidemark_allocator\ntidemark_build\ntidemark_compile\ntidemark_cudnn\n"
	"tidemark_devices\ntidemark_disguise\ntidemark_encoder\ntidemark_files\n"
	"tidemark_graphs\ntidemark_hook\ntidemark_known\ntidemark_loops\ntidemark_model\n"
	"tidemark_objects\ntidemark_optimizers\ntidemark_phases\ntidemark_predict\n"
	"tidemark_scripts\ntidemark_threads\ntidemark_values\ntidemark_watch\n"
	"tidemark_workspaces\ntidemark_world\n"
	"A10\nA100\nB100\nB200\nGB200\nH100\nH200\nGH200\nL4\nL40\nL40S\nT4\nV100\nPG509\nSXM\nSXM2\n"
	"SXM4\nSXM5\nPCIE\nPCIe\nHBM3\nMI210\nMI250\nMI250X\nMI300\nMI300X\nMI325X\nGeForce\nRTX\n";

/* Parts of names by which reports sort kernels and ops (analyze/device/op_category.c,
 * collective_names.c, idle_cause.c, advice), in any case. */
static const char *const parts[] = {
	"decode",
	"prefill",
	"execute_context",
	"generation",
	"sqsq",
	"sqsk",
	"extend",
	"mixed",
	"act_and_mul",
	"adamw",
	"addmm",
	"all_gather",
	"all_reduce",
	"all_to_all",
	"allgather",
	"allreduce",
	"alltoall",
	"argmax",
	"attention",
	"attn_bwd",
	"attn_fwd",
	"autograd",
	"backward",
	"batch_norm",
	"batchnorm",
	"bcast",
	"bn_bw",
	"bn_fw",
	"broadcast",
	"cijk_",
	"ck_moe",
	"col2im",
	"conv2d",
	"conv_depthwise",
	"convolution",
	"convolve",
	"copy",
	"count_and_sort_expert",
	"cross_device_reduce",
	"cross_entropy",
	"cublas",
	"cudnn",
	"custom_all_reduce",
	"cutlass",
	"dataloader",
	"dgrad",
	"distribution",
	"dropout",
	"elementwise",
	"embedding",
	"fillfunctor",
	"flash",
	"fmha",
	"fmoe",
	"fprop",
	"fused",
	"gammabeta",
	"gather",
	"gelu",
	"gemm",
	"gemv",
	"group_norm",
	"grouped_mm",
	"grouped_topk",
	"groupnorm",
	"igemm",
	"im2col",
	"index",
	"instance_norm",
	"lamportallreduce",
	"layer_norm",
	"layernorm",
	"linalg_vector_norm",
	"masked_fill",
	"masked_select",
	"memcpy",
	"memset",
	"miopensp3asm",
	"moe_align",
	"moe_forward",
	"moe_permute",
	"moe_sort",
	"moe_sum",
	"moe_unpermute",
	"moesorting",
	"mscclpp",
	"mse_loss",
	"multi_tensor_apply",
	"multimem",
	"nccldevkernel",
	"ncclkernel",
	"nccl",
	"nll_loss",
	"nonfused",
	"nvjet",
	"nvshmem",
	"one_shot",
	"oneshot",
	"optimizer",
	"paged_attn",
	"pool",
	"quick_all_reduce",
	"radixsort",
	"rccl",
	"reduce",
	"relu",
	"reshape_and_cache",
	"rms_norm",
	"rmsnorm",
	"rocclr_fill",
	"rocshmem",
	"rotary",
	"rowwisemoments",
	"scaled_mm",
	"scan",
	"scatter",
	"sdpa",
	"select_experts",
	"sendrecv",
	"sigmoid",
	"silu",
	"softmax",
	"splitkreduce",
	"sqrt",
	"tanh",
	"threshold",
	"tilesize",
	"topk",
	"transpose",
	"triton_per_",
	"triton_poi_",
	"triton_red_",
	"triton_tem_",
	"two_shot",
	"twoshot",
	"userbuffers",
	"wgrad",
	"winograd",
	"workspace",
};

/* Pieces of the names of CUDA's and HIP's calls. */
static const char calls[] =
	"Access\nActive\nAdd\nAddress\nAdvise\nAlloc\nArray\nAsync\nAt\nAttach\nAttribute\nAttributes\nBegin\n"
	"Block\nBlocks\nBus\nBy\nCache\nCallback\nCan\nCapture\nCapturing\nCheck\nClose\nConfig\nConfiguration\n"
	"Context\nCooperative\nCount\nCreate\nCtx\nCurrent\nData\nDestroy\nDevice\nDisable\nDriver\nDto\n"
	"Elapsed\nEnable\nEnd\nEntry\nError\nErrors\nEvent\nEx\nExC\nExchange\nExec\nExport\nExt\nFlags\nFor\n"
	"Free\nFrom\nFunc\nFunction\nGet\nGranularity\nGraph\nHandle\nHost\nId\nImport\nInfo\nInit\n"
	"Instantiate\nIpc\nIs\nKernel\nLast\nLaunch\nLibrary\nLimit\nLink\nLoad\nLocal\nMalloc\nManaged\nMap\nMax\nMem\n"
	"Memcpy\nMemory\nMemset\nMode\nModule\nMulti\nMultiprocessor\nName\nNode\nNodes\nOccupancy\nOf\nOpen\n"
	"Pci\nPeek\nPeer\nPer\nPoint\nPointer\nPool\nPop\nPrefetch\nPrimary\nPriority\nProfiler\nProperties\n"
	"Property\nPush\nQuery\nRange\nRecord\nRegister\nRelease\nReserve\nReset\nRetain\nRuntime\nSet\nShared\n"
	"Size\nStart\nState\nStop\nStream\nString\nSymbol\nSync\nSynchronize\nTexture\nThread\nTime\nTo\nTotal\n"
	"Trim\nUnified\nUnload\nUnmap\nUnregister\nUpdate\nUpload\nUsage\nUuid\nValue\nVersion\nWait\nWith\n"
	"Write\nAvailable\nPotential\nLargest\nUnused\nCluster\nClusters\nBias\nIntended\nParam\nParams\n";

static const char *const kernels[] = {
	"void at::",
	"at::native",
	"void cutlass",
	"cutlass",
	"ampere_",
	"volta_",
	"turing_",
	"hopper_",
	"sm70_",
	"sm75_",
	"sm80_",
	"sm86_",
	"sm89_",
	"sm90_",
	"sm100_",
	"nvjet",
	"cublas",
	"cudnn",
	"void cudnn",
	"void cublas",
	"nccl",
	"rccl",
	"Cijk_",
	"triton_",
	"void flash",
	"flash_",
	"pytorch_flash",
	"void pytorch_flash",
	"fmha_",
	"void fmha",
	"void multi_tensor_apply_kernel",
	"void gemm",
	"void splitKreduce",
	"gemv",
	"void gemv",
	"vectorized_elementwise_kernel",
	"miopen",
	"void (anonymous namespace)::",
	"void cub::",
	"void dot_kernel",
	"void thrust",
};

/* ---- sets of texts: open hashing over pointers into the lists ---- */

enum { SLOTS = 1 << 15 };

struct set {
	const char *list;
	uint32_t at[SLOTS]; /* position in `list` + 1 */
};

static struct set all[5];
enum { KEYS, WORDS, OPS, NODES, CALLS };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return (h ^ h >> 15) % SLOTS;
}

static void fill(struct set *to, const char *list)
{
	to->list = list;
	for (const char *s = list; *s;) {
		size_t n = strcspn(s, "\n");
		uint32_t i = hash_of(s, n);
		while (to->at[i])
			i = (i + 1) % SLOTS;
		to->at[i] = (uint32_t)(s - list) + 1;
		s += n + (s[n] != 0);
	}
}

static void fill_all(void)
{
	fill(&all[KEYS], tide__public_keys);
	fill(&all[WORDS], words);
	fill(&all[OPS], tide__public_ops);
	fill(&all[NODES], tide__public_nodes);
	fill(&all[CALLS], calls);
}

static bool has(int which, const char *s, size_t n)
{
	const struct set *in = &all[which];
	pthread_once(&once, fill_all);
	if (!n || memchr(s, '\n', n) || memchr(s, 0, n))
		return false;
	for (uint32_t i = hash_of(s, n); in->at[i]; i = (i + 1) % SLOTS) {
		const char *have = in->list + in->at[i] - 1;
		if (!strncmp(have, s, n) && (have[n] == '\n' || !have[n]))
			return true;
	}
	return false;
}

bool tide__public_is_key(const char *s, size_t n)
{
	return n == 1 || has(KEYS, s, n);
}

bool tide__public_is_word(const char *s, size_t n)
{
	return has(WORDS, s, n);
}

bool tide__public_is_op(const char *s, size_t n)
{
	return has(OPS, s, n);
}

bool tide__public_is_node(const char *s, size_t n)
{
	return has(NODES, s, n);
}

/* Returns true if s consists of pieces such as "Launch" and "Kernel", of digits, and of '_'. */
static bool made_of_calls(const char *s, size_t n)
{
	for (size_t i = 0, to; i < n; i = to) {
		to = i + 1;
		if (isdigit((uint8_t)s[i]) || s[i] == '_')
			continue;
		while (to < n && islower((uint8_t)s[to]))
			to++;
		if (to - i == 1 && memchr("DHACSv", s[i], 6))
			continue;
		if (has(CALLS, s + i, to - i))
			continue;
		if (to < n && s[to] == 'C' && has(CALLS, s + i, to + 1 - i))
			to++;
		else
			return false;
	}
	return n > 0;
}

bool tide__public_is_call(const char *s, size_t n)
{
	static const char *const roots[] = { "cuda", "cu", "hip" };
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		size_t k = strlen(roots[i]);
		if (n > k && !memcmp(s, roots[i], k) && isupper((uint8_t)s[k]) &&
		    made_of_calls(s + k, n - k))
			return true;
	}
	return false;
}

bool tide__public_is_kernel(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (n >= strlen(kernels[i]) && !memcmp(s, kernels[i], strlen(kernels[i])))
			return true;
	return false;
}

size_t tide__public_part(const char *s, size_t n)
{
	size_t best = 0;
	if (!n || !isalpha((uint8_t)*s))
		return 0;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		size_t k = strlen(parts[i]);
		if (k > best && k <= n && tolower((uint8_t)*s) == *parts[i] &&
		    !strncasecmp(s, parts[i], k))
			best = k;
	}
	return best;
}
