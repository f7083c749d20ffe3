// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Peak rates of devices: a table (device_peaks.c), and lines of users.
 *
 *     H100 PCIe: bf16=756 fp32=51 tf32=378 fp64=51 fp8=1513 bandwidth=2000
 *
 * A line belongs to a device whose name has all words before the colon. Rates are in TFLOP/s,
 * the bandwidth in GB/s; a rate that is not given is unknown. */
#ifndef TIDE_ANALYZE_ROOFLINE_DEVICE_PEAKS_H
#define TIDE_ANALYZE_ROOFLINE_DEVICE_PEAKS_H

#include "analyze/roofline/op_inputs.h"
#include "base/error.h"

/* Dense rates of matrix units, 10^12 operations a second; 0 = unknown. */
#define TIDE_PEAKS(X)                                                     \
	X(half, "bf16", "bfloat16 and float16")                           \
	X(f32, "fp32", "float32, also of vector units for 16 and 32 bit") \
	X(tf32, "tf32", "float32 as TF32")                                \
	X(f64, "fp64", "float64")                                         \
	X(f8, "fp8", "float8 and int8")                                   \
	X(f4, "fp4", "float4")

typedef struct tide_device_peak {
	const char *match; /* words of its name, all of them; NULL = given by the user */
#define X(name, key, what) double name;
	TIDE_PEAKS(X)
#undef X
	double gb_s; /* of its memory, 10^9 bytes a second */
} tide_device_peak;

/* Returns the figures of a device by its name, NULL if it is not in the table. */
const tide_device_peak *tide__device_peak(const char *name);
/* Reads the user's lines, and takes the last one that fits the name; *found: one does. Fails with
 * TIDE_EUSAGE: the text names the line. */
tide_code tide__device_peaks_read(const char *lines, const char *name, tide_device_peak *out,
				  bool *found, tide_error *err);
/* Returns the peak of matrix or vector units. For matrices of float32 it is TF32's if `tflops` is more
 * than plain float32 can reach. 0 = unknown. */
double tide__device_peak_of(const tide_device_peak *p, tide_number type, bool matrix,
			    double tflops);

#endif
