// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A small chart in text: bytes over time, live memory solid, reserved memory shaded behind it. */
#ifndef TIDE_RENDER_TEXT_CHART_H
#define TIDE_RENDER_TEXT_CHART_H

#include <stdint.h>
#include <stdio.h>

#include "render/text/grid.h"

enum { TIDE_CHART_MARGIN = 13 }; /* columns left of the plot: scale and axis */

typedef struct tide_chart {
	const uint64_t *live;	  /* n values, one per column */
	const uint64_t *reserved; /* the same, NULL = none; UINT64_MAX = unknown there */
	size_t n;
	int height;	/* rows of the plot */
	int64_t t0, t1; /* ends of the axis, ns */
} tide_chart;

void tide__chart_print(const tide_chart *c, FILE *out, const tide_style *style, int indent);

#endif
