// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The peak report: text and JSON. */
#ifndef TIDE_REPORT_MEMORY_PEAK_WRITE_H
#define TIDE_REPORT_MEMORY_PEAK_WRITE_H

#include "analyze/memory/peak.h"
#include "render/text/out.h"

/* Names of the groupings, as options and JSON spell them; NULL ends the list. */
extern const char *const tide__group_by_texts[];

/* Columns of the tables "groups" and "evidence". */
extern const tide_member tide__peak_group_members[], tide__peak_evidence_members[];

/* Print the report; `top` groups are shown, 0 = all. */
void tide__peak_text(const tide_peak *x, size_t top, const tide_out *to);
/* Write its members. */
void tide__peak_json(const tide_peak *x, size_t top, tide_json *j);

#endif
