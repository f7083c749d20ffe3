// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocations that grow faster than the size of the work, found in two recordings.
 *
 * Two sizes x < y do not show how a sum of bytes grows, but they do show how one allocation grows:
 * a matrix of length × length grows by (y/x)², and nothing that grows linearly grows by more than
 * y/x. If an allocation grows with the square, its bytes at a size are known: the parabola through
 * both recordings and the origin. If it grows by more than y/x, but by less than the square, a
 * constant and a square are an upper bound. The same bound applies to all live bytes among
 * allocations whose number and size both grow, such as a cache that a loop extends. Definitions:
 * docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_SUPERLINEAR_ALLOCS_H
#define TIDE_ANALYZE_PREDICT_SUPERLINEAR_ALLOCS_H

#include "analyze/predict/predict.h"

/* Finds them among the allocations of the larger recording, whose model is `m` and profile `b`, and
 * sets `curve` and `steep` of every line. `slack`: bytes by which a block may exceed its request
 * (an allocator's rounding). For lines through two recordings only. O(events + lines). On
 * TIDE_ENOMEM the lines stay straight. */
tide_code tide__lines_find_superlinear(tide_lines *l, const tide_model *m,
				       const tide_moment_profile *b, uint64_t slack,
				       tide_error *err);

#endif
