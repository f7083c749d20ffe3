// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Arguments of ops as traces have them: lines of shapes, dtypes, strides and scalars. Each rule
 * refuses them, or gives figures that are whole, not negative and exact, or unknown. The same text
 * is read as peaks of a device and as the name of a server's range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/inference.h"
#include "analyze/roofline/device_peaks.h"
#include "analyze/roofline/op_cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(double v)
{
	if (!isnan(v) && (v < 0 || v > 9007199254740992.0 || v != floor(v)))
		abort();
}

static void check_size(double v)
{
	if (!(v >= 0 && v < 1.8e19)) /* it is shown as an integer */
		abort();
}

static void try_rules(const tide_op_inputs *x, tide_cost_context c)
{
	for (size_t i = 0; i < tide__op_rules_count; i++) {
		tide_op_cost o;
		if (!tide__op_cost(&tide__op_rules[i], x, &c, &o))
			continue;
		check(o.flops);
		check(o.bytes_read);
		check(o.bytes_written);
		check_size(o.batch);
		check_size(o.m);
		check_size(o.n);
		check_size(o.k);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static tide_op_inputs x;
	char *text = malloc(n + 1), *line[4] = { NULL }, *at = text;
	tide_iteration_counts counts;
	tide_iteration_kind kind;
	tide_device_peak peak = { 0 };
	tide_error err = { 0 };
	bool found = false;
	memcpy(text, data, n);
	text[n] = 0;
	(void)tide__iteration_parse(text, n, &counts, &kind);
	(void)tide__device_peaks_read(text, "NVIDIA H100 PCIe", &peak, &found, &err);
	for (int i = 0; i < 4 && at; i++) {
		line[i] = strsep(&at, "\n");
		line[i] = *line[i] ? line[i] : NULL;
	}
	const tide_op_texts t = { line[0], line[1], line[2], line[3] };
	if (tide__op_inputs_read(&t, &x)) {
		try_rules(&x, (tide_cost_context){ .type = TIDE_NUM_FLOAT32 });
		try_rules(&x, (tide_cost_context){ .masked = true,
						   .in_place = true,
						   .elements = 1e6,
						   .bytes = 4e6,
						   .type = TIDE_NUM_BFLOAT16 });
	}
	free(text);
	return 0;
}
