// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The what-if report: text and JSON. */
#ifndef TIDE_REPORT_ALLOCATOR_WHATIF_WRITE_H
#define TIDE_REPORT_ALLOCATOR_WHATIF_WRITE_H

#include "analyze/allocator/whatif.h"
#include "render/text/out.h"

void tide__whatif_text(const tide_whatif *x, const tide_out *to);
/* Rows of the table "results". */
extern const tide_member tide__whatif_result_members[];
/* Writes its members. */
void tide__whatif_json(const tide_whatif *x, tide_json *j);

#endif
