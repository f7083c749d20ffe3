// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Display names of rows: devices, lanes, frames, tensors. Everything that shows a row uses these, so
 * that it has one name everywhere. Each writes at most n bytes into buf, NUL-terminated. */
#ifndef TIDE_MODEL_NAMES_H
#define TIDE_MODEL_NAMES_H

#include "model/model.h"

/* Writes a device's display name: "cuda:0", "cpu"; "?" for none. Returns buf. */
const char *tide__device_name(const tide_model *m, uint32_t device, char *buf, size_t n);

/* Writes "thread 1234 (main)" or "stream 7": kind, number and the lane's own name. A name that
 * contains the number already, or belongs to a lane of unknown kind, is used alone. Trailing
 * blanks are dropped; long names are cut at n. Returns buf. */
char *tide__lane_name(const tide_model *m, tide_lane_id lane, char *buf, size_t n);
/* The same and " of process 1234", for lanes of equal names in several processes. */
char *tide__lane_name_in_process(const tide_model *m, tide_lane_id lane, char *buf, size_t n);

/* Writes "function (file:line)", the file without its folders, a native function without its
 * arguments; "unknown" for none. Returns buf. */
char *tide__frame_name(const tide_model *m, tide_frame_id f, char *buf, size_t n);
/* Writes "function (file:line)" in full, with folders and arguments, as far as known; without
 * ":line" unless `line`. Owned by the caller (tide__free), with its length in *n; NULL if memory
 * runs out. Many frames may share one very long text. Such texts are complete until they have used
 * 16 MiB together, counted in *long_bytes; then they are truncated, and the number of the text keeps
 * names distinct. */
char *tide__frame_full_name(const tide_model *m, tide_frame_id f, bool line, uint64_t *long_bytes,
			    size_t *n);
/* Returns the length of a C++ function's name without its arguments. */
size_t tide__bare_name(const char *s, size_t n);

/* Writes "weights float32[64, 32]" for a tensor or a view; returns its length. A long name is cut at
 * half of n, and dimensions that do not fit are left out. */
enum { TIDE_TENSOR_NAME = 1024 };
size_t tide__tensor_name(const tide_model *m, uint32_t tensor, char *buf, size_t n);
size_t tide__view_name(const tide_model *m, uint32_t view, char *buf, size_t n);
/* Writes the name of an allocation that several tensors share, by their common role: "gradient
 * bucket, 4 tensors", "flattened parameters, 12 tensors"; "shared storage, 3 tensors" for role 0.
 * Returns its length. */
size_t tide__storage_name(uint8_t role, size_t tensors, char *buf, size_t n);

#endif
