// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory at the end of a trace without a failed request, by holder: text and JSON. */
#ifndef TIDE_REPORT_ALLOCATOR_STANDING_H
#define TIDE_REPORT_ALLOCATOR_STANDING_H

#include "analyze/allocator/standing.h"
#include "render/text/out.h"

/* `top`: groups to show, 0 = all. */
void tide__standing_text(const tide_standing *x, const tide_model *m, size_t top,
			 const tide_out *to);
/* Writes the members of an open object. */
void tide__standing_json(const tide_standing *x, const tide_model *m, size_t top, tide_json *j);
extern const tide_member tide__standing_members[];

#endif
