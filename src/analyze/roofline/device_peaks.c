// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Peak rates of devices from their makers' data sheets: dense, without sparsity, at boost clocks. A
 * device with several variants has the words that distinguish them. */
#include "analyze/roofline/device_peaks.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* name, 16 bit, float32, TF32, float64, 8 bit, 4 bit, GB/s; the first match counts */
static const tide_device_peak table[] = {
	{ "GB300",          2500,   80,    1250,  1.3,   5000,   15000, 8000 },
	{ "GB200",          2500,   80,    1250,  40,    5000,   10000, 8000 },
	{ "B300",           2250,   75,    1125,  1.2,   4500,   13500, 8000 },
	{ "B200",           2250,   75,    1125,  37,    4500,   9000,  8000 },
	{ "GH200",          989.4,  67,    494.7, 67,    1978.9, 0,     4000 },
	{ "H200",           989.4,  67,    494.7, 67,    1978.9, 0,     4800 },
	{ "H100 PCIe",      756,    51,    378,   51,    1513,   0,     2000 },
	{ "H100 NVL",       835,    60,    417.5, 60,    1671,   0,     3938 },
	{ "H100",           989.4,  67,    494.7, 67,    1978.9, 0,     3350 },
	{ "H800",           989.4,  67,    494.7, 1,     1978.9, 0,     3350 },
	{ "H20",            148,    44,    74,    1,     296,    0,     4000 },
	{ "A100 80GB PCIe", 312,    19.5,  156,   19.5,  624,    0,     1935 },
	{ "A100 80GB",      312,    19.5,  156,   19.5,  624,    0,     2039 },
	{ "A100",           312,    19.5,  156,   19.5,  624,    0,     1555 },
	{ "A800",           312,    19.5,  156,   19.5,  624,    0,     2039 },
	{ "A40",            149.7,  37.4,  74.8,  0,     299.3,  0,     696 },
	{ "A30",            165,    10.3,  82,    10.3,  330,    0,     933 },
	{ "A10G",           70,     31.5,  35,    0,     140,    0,     600 },
	{ "A10",            125,    31.2,  62.5,  0,     250,    0,     600 },
	{ "L40S",           362,    91.6,  183,   0,     733,    0,     864 },
	{ "L40",            181,    90.5,  90.5,  0,     362,    0,     864 },
	{ "L4",             121,    30.3,  60,    0,     242.5,  0,     300 },
	{ "V100",           125,    15.7,  0,     7.8,   0,      0,     900 },
	{ "T4",             65,     8.1,   0,     0,     130,    0,     320 },
	{ "RTX 5090",       209.5,  104.8, 104.8, 0,     419,    1676,  1792 },
	{ "RTX 4090",       165.2,  82.6,  82.6,  0,     330.3,  0,     1008 },
	{ "RTX 3090",       71,     35.6,  35.6,  0,     284,    0,     936 },
	{ "MI355X",         2516.6, 157.3, 0,     78.6,  5033.2, 10066.3, 8000 },
	{ "MI350X",         2306.9, 144.2, 0,     72.1,  4613.7, 9227.5,  8000 },
	{ "MI325X",         1307.4, 163.4, 653.7, 163.4, 2614.9, 0,     6000 },
	{ "MI300X",         1307.4, 163.4, 653.7, 163.4, 2614.9, 0,     5300 },
	{ "MI300A",         980.6,  122.6, 490.3, 122.6, 1961.2, 0,     5300 },
	{ "MI250X",         191.5,  47.9,  0,     47.9,  191.5,  0,     1638 }, /* one of its two dies */
	{ "MI250",          181,    45.3,  0,     45.3,  181,    0,     1638 },
	{ "MI210",          181,    45.3,  0,     45.3,  181,    0,     1638 },
	{ "TPU v7",         2307,   0,     0,     0,     4614,   0,     7380 },
	{ "TPU v6e",        918,    0,     0,     0,     1836,   0,     1640 },
	{ "TPU v5p",        459,    0,     0,     0,     918,    0,     2765 },
	{ "TPU v5e",        197,    0,     0,     0,     394,    0,     819 },
	{ "TPU v5 lite",    197,    0,     0,     0,     394,    0,     819 },
	{ "TPU v4",         275,    0,     0,     0,     275,    0,     1228 },
};
/* clang-format on */

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

