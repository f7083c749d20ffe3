// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A Tenstorrent run as text, JSON and Markdown from the same figures. */
#ifndef TIDE_RENDER_REPORT_TENSTORRENT_TT_REPORT_H
#define TIDE_RENDER_REPORT_TENSTORRENT_TT_REPORT_H

#include "analyze/tenstorrent/tt.h"
#include "render/text/grid.h"

/* Prints the report for a terminal. */
tide_code tide__tt_print(tide_tt *t, FILE *out, const tide_style *style, tide_error *err);
/* Rows of its tables. */
extern const tide_member tide__tt_peak_members[], tide__tt_top_members[],
	tide__tt_padding_members[], tide__tt_fragmentation_members[], tide__tt_const_eval_members[],
	tide__tt_share_members[], tide__tt_oom_members[], tide__tt_weight_members[],
	tide__tt_name_members[], tide__tt_skipped_members[], tide__tt_part_members[];
/* Writes members of an open object: docs/analyses/members.md, "tt". */
tide_code tide__tt_json(tide_tt *t, tide_json *j, tide_error *err);
/* Writes Markdown for other programs, in the layout of the original tool; `name` is the title. */
tide_code tide__tt_write_markdown(tide_tt *t, const char *name, FILE *out, tide_error *err);
/* Prints the lines that the original tool prints after parsing. */
void tide__tt_write_summary(tide_tt *t, FILE *out);

#endif
