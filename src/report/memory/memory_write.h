// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory report: text and JSON. */
#ifndef TIDE_REPORT_MEMORY_MEMORY_WRITE_H
#define TIDE_REPORT_MEMORY_MEMORY_WRITE_H

#include "analyze/memory/memory.h"
#include "render/text/out.h"

/* Returns the points over time that a chart of this width shows: tide_memory_query.buckets. */
size_t tide__memory_chart_buckets(const tide_style *style);
/* Columns of a pool and of a device's totals, and of the table "largest". */
extern const tide_member tide__memory_level_members[], tide__memory_largest_members[];

/* Prints the report. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__memory_text(const tide_memory *x, const tide_out *to);
/* Writes its members. */
void tide__memory_json(const tide_memory *x, tide_json *j);

#endif
