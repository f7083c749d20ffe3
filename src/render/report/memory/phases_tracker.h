// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory per phase in the format of memory trackers. */
#ifndef TIDE_RENDER_REPORT_MEMORY_PHASES_TRACKER_H
#define TIDE_RENDER_REPORT_MEMORY_PHASES_TRACKER_H

#include <stdio.h>

#include "analyze/memory/phases.h"

/* Prints "DRAM" and "L1" lines in MB of 2^20 bytes for each accelerator, or for the host if there is
 * none. Events after the last mark are left out. If a capture began in a running recording,
 * everything before it is one phase. */
void tide__phases_write_tracker(const tide_model *m, const tide_phases *p, uint32_t device,
				FILE *out);

#endif
