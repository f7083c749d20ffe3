// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the notes below the bars of a page: the tensors of a part, or the phases that it was
 * computed from. */
#ifndef TIDE_RENDER_REPORT_SIZES_PAGE_H
#define TIDE_RENDER_REPORT_SIZES_PAGE_H

#include <stdio.h>

#include "analyze/predict/training_sizes.h"

/* Writes HTML for bar `number`: its phases as a table, and a paragraph for each part with the id
 * "b<number>-<part>", which names the phases it was computed from, and its largest tensors. */
void tide__sizes_page_write_notes(const tide_phase_summary *s, const tide_training_sizes *t,
				  size_t number, const char *title, FILE *out);
/* Writes a text with <, & and quotes escaped. */
void tide__sizes_page_text(const char *text, FILE *out);

#endif
