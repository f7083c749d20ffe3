// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernel sequences that ops launch most often: text and JSON. */
#ifndef TIDE_RENDER_REPORT_DEVICE_SEQUENCES_H
#define TIDE_RENDER_REPORT_DEVICE_SEQUENCES_H

#include "analyze/device/sequences.h"
#include "render/text/out.h"

/* `top` sequences are shown, 0 = all. */
void tide__sequences_text(const tide_model *m, const tide_sequences *s, const char *op, size_t top,
			  const tide_out *to);
void tide__sequences_json(const tide_model *m, const tide_sequences *s, const char *file,
			  const char *op, size_t top, tide_json *j);

#endif
