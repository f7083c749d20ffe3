// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator report: text and JSON. */
#ifndef TIDE_REPORT_ALLOCATOR_ALLOCATOR_WRITE_H
#define TIDE_REPORT_ALLOCATOR_ALLOCATOR_WRITE_H

#include "analyze/advice/allocator.h"
#include "render/text/out.h"

/* Returns the columns of the chart at this width: tide_allocator_query.buckets. */
size_t tide__allocator_chart_buckets(const tide_style *style);
/* Prints the report with a map of the `map` largest segments (SIZE_MAX = all). */
void tide__allocator_text(const tide_allocator *x, size_t map, const tide_out *to);
/* Rows of the tables "over_time" and "most_unused". */
extern const tide_member tide__allocator_point_members[];
/* Writes its members. */
void tide__allocator_json(const tide_allocator *x, tide_json *j);

#endif
