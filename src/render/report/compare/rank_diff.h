// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of two jobs' ranks: text of `tidemark diff A B`, and member `ranks` of its page. */
#ifndef TIDE_RENDER_REPORT_COMPARE_RANK_DIFF_H
#define TIDE_RENDER_REPORT_COMPARE_RANK_DIFF_H

#include "analyze/compare/rank_diff.h"
#include "render/text/grid.h"

/* Returns one row per rank: time and peak of A and B, their change; with `checks` also the result
 * of --fail-if. Owned by the caller: tide__grid_free. */
tide_grid *tide__rank_diff_grid(const tide_rank_diff *v, size_t n, bool checks);

#endif
