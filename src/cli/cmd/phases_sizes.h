// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `phases` of logs, of several files, and with size options: parts of a training step's memory
 * (analyze/predict/training_sizes.h). The command's further options (cli/report_run.h). */
#ifndef TIDE_CLI_CMD_PHASES_SIZES_H
#define TIDE_CLI_CMD_PHASES_SIZES_H

#include "cli/cli.h"

enum {
	TIDE_SIZES_LOGS,
	TIDE_SIZES_CAPACITY,
	TIDE_SIZES_MODEL,
	TIDE_SIZES_OPTIMIZER,
	TIDE_SIZES_GRADIENTS,
	TIDE_SIZES_PARAMETERS,
	TIDE_SIZES_EACH,
	TIDE_SIZES_ACTUAL,
	TIDE_SIZES_KV,
	TIDE_SIZES_TITLE,
	TIDE_SIZES_PICTURE,
	TIDE_SIZES_FAIL_IF,
	TIDE_SIZES_OPTIONS_N
};

/* clang-format off */
#define TIDE_SIZES_OPTIONS \
	[TIDE_SIZES_LOGS] = { "logs", 'l', TIDE_OPT_FILE, "FILE", "a log or recording, as a plain argument", .many = true }, \
	[TIDE_SIZES_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE", \
		"memory of the device (default: as in the input, else 12GiB)", .also = "device-memory" }, \
	[TIDE_SIZES_MODEL] = { "model-size", 0, TIDE_OPT_BYTES, "SIZE", \
		"theoretical size of the model (default: parameters x bytes per parameter)" }, \
	[TIDE_SIZES_OPTIMIZER] = { "optimizer-size", 0, TIDE_OPT_BYTES, "SIZE", \
		"theoretical optimizer state (default: 2 x the model)" }, \
	[TIDE_SIZES_GRADIENTS] = { "gradients-size", 0, TIDE_OPT_BYTES, "SIZE", \
		"theoretical gradients (default: the model's size)" }, \
	[TIDE_SIZES_PARAMETERS] = { "parameters", 0, TIDE_OPT_INT, "N", \
		"number of parameters (default: as in the input)" }, \
	[TIDE_SIZES_EACH] = { "bytes-per-param", 0, TIDE_OPT_TEXT, "N", \
		"bytes of a parameter, e.g. 4 or 0.5 (default: 2, bf16)" }, \
	[TIDE_SIZES_ACTUAL] = { "use-actual-sizes", 0, TIDE_OPT_FLAG, NULL, \
		"parts of the peak use measured model and optimizer sizes" }, \
	[TIDE_SIZES_KV] = { "kv", 0, TIDE_OPT_TEXT, "L,H,D,T,TYPE", \
		"expect a KV cache of layers, heads, head size, tokens, dtype" }, \
	[TIDE_SIZES_TITLE] = { "title", 't', TIDE_OPT_TEXT, "TEXT", "title of the picture" }, \
	[TIDE_SIZES_PICTURE] = { "visualize-peak", 0, TIDE_OPT_FLAG, NULL, \
		"draw the bars; without -o into memory_peak_visualization.png" }, \
	[TIDE_SIZES_FAIL_IF] = { "fail-if", 'f', TIDE_OPT_TEXT, "EXPR", \
		"exit with 3 if, e.g. 'peak>12GiB' or 'usage>90%'", .many = true }
/* clang-format on */

/* Returns true if the size analysis is requested: by any of its options, several files, a
 * picture, or a log. */
bool tide__wants_sizes(const tide_args *a);
int tide__sizes_run(const tide_args *a);

#endif
