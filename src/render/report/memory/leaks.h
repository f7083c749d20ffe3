// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The leaks report: text and JSON. */
#ifndef TIDE_RENDER_REPORT_MEMORY_LEAKS_H
#define TIDE_RENDER_REPORT_MEMORY_LEAKS_H

#include "analyze/memory/leaks.h"
#include "render/text/out.h"

typedef struct tide_leaks_view {
	const tide_model *m;
	uint32_t device;
	tide_leaks *l; /* borrowed; naming a group may grow its index */
	size_t top;    /* rows to show; SIZE_MAX = all */
} tide_leaks_view;

void tide__leaks_text(const tide_leaks_view *x, const tide_out *to);
/* Writes the member "growing" of a page's finding: the steepest groups, [name, bytes per step,
 * after the first step, after the last, allocations]. */
bool tide__leaks_write_page(tide_json *j, const tide_model *m, uint32_t device, size_t most,
			    tide_error *err);
/* Writes its members. */
void tide__leaks_json(const tide_leaks_view *x, tide_json *j);

#endif
