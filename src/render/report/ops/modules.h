// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The modules report: text and JSON. */
#ifndef TIDE_RENDER_REPORT_OPS_MODULES_H
#define TIDE_RENDER_REPORT_OPS_MODULES_H

#include "analyze/ops/modules.h"
#include "render/text/out.h"

typedef enum tide_modules_sort {
	TIDE_MODULES_ORDER, /* of the first call */
	TIDE_MODULES_FORWARD,
	TIDE_MODULES_BACKWARD,
	TIDE_MODULES_ALLOC,
	TIDE_MODULES_CALLS
} tide_modules_sort;

typedef struct tide_modules_view {
	tide_modules_sort sort;
	size_t top; /* rows, 0 = all */
} tide_modules_view;

/* Both return TIDE_OK or TIDE_ENOMEM; nothing is written then. */
tide_code tide__modules_text(const tide_model *m, const tide_modules *x, const tide_modules_view *v,
			     const tide_out *to);
tide_code tide__modules_json(const tide_model *m, const tide_modules *x, const tide_modules_view *v,
			     tide_json *j);

#endif
