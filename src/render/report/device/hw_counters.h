// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Hardware counters of kernels, with the ops that launched them: text and JSON. */
#ifndef TIDE_RENDER_REPORT_DEVICE_HW_COUNTERS_H
#define TIDE_RENDER_REPORT_DEVICE_HW_COUNTERS_H

#include "analyze/device/hw_counters.h"
#include "render/text/out.h"

/* `top` rows are shown, 0 = all. */
void tide__hwcounters_text(const tide_model *m, const tide_hwcounters *h, size_t top,
			   const tide_out *to);
void tide__hwcounters_json(const tide_model *m, const tide_hwcounters *h, const char *file,
			   size_t top, tide_json *j);

#endif
