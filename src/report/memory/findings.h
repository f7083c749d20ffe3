// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recommendations and the score, as text and as JSON. Defined in docs/analyses/findings.md. */
#ifndef TIDE_REPORT_MEMORY_FINDINGS_H
#define TIDE_REPORT_MEMORY_FINDINGS_H

#include <stdio.h>

#include "analyze/advice/findings.h"
#include "render/text/grid.h"

void tide__findings_text(const tide_findings *f, FILE *out);
/* Writes members of an open object. */
void tide__findings_json(const tide_findings *f, tide_json *j);

#endif
