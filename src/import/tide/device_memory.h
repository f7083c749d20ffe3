// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory that was taken from devices and told later: merged into the model's moves by time. */
#ifndef TIDE_IMPORT_TIDE_DEVICE_MEMORY_H
#define TIDE_IMPORT_TIDE_DEVICE_MEMORY_H

#include "import/tide/defs.h"

struct tide_device_memory {
	int64_t t; /* Unix ns */
	uint64_t addr, bytes;
	uint32_t device, source; /* source: the file's name id of a library; 0 = unknown */
	uint8_t memory;		 /* TIDE_DEVICE_MEMORY_* */
	bool free;
};

/* Put n of them (they are sorted here) into the model. False on exhaustion. */
bool tide__device_memory_put(tide_model *m, tide_defs *defs, struct tide_device_memory *v,
			     size_t n);

/* device_rows.c: a moment of Unix time on the trace's axis; the row of CUDA device `index`, made when
 * there is none (0 on exhaustion). */
int64_t tide__real_to_t(const tide_model *m, int64_t real);
uint32_t tide__device_row(tide_model *m, uint32_t index);

#endif
