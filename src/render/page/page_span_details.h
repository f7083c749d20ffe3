// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Details of spans for the timeline (page_span_details.c), as columns and members of the current
 * section. */
#ifndef TIDE_RENDER_PAGE_PAGE_SPAN_DETAILS_H
#define TIDE_RENDER_PAGE_PAGE_SPAN_DETAILS_H

#include "render/page/page_parts.h"

/* order[0 .. n): spans as the page numbers them; place[span]: its number + 1. `names`: the texts of
 * the section, borrowed. */
void tide__page_write_span_details(tide_box *b, const tide_model *m, const uint32_t *order,
				   const uint32_t *place, uint32_t n, tide_page_names *names);

#endif
