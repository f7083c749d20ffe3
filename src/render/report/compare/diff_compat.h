// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* HTA's trace diff: text and JSON. */
#ifndef TIDE_RENDER_REPORT_COMPARE_DIFF_COMPAT_H
#define TIDE_RENDER_REPORT_COMPARE_DIFF_COMPAT_H

#include "analyze/compat/opdiff.h"
#include "render/text/out.h"

/* `top` rows are shown in text, 0 = all. */
void tide__opdiff_text(const tide_opdiff *d, size_t top, const tide_out *to);
extern const tide_member tide__opdiff_members[];
/* Writes the members of an open object. */
void tide__opdiff_json(const tide_opdiff *d, tide_json *j);

#endif
