// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The names that XLA's profiler gives to devices, lines and copies, in its Chrome traces and in its
 * .xplane.pb files. docs/formats/xla.md has the rules. Pure functions of a name. */
#ifndef TIDE_IMPORT_XLA_NAMES_H
#define TIDE_IMPORT_XLA_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_xla_device {
	unsigned kind; /* TIDE_DEVICE_*; GPUs are CUDA until the trace shows HIP */
	int64_t index;
	char name[16]; /* "tpu" */
} tide_xla_device;

typedef enum tide_xla_lane {
	TIDE_XLA_NO_DEVICE,
	TIDE_XLA_STREAM,  /* kernels and copies of a GPU */
	TIDE_XLA_OPS,	  /* what a TPU executes */
	TIDE_XLA_ASYNC,	  /* copies and collectives that a TPU runs beside its ops */
	TIDE_XLA_REPEATS, /* modules, steps, scopes: no work of their own */
} tide_xla_lane;

/* Returns true for the name of a device: "/device:TPU:0", also "/device:TPU:0 SparseCore 1". */
bool tide__xla_device(const char *name, tide_xla_device *out);
/* Returns true for the name of a GPU's stream: "Stream #14(Kernel)". */
bool tide__xla_is_stream(const char *name);
/* Returns the number of a line: the stream's own; for another line the thread's, below 0 beside
 * streams, whose numbers it could equal. */
int64_t tide__xla_lane_number(const char *name, int64_t thread, bool streams);
/* Returns what a line holds. A device with streams repeats their rows in its other lines. */
tide_xla_lane tide__xla_lane(const char *name, bool streams);
/* Returns the category (TIDE_CAT_*) of a row of a device's line. */
unsigned tide__xla_cat(tide_xla_lane lane, const char *name);
/* Returns the bytes in "kind_src:pinned kind_dst:device size:4096 dest:0", -1 if there are none. */
int64_t tide__xla_copy_bytes(const char *details);

/* Makes device rows that contain others of their lane annotations (while, conditional, call): they
 * are no work of their own. Parents must be set. */
struct tide_model;
void tide__xla_mark_containers(struct tide_model *m);

#endif
