// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The report `serving` as text and as JSON. */
#ifndef TIDE_REPORT_MEMORY_SERVING_WRITE_H
#define TIDE_REPORT_MEMORY_SERVING_WRITE_H

#include "analyze/serving/serving.h"
#include "render/text/json.h"
#include "render/text/out.h"

struct serving {
	tide_serving s;
	const char **files; /* owned, of borrowed names */
	size_t top;
};

/* Columns of its tables. */
extern const tide_member tide__serving_parts[], tide__serving_evidence[], tide__serving_pools[],
	tide__serving_sizes[], tide__serving_snapshots[], tide__serving_growth[],
	tide__serving_libraries[];

/* TIDE_OK or TIDE_ENOMEM. */
tide_code tide__serving_text(const struct serving *x, const tide_out *to);
tide_code tide__serving_json(const struct serving *x, tide_json *j);

#endif