/* ---- lines of users ---- */

/* Reads one "key=number". Returns false if it is none. */
static bool read_rate(const char *s, size_t n, tide_device_peak *out)
{
	static const struct {
		const char *key;
		size_t at;
	} keys[] = {
#define X(name, key, what) { key "=", offsetof(tide_device_peak, name) },
		TIDE_PEAKS(X)
#undef X
			{ "bandwidth=", offsetof(tide_device_peak, gb_s) },
	};
	char number[32], *end;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		size_t k = strlen(keys[i].key);
		if (n <= k || n - k >= sizeof number || strncmp(s, keys[i].key, k) != 0)
			continue;
		memcpy(number, s + k, n - k);
		number[n - k] = 0;
		double v = strtod(number, &end);
		if (*end || strspn(number, "0123456789.") != n - k || !(v > 0 && v <= 1e9))
			return false;
		memcpy((char *)out + keys[i].at, &v, sizeof v);
		return true;
	}
	return false;
}

enum { LINE = 200 };

/* Reads one line of `n` bytes. Returns false if it is not one; *fits: it is of the device. */
static bool read_line(const char *s, size_t n, const char *name, tide_device_peak *out, bool *is_of)
{
	char line[LINE];
	if (n >= sizeof line)
		return false;
	memcpy(line, s, n);
	line[n] = 0;
	char *colon = strchr(line, ':');
	if (!colon || colon == line)
		return false;
	*colon = 0;
	const char *words = line + strspn(line, " ");
	for (char *end = colon; end > line && end[-1] == ' ';)
		*--end = 0;
	*is_of = name && *words && fits(name, words);
	*out = (tide_device_peak){ 0 };
	for (const char *at = colon + 1; *(at += strspn(at, " \t\r"));) {
		size_t k = strcspn(at, " \t\r");
		if (!read_rate(at, k, out))
			return false;
		at += k;
	}
	return *words != 0;
}

tide_code tide__device_peaks_read(const char *lines, const char *name, tide_device_peak *out,
				  bool *found, tide_error *err)
{
	for (const char *at = lines; at && *at;) {
		size_t n = strcspn(at, "\n"), blank = strspn(at, " \t\r");
		tide_device_peak one;
		bool is_of = false;
		if (blank < n && at[blank] != '#') {
			if (!read_line(at, n, name, &one, &is_of))
				return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
						  "peaks: '%.*s' is not \"NAME: bf16=TFLOPS "
						  "fp32=TFLOPS bandwidth=GB/S\"",
						  n < 60 ? (int)n : 60, at);
			if (is_of) {
				*out = one;
				*found = true;
			}
		}
		at += n + (at[n] == '\n');
	}
	return TIDE_OK;
}

double tide__device_peak_of(const tide_device_peak *p, tide_number type, bool matrix, double tflops)
{
	if (!p)
		return 0;
	switch (type) {
	case TIDE_NUM_FLOAT32:
		return matrix && tflops > p->f32 && p->tf32 > 0 ? p->tf32 : p->f32;
	case TIDE_NUM_FLOAT64:
	case TIDE_NUM_COMPLEX128:
		return matrix ? p->f64 : 0;
	case TIDE_NUM_FLOAT16:
	case TIDE_NUM_BFLOAT16:
		return matrix ? p->half : p->f32;
	case TIDE_NUM_FLOAT8:
	case TIDE_NUM_INT8:
	case TIDE_NUM_UINT8:
		return matrix ? p->f8 : p->f32;
	case TIDE_NUM_FLOAT4:
		return matrix ? p->f4 : p->f32;
	default:
		return matrix ? 0 : p->f32;
	}
}
