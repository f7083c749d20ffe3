// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The members of a report as a JSON Schema (draft 2020-12), and the description itself as JSON, from
 * which tools/generate makes types, pages and the dashboard's document. */
#ifndef TIDE_REPORT_SCHEMA_H
#define TIDE_REPORT_SCHEMA_H

#include "render/text/json.h"
#include "report/report.h"

/* Writes the schema of a report's document. Every object of it is in "$defs", named by its place:
 * Peak, PeakGroups (a row of `groups`). "x-kind" is a member's kind (member.h). */
tide_code tide__schema_write(const tide_report_type *type, tide_json *j);

/* Writes name, options and schema of a report. */
tide_code tide__description_write(const tide_report_type *type, tide_json *j);

#endif
