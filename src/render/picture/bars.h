// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Stacked bars of memory as a picture: PNG or SVG, drawn by cairo if the build has it.
 *
 * One bar per summary, side by side on one scale; parts bottom to top with their sizes (beside the
 * bar if they are thin), the total on top, the device's memory as a dashed red line. */
#ifndef TIDE_RENDER_PICTURE_BARS_H
#define TIDE_RENDER_PICTURE_BARS_H

#include <stdio.h>

#include "analyze/predict/training_sizes.h"

typedef struct tide_bar {
	const char *title; /* borrowed */
	tide_training_sizes sizes;
} tide_bar;

/* Returns true if this build draws pictures. */
bool tide__bars_built(void);
/* Writes a picture of n bars to `out`. `title` may be NULL. Returns TIDE_EIO if writing fails,
 * TIDE_ENOMEM, TIDE_EUSAGE in a build without cairo, TIDE_ELIMIT beyond 200 bars. */
tide_code tide__bars_draw(const tide_bar *bars, size_t n, const char *title, bool svg, FILE *out,
			  tide_error *err);

/* Writes an SVG of the same size for a page: a link over every part of every bar, to "#b<bar>-<part>"
 * (numbers from 0). Nothing in a build without cairo. */
void tide__bars_write_links(const tide_bar *bars, size_t n, FILE *out);

#endif
