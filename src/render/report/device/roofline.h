// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The roofline as tables and as JSON, for the report and the page. */
#ifndef TIDE_RENDER_REPORT_DEVICE_ROOFLINE_H
#define TIDE_RENDER_REPORT_DEVICE_ROOFLINE_H

#include "analyze/roofline/roofline.h"
#include "render/text/grid.h"

/* Return tables; the caller frees; NULL if memory runs out. top = rows at most, 0 = all.  */
tide_grid *tide__grid_roof_ops(const tide_roofline *x, const tide_model *m, size_t top);
tide_grid *tide__grid_roof_categories(const tide_roofline *x);
tide_grid *tide__grid_roof_steps(const tide_roofline *x, size_t top);
tide_grid *tide__grid_roof_gaps(const tide_roofline *x, const tide_model *m, size_t top);

/* Their columns, and the members of "device". */
extern const tide_member tide__roof_op_members[], tide__roof_category_members[],
	tide__roof_step_members[], tide__roof_gap_members[], tide__roof_device_members[];

/* Writes the members of the document. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__roofline_json(const tide_roofline *x, const tide_model *m, const char *window,
			      size_t top, tide_json *j);

#endif
