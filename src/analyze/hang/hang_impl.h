// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Functions that the files of this folder share. */
#ifndef TIDE_ANALYZE_HANG_HANG_IMPL_H
#define TIDE_ANALYZE_HANG_HANG_IMPL_H

#include "analyze/hang/hang.h"

enum { TIDE_HANG_DIFFERS_OP = 1, TIDE_HANG_DIFFERS_SIZE = 2, TIDE_HANG_DIFFERS_TYPE = 4 };

/* Orders dumps, finds the members of groups and the rows, and lists the rows that wait. */
tide_code tide__hang_match(tide_hang *h, int64_t world, tide_error *err);
/* The latest dump of a rank; SIZE_MAX = none. */
size_t tide__hang_dump_of(const tide_hang *h, int64_t rank);
/* How two ops of one row differ: TIDE_HANG_DIFFERS_*. */
unsigned tide__hang_compare(const tide_hang *h, const tide_hang_op *a, const tide_hang_op *b);
/* The op of a dump in a row; SIZE_MAX = none. */
size_t tide__hang_op_in(const tide_hang *h, const tide_hang_dump *d, const tide_hang_row *r);

#endif
