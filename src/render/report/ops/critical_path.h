// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A critical path as tables and JSON, the same for the report and the page. */
#ifndef TIDE_RENDER_REPORT_OPS_CRITICAL_PATH_H
#define TIDE_RENDER_REPORT_OPS_CRITICAL_PATH_H

#include "analyze/critical/critical_path.h"
#include "render/text/out.h"

typedef struct tide_critical_view {
	const char *file;
	const tide_model *m;
	const tide_critical_path *c;
	const char *annotation; /* annotation that defines the window; "" = the whole trace */
	int64_t ns;		/* ns in one unit of the frame */
	size_t top;		/* rows of tide__critical_view_top, 0 = all */
} tide_critical_view;

/* Tables: bounding resources, time by span. The caller frees; NULL if memory runs out. */
tide_grid *tide__critical_view_bounds(const tide_critical_view *v);
tide_grid *tide__critical_view_top(const tide_critical_view *v);
extern const tide_member tide__critical_bounds_columns[], tide__critical_top_columns[];
/* Members of an open object: everything but the path itself. */
void tide__critical_view_json(tide_json *j, const tide_critical_view *v);

/* Returns the default annotation of the window: steps if there are any. Static text. */
const char *tide__critical_view_window(const tide_model *m);
/* Builds frame and path in one call. The model must be loaded with TIDE_WANT_RAW. `out` as in
 * tide__find_critical_path. */
tide_code tide__critical_view_run(const tide_model *m, bool compat,
				  const tide_critical_search_options *o, tide_critical_path *out,
				  tide_error *err);

#endif
