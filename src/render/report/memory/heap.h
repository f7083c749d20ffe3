// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The host-heap report: text, JSON, and the line at the end of a run. */
#ifndef TIDE_RENDER_REPORT_MEMORY_HEAP_H
#define TIDE_RENDER_REPORT_MEMORY_HEAP_H

#include "analyze/memory/heap.h"
#include "render/text/out.h"

typedef enum tide_heap_sort {
	TIDE_HEAP_PEAK,
	TIDE_HEAP_LEFT,
	TIDE_HEAP_ALLOCATED,
	TIDE_HEAP_COUNT,
	TIDE_HEAP_TEMPORARY
} tide_heap_sort;

typedef struct tide_heap_view {
	tide_heap_sort sort;
	size_t top; /* rows, 0 = all */
} tide_heap_view;

/* Rows of the table "stacks". */
extern const tide_member tide__heap_stack_members[];
/* As text; as members of an open object. Both return TIDE_OK or TIDE_ENOMEM; nothing is written then. */
tide_code tide__heap_text(const tide_model *m, const tide_heap *h, const tide_heap_view *v,
			  const tide_out *to);
tide_code tide__heap_json(const tide_model *m, const tide_heap *h, const tide_heap_view *v,
			  tide_json *j);

/* "host heap: peak 30.69 MiB, 1,657 allocations, 980.56 KiB in 11 blocks not freed". Returns buf. */
char *tide__heap_write_line(const tide_heap *h, char *buf, size_t n);

/* Prints a line if the heap of a device (TIDE_ANY = any) is sampled: its figures are estimates. */
void tide__heap_put_sampled(const tide_model *m, uint32_t device, const tide_out *to);

#endif
