// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the collective that a communication row belongs to.
 *
 * The arguments ("Collective name", "Process Group Name", ...) are on the kernel (CUDA) or on an op
 * around its launch (ROCm); "Seq" is on the op only. Traces from before 2024 have none: then the
 * ranges around the launch (nccl:all_to_all, c10d::alltoall_base_) name the collective, or else the
 * kernel's own name. */
#ifndef TIDE_ANALYZE_DEVICE_COLLECTIVE_ARGS_H
#define TIDE_ANALYZE_DEVICE_COLLECTIVE_ARGS_H

#include "analyze/device/collective_names.h"
#include "analyze/device/hta_parts.h"

typedef struct tide_collective_keys {
	tide_str name, group, desc, ranks, size, dtype, in, out, seq;
	tide_str in_split, out_split, first, stride;
} tide_collective_keys;

tide_collective_keys tide__collective_keys_find(const tide_model *m);

/* Returns the span that carries a row's collective arguments, 0 = none. */
uint32_t tide__collective_carrier(const tide_hta_input *in, const tide_collective_keys *k,
				  size_t row);
/* Returns the sequence number of the collective in its group, -1 = unknown. */
int64_t tide__collective_seq(const tide_hta_input *in, const tide_collective_keys *k, size_t row);
/* Returns the collective of a row without arguments: by the ranges around its launch, else by
 * its own name. NULL = unknown. */
const tide_collective_kind *tide__collective_guess(const tide_hta_input *in, size_t row);

#endif
