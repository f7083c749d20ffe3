// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Colours of pages and pictures: the only list. tools/generate writes it for the pages
 * (web/src/data/kinds.ts) and Python (_kinds.py); web/test/colors.test.ts checks that people with each
 * kind of colour blindness can distinguish them. Values are 0xRRGGBB. */
#ifndef TIDE_RENDER_PICTURE_COLORS_H
#define TIDE_RENDER_PICTURE_COLORS_H

#include <stdint.h>

#include "analyze/predict/training_sizes.h"

typedef struct tide_color {
	const char *name; /* NULL ends a set */
	uint32_t rgb;
} tide_color;

typedef struct tide_color_set {
	const char *name; /* NULL after the last */
	const tide_color *v;
} tide_color_set;

/* roles, idle_causes, work (kinds of device work), categories (of spans), bounds (of edges of the
 * critical path), parts (of the peak in `tidemark phases`). */
extern const tide_color_set tide__color_sets[];

/* Colours of groups of any names, in order: 12. */
enum { TIDE_GROUP_COLORS = 12 };
extern const uint32_t tide__group_colors[TIDE_GROUP_COLORS];

uint32_t tide__training_part_color(tide_training_part p);

#endif
