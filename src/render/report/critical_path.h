// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A critical path for readers: tables and JSON, the same for the command and the page. */
#ifndef TIDE_RENDER_REPORT_CRITICAL_PATH_H
#define TIDE_RENDER_REPORT_CRITICAL_PATH_H

#include "analyze/critical/critical_path.h"
#include "render/text/out.h"

typedef struct tide_critview {
	const char *file;
	const tide_model *m;
	const tide_critpath *c;
	const char *annotation; /* what made the window; "" = the whole trace */
	int64_t ns;		/* ns in one unit of the frame */
	size_t top;		/* rows of tide__critview_top, 0 = all */
	int64_t first, last;	/* occurrences of the annotation that make the window */
	bool path;		/* every edge of the path, too */
} tide_critview;

/* Tables: what bounds it, where its time is, edge by edge. The caller frees; NULL on exhaustion. */
tide_grid *tide__critview_bounds(const tide_critview *v);
tide_grid *tide__critview_top(const tide_critview *v);
tide_grid *tide__critview_edges(const tide_critview *v);
/* Members of an open object: everything but the path itself. */
void tide__critview_json(tide_json *j, const tide_critview *v);

/* The annotation that makes the window when nobody says: steps where there are any. Static text. */
const char *tide__critview_window(const tide_model *m);
/* Frame and path in one. The model was loaded with TIDE_WANT_RAW. `out` as of tide__critpath. */
tide_code tide__critview_run(const tide_model *m, bool compat, const tide_critpath_options *o,
			     tide_critpath *out, tide_error *err);

/* The whole report as text and as one JSON object. */
void tide__critview_text(const tide_critview *v, const tide_out *to);
void tide__critview_report_json(const tide_critview *v, tide_json *j);

#endif
