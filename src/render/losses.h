// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a trace lost, in words: the same in every report. */
#ifndef TIDE_RENDER_LOSSES_H
#define TIDE_RENDER_LOSSES_H

#include "render/grid.h"

/* "note: ..." and a newline for the fact loss.`key`, whose value is the text of n bytes or, when n
 * is 0, the number. */
void tide__put_loss(FILE *out, const tide_style *style, const char *key, const char *text, size_t n,
		    int64_t number);

#endif
