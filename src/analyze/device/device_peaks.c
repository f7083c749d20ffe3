// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Peak rates of devices from their makers' data sheets: dense, without sparsity, at boost clocks. A
 * device with several variants has the words that distinguish them. */
#include <stdbool.h>
#include <string.h>

#include "analyze/device/flops.h"

/* name, 16 bit, float32, TF32, float64 (tensor), 8 bit, GB/s; the first match counts */
static const tide_device_peak table[] = {
	{ "B200", 2250, 75, 1125, 37, 4500, 8000 },
	{ "GH200", 989.4, 67, 494.7, 67, 1978.9, 4000 },
	{ "H200", 989.4, 67, 494.7, 67, 1978.9, 4800 },
	{ "H100 PCIe", 756, 51, 378, 51, 1513, 2000 },
	{ "H100 NVL", 835, 60, 417.5, 60, 1671, 3938 },
	{ "H100", 989.4, 67, 494.7, 67, 1978.9, 3350 },
	{ "H800", 989.4, 67, 494.7, 1, 1978.9, 3350 },
	{ "H20", 148, 44, 74, 1, 296, 4000 },
	{ "A100 80GB PCIe", 312, 19.5, 156, 19.5, 0, 1935 },
	{ "A100 80GB", 312, 19.5, 156, 19.5, 0, 2039 },
	{ "A100", 312, 19.5, 156, 19.5, 0, 1555 },
	{ "A800", 312, 19.5, 156, 19.5, 0, 2039 },
	{ "A40", 149.7, 37.4, 74.8, 0, 0, 696 },
	{ "A30", 165, 10.3, 82, 10.3, 0, 933 },
	{ "A10G", 70, 31.5, 35, 0, 0, 600 },
	{ "A10", 125, 31.2, 62.5, 0, 0, 600 },
	{ "L40S", 362, 91.6, 183, 0, 733, 864 },
	{ "L40", 181, 90.5, 90.5, 0, 362, 864 },
	{ "L4", 121, 30.3, 60, 0, 242.5, 300 },
	{ "V100", 125, 15.7, 0, 7.8, 0, 900 },
	{ "T4", 65, 8.1, 0, 0, 0, 320 },
	{ "RTX 4090", 165.2, 82.6, 82.6, 0, 330.3, 1008 },
	{ "RTX 3090", 71, 35.6, 35.6, 0, 0, 936 },
	{ "MI300X", 1307.4, 163.4, 653.7, 163.4, 2614.9, 5300 },
	{ "MI250X", 383, 95.7, 0, 95.7, 0, 3277 },
};

static bool is_part(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns whether the text has the word, not as a part of another one ("A10" in "A100"). */
static bool has_word(const char *text, const char *word, size_t n)
{
	for (const char *at = text; *at; at++)
		if (!strncmp(at, word, n) && (at == text || !is_part(at[-1])) && !is_part(at[n]))
			return true;
	return false;
}

static bool fits(const char *name, const char *match)
{
	for (size_t n; *match; match += n + (match[n] == ' ')) {
		n = strcspn(match, " ");
		if (!has_word(name, match, n))
			return false;
	}
	return true;
}

const tide_device_peak *tide__device_peak(const char *name)
{
	for (size_t i = 0; name && i < sizeof table / sizeof *table; i++)
		if (fits(name, table[i].match))
			return &table[i];
	return NULL;
}

double tide__device_peak_of(const tide_device_peak *p, const char *dtype, double tflops)
{
	if (!p || !dtype)
		return 0;
	if (!strcmp(dtype, "float32"))
		return tflops > p->tflops_32 && p->tflops_tf32 > 0 ? p->tflops_tf32 : p->tflops_32;
	return !strcmp(dtype, "float64")  ? p->tflops_64
	       : !strcmp(dtype, "float8") ? p->tflops_8
					  : p->tflops_16;
}
