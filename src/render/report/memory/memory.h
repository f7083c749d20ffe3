// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory report: text and JSON. */
#ifndef TIDE_RENDER_REPORT_MEMORY_MEMORY_H
#define TIDE_RENDER_REPORT_MEMORY_MEMORY_H

#include "analyze/memory/memory.h"
#include "render/text/out.h"

/* Returns the points over time that a chart of this width shows: tide_memory_query.buckets. */
size_t tide__memory_chart_buckets(const tide_style *style);
/* Prints the report. Returns how many long texts were cut; UINT64_MAX if memory ran out. */
uint64_t tide__memory_text(const tide_memory *x, const tide_out *to);
/* Write it as one JSON object. */
void tide__memory_json(const tide_memory *x, tide_json *j);

#endif
