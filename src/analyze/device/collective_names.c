// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/collective_names.h"

#include <ctype.h>
#include <string.h>

#include "analyze/common/statistics.h"

/* Ops of XLA, which TPUs execute by these names: "all-reduce.3", "all-gather-start". */
static bool is_xla_collective(const char *name)
{
	static const char *const ops[] = { "all-reduce", "all-gather", "reduce-scatter",
					   "all-to-all", "collective-permute" };
	name += *name == '%';
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!strncmp(name, ops[i], strlen(ops[i])))
			return true;
	return false;
}

bool tide__comm_name(const char *name)
{
	return is_xla_collective(name) || !strncmp(name, "nccl", 4) || !strncmp(name, "rccl", 4) ||
	       !strncmp(name, "hccl", 4) || strstr(name, "ncclKernel") ||
	       strstr(name, "ncclDevKernel") || strstr(name, "rcclGenericKernel");
}

static const char *const custom[] = {
	"multimem_all_reduce", /* symmetric memory */
	"multimem_one_shot_all_reduce",
	"multimem_all_gather",
	"one_shot_all_reduce",
	"two_shot_all_reduce",
	"cross_device_reduce", /* custom all-reduce of inference servers */
	"custom_all_reduce",
	"quick_all_reduce",
	"oneShotAllReduce", /* fused all-reduce of inference compilers */
	"twoShotAllReduce",
	"allreduce_fusion_kernel",
	"lamportAllReduce",
	"userbuffers_", /* overlapped GEMM + collective */
	"nvshmem",
	"rocshmem",
	"mscclpp",
	NULL,
};

bool tide__is_custom_collective(const char *name, const char *const *extra, size_t n_extra)
{
	for (const char *const *p = custom; *p; p++)
		if (strstr(name, *p))
			return true;
	for (size_t i = 0; i < n_extra; i++)
		if (extra[i][0] && strstr(name, extra[i]))
			return true;
	return false;
}

/* The first match is used: longer and more special names come before names that they contain. */
static const tide_collective_kind kinds[] = {
	{ "reducescatter", false, 1, false },
	{ "allreduce", false, 2, false },
	{ "allgather", true, 1, false },
	{ "alltoall", false, 1, false },
	{ "broadcast", false, 0, false },
	{ "bcast", false, 0, false },
	{ "reduce", false, 0, false },
	{ "gather", true, 1, false },
	{ "scatter", false, 1, false },
	{ "send", false, 0, true },
	{ "recv", true, 0, true },
};

const tide_collective_kind *tide__collective_kind(const char *name)
{
	char plain[64];
	size_t n = 0;
	for (const char *p = name; *p && n < sizeof plain - 1; p++)
		if (isalpha((unsigned char)*p))
			plain[n++] = (char)tolower((unsigned char)*p);
	plain[n] = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strstr(plain, kinds[i].name))
			return &kinds[i];
	return NULL;
}

uint64_t tide__bus_bytes(const tide_collective_kind *k, uint64_t bytes, uint64_t n)
{
	if (!k || !k->num || !n)
		return bytes;
	tide_u128 v = (tide_u128)bytes * k->num * (n - 1) / n;
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

unsigned tide__collective_dtype_bytes(const char *dtype)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} rows[] = {
		{ "Float", 4 },
		{ "BFloat16", 2 },
		{ "Half", 2 },
		{ "Double", 8 },
		{ "Long", 8 },
		{ "Int", 4 },
		{ "Short", 2 },
		{ "Char", 1 },
		{ "Byte", 1 },
		{ "Bool", 1 },
		{ "UInt16", 2 },
		{ "UInt32", 4 },
		{ "UInt64", 8 },
		{ "Float8_e4m3fn", 1 },
		{ "Float8_e5m2", 1 },
		{ "Float8_e4m3fnuz", 1 },
		{ "Float8_e5m2fnuz", 1 },
		{ "ComplexHalf", 4 },
		{ "ComplexFloat", 8 },
		{ "ComplexDouble", 16 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, dtype))
			return rows[i].bytes;
	return 0;
}
