// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The verdict on a hang as a sentence. */
#ifndef TIDE_RENDER_REPORT_DEVICE_HANG_REASON_H
#define TIDE_RENDER_REPORT_DEVICE_HANG_REASON_H

#include <stddef.h>

#include "analyze/hang/hang.h"

/* Writes the sentence. Names in it come from the input and are not escaped. Returns buf. */
char *tide__hang_reason(const tide_hang *h, char *buf, size_t n);

#endif
