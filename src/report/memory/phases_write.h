// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory per phase: text and JSON.
 *
 * Text is in MiB with 2 decimals; changes are signed. An amount that would print as 0.00 uses a
 * smaller unit. */
#ifndef TIDE_REPORT_MEMORY_PHASES_WRITE_H
#define TIDE_REPORT_MEMORY_PHASES_WRITE_H

#include "analyze/memory/phases.h"
#include "render/text/out.h"

typedef struct tide_phases_view {
	uint32_t device; /* TIDE_ANY = all */
} tide_phases_view;

void tide__phases_text(const tide_model *m, const tide_phases *p, const tide_phases_view *v,
		       const tide_out *to);
/* Writes its members. */
void tide__phases_json(const tide_model *m, const tide_phases *p, const tide_phases_view *v,
		       tide_json *j);

#endif
